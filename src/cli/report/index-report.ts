/**
 * Everything that a report says of an index: what its folder says of itself, what its rows are
 * called, and what is measured. The page only shows it.
 */

import { cosinesOf } from '../../measure/brute-force';
import { type Recommended, recommendedOf } from '../../measure/calibrate';
import { type GroupSizes, groupSizes } from '../../measure/group-sizes';
import { type PairTally, tallyPairs, total } from '../../measure/pair-tally';
import { type IndexSample, liveRows, sampleOf } from '../../measure/rows';
import { type SpeedCurve, speedCurve } from '../../measure/speed-curve';
import {
  type Id,
  IndexFolder,
  type LongCall,
  type RecallReport,
  type SimHashIndex,
} from '../../node';
import type { Call } from '../call';
import { Carried, carriedName, type Fact, folderFacts } from '../input/index-folder';
import { bytesText } from '../output/figures';
import { type ClusterMap, clusterMap } from './cluster-map';

/** What the folder says of itself, before anything is measured. */
export interface FolderState {
  readonly path: string;
  readonly facts: readonly Fact[];
  readonly files: readonly { name: string; kind: string; rows: number; size: string }[];
  readonly problems: readonly { file: string; message: string }[];
}

/** What a row is called, and its text where a column of texts is carried. */
export interface RowNames {
  idOf(row: number): string;
  /** Ids that are numbers say less than a text. */
  readonly areIdsNumbers: boolean;
  /** The carried column of texts; null where there is none. */
  readonly column: string | null;
  textOf(row: number): string | null;
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

/** Texts are those of the column that `--text` names, or of the first that holds any. */
export async function rowNames(
  call: Call,
  folder: IndexFolder,
  index: SimHashIndex,
): Promise<RowNames> {
  const told = call.text('text');
  const column =
    told === undefined
      ? folder.columnInfo.find(({ fits }) => fits.includes('text'))?.name
      : carriedName(call, folder, told);
  const carried = column === undefined ? null : await Carried.read(folder, index, [column]);
  return {
    idOf: (row) => String(index.idOf(row)),
    areIdsNumbers: typeof index.idOf(liveRows(index)[0]) !== 'string',
    column: column ?? null,
    textOf: (row) => {
      if (carried === null || column === undefined) return null;
      const [value] = carried.valuesOf(column, [row]);
      return value === null ? '' : String(value);
    },
  };
}

/** What is measured, by the options of the call. */
export interface ReportOptions {
  readonly sample: number;
  readonly seed: number;
  readonly minCosine: number;
  readonly clusters: number;
  /** Of groups; by default as calibrated. */
  readonly maxDistance?: number | undefined;
  readonly isTimed: boolean;
}

/** All figures of a report. */
export interface IndexReport {
  readonly options: ReportOptions;
  readonly bits: number;
  readonly rank: string;
  /** Rows that are there; those without a code are not in the sample. */
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

/** Rows that are shown with their neighbours, and how many neighbours each. */
const EXAMPLES = 6;

/**
 * Measures an index: distances and cosines of a sample, groups, clusters and, unless `isTimed` is
 * false, speed. The same index and options give the same report but for the speeds.
 */
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

/** A row and the rows that a search for it finds. */
export interface Example {
  readonly row: number;
  readonly id: Id;
  /** Without the row itself, nearest first. */
  readonly nearest: readonly { row: number; id: Id; distance: number; cosine: number }[];
  /** Whether cosines are exact, or estimated from the distance. */
  readonly isExact: boolean;
}

const NEAREST = 5;

/** The rows nearest to each of some rows. */
function examplesOf(index: SimHashIndex, rows: readonly number[]): Example[] {
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
