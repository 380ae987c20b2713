/**
 * Searches for many queries, by cosine or by bands, in parts that threads share. Threads read the
 * arrays of the index in place; the calling thread looks up the ids of what they found. Scans by
 * distance are shared code by code in by-distance.ts.
 */

import type { Steps } from '../base/steps';
import { inParallel } from '../threads/parallel';
import type { VectorBatch } from '../vectors/vectors';
import { isScanned } from './by-distance';
import type { Rank } from './index-options';
import type { IndexParts } from './index-parts';
import type { CodesPart, Queries } from './query';
import { cosineRequests, rankOf, resultOf, type SearchResult } from './search';
import type { Request } from './search-request';
import { type IndexState, stateOf } from './shared-index';
import { costOf, sizesOf } from './tuning';

export interface SearchState {
  readonly index: IndexState;
  readonly request: Request;
}

export interface SearchPart {
  readonly batch: VectorBatch | CodesPart;
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
/** Of a unit of the work of bands (bands/band-layout), 45 to 60 on the machine of the bench. */
const BAND_UNIT_COST = 50;
/** Most queries of a part. */
const MAX_TOGETHER = 128;

/**
 * The answers to all queries by other threads; null where they cannot help: with a filter of the
 * caller, with explanations, for scans by distance, or where rows came or went meanwhile. Builds
 * the bands of a search by distance that uses them, if there are none.
 */
export function* searchElsewhere(
  parts: IndexParts,
  queries: Queries,
  request: Request,
): Steps<SearchResult[] | null> {
  const { count, slice } = queries;
  if (count < 2 || request.filter !== null || request.isExplained) return null;
  const first = queries.at(0);
  if (first === null) return null;
  const isByDistance = rankOf(parts, first, request) === 'hamming';
  if (isByDistance) {
    if (request.method === 'partitions' || isScanned(parts, request)) return null;
    yield* parts.bandMethod.prepare(parts.distinctCodes, request);
  } else if (first.sums === null) return null;
  const bands = isByDistance ? parts.bandMethod.stateFor(parts.distinctCodes, request) : null;
  if (isByDistance && bands === null) return null; // the codes were put in another order
  const { removals } = parts.ids;
  const { rowCount } = parts.distinctCodes;
  const results: SearchResult[] = [];
  const cost = bands === null ? cosineCost(parts, request) : bandCost(parts, request);
  const each = Math.round(PART_COST / (QUERY_COST + cost));
  const together = Math.max(1, Math.min(MAX_TOGETHER, each));
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

/** Nanoseconds of a search by cosine, by counts of what it looks at. */
function cosineCost(parts: IndexParts, request: Request): number {
  const rank = parts.vectors === null ? 'estimate' : (request.rank ?? 'exact');
  const [setting] = cosineRequests(parts, request, rank as 'estimate' | 'exact');
  return costOf(sizesOf(parts), setting);
}

function bandCost({ bandMethod, distinctCodes }: IndexParts, request: Request): number {
  return BAND_UNIT_COST * bandMethod.unitsFor(distinctCodes, request);
}
