/**
 * The exact linear scan over codes: the k nearest by (distance, row), or all within a distance, for
 * one query or for many. It compares every row, so faster searches are tested against it. Null rows
 * match nothing.
 */

import { byGroup, type Range } from '../base/arrays';
import { checkMaxDistance, checkOptions, wrongType, wrongValue } from '../base/check';
import { LONG_CALL, type LongCall, LongWork } from '../base/long-work';
import { rowsOf, Smallest, weightOf, weightsOf } from '../base/top-k';
import { type HammingKernel, inGrowingSteps } from '../kernels/hamming';
import { hammingKernel } from '../kernels/kernels';
import { Codes } from './codes';

export interface ScanOptions {
  /** Number of neighbours. By default 10, or all within the distance. */
  k?: number;
  /** Largest distance, inclusive; without `k` all within it. */
  maxDistance?: number;
}

const DEFAULT_K = 10;
const OPTIONS = { k: { min: 1 }, maxDistance: null } as const;

/** Bytes of codes, and queries, that are compared in a step: some milliseconds. */
const STEP_BYTES = 1 << 21;
const STEP_QUERIES = 128;

/**
 * Finds the `k` codes nearest to `query`, by distance, then row; or all within a distance. Compares
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
  return running.resultOf(0);
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
  const results: Neighbors[] = [];
  for (let query = 0; query < queries.count; query++) {
    results.push(running.resultOf(query));
    await work.step();
  }
  return results;
}

/** The rows of each step, ascending. */
function steps({ count, bytesPerCode }: Codes): Range[] {
  const ranges: Range[] = [];
  inGrowingSteps(0, count, Math.floor(STEP_BYTES / bytesPerCode), (first, end) => {
    ranges.push({ first, end });
  });
  return ranges;
}

/** A scan for some queries. */
class Scan {
  readonly #codes: Codes;
  readonly #queries: Codes;
  readonly #hamming: HammingKernel;
  readonly #k: number;
  readonly #nearest: Smallest[];
  /** By query the distance below which it takes hits; 0 excludes it. */
  readonly #limits: Uint32Array;

  constructor(codes: Codes, queries: Codes, given: ScanOptions) {
    const { maxDistance } = given;
    const most = checkMaxDistance(maxDistance ?? codes.bits, codes.bits);
    const asked = given.k ?? (maxDistance === undefined ? DEFAULT_K : Number.MAX_SAFE_INTEGER);
    const k = Math.min(asked, codes.count);
    this.#k = k;
    this.#codes = codes;
    this.#queries = queries;
    this.#hamming = hammingKernel();
    this.#nearest = Array.from({ length: queries.count }, () => new Smallest(k));
    this.#limits = new Uint32Array(queries.count).map((_, i) => (queries.isNull(i) ? 0 : most + 1));
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
      if (distance >= limits[query] || this.#codes.isNull(row)) return;
      const nearest = this.#nearest[first + query];
      nearest.take(distance, row);
      // A later row at this distance ranks after those that are held.
      limits[query] = Math.min(limits[query], weightOf(nearest.bound));
    };
    this.#hamming.hitsOfMany(bytes, rows.first, rows.end - rows.first, queries, limits, take);
  }

  resultOf(query: number): Neighbors {
    const { bits, count } = this.#codes;
    const one = this.#nearest[query];
    const keys = this.#k < count ? one.result() : one.unordered();
    const rows = rowsOf(keys);
    const distances = new Uint16Array(weightsOf(keys));
    if (this.#k < count) return { rows, distances };
    // Many may be within a limit: all are in the order of their rows, and counting is faster.
    const { members } = byGroup(distances, bits + 1);
    return { rows: members.map((i) => rows[i]), distances: distances.sort() };
  }
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
