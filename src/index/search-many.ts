/**
 * The answers to many queries, equal to those of one after another. Scans by distance and searches
 * of partitions take queries together, so that each row is read once for several of them.
 */

import { runSteps, type Steps } from '../base/steps';
import { allNearestByDistance, isScanned } from './by-distance';
import { cosineRequest } from './cosine-request';
import type { IndexParts, Query, SearchParts } from './index-parts';
import type { Weighed } from './partitions/gaps';
import type { Partitions } from './partitions/partitions';
import { paysTogether, weighTogether } from './partitions/together';
import { answer, noResult, ofDistances, rankOf, type SearchResult } from './search';
import { methodError, type Request } from './search-request';

/** Most queries that are taken together. */
const TOGETHER = 256;

/** The answers to queries, null ones having none, one result after the other. */
export function* answers(
  parts: IndexParts,
  queries: { count: number; at(index: number): Query | null },
  request: Request,
): Steps<SearchResult[]> {
  const results: SearchResult[] = [];
  for (let first = 0; first < queries.count; first += TOGETHER) {
    const count = Math.min(TOGETHER, queries.count - first);
    const some = Array.from({ length: count }, (_, i) => queries.at(first + i));
    const ranks = new Set(some.map((query) => query && rankOf(parts, query, request)));
    const rank = count > 1 && ranks.size === 1 ? [...ranks][0] : null;
    if (rank === 'hamming' && isScanned(parts, request)) {
      const together = () => byDistanceTogether(parts, some as Query[], request);
      results.push(...(yield* undisturbed(parts, together)));
      yield [first + count, queries.count];
      continue;
    }
    const { partitions } = parts;
    const { removals } = parts.ids;
    const ahead = rank === 'exact' ? yield* weighed(parts, some as Query[], request) : null;
    for (const [i, query] of some.entries()) {
      // Between two answers rows may be removed, or put in another order.
      const isSame = parts.ids.removals === removals && parts.partitions === partitions;
      const known = (isSame && ahead?.[i]) || null;
      const search = (isAgain: boolean) =>
        answer(parts, query as Query, request, isAgain ? null : known);
      if (query === null) results.push(noResult(parts, request));
      else results.push(yield* undisturbed(parts, search));
      yield [results.length, queries.count];
    }
  }
  return results;
}

/** Repeats a search, in one step, when rows were removed between its steps. */
function* undisturbed<T>({ ids }: SearchParts, search: (isAgain: boolean) => Steps<T>): Steps<T> {
  const { removals } = ids;
  const result = yield* search(false);
  return ids.removals === removals ? result : runSteps(search(true), {});
}

function* byDistanceTogether(
  parts: IndexParts,
  queries: readonly Query[],
  request: Request,
): Steps<SearchResult[]> {
  if (request.method === 'partitions')
    throw methodError('scan', 'bands', 'hamming', request.method);
  const codes = queries.map(({ code }) => code);
  const { distinctCodes } = parts;
  const found = yield* allNearestByDistance(parts, codes, request);
  distinctCodes.noteCompared(codes.length * distinctCodes.count);
  return found.map((rows, i) => ofDistances(parts, queries[i], rows, request));
}

/**
 * What the searches of queries by exact cosine weigh in partitions; null where they do not all
 * begin with as many partitions.
 */
function* weighed(
  parts: IndexParts,
  queries: readonly Query[],
  request: Request,
): Steps<Weighed[] | null> {
  const { filter, isExplained } = request;
  const partitions = parts.partitions as Partitions;
  if (filter !== null || isExplained || !partitions?.residualCodes) return null;
  const { probes, want } = cosineRequest(parts, request, 'exact');
  if (probes === null) return null;
  const visited = Math.min(probes, partitions.count);
  if (!paysTogether(partitions, queries.length, visited)) return null;
  const points = queries.map(({ unit }) => ({
    unit: unit as Float64Array,
    point: partitions.space.queryOf([], unit),
  }));
  return yield* weighTogether(partitions, points, {
    probes: visited,
    ask: want,
  });
}
