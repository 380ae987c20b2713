/**
 * Searches by cosine for many queries, in parts that threads share. Threads read the arrays of the
 * index in place; the calling thread looks up the ids of what they found.
 */

import type { Steps } from '../base/steps';
import { inParallel } from '../threads/parallel';
import type { VectorBatch } from '../vectors/vectors';
import type { Rank } from './index-options';
import type { IndexParts } from './index-parts';
import type { Queries } from './query';
import { cosineRequests, rankOf, resultOf, type SearchResult } from './search';
import type { Request } from './search-request';
import { type IndexState, stateOf } from './shared-index';
import { costOf, sizesOf } from './tuning';

export interface SearchState {
  readonly index: IndexState;
  readonly request: Request;
}

export interface SearchPart {
  readonly batch: VectorBatch;
  /** The number of the first query. */
  readonly first: number;
}

/** The answers to the queries of a part, one after another. */
export interface Answers {
  readonly ends: Uint32Array;
  readonly rows: Uint32Array;
  readonly distances: Uint16Array;
  readonly cosines: Float64Array;
  readonly ranks: readonly string[];
}

/** Nanoseconds of a part, about: fewer would be lost among messages. */
const PART_COST = 2 ** 23;
/** Of a search besides what its setting costs: the query itself, and the result. */
const QUERY_COST = 40_000;
/** Most queries of a part. */
const MAX_TOGETHER = 128;

/**
 * The answers to all queries by other threads; null where they cannot help: with a filter of the
 * caller, with explanations, or where rows came or went meanwhile.
 */
export function* searchElsewhere(
  parts: IndexParts,
  { count, slice }: Queries,
  request: Request,
): Steps<SearchResult[] | null> {
  if (slice === undefined || request.filter !== null || request.isExplained) return null;
  const { removals } = parts.ids;
  const { rowCount } = parts.distinctCodes;
  const results: SearchResult[] = [];
  const together = queriesOfPart(parts, request);
  const isDone = yield* inParallel({
    task: { name: 'searching' },
    get state() {
      return { index: stateOf(parts), request };
    },
    count: Math.ceil(count / together),
    part(i) {
      const first = i * together;
      return { batch: slice(first, Math.min(count, first + together)), first };
    },
    take({ ends, rows, distances, cosines, ranks }) {
      for (const [i, end] of ends.entries()) {
        const from = ends[i - 1] ?? 0;
        const found = { rows: rows.slice(from, end), distances: distances.slice(from, end) };
        results.push(resultOf(parts, found, cosines.slice(from, end), ranks[i] as Rank));
      }
      return [results.length, count];
    },
  });
  const isSame = parts.ids.removals === removals && parts.distinctCodes.rowCount === rowCount;
  return isDone && isSame ? results : null;
}

/** How many queries take about PART_COST, by counts of what their searches look at. */
function queriesOfPart(parts: IndexParts, request: Request): number {
  const rank = parts.vectors === null ? 'estimate' : (request.rank ?? 'exact');
  const [setting] = cosineRequests(parts, request, rank as 'estimate' | 'exact');
  const cost = QUERY_COST + costOf(sizesOf(parts), setting);
  return Math.max(1, Math.min(MAX_TOGETHER, Math.round(PART_COST / cost)));
}

/** Whether all that a search of many queries does is by cosine. */
export function isByCosine(parts: IndexParts, queries: Queries, request: Request): boolean {
  if (queries.slice === undefined || request.rank === 'hamming' || queries.count < 2) return false;
  const first = queries.at(0);
  return first !== null && rankOf(parts, first, request) !== 'hamming';
}
