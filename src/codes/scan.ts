/**
 * The exact linear scan over codes: the k nearest by (distance, row), and all within a distance,
 * for one query and for many. It misses nothing, and is the oracle of whatever is faster. Null rows
 * match nothing.
 */

import { checkK, checkMaxDistance, checkOptions, wrongType, wrongValue } from '../base/check';
import { checkLongCall, LONG_CALL, type LongCall } from '../base/steps';
import { hammingKernel, type KernelName } from '../kernels/kernels';
import { Codes } from './codes';
import { type Collector, Nearest, type Neighbors, Within } from './nearest';

export interface ScanOptions {
  /** How many neighbours; fewer come back when there are fewer rows. */
  k?: number;
  /** Which twin of the kernels runs; all give equal results. */
  kernel?: KernelName;
}

export interface WithinOptions {
  /** Inclusive. */
  maxDistance: number;
  kernel?: KernelName;
}

export const SCAN_DEFAULTS = { k: 10, kernel: 'auto' } as const;

/** Rows between two looks at the signal; the first steps are shorter, to find a limit early. */
const STEP_BYTES = 1 << 21;
const FIRST_ROWS = 128;

/** The k nearest codes to `query`, by distance, then row. */
export function scan(codes: Codes, query: Uint8Array, options?: ScanOptions): Neighbors {
  const given = checkOptions('options', options, ['k', 'kernel']);
  return scanAll(codes, oneQuery(codes, query), given)[0];
}

/** The k nearest codes to each of `queries`; a null query has no neighbours. */
export function scanAll(
  codes: Codes,
  queries: Codes,
  options?: ScanOptions & LongCall,
): Neighbors[] {
  const given = checkOptions('options', options, ['k', 'kernel', ...LONG_CALL]);
  const k = checkK(given.k ?? SCAN_DEFAULTS.k);
  checkQueries(codes, queries);
  return collect(codes, queries, given, () => new Nearest(k, codes.count, codes.bits));
}

/** All codes within `maxDistance` of `query`, by distance, then row. */
export function scanWithin(codes: Codes, query: Uint8Array, options: WithinOptions): Neighbors {
  const given = checkOptions('options', options, ['maxDistance', 'kernel']);
  return scanWithinAll(codes, oneQuery(codes, query), given)[0];
}

/** All codes within `maxDistance` of each of `queries`; a null query has none. */
export function scanWithinAll(
  codes: Codes,
  queries: Codes,
  options: WithinOptions & LongCall,
): Neighbors[] {
  const given = checkOptions('options', options, ['maxDistance', 'kernel', ...LONG_CALL]);
  checkQueries(codes, queries);
  const maxDistance = checkMaxDistance(given.maxDistance, codes.bits);
  return collect(codes, queries, given, () => new Within(maxDistance));
}

/** Runs all queries over the codes. */
function collect(
  codes: Codes,
  queries: Codes,
  options: { kernel?: KernelName } & LongCall,
  collector: () => Collector,
): Neighbors[] {
  checkLongCall(options);
  const hamming = hammingKernel(options.kernel, codes.bytesPerCode);
  const collectors = Array.from({ length: queries.count }, collector);
  const limits = Uint32Array.from(collectors, ({ limit }, row) =>
    queries.isNull(row) ? 0 : limit,
  );
  const take = (query: number, row: number, distance: number) => {
    if (limits[query] === 0 || codes.isNull(row)) return;
    collectors[query].take(row, distance);
    limits[query] = collectors[query].limit;
  };
  const most = Math.max(FIRST_ROWS, Math.floor(STEP_BYTES / codes.bytesPerCode));
  for (let first = 0, rows = FIRST_ROWS; first < codes.count; rows *= 2) {
    options.signal?.throwIfAborted();
    const count = Math.min(rows, most, codes.count - first);
    hamming.hitsOfMany(codes.bytes, first, count, queries.bytes, limits, take);
    first += count;
    options.onProgress?.(first, codes.count);
  }
  return collectors.map((one) => one.result());
}

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
