/**
 * What is measured of an index, and what its folder says of itself: the figures behind the page.
 */

import { partsOf } from '../../index/simhash-index';
import { cosinesOf } from '../../measure/brute-force';
import { type Recommended, recommendedOf } from '../../measure/calibrate';
import { type GroupSizes, groupSizes } from '../../measure/group-sizes';
import { type PairTally, tallyPairs, total } from '../../measure/pair-tally';
import { type IndexSample, liveRows, sampleOf } from '../../measure/rows';
import { type SpeedCurve, speedCurve } from '../../measure/speed-curve';
import {
  type IndexBytes,
  IndexFolder,
  type LongCall,
  type RecallReport,
  type SimHashIndex,
} from '../../node';
import type { Call } from '../call';
import { type Fact, folderFacts } from '../input/index-folder';
import { bytesText } from '../output/figures';

/** What the folder says of itself, before anything is measured. */
export interface FolderState {
  readonly path: string;
  readonly facts: readonly Fact[];
  readonly files: readonly { name: string; kind: string; rows: number; size: string }[];
  readonly problems: readonly { file: string; message: string }[];
}

/** What the folder says of itself, and whether it is sound: reads all its files. */
export async function folderState(call: Call, folder: IndexFolder): Promise<FolderState> {
  const { path, files } = folder;
  const { problems } = await call.long('verifying', (work) => IndexFolder.verify(path, work));
  return {
    ...{ path, problems, facts: folderFacts(folder) },
    files: files.map(({ name, kind, rows, bytes }) => {
      return { name, kind, rows, size: bytesText(bytes) };
    }),
  };
}

/** What is measured, by the options of the call. */
export interface MeasureOptions {
  readonly sample: number;
  readonly seed: number;
  readonly minCosine: number;
  /** Of groups; by default as calibrated. */
  readonly maxDistance?: number | undefined;
  readonly isTimed: boolean;
}

/** All figures of a report. */
export interface Measured {
  readonly options: MeasureOptions;
  readonly bits: number;
  readonly rank: string;
  /** Rows that are there; those without a code are not in the sample. */
  readonly rows: number;
  readonly sampled: number;
  readonly hasVectors: boolean;
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
}

/**
 * Measures an index: distances and cosines of a sample, groups and, unless `isTimed` is
 * false, speed. The same index and options give the same report but for the speeds.
 */
export async function measure(
  call: Call,
  index: SimHashIndex,
  options: MeasureOptions,
): Promise<Measured> {
  const { seed, minCosine, isTimed } = options;
  const rows = liveRows(index);
  const sample = sampleOf(index, rows, { count: options.sample, seed });
  const { codes, vectors } = sample;
  const recall = isTimed ? index.report : null;
  const base = {
    ...{ options, bits: index.bits, rank: index.rank, rows: rows.length, recall },
    ...{ sampled: sample.rows.length, hasVectors: vectors !== null, bytes: index.bytes },
    partitions: partitionSizes(index),
  };
  if (sample.rows.length < 2) {
    const nothing = { curve: null, tally: null, calibrated: null, groups: null };
    return { ...base, ...nothing };
  }
  const cosines = vectors === null ? null : cosinesOf(vectors);
  const [tally] = await call.long('comparing', (work) =>
    tallyPairs([codes], { cosines, minCosine, ...work }),
  );
  const nearest = await call.long('searching', (work) => nearestDistances(index, sample, work));
  tally.nearest.fill(0);
  for (const distance of nearest) tally.nearest[distance]++;
  const calibrated = recommendedOf(tally, total(tally.near));
  const maxDistance = options.maxDistance ?? calibrated.maxDistance;
  const groups = await call.long('grouping', (work) =>
    groupSizes(index, { rows, maxDistance, seed, ...work }),
  );
  const curve = isTimed
    ? await call.long('timing searches', (work) => speedCurve(index, { rows, sample, ...work }))
    : null;
  return { ...base, curve, tally, calibrated, groups };
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
  if (rows.length === 0) return [];
  const found = await index.searchAllAsync(codes, { k: 2, rank: 'hamming', ...call });
  return found.flatMap((result, i) => {
    const place = result.rows.findIndex((row) => row !== rows[i]);
    return place < 0 ? [] : [result.distances[place]];
  });
}
