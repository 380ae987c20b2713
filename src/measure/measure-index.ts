/**
 * All that is measured of an index for a person who looks at it: distances and cosines of a sample,
 * groups of near rows, recall against speed, sizes of partitions. The same index and options give
 * the same figures but for the speeds.
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
import { type PairTally, tallyPairs, total } from './pair-tally';
import { type IndexSample, liveRows, sampleOf } from './rows';
import { type SetRecall, setRecall } from './set-recall';
import { type SpeedCurve, speedCurve } from './speed-curve';

export interface MeasureOptions {
  readonly sample: number;
  readonly seed: number;
  readonly minCosine: number;
  /** The same of sets; `NEAR_JACCARD` by default. */
  readonly minJaccard?: number | undefined;
  /** Of groups; by default as calibrated. */
  readonly maxDistance?: number | undefined;
  /** Whether searches are timed, which takes longest. */
  readonly isTimed: boolean;
}

export interface Measured {
  readonly options: MeasureOptions;
  readonly bits: number;
  readonly rank: string;
  /** Rows that are there; those without a code are not in the sample. */
  readonly rows: number;
  readonly sampled: number;
  readonly hasVectors: boolean;
  /** Whether codes stand for sets: distances say nothing of cosines, and no search is timed. */
  readonly isOfSets: boolean;
  /** Memory by what it holds. */
  readonly bytes: IndexBytes;
  readonly recall: RecallReport | null;
  /** Distinct codes of each partition; empty where the index has none. */
  readonly partitions: readonly number[];
  /** Null where it is not measured. */
  readonly curve: SpeedCurve | null;
  /** Null below two rows, as what follows from it. */
  readonly tally: PairTally | null;
  readonly calibrated: Recommended | null;
  readonly groups: GroupSizes | null;
  /** What plans of sets find, by least similarity; null of other rows. */
  readonly sets: readonly SetRecall[] | null;
}

/** Measures an index, stage by stage. */
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

/** For each row of a sample that has one, the distance to the nearest row of the whole index. */
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
