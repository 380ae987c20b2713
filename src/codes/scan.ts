/**
 * The exact linear scan over codes: the k nearest by (distance, row), or all within a distance or
 * of at least a similarity, for one query or for many. It compares every row, so faster searches
 * are tested against it. Null rows match nothing.
 */

import { checkK, checkMaxDistance, checkOptions, wrongType, wrongValue } from '../base/check';
import { checkLongCall, LONG_CALL, type LongCall } from '../base/steps';
import { hammingKernel, type KernelName } from '../kernels/kernels';
import { Codes } from './codes';
import { checkLeast, type LeastSimilarity, widestAt } from './measure';
import { Nearest, type Neighbors } from './nearest';

export interface ScanOptions {
  /** Number of neighbours, fewer where fewer rows qualify. By default 10, or all within a limit. */
  k?: number;
  /** Only rows within this many bits, inclusive; without `k` all of them. */
  maxDistance?: number;
  /** Only rows whose distance estimates at least this cosine; without `k` all of them. */
  minCosine?: number;
  /** The same for the Jaccard similarity, which distances of 'minwise' codes estimate. */
  minJaccard?: number;
  /** The kernel that compares codes; all give equal results. */
  kernel?: KernelName;
}

export const SCAN_DEFAULTS = { k: 10, kernel: 'auto' } as const;

const OPTIONS = ['k', 'maxDistance', 'minCosine', 'minJaccard', 'kernel'];

/** Bytes of codes that are scanned between two checks of the signal. */
const STEP_BYTES = 1 << 21;
/** Rows of the first step; each step is twice as long. So limits fall before most rows are read. */
const FIRST_ROWS = 128;

/**
 * Finds the codes nearest to `query`, by distance, then row: the `k` best, all within
 * a limit, or both. Compares the query with every code.
 *
 * @example
 * const codes = new SimHasher({ bits: 64 }).hashAll([[1, 0], [0.9, 0.1], [0, 1]]);
 * console.log(scan(codes, codes.at(0), { k: 2 }).rows); // Uint32Array(2) [ 0, 1 ]
 * console.log(scan(codes, codes.at(0), { maxDistance: 10 }).distances); // Uint16Array(2) [ 0, 0 ]
 */
export function scan(codes: Codes, query: Uint8Array, options?: ScanOptions): Neighbors {
  const given = checkOptions('options', options, OPTIONS);
  return scanAll(codes, oneQuery(codes, query), given)[0];
}

/**
 * `scan` for each of `queries`, one result a query; a null query has no neighbours. Faster than one
 * call a query.
 *
 * @example
 * const codes = new SimHasher({ bits: 64 }).hashAll([[1, 0], [0.9, 0.1], [0, 1]]);
 * console.log(scanAll(codes, codes, { k: 1 }).map(({ rows }) => rows[0])); // [ 0, 0, 2 ]
 */
export function scanAll(
  codes: Codes,
  queries: Codes,
  options?: ScanOptions & LongCall,
): Neighbors[] {
  const given = checkLongCall(checkOptions('options', options, [...OPTIONS, ...LONG_CALL]));
  checkQueries(codes, queries);
  const widest = widestOf(codes, given);
  const most = widest ?? codes.bits;
  const k = checkK(given.k ?? (widest === undefined ? SCAN_DEFAULTS.k : Number.MAX_SAFE_INTEGER));
  const hamming = hammingKernel(given.kernel, codes.bytesPerCode);
  const collectors = Array.from({ length: queries.count }, () => new Nearest(k, most, codes.count));
  // A limit of 0 excludes a query: no distance is below it.
  const limits = Uint32Array.from(collectors, ({ limit }, row) =>
    queries.isNull(row) ? 0 : limit,
  );
  // Kernels do not know null rows, whose codes are 0: their hits are dropped here.
  const take = (query: number, row: number, distance: number) => {
    if (limits[query] === 0 || codes.isNull(row)) return;
    collectors[query].take(row, distance);
    limits[query] = collectors[query].limit;
  };
  const maxRows = Math.max(FIRST_ROWS, Math.floor(STEP_BYTES / codes.bytesPerCode));
  for (let first = 0, rows = FIRST_ROWS; first < codes.count; rows *= 2) {
    given.signal?.throwIfAborted();
    const count = Math.min(rows, maxRows, codes.count - first);
    hamming.hitsOfMany(codes.bytes, first, count, queries.bytes, limits, take);
    first += count;
    given.onProgress?.(first, codes.count);
  }
  return collectors.map((one) => one.result());
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
