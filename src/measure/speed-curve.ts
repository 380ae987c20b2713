/**
 * Recall against speed, measured on the index itself: some of its rows are the queries, each left
 * out of its own answer. The truth is brute force over the held vectors. Without these a row can be
 * searched for by its code alone, which is exact by distance.
 */

import type { LongCall } from '../base/steps';
import type { RecallReport, SearchOptions } from '../index/index-options';
import type { Explanation } from '../index/search';
import { partsOf, type SimHashIndex } from '../index/simhash-index';
import { trueNeighbors } from './brute-force';
import { heldOf, type IndexSample } from './measured-rows';
import { othersOf } from './recall';

/** One setting of a search, measured. */
export interface SpeedPoint {
  /** Share of the k nearest that were found. */
  readonly recall: number;
  readonly queriesPerSecond: number;
  /** Bytes that a query reads: codes or residual codes, centroids, and re-ranked vectors. */
  readonly bytes: number;
  /** Partitions that are visited; null for a scan of all codes. */
  readonly probes: number | null;
  /** Rows that are re-ranked, in units of k; null if none are. */
  readonly oversample: number | null;
}

/** Points by method, from settings that compare few rows to those that compare many. */
export interface SpeedCurve {
  readonly truth: 'cosine' | 'distance';
  readonly k: number;
  readonly queries: number;
  readonly points: readonly SpeedPoint[];
}

/** Queries, at most. */
const MAX_QUERIES = 200;
/** Queries of the untimed first round at slow settings; quick settings run all. */
const WARM_UP_SCANS = 20;
/** Settings of scans, and factors of the chosen number of probes. */
const OVERSAMPLES = [1, 2, 5, 10, 20, 50];
const SHARES_OF_PROBES = [1 / 8, 1 / 4, 1 / 2, 1, 2, 4];

/** The queries, and the rows that they are searched among. */
interface CurveOptions extends LongCall {
  /** All rows that are not removed: at least two. */
  readonly rows: Uint32Array;
  /** Rows, of which the first MAX_QUERIES are the queries. */
  readonly sample: IndexSample;
}

/**
 * Measures recall and speed of searches that compare more and more of the index, one at a time.
 * Speeds are those of the median query, and depend on the machine.
 */
export async function speedCurve(
  index: SimHashIndex,
  { rows, sample, signal, onProgress }: CurveOptions,
): Promise<SpeedCurve> {
  const { report } = index;
  const queries = heldOf(index, sample.rows.subarray(0, MAX_QUERIES));
  const count = queries.rows.length;
  const k = Math.min(report?.k ?? 10, rows.length - 1);
  const { vectors, rows: self } = queries;
  const settings: SearchOptions[] = vectors === null ? [{ rank: 'hamming' }] : settingsFor(report);
  const all = rows.length + settings.length * count;
  const step = async (done: number) => {
    await new Promise((resolve) => setTimeout(resolve));
    signal?.throwIfAborted();
    onProgress?.(done, all);
  };
  const truth =
    vectors === null ? null : await trueNeighbors(index, { rows, queries: vectors, self, k }, step);
  const points: SpeedPoint[] = [];
  // A first round warms caches and compiled code, and is not reported.
  for (const isWarmUp of [true, false]) {
    for (const [i, setting] of settings.entries()) {
      await step(isWarmUp ? rows.length : rows.length + (i + 1) * count);
      const isQuick = setting.method === 'partitions';
      const some = isWarmUp && !isQuick ? Math.min(count, WARM_UP_SCANS) : count;
      const point = measured(index, queries, { truth, setting, count: some, k });
      if (!isWarmUp) points.push(point);
    }
  }
  return { truth: vectors === null ? 'distance' : 'cosine', k, queries: count, points };
}

/** Visits of fewer and more partitions than were chosen, and scans that re-rank more and more. */
function settingsFor(report: RecallReport | null): SearchOptions[] {
  const rank = 'exact';
  const scans = OVERSAMPLES.map((oversample) => ({ rank, method: 'scan', oversample }) as const);
  if (report?.method !== 'partitions') return scans;
  const { probes, partitions, oversample } = report;
  const visits = SHARES_OF_PROBES.map((share) =>
    Math.max(1, Math.min(partitions, Math.round(share * probes))),
  );
  const method = 'partitions';
  const settings = Array.from(new Set(visits), (probes) => {
    return { rank, method, probes, oversample } as const;
  });
  return [...settings, ...scans];
}

interface Measuring {
  /** Null if searches are exact in what they rank by. */
  readonly truth: readonly Set<number>[] | null;
  readonly setting: SearchOptions;
  readonly count: number;
  readonly k: number;
}

/** The recall of a setting over some queries, and the speed of the median query. */
function measured(
  index: SimHashIndex,
  queries: IndexSample,
  { truth, setting, count, k }: Measuring,
): SpeedPoint {
  const milliseconds = new Float64Array(count);
  let [found, wanted, bytes] = [0, 0, 0];
  const bytesOf = bytesPerQuery(index);
  for (let query = 0; query < count; query++) {
    const asked = index.get(queries.ids[query])?.vector ?? queries.codes.at(query);
    const start = performance.now();
    const answer = index.search(asked, { ...setting, k: k + 1, explain: true });
    milliseconds[query] = performance.now() - start;
    bytes += bytesOf(answer.explain as Explanation);
    const others = othersOf(answer.rows, queries.rows[query], k);
    found += truth === null ? k : others.filter((row) => truth[query].has(row)).length;
    wanted += truth === null ? k : truth[query].size;
  }
  return {
    recall: found / Math.max(1, wanted),
    queriesPerSecond: 1000 / Math.max(1e-3, milliseconds.sort()[count >> 1]),
    bytes: bytes / Math.max(1, count),
    probes: setting.probes ?? null,
    oversample: setting.oversample ?? null,
  };
}

/** Returns the bytes that a query reads, from the counts of its explanation. */
function bytesPerQuery(index: SimHashIndex): (explained: Explanation) => number {
  const { bits, bytes, count } = index;
  const { partitions } = partsOf(index);
  const code = Math.ceil(bits / 8);
  const vector = bytes.vectors / Math.max(1, count);
  const inOrder = Math.max(1, partitions?.starts.at(-1) ?? 0);
  const residual = partitions?.residualCodes?.bytes;
  const perCode = residual === undefined ? code : residual / inOrder;
  const centroids = partitions?.centroids.byteLength ?? 0;
  return ({ method, codesCompared, reranked }) =>
    reranked * vector +
    (method === 'partitions' ? centroids + codesCompared * perCode : codesCompared * code);
}
