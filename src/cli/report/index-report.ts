/** Everything that a report tells of an index, measured: the page only shows it. */

import { cosinesOf } from '../../measure/brute-force';
import { type Recommended, recommendedOf } from '../../measure/calibrate';
import { type GroupSizes, groupSizes } from '../../measure/group-sizes';
import { type PairTally, tallyPairs, total } from '../../measure/pair-tally';
import { type IndexSample, liveRows, sampleOf } from '../../measure/rows';
import { type SpeedCurve, speedCurve } from '../../measure/speed-curve';
import type { Id, LongCall, RecallReport, SimHashIndex } from '../../node';
import type { Call } from '../call';
import { type ClusterMap, clusterMap } from './cluster-map';

export interface ReportOptions {
  readonly sample: number;
  readonly seed: number;
  readonly minCosine: number;
  readonly clusters: number;
  /** Of groups; by default as calibrated. */
  readonly maxDistance?: number | undefined;
  readonly isTimed: boolean;
}

export interface IndexReport {
  readonly options: ReportOptions;
  readonly bits: number;
  readonly rank: string;
  /** Rows that are there, those of them without a code not being in the sample. */
  readonly rows: number;
  readonly sampled: number;
  readonly hasVectors: boolean;
  readonly recall: RecallReport | null;
  /** Null where it is not measured. */
  readonly curve: SpeedCurve | null;
  /** Null below two rows, as what follows from it. */
  readonly tally: PairTally | null;
  readonly calibrated: Recommended | null;
  readonly groups: GroupSizes | null;
  readonly map: ClusterMap | null;
  readonly examples: readonly Example[];
}

const EXAMPLES = 6;

export async function indexReport(
  call: Call,
  index: SimHashIndex,
  options: ReportOptions,
): Promise<IndexReport> {
  const { seed, minCosine, clusters, isTimed } = options;
  const rows = liveRows(index);
  const sample = sampleOf(index, rows, { count: options.sample, seed });
  const { codes, vectors } = sample;
  const recall = isTimed ? index.report : null;
  const base = {
    ...{ options, bits: index.bits, rank: index.rank, rows: rows.length, recall },
    ...{ sampled: sample.rows.length, hasVectors: vectors !== null },
  };
  const map = await call.long('clustering', (work) =>
    clusterMap(index, { clusters, seed, sample, ...work }),
  );
  const shown = map?.clusters.map(({ medoid }) => medoid) ?? [];
  const examples = examplesOf(index, shown.slice(0, EXAMPLES));
  if (sample.rows.length < 2) {
    const nothing = { curve: null, tally: null, calibrated: null, groups: null };
    return { ...base, ...nothing, map, examples };
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
  return { ...base, curve, tally, calibrated, groups, map, examples };
}

export interface ExampleRow {
  readonly row: number;
  readonly id: Id;
  readonly distance: number;
  readonly cosine: number;
}

export interface Example {
  readonly row: number;
  readonly id: Id;
  /** Without the row itself, nearest first. */
  readonly nearest: readonly ExampleRow[];
  /** Whether cosines are exact, or estimated from the distance. */
  readonly isExact: boolean;
}

const NEAREST = 5;

export function examplesOf(index: SimHashIndex, rows: readonly number[]): Example[] {
  return rows.flatMap((row) => {
    const held = index.get(index.idOf(row) as Id);
    if (held === undefined || held.code === null) return [];
    const found = index.search(held.vector ?? held.code, { k: NEAREST + 1 });
    const nearest = Array.from(found.rows, (other, i) => ({
      ...{ row: other, id: found.ids[i] },
      ...{ distance: found.distances[i], cosine: found.cosines[i] },
    }));
    const others = nearest.filter((one) => one.row !== row).slice(0, NEAREST);
    return [{ row, id: held.id, nearest: others, isExact: found.rank === 'exact' }];
  });
}

/** By row of a sample, the distance to the row that is nearest to it in the whole index. */
export async function nearestDistances(
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
