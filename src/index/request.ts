/**
 * The options of `search` and `within` as one checked request, of an index wherever its rows are;
 * and how candidates are found for it: as `optimize` chose, or as the caller says.
 */

import { checkMaxDistance, wrongValue } from '../base/check';
import { checkLeast, distanceToSearch, JACCARD } from '../codes/measure';
import { checkFilter, type RowFilter } from './filter';
import type { Id } from './ids';
import {
  type IndexWithinOptions,
  type Method,
  type Rank,
  type RecallReport,
  SEARCH_DEFAULTS,
  type SearchOptions,
} from './index-options';
import type { Query, QueryParts } from './query-parts';
import type { Setting } from './search';
import type { Searched } from './searched';

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

/** What a request is checked against: what makes the queries of an index, and its rows. */
export interface RequestedIndex {
  readonly parts: QueryParts;
  /** What a search reads now. */
  searched(): Searched;
  /** Calls a user's filter for a row, and refuses changes of the index meanwhile. */
  accepts(filter: (id: Id, row: number) => unknown, row: number): boolean;
}

/** Checks the options of `search`. */
export function searchRequest(index: RequestedIndex, given: SearchOptions<never>): Request {
  const { oversample, probes } = given;
  const { parts } = index;
  const { k, method, rank = null } = { ...SEARCH_DEFAULTS, ...given };
  if (parts.measure === JACCARD && rank !== null && rank !== 'hamming') {
    throw wrongValue('rank', `'hamming' with projection 'minwise'`, rank);
  }
  if (rank === 'exact' && parts.vectors === null) {
    throw new Error(`rank 'exact' needs vectors: make the index with "vectors"`);
  }
  if (method === 'partitions' && index.searched().space === null) {
    throw new Error(`method 'partitions' needs an index of some size after optimize()`);
  }
  return {
    k,
    maxDistance: parts.bits,
    least: null,
    rank,
    method,
    oversample: oversample ?? null,
    probes: probes ?? null,
    filter: checkFilter(given.filter, (filter, row) => index.accepts(filter, row)),
    isExplained: given.explain === true,
  };
}

/** Checks the options of `within`: a search by distance for all rows, so k has no limit. */
export function withinRequest(index: RequestedIndex, given: IndexWithinOptions<never>): Request {
  return {
    k: Number.MAX_SAFE_INTEGER,
    ...reachOf(index.parts, given),
    rank: 'hamming',
    method: given.method ?? 'auto',
    oversample: null,
    probes: null,
    filter: checkFilter(given.filter, (filter, row) => index.accepts(filter, row)),
    isExplained: given.explain === true,
  };
}

/** The distance to search, and the lowest similarity by which found rows are filtered. */
function reachOf(
  { bits, hasher, vectors }: QueryParts,
  { maxDistance, ...given }: IndexWithinOptions<never>,
): Pick<Request, 'maxDistance' | 'least'> {
  const asked = checkLeast(given, hasher.projection);
  if (maxDistance !== undefined) {
    return { maxDistance: checkMaxDistance(maxDistance, bits), least: asked?.least ?? null };
  }
  if (asked === undefined) {
    throw new TypeError('within() needs "maxDistance", "minCosine" or "minJaccard"');
  }
  const codes = { bits, isVerified: vectors !== null };
  return { maxDistance: distanceToSearch(asked, codes), least: asked.least };
}

/** The rank of a query, by default the best; throws where it cannot be compared with vectors. */
export function rankOf(parts: QueryParts, query: Query, { rank }: Request): Rank {
  if (rank === 'exact' && !parts.canCompare(query)) {
    const shape = parts.vectors?.kind === 'sparse' ? 'sparse' : 'dense';
    throw new TypeError(`rank 'exact' needs a ${shape} vector as query`);
  }
  if (rank !== null) return rank;
  if (parts.measure !== JACCARD && parts.canCompare(query)) return 'exact';
  return query.sums === null ? 'hamming' : 'estimate';
}

/** The rank of the answer to a query that has no direction. */
export function rankOfNone({ measure, vectors }: QueryParts, { rank }: Request): Rank {
  const own = measure === JACCARD ? 'hamming' : vectors === null ? 'estimate' : 'exact';
  return rank ?? own;
}

/** Throws for a method that searches by distance do not have. */
export function methodByDistance({ method }: Request): 'auto' | 'scan' | 'bands' {
  if (method === 'partitions') throw methodError('scan', 'bands', 'hamming', method);
  return method;
}

/**
 * Standard errors by which an estimate must fall short where exact ranking ends. With 2 in place of
 * 4, half as many rows are ranked at a recall of .99 and .0004 less is found (GloVe), but a search
 * that visits everything misses a row now and then; with 3 none is missed in the model test.
 */
export const MARGIN = 3;

/** How candidates of a search by cosine are found in an index of so many rows. */
export function settingOf(
  { method, k, oversample, probes }: Pick<Request, 'method' | 'k' | 'oversample' | 'probes'>,
  rank: 'estimate' | 'exact',
  { report, partitions, rows }: { report: RecallReport | null; partitions: number; rows: number },
): Setting & { readonly k: number } {
  if (method === 'bands') throw methodError('scan', 'partitions', rank, method);
  const most = Math.max(1, Math.min(k, rows));
  // Partitions that optimize() found no faster than a scan are searched only when asked for.
  const isAuto = method === 'auto' && report?.method !== 'scan';
  const isPartitioned = partitions > 0 && (method === 'partitions' || isAuto);
  const measured = report?.method === (isPartitioned ? 'partitions' : 'scan') ? report : null;
  const times = oversample ?? measured?.oversample ?? SEARCH_DEFAULTS.oversample;
  // A search for fewer neighbours than were measured ranks as many candidates, to find as much.
  const ranked = oversample === null && measured !== null ? Math.max(most, measured.k) : most;
  const want = Math.min(Math.ceil(times * ranked), Math.max(most, rows));
  return {
    k: most,
    probes: isPartitioned ? (probes ?? measured?.probes ?? SEARCH_DEFAULTS.probes) : null,
    want: rank === 'exact' ? want : most,
    margin: MARGIN,
  };
}

/** The error for a method that a rank does not have. */
function methodError(a: string, b: string, rank: Rank, method: Method): RangeError {
  return wrongValue('method', `'auto', '${a}' or '${b}' with rank '${rank}'`, method);
}
