/**
 * Everything that a report measures of an index: distances and cosines of a sample, groups of near
 * rows, recall against speed, sizes of partitions. The same index and options give the same
 * figures, except for speeds.
 */

import type { InStages, LongCall } from '../base/steps';
import { COSINE, JACCARD, NEAR_JACCARD, widestAt } from '../codes/measure';
import type { RecallReport } from '../index/index-options';
import type { IndexBytes } from '../index/index-parts';
import { partsOf, type SimHashIndex } from '../index/simhash-index';
import type { SparseMatrix } from '../vectors/vectors';
import { pairSimilarities } from './brute-force';
import { type Recommended, recommendedOf } from './calibrate';
import { type GroupSizes, groupSizes } from './group-sizes';
import { type IndexSample, liveRows, sampleOf } from './measured-rows';
import { type PairTally, tallyPairs, total } from './pair-tally';
import { type SetRecall, setRecall } from './set-recall';
import { type SpeedCurve, speedCurve } from './speed-curve';

/** What to measure, and with which sample. */
export interface MeasureOptions {
  readonly sample: number;
  readonly seed: number;
  readonly minCosine: number;
  /** The lowest similarity of near sets; `NEAR_JACCARD` by default. */
  readonly minJaccard?: number | undefined;
  /** The distance of groups; by default the calibrated one. */
  readonly maxDistance?: number | undefined;
  /** True to time searches, which takes longest. */
  readonly isTimed: boolean;
}

/** The figures of a report. */
export interface Measured {
  readonly options: MeasureOptions;
  readonly bits: number;
  readonly rank: string;
  /** Rows that are not removed, and those of the sample, all of which have codes. */
  readonly rows: number;
  readonly sampled: number;
  readonly hasVectors: boolean;
  /** True if codes stand for sets: distances then estimate no cosines, and no search is timed. */
  readonly isOfSets: boolean;
  /** Bytes of memory, by what they hold. */
  readonly bytes: IndexBytes;
  readonly recall: RecallReport | null;
  /** Number of distinct codes of each partition; empty without partitions. */
  readonly partitions: readonly number[];
  /** Null if it was not measured. */
  readonly curve: SpeedCurve | null;
  /** Null for fewer than two rows, like the figures that follow from it. */
  readonly tally: PairTally | null;
  readonly calibrated: Recommended | null;
  readonly groups: GroupSizes | null;
  /** What plans of sets find, by lowest similarity; null for other rows. */
  readonly sets: readonly SetRecall[] | null;
}

/** Measures an index in stages, which report their progress by `inStage`. */
export async function measureIndex(
  index: SimHashIndex,
  options: MeasureOptions,
  inStage: InStages,
): Promise<Measured> {
  const { seed, minCosine, minJaccard = NEAR_JACCARD } = options;
  const isOfSets = index.hasher.projection === 'minwise';
  const isTimed = options.isTimed && !isOfSets;
  const rows = liveRows(index);
  const sample = sampleOf(index, rows, { count: options.sample, seed });
  const { codes, vectors } = sample;
  const recall = isTimed ? index.report : null;
  const base = {
    ...{ options, bits: index.bits, rank: index.rank, rows: rows.length, recall },
    ...{ sampled: sample.rows.length, hasVectors: vectors !== null, bytes: index.bytes },
    ...{ isOfSets, partitions: partitionSizes(index) },
  };
  if (sample.rows.length < 2) {
    return { ...base, curve: null, tally: null, calibrated: null, groups: null, sets: null };
  }
  const measure = isOfSets ? JACCARD : COSINE;
  const minSimilarity = isOfSets ? minJaccard : minCosine;
  const similarities = vectors === null ? null : pairSimilarities(measure, vectors);
  const [tally] = await inStage('comparing', (work) =>
    tallyPairs([codes], { measure, minSimilarity, similarities, ...work }),
  );
  const nearest = await inStage('searching', (work) => nearestDistances(index, sample, work));
  // The sample's own nearest rows are too far: the nearest rows of the whole index replace them.
  tally.nearest.fill(0);
  for (const distance of nearest) tally.nearest[distance]++;
  const calibrated = isOfSets ? null : recommendedOf(tally, total(tally.near));
  const usual = calibrated?.maxDistance ?? widestAt(JACCARD, minJaccard, index.bits);
  const maxDistance = options.maxDistance ?? usual;
  const groups = await inStage('grouping', (work) =>
    groupSizes(index, { rows, maxDistance, seed, ...work }),
  );
  const curve = isTimed
    ? await inStage('timing searches', (work) => speedCurve(index, { rows, sample, ...work }))
    : null;
  const areHeld = isOfSets && index.vectors === 'sparse';
  const sets = areHeld
    ? await inStage('comparing sets', (work) => setRecall(codes, vectors as SparseMatrix, work))
    : null;
  return { ...base, curve, tally, calibrated, groups, sets };
}

function partitionSizes(index: SimHashIndex): number[] {
  const { partitions } = partsOf(index);
  if (partitions === null) return [];
  const { count, starts } = partitions;
  return Array.from({ length: count }, (_, p) => starts[p + 1] - starts[p]);
}

/** For each row of a sample the distance to the nearest other row of the whole index, if any. */
async function nearestDistances(
  index: SimHashIndex,
  { rows, codes }: IndexSample,
  call: LongCall,
): Promise<number[]> {
  const found = await index.searchAllAsync(codes, { k: 2, rank: 'hamming', ...call });
  return found.flatMap((result, i) => {
    const place = result.rows.findIndex((row) => row !== rows[i]);
    return place < 0 ? [] : [result.distances[place]];
  });
}
