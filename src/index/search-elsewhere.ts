/**
 * Searches for many queries, by cosine or by bands, on other threads, some queries a part. Threads
 * read the arrays of the index in place; the calling thread looks up ids. Scans by distance are
 * shared in by-distance.ts, some codes a part.
 */

import type { Steps } from '../base/steps';
import { inParallel } from '../threads/parallel';
import type { VectorBatch } from '../vectors/vectors';
import { isScanned } from './by-distance';
import { cosineRequest } from './cosine-request';
import type { Rank } from './index-options';
import type { IndexParts } from './index-parts';
import type { CodesPart, Queries } from './query';
import { rankOf, resultOf, type SearchResult } from './search';
import type { Request } from './search-request';
import { type IndexState, stateOf } from './shared-index';
import { workOf } from './tuning';

/** What a thread opens a job with. */
export interface SearchState {
  readonly index: IndexState;
  readonly request: Request;
}

/** Some queries, in the form in which the caller gave them. */
export interface SearchPart {
  readonly batch: VectorBatch | CodesPart;
  /** Position of the first query in the batch, for error messages. */
  readonly first: number;
}

/** The answers to the queries of a part, one after another: those of query i end at `ends[i]`. */
export interface Answers {
  readonly ends: Uint32Array;
  readonly rows: Uint32Array;
  readonly distances: Uint16Array;
  readonly cosines: Float64Array;
  readonly ranks: readonly string[];
}

/** Entries that the searches of a part score: some milliseconds, far more than a message takes. */
const PART_ENTRIES = 2 ** 20;
/** Entries that take as long as making a query and its result (bench/threads.mjs). */
const QUERY_ENTRIES = 2 ** 13;

/**
 * The answers to all queries by other threads; null, to be done by the caller, where threads cannot
 * help: with a filter or explanations, for scans by distance, without threads, or where rows were
 * added or removed meanwhile. Builds the bands of a search by bands if there are none.
 */
export function* searchElsewhere(
  parts: IndexParts,
  queries: Queries,
  request: Request,
): Steps<SearchResult[] | null> {
  const { count, slice } = queries;
  if (count < 2 || request.filter !== null || request.isExplained) return null;
  // The first query stands for all: others of the batch have the same form.
  const first = queries.at(0);
  if (first === null) return null;
  const rank = rankOf(parts, first, request);
  const isByDistance = rank === 'hamming';
  if (isByDistance) {
    if (request.method === 'partitions' || isScanned(parts, request)) return null;
    yield* parts.bandMethod.prepare(parts.distinctCodes, request);
  } else if (first.sums === null) return null;
  const bands = isByDistance ? parts.bandMethod.stateFor(parts.distinctCodes) : null;
  if (isByDistance && bands === null) return null; // the codes were put in another order
  const { removals } = parts.ids;
  const { rowCount } = parts.distinctCodes;
  const results: SearchResult[] = [];
  const entries = isByDistance ? 0 : workOf(parts, cosineRequest(parts, request, rank));
  const together = Math.max(1, Math.round(PART_ENTRIES / (QUERY_ENTRIES + entries)));
  const isDone = yield* inParallel({
    task: { name: 'searching' },
    get state() {
      return { index: stateOf(parts, bands), request };
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
