/**
 * Search by distance, exact by either method: bands where they cost less (bands/band-method), else
 * a scan of all distinct codes. Results are ordered by (distance, row). A distinct code counts as
 * its first row until the end, when its other rows are looked up.
 */
import type { Steps } from '../base/steps';
import { keyOf, rowOf, Smallest, weightOf } from '../base/top-k';
import type { Collector } from '../codes/nearest';
import { distance } from '../kernels/hamming';
import { NO_ROW } from '../kernels/hits';
import { inParallel } from '../threads/parallel';
import type { BuiltBands } from './bands/band-method';
import type { DistinctCodes } from './distinct/distinct-codes';
import { fewRows, type RowFilter } from './filter';
import type { Method } from './index-options';
import type { IndexParts } from './index-parts';
import type { Work } from './re-rank';
import { SCANNING } from './scan-task';

/** What a search by distance is asked for; see `Request`. */
interface DistanceRequest {
  readonly k: number;
  readonly maxDistance: number;
  readonly method: Method;
  readonly filter: RowFilter | null;
}

/** The rows found, by which method and why, and the bands that were built for this search. */
interface Found {
  readonly rows: RowsByDistance;
  readonly method: 'scan' | 'bands';
  readonly why: string;
  readonly built: BuiltBands | null;
}

/** True if these queries use a scan, and can share one pass; all of them take the same method. */
export function isScanned(
  { distinctCodes, bandMethod }: IndexParts,
  request: DistanceRequest,
): boolean {
  if (request.method === 'auto') return !bandMethod.isWorth(distinctCodes, request);
  return request.method === 'scan';
}

/** The nearest rows to one code, by the method that the request names or that costs less. */
export function* nearestByDistance(
  parts: IndexParts,
  code: Uint8Array,
  request: DistanceRequest,
  work: Work,
): Steps<Found> {
  const { distinctCodes, bandMethod } = parts;
  const few = fewRows(distinctCodes, request.filter);
  if (few !== null && request.method !== 'bands') {
    const rows = ofRows(parts, few, code, request);
    work.codesCompared += few.length;
    return { rows, method: 'scan', why: 'the filter leaves few rows', built: null };
  }
  const isAsked = request.method === 'bands';
  const isWorth =
    isAsked || (request.method === 'auto' && bandMethod.isWorth(distinctCodes, request));
  let built: BuiltBands | null = null;
  if (isWorth) {
    const prepared = yield* bandMethod.prepare(distinctCodes, request);
    // The codes were put in another order while the bands were built: those bands are of no use.
    if (parts.distinctCodes !== distinctCodes)
      return yield* nearestByDistance(parts, code, request, work);
    ({ built } = prepared);
    const { ready } = prepared;
    const collector = collectorOf(parts, request);
    const { count } = ready.bands.options;
    // Bands know the codes of the time they were built; later ones are scanned.
    if (count < distinctCodes.count) yield* scanDistinct(parts, [code], [collector], work, count);
    const tried = bandMethod.search(ready, code, collector, request, isAsked);
    work.codesCompared += tried.compared;
    if (tried.isComplete) {
      const why = isAsked ? 'as asked for' : 'bands are expected to cost less than a scan';
      return { rows: collector.result(), method: 'bands', why, built };
    }
  }
  // Hits of an unfinished search by bands are dropped: the scan reports every code again.
  const collector = collectorOf(parts, request);
  yield* scanDistinct(parts, [code], [collector], work);
  bandMethod.noteScan(request, lastOf(collector, request));
  const why = isWorth
    ? 'bands would have read more than a scan'
    : request.method === 'scan'
      ? 'as asked for'
      : 'bands are not expected to pay';
  return { rows: collector.result(), method: 'scan', why, built };
}

/** The nearest rows to each of many codes, by one scan for all of them. */
export function* allNearestByDistance(
  parts: IndexParts,
  codes: readonly Uint8Array[],
  request: DistanceRequest,
): Steps<RowsByDistance[]> {
  const collectors = codes.map(() => collectorOf(parts, request));
  yield* scanDistinct(parts, codes, collectors, { codesCompared: 0, candidates: 0, probes: 0 });
  for (const collector of collectors) {
    parts.bandMethod.noteScan(request, lastOf(collector, request));
  }
  return collectors.map((collector) => collector.result());
}

function collectorOf(parts: IndexParts, request: DistanceRequest): DistinctCollector {
  return distinctCollector(parts, request.k, request.maxDistance, request.filter);
}

/** The distance that a search had to cover: that of its k-th neighbour, or `maxDistance`. */
function lastOf(collector: DistinctCollector, { maxDistance }: DistanceRequest): number {
  return Math.min(collector.limit - 1, maxDistance);
}

/** The nearest of the few rows that a filter allows, compared one by one. */
function ofRows(
  parts: IndexParts,
  rows: readonly number[],
  code: Uint8Array,
  request: DistanceRequest,
): RowsByDistance {
  const { distinctCodes } = parts;
  const collector = collectorOf(parts, request);
  // Each distinct code is taken once, since the collector adds all of its rows.
  const seen = new Set<number>();
  for (const row of rows) {
    if (!distinctCodes.hasCode(row)) continue;
    const distinct = distinctCodes.distinctOf(row);
    if (!seen.has(distinct))
      collector.take(distinct, distance(distinctCodes.codeAt(distinct), code));
    seen.add(distinct);
  }
  return collector.result();
}

/**
 * Bytes of codes in a part, with one query and, divided by their number, with many. The first of
 * several parts has few codes, so that all others start with the limits that it finds.
 */
const ONE_STEP_BYTES = 2 ** 25;
const MANY_STEP_BYTES = 2 ** 27;
const FIRST_CODES = 128;

/** Rows and their distances in bits, ordered by (distance, row). */
export interface RowsByDistance {
  readonly rows: Uint32Array;
  readonly distances: Uint16Array;
}

/** Takes the distinct codes that one search finds, in any order, each at most once. */
interface DistinctCollector extends Collector {
  /** The codes when the search began: the index may replace them by another order meanwhile. */
  readonly distinctCodes: DistinctCodes;
  /** How many of the nearest codes a scan must report; NO_ROW for all within the limit. */
  readonly want: number;
  result(): RowsByDistance;
}

/** A collector for the k nearest rows within `maxDistance` that the filter accepts. */
export function distinctCollector(
  { distinctCodes }: IndexParts,
  k: number,
  maxDistance: number,
  filter: RowFilter | null,
): DistinctCollector {
  const asked = { distinctCodes, k, end: maxDistance + 1, filter };
  return k < distinctCodes.rowCount ? new NearestDistinct(asked) : new DistinctWithin(asked);
}

/** What a collector is asked for: at most k rows nearer than `end`. */
interface Asked {
  readonly distinctCodes: DistinctCodes;
  readonly k: number;
  readonly end: number;
  readonly filter: RowFilter | null;
}

/** Collects all codes within a distance; returns the first k rows, if more were added meanwhile. */
class DistinctWithin implements DistinctCollector {
  readonly distinctCodes: DistinctCodes;
  readonly want = NO_ROW;
  readonly limit: number;
  readonly #asked: Asked;
  readonly #found: number[] = [];
  readonly #distances: number[] = [];

  constructor(asked: Asked) {
    this.distinctCodes = asked.distinctCodes;
    this.limit = asked.end;
    this.#asked = asked;
  }

  take(distinct: number, distance: number): void {
    if (distance >= this.limit) return;
    this.#found.push(distinct);
    this.#distances.push(distance);
  }

  result(): RowsByDistance {
    const { distinctCodes, filter, k } = this.#asked;
    const keys: number[] = [];
    let distance = 0;
    const take = (row: number) => {
      if (filter === null || filter.accepts(row)) keys.push(keyOf(distance, row));
      return true;
    };
    for (let i = 0; i < this.#found.length; i++) {
      distance = this.#distances[i];
      distinctCodes.eachRow(this.#found[i], take);
    }
    return rowsByDistance(Float64Array.from(keys).sort().subarray(0, k));
  }
}

/**
 * Collects the k nearest rows. Until `result`, a distinct code counts as its first accepted row, so
 * k codes are enough; their other rows are added at the end.
 */
class NearestDistinct implements DistinctCollector {
  readonly distinctCodes: DistinctCodes;
  readonly #asked: Asked;
  readonly #best: Smallest;

  constructor(asked: Asked) {
    this.distinctCodes = asked.distinctCodes;
    this.#asked = asked;
    this.#best = new Smallest(asked.k);
  }

  /** All with a filter, which may reject rows of any code. */
  get want(): number {
    const { filter, k } = this.#asked;
    return filter === null ? k : NO_ROW;
  }

  get limit(): number {
    const { bound } = this.#best; // equal distances can enter, by a lower row
    return bound < 0 ? 0 : Math.min(this.#asked.end, weightOf(bound) + 1);
  }

  take(distinct: number, distance: number): void {
    const { distinctCodes, end, filter } = this.#asked;
    if (distance >= end) return;
    const row = distinctCodes.firstRow(distinct, filter);
    if (row !== NO_ROW) this.#best.take(distance, row);
  }

  result(): RowsByDistance {
    const { distinctCodes, filter, k } = this.#asked;
    const keys = this.#best.result();
    if (!distinctCodes.hasDuplicates) return rowsByDistance(keys);
    // Codes come in order of distance: rows of one stop at the first that cannot enter.
    const all = new Smallest(k);
    let distance = 0;
    const take = (row: number) => {
      if (keyOf(distance, row) >= all.bound) return false;
      if (filter === null || filter.accepts(row)) all.take(distance, row);
      return true;
    };
    for (const key of keys) {
      distance = weightOf(key);
      distinctCodes.eachRow(distinctCodes.distinctOf(rowOf(key)), take);
    }
    return rowsByDistance(all.result());
  }
}

/** The rows and distances of ascending keys. */
function rowsByDistance(keys: Float64Array): RowsByDistance {
  const rows = new Uint32Array(keys.length);
  const distances = new Uint16Array(keys.length);
  for (let i = 0; i < keys.length; i++) {
    rows[i] = rowOf(keys[i]);
    distances[i] = weightOf(keys[i]);
  }
  return { rows, distances };
}

/** Offers the distinct codes from `firstDistinct` on to the collectors, one a query. */
export function* scanDistinct(
  parts: IndexParts,
  codes: readonly Uint8Array[],
  collectors: readonly DistinctCollector[],
  work: Work,
  firstDistinct = 0,
): Steps<void> {
  const [{ distinctCodes, want }] = collectors;
  const { bytesPerCode } = distinctCodes;
  const queries = new Uint8Array(codes.length * bytesPerCode);
  codes.forEach((code, i) => {
    queries.set(code, i * bytesPerCode);
  });
  const stepBytes = codes.length === 1 ? ONE_STEP_BYTES : MANY_STEP_BYTES / codes.length;
  const step = Math.max(FIRST_CODES, Math.floor(stepBytes / bytesPerCode));
  // Codes that are added between two steps are compared too.
  for (let begin = firstDistinct; begin < distinctCodes.count; ) {
    const { memory, first, end } = distinctCodes.partAt(begin);
    const count = Math.min(distinctCodes.count, end);
    const from = begin;
    const isWhole = codes.length === 1 && count - from <= step;
    const firstCodes = isWhole ? step : FIRST_CODES;
    const endOf = (i: number) => Math.min(count, from + firstCodes + i * step);
    const firstOf = (i: number) => (i === 0 ? from : endOf(i - 1));
    yield* inParallel({
      task: SCANNING,
      state: {
        codes: memory.codes,
        rows: memory.rows,
        queries,
        bytesPerCode,
        kernel: parts.kernel,
      },
      count: 1 + Math.ceil(Math.max(0, count - from - firstCodes) / step),
      part: (i) => ({
        ...{ first: firstOf(i) - first, end: endOf(i) - first, want },
        limits: Uint32Array.from(collectors, ({ limit }) => limit),
      }),
      take(hits, i) {
        for (let hit = 0; hit < hits.count; hit++) {
          const collector = collectors[hits.queries?.[hit] ?? 0];
          const distance = hits.distances[hit];
          if (distance < collector.limit) collector.take(first + hits.codes[hit], distance);
        }
        work.codesCompared += (endOf(i) - firstOf(i)) * codes.length;
        return undefined;
      },
    });
    begin = count;
  }
}
