/**
 * Turns the options of `search` and `within` into one checked `Request`, or throws before anything
 * is searched. What depends on the query too is checked in search.ts.
 */

import {
  checkInteger,
  checkK,
  checkMaxDistance,
  checkNumber,
  checkOneOf,
  wrongValue,
} from '../base/check';
import { checkLeast, distanceToSearch, JACCARD } from '../codes/measure';
import { checkFilter, type RowFilter } from './filter';
import {
  type IndexWithinOptions,
  METHODS,
  type Method,
  RANKS,
  type Rank,
  SEARCH_DEFAULTS,
  type SearchOptions,
} from './index-options';
import type { SearchParts } from './index-parts';

/** A checked search; options that were not given are null. */
export interface Request {
  readonly k: number;
  /** Largest distance in bits, inclusive; all bits for `search`. */
  readonly maxDistance: number;
  /** Lowest similarity, exact or, for a query that cannot be compared, estimated; null for any. */
  readonly least: number | null;
  readonly rank: Rank | null;
  readonly method: Method;
  readonly oversample: number | null;
  readonly probes: number | null;
  readonly filter: RowFilter | null;
  readonly isExplained: boolean;
}

/** Checks the options of `search` against what the index holds. */
export function searchRequest(parts: SearchParts, given: SearchOptions<never>): Request {
  const { oversample, probes } = given;
  const method = checkOneOf('method', given.method ?? SEARCH_DEFAULTS.method, METHODS);
  const rank = given.rank === undefined ? null : checkOneOf('rank', given.rank, RANKS);
  if (parts.measure === JACCARD && rank !== null && rank !== 'hamming') {
    throw wrongValue('rank', `'hamming' with projection 'minwise'`, rank);
  }
  if (rank === 'exact' && parts.vectors === null) {
    throw new Error(`rank 'exact' needs vectors: make the index with "vectors"`);
  }
  if (method === 'partitions' && parts.partitions === null) {
    throw new Error(`method 'partitions' needs an index of some size after optimize()`);
  }
  return {
    k: checkK(given.k ?? SEARCH_DEFAULTS.k),
    ...{ maxDistance: parts.bits, least: null },
    rank,
    method,
    oversample: oversample === undefined ? null : checkNumber('oversample', oversample, 1, 2 ** 32),
    probes: probes === undefined ? null : checkInteger('probes', probes, 1, 2 ** 32),
    filter: checkFilter(given.filter, (filter, row) => parts.accepts(filter, row)),
    isExplained: given.explain === true,
  };
}

/** Checks the options of `within`: a search by distance for all rows, so k has no limit. */
export function withinRequest(parts: SearchParts, given: IndexWithinOptions<never>): Request {
  return {
    k: Number.MAX_SAFE_INTEGER,
    ...reachOf(parts, given),
    rank: 'hamming',
    method: checkOneOf('method', given.method ?? 'auto', ['auto', 'scan', 'bands']),
    oversample: null,
    probes: null,
    filter: checkFilter(given.filter, (filter, row) => parts.accepts(filter, row)),
    isExplained: given.explain === true,
  };
}

/** The distance to search, and the lowest similarity by which found rows are filtered. */
function reachOf(
  parts: SearchParts,
  { maxDistance, ...given }: IndexWithinOptions<never>,
): Pick<Request, 'maxDistance' | 'least'> {
  const { bits } = parts;
  const asked = checkLeast(given, parts.hasher.projection);
  if (maxDistance !== undefined) {
    return { maxDistance: checkMaxDistance(maxDistance, bits), least: asked?.least ?? null };
  }
  if (asked === undefined) {
    throw new TypeError('within() needs "maxDistance", "minCosine" or "minJaccard"');
  }
  const codes = { bits, isCentred: parts.mean !== null, isVerified: parts.vectors !== null };
  return { maxDistance: distanceToSearch(asked, codes), least: asked.least };
}

/** The error for a method that a rank does not have. */
export function methodError(a: string, b: string, rank: Rank, method: Method): RangeError {
  return wrongValue('method', `'auto', '${a}' or '${b}' with rank '${rank}'`, method);
}
