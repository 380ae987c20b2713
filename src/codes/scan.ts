/**
 * The exact linear scan over codes: the k nearest by (distance, row), or all within a distance or
 * of at least a similarity, for one query or for many. It compares every row, so faster searches
 * are tested against it. Null rows match nothing. Hits come in ascending order of row and are
 * returned in the order of (distance, row), by a counting sort: it is faster than any sort by
 * comparison where many rows are near.
 */

import { grown, type Range, toStarts } from '../base/arrays';
import { checkMaxDistance, checkOptions, wrongType, wrongValue } from '../base/check';
import { LONG_CALL, type LongCall, LongWork } from '../base/long-work';
import type { HammingKernel } from '../kernels/hamming';
import { hammingKernel } from '../kernels/kernels';
import { Codes } from './codes';
import { checkLeast, type LeastSimilarity, widestAt } from './measure';

export interface ScanOptions {
  /** Number of neighbours. By default 10, or all within a limit. */
  k?: number;
  /** Largest distance, inclusive; without `k` all within it. */
  maxDistance?: number;
  /** Lowest cosine that a distance estimates. */
  minCosine?: number;
  /** Lowest Jaccard similarity that a distance of 'minwise' codes estimates. */
  minJaccard?: number;
}

const DEFAULT_K = 10;
const OPTIONS = { k: { min: 1 }, maxDistance: null, minCosine: null, minJaccard: null } as const;

/** Bytes of codes, and queries, that are compared in a step: some milliseconds. */
const STEP_BYTES = 1 << 21;
const STEP_QUERIES = 128;
/** Rows of the first step; each step is twice as long. So limits fall before most rows are read. */
const FIRST_ROWS = 128;

/**
 * Finds the `k` codes nearest to `query`, by distance, then row; or all within a limit. Compares
 * the query with every code.
 *
 * @example
 * const codes = await new SimHasher({ bits: 64 }).hashAll([[1, 0], [0.9, 0.1], [0, 1]]);
 * console.log(scan(codes, codes.at(0), { k: 2 }).rows); // Uint32Array(2) [ 0, 1 ]
 * console.log(scan(codes, codes.at(0), { maxDistance: 10 }).distances); // Uint16Array(2) [ 0, 0 ]
 * console.log((await scanAll(codes, codes, { k: 1 })).length); // 3
 */
export function scan(codes: Codes, query: Uint8Array, options?: ScanOptions): Neighbors {
  const given = checkOptions(options, OPTIONS);
  const running = new Scan(codes, oneQuery(codes, query), given);
  for (const range of steps(codes)) running.compareTo(range, 0);
  return running.results()[0];
}

/**
 * `scan` for each of `queries`, one result a query; a null query has no neighbours. Faster than one
 * call a query.
 */
export async function scanAll(
  codes: Codes,
  queries: Codes,
  options?: ScanOptions & LongCall,
): Promise<Neighbors[]> {
  const given = checkOptions(options, { ...OPTIONS, ...LONG_CALL });
  const work = new LongWork(given);
  checkQueries(codes, queries);
  const running = new Scan(codes, queries, given);
  for (const range of steps(codes)) {
    for (let query = 0; query < queries.count; query += STEP_QUERIES) {
      running.compareTo(range, query);
      await work.step();
    }
    await work.step(range.end, codes.count);
  }
  return running.results();
}

/** The rows of each step, ascending. */
function steps({ count, bytesPerCode }: Codes): Range[] {
  const most = Math.max(FIRST_ROWS, Math.floor(STEP_BYTES / bytesPerCode));
  const ranges: Range[] = [];
  for (let first = 0, rows = FIRST_ROWS; first < count; rows *= 2) {
    const end = Math.min(count, first + Math.min(rows, most));
    ranges.push({ first, end });
    first = end;
  }
  return ranges;
}

/** A scan for some queries. */
class Scan {
  readonly #codes: Codes;
  readonly #queries: Codes;
  readonly #hamming: HammingKernel;
  readonly #collectors: Nearest[];
  /** By query the distance below which it takes hits; 0 excludes it. */
  readonly #limits: Uint32Array;

  constructor(codes: Codes, queries: Codes, given: ScanOptions) {
    const widest = widestOf(codes, given);
    const most = widest ?? codes.bits;
    const k = given.k ?? (widest === undefined ? DEFAULT_K : Number.MAX_SAFE_INTEGER);
    this.#codes = codes;
    this.#queries = queries;
    this.#hamming = hammingKernel();
    const collectors = Array.from({ length: queries.count }, () => {
      return new Nearest(k, most, codes.count);
    });
    this.#collectors = collectors;
    this.#limits = Uint32Array.from(collectors, ({ limit }, row) =>
      queries.isNull(row) ? 0 : limit,
    );
  }

  /** Compares the block of queries that begins at `first` with rows behind those before. */
  compareTo(rows: Range, first: number): void {
    const { bytes, bytesPerCode } = this.#codes;
    const limits = this.#limits.subarray(first, first + STEP_QUERIES);
    const queries = this.#queries.bytes.subarray(
      first * bytesPerCode,
      (first + limits.length) * bytesPerCode,
    );
    // Kernels do not know null rows, whose codes are 0: their hits are dropped here.
    const take = (query: number, row: number, distance: number) => {
      if (limits[query] === 0 || this.#codes.isNull(row)) return;
      const collector = this.#collectors[first + query];
      collector.take(row, distance);
      limits[query] = collector.limit;
    };
    this.#hamming.hitsOfMany(bytes, rows.first, rows.end - rows.first, queries, limits, take);
  }

  results(): Neighbors[] {
    return this.#collectors.map((one) => one.result());
  }
}

/** The largest distance that the options allow, undefined where they set no limit. */
function widestOf(
  { bits, origin }: Codes,
  { maxDistance, ...near }: LeastSimilarity & { maxDistance?: number },
): number | undefined {
  const most = maxDistance === undefined ? undefined : checkMaxDistance(maxDistance, bits);
  const asked = checkLeast(near, origin?.projection);
  return asked === undefined
    ? most
    : Math.min(widestAt(asked.measure, asked.least, bits), most ?? bits);
}

/** Checks both arguments of a scan for one query; copies the query into a collection of one row. */
function oneQuery(codes: Codes, query: Uint8Array): Codes {
  checkCodes('codes', codes);
  if (!(query instanceof Uint8Array)) throw wrongType('query', 'a Uint8Array', query);
  if (query.length !== codes.bytesPerCode) {
    throw wrongValue('query', `${codes.bytesPerCode} bytes for ${codes.bits} bits`, query.length);
  }
  return Codes.from(query, { bits: codes.bits });
}

function checkQueries(codes: Codes, queries: Codes): void {
  checkCodes('codes', codes);
  checkCodes('queries', queries);
  if (queries.bits !== codes.bits) {
    throw wrongValue('queries', `codes of ${codes.bits} bits`, queries.bits);
  }
}

function checkCodes(name: string, codes: unknown): void {
  if (!(codes instanceof Codes)) throw wrongType(name, 'Codes', codes);
}

/** Rows and their distances in bits, nearest first; equal distances in order of row. */
export interface Neighbors {
  readonly rows: Uint32Array;
  readonly distances: Uint16Array;
}

/** Hits held beyond 2 * k, so that thinning, a pass over all of them, costs little for each. */
const SPARE = 128;
/** Hits that have memory at first. */
const FIRST_CAPACITY = 256;

/**
 * Keeps the k nearest of the hits within `maxDistance`; all of them where k is `count` or more.
 * Each hit is of a row above all those taken before.
 */
class Nearest {
  readonly #k: number;
  readonly #maxHeld: number;
  /** An entry for each distance; scratch space of the counting sort. */
  readonly #counts: Uint32Array;
  /** `#held` hits in ascending order of row; there is always room for one more. */
  #rows: Uint32Array;
  #distances: Uint16Array;
  #held = 0;
  /** Only hits below this distance can still enter; it falls as nearer ones are found. */
  limit: number;

  /** `count` is the number of rows that are scanned. */
  constructor(k: number, maxDistance: number, count: number) {
    this.#k = Math.min(k, count);
    this.#maxHeld = 2 * this.#k + SPARE;
    this.limit = this.#k === 0 ? 0 : maxDistance + 1;
    this.#counts = new Uint32Array(maxDistance + 1);
    const capacity = Math.min(this.#maxHeld, FIRST_CAPACITY);
    this.#rows = new Uint32Array(capacity);
    this.#distances = new Uint16Array(capacity);
  }

  take(row: number, distance: number): void {
    if (distance >= this.limit) return;
    this.#rows[this.#held] = row;
    this.#distances[this.#held++] = distance;
    if (this.#held < this.#rows.length) return;
    if (this.#held < this.#maxHeld) this.#grow();
    else this.#thin();
  }

  #grow(): void {
    const capacity = Math.min(2 * this.#held, this.#maxHeld);
    this.#rows = grown(this.#rows, capacity);
    this.#distances = grown(this.#distances, capacity);
  }

  /** Drops all but the best k: keeps those below the k-th distance, and the first ones at it. */
  #thin(): void {
    const counts = this.#counts.fill(0);
    for (let i = 0; i < this.#held; i++) counts[this.#distances[i]]++;
    let below = 0;
    let cut = 0;
    while (below + counts[cut] < this.#k) below += counts[cut++];
    let ties = this.#k - below;
    let kept = 0;
    for (let i = 0; i < this.#held; i++) {
      const distance = this.#distances[i];
      if (distance > cut || (distance === cut && ties-- <= 0)) continue;
      this.#rows[kept] = this.#rows[i];
      this.#distances[kept++] = distance;
    }
    this.#held = kept;
    this.limit = cut; // a later row at this distance ranks after the k held ones
  }

  /** The hits by distance, as copies; rows of one distance stay in the order in which they came. */
  result(): Neighbors {
    if (this.#held > this.#k) this.#thin();
    const starts = this.#counts.fill(0);
    for (let i = 0; i < this.#held; i++) starts[this.#distances[i]]++;
    toStarts(starts);
    const rows = new Uint32Array(this.#held);
    const distances = new Uint16Array(this.#held);
    for (let i = 0; i < this.#held; i++) {
      const at = starts[this.#distances[i]]++;
      rows[at] = this.#rows[i];
      distances[at] = this.#distances[i];
    }
    return { rows, distances };
  }
}
