/**
 * From a checked request to the result of one query: picks the method, runs it, ranks, and reports
 * the work.
 */

import type { Steps } from '../base/steps';
import type { AngleEstimate } from '../codes/angle';
import { JACCARD, type JaccardEstimate } from '../codes/measure';
import type { BuiltBands } from './bands/band-method';
import { nearestByDistance, type RowsByDistance } from './by-distance';
import { findCandidates } from './candidates';
import { cosineRequest } from './cosine-request';
import type { Id } from './id-table';
import type { Rank } from './index-options';
import type { IndexParts, Query, SearchParts } from './index-parts';
import type { Weighed } from './partitions/gaps';
import { bestByCosine, exactBest, type Ranked, ranked, type Work } from './re-rank';
import { methodError, type Request } from './search-request';
import type { KeptSparseVector } from './vectors/row-vectors';

/** Neighbours, best first; all arrays have one entry a neighbour. */
export interface SearchResult<I extends Id = Id> {
  readonly rows: Uint32Array;
  readonly ids: readonly I[];
  readonly distances: Uint16Array;
  /** Exact cosines of the held vectors, with rank 'exact'; else null. */
  readonly cosines: Float64Array | null;
  /** Cosines estimated from weights or from the distance, with another rank; else null. */
  readonly estimatedCosines: Float64Array | null;
  /** In place of both, of an index by projection 'minwise': Jaccard similarities of held sets. */
  readonly jaccards?: Float64Array | null;
  readonly estimatedJaccards?: Float64Array | null;
  readonly rank: Rank;
  readonly explain?: Explanation;
}

/** What a search did, and how long it took. */
export interface Explanation {
  readonly method: 'scan' | 'bands' | 'partitions';
  readonly why: string;
  readonly codesCompared: number;
  /** Rows ranked by cosine. */
  readonly reranked: number;
  /** Partitions visited. */
  readonly probes: number;
  /** The bands that this search built, once for all that follow; null otherwise. */
  readonly built: BuiltBands | null;
  /** What a stored index read while this search ran, others that ran at the same time included. */
  readonly read?: { readonly ranges: number; readonly bytes: number };
  /** Milliseconds to find candidates, and to rank them. */
  readonly milliseconds: { readonly find: number; readonly rank: number };
}

/** A row as the index holds it. */
export interface IndexRow<I extends Id = Id> {
  readonly row: number;
  readonly id: I;
  /** Null where the row is null. */
  readonly code: Uint8Array | null;
  /** The held vector; null where there is none. */
  readonly vector: Float32Array | KeptSparseVector | null;
}

/** Two rows compared. */
export interface Comparison {
  readonly distance: number;
  /** Numbers are NaN with projection 'minwise'. */
  readonly estimate: AngleEstimate;
  /** Of the held vectors; null where there are none, and with projection 'minwise'. */
  readonly cosine: number | null;
  /** With projection 'minwise': the estimate, and the similarity of the sets that are held. */
  readonly jaccard?: JaccardEstimate & { readonly exact: number | null };
}

/** The best rank that an index can give a query. */
function bestRank(parts: SearchParts, query: Query): Rank {
  if (query.sums === null) return 'hamming';
  return parts.canCompare(query) ? 'exact' : 'estimate';
}

/** The similarities of a result, exact or estimated. */
export function similaritiesOf(found: SearchResult): Float64Array {
  const { cosines, estimatedCosines, jaccards, estimatedJaccards } = found;
  return (cosines ?? estimatedCosines ?? jaccards ?? estimatedJaccards) as Float64Array;
}

/** The rank of a query, by default the best; throws where it cannot be compared with vectors. */
export function rankOf(parts: SearchParts, query: Query, { rank }: Request): Rank {
  if (rank === 'exact' && !parts.canCompare(query)) {
    const shape = parts.vectors?.kind === 'sparse' ? 'sparse' : 'dense';
    throw new TypeError(`rank 'exact' needs a ${shape} vector as query`);
  }
  return rank ?? bestRank(parts, query);
}

/** The answer to a null query: no rows, of the rank that others would have. */
export function noResult(parts: SearchParts, { rank }: Request): SearchResult {
  const none = { rows: new Uint32Array(), distances: new Uint16Array() };
  const own = parts.measure === JACCARD ? 'hamming' : parts.vectors ? 'exact' : 'estimate';
  return resultOf(parts, none, new Float64Array(), rank ?? own);
}

/** The answer to one query; `ahead` is what a search by cosine weighs first, where it is known. */
export function* answer(
  parts: IndexParts,
  query: Query,
  request: Request,
  ahead: Weighed | null = null,
): Steps<SearchResult> {
  const rank = rankOf(parts, query, request);
  const work: Work = { codesCompared: 0, candidates: 0, probes: 0 };
  const { distinctCodes } = parts;
  const result =
    rank === 'hamming'
      ? yield* byDistance(parts, query, request, work)
      : yield* byCosine(parts, query, request, { rank, work, ahead });
  distinctCodes.noteCompared(work.codesCompared);
  return result;
}

function* byCosine(
  parts: IndexParts,
  query: Query,
  request: Request,
  { rank, work, ahead }: { rank: 'estimate' | 'exact'; work: Work; ahead: Weighed | null },
): Steps<SearchResult> {
  const start = performance.now();
  const asked = cosineRequest(parts, request, rank);
  const candidates = yield* findCandidates(parts, query, asked, work, ahead);
  const found = performance.now();
  const best =
    rank === 'exact'
      ? yield* exactBest(parts, query, candidates, asked.k, work)
      : ranked(candidates, asked.k);
  return cosineResult(parts, query, { request, rank, best, work, start, found });
}

/** What a search by cosine found, and when: began, had candidates. */
interface FoundByCosine {
  readonly request: Request;
  readonly rank: 'estimate' | 'exact';
  readonly best: Ranked;
  readonly work: Work;
  readonly start: number;
  readonly found: number;
}

/**
 * The result of the best rows by cosine, with distances from the held codes; explained if asked.
 */
export function cosineResult(
  parts: SearchParts,
  query: Query,
  { request, rank, best, work, start, found }: FoundByCosine,
): SearchResult {
  const { rows, cosines } = best;
  const distances = parts.distinctCodes.distancesOf(rows, query.code);
  const result = resultOf(parts, { rows, distances }, cosines, rank);
  if (!request.isExplained) return result;
  const method = work.probes > 0 ? 'partitions' : 'scan';
  const how = { method, built: null, why: whyOf(parts, request, method) } as const;
  return explained(result, how, work, start, found);
}

function whyOf(parts: SearchParts, { method, filter }: Request, ran: string): string {
  if (method !== 'auto') return 'as asked for';
  if (ran === 'partitions' && parts.report !== null) {
    const { recall, k, truth } = parts.report;
    const which = truth === 'given' ? 'given' : `true ${k} nearest by ${truth}`;
    return `measured by optimize(): finds ${recall.toFixed(3)} of the ${which}`;
  }
  if (filter?.rows && parts.partitions !== null) return 'the filter leaves few rows';
  return parts.report ? 'measured by optimize(): as fast as partitions' : 'not optimized';
}

function* byDistance(
  parts: IndexParts,
  query: Query,
  request: Request,
  work: Work,
): Steps<SearchResult> {
  if (request.method === 'partitions')
    throw methodError('scan', 'bands', 'hamming', request.method);
  const start = performance.now();
  const found = yield* nearestByDistance(parts, query.code, request, work);
  const foundAt = performance.now();
  const result = ofDistances(parts, query, found.rows, request, work);
  if (!request.isExplained) return result;
  const { method, why, built } = found;
  return explained(result, { method, why, built }, work, start, foundAt);
}

/**
 * The result of rows by distance, or by exact similarity of those that reach the least; callers may
 * know the similarities.
 */
export function ofDistances(
  parts: SearchParts,
  query: Query,
  found: RowsByDistance,
  { least }: Request,
  work?: Work,
  known?: Float64Array,
): SearchResult {
  if (least === null) return byEstimate(parts, found);
  if (parts.canCompare(query)) {
    const all = known ?? parts.exactSimilarities(query, found.rows);
    if (work !== undefined) work.candidates = found.rows.length;
    const near = found.rows.filter((_, i) => all[i] >= least);
    const own = all.filter((similarity) => similarity >= least);
    const { rows, cosines } = bestByCosine(near, own, near.length);
    const distances = parts.distinctCodes.distancesOf(rows, query.code);
    return resultOf(parts, { rows, distances }, cosines, 'exact');
  }
  let count = 0;
  const { rows, distances } = found;
  const { estimateOf } = parts.measure;
  while (count < rows.length && estimateOf(distances[count], parts.bits) >= least) count++;
  const near = { rows: rows.slice(0, count), distances: distances.slice(0, count) };
  return byEstimate(parts, near);
}

function byEstimate(parts: SearchParts, found: RowsByDistance): SearchResult {
  const { distances } = found;
  const { estimateOf } = parts.measure;
  const estimates = new Float64Array(distances.length);
  for (let i = 0; i < estimates.length; i++) {
    const isSame = i > 0 && distances[i] === distances[i - 1];
    estimates[i] = isSame ? estimates[i - 1] : estimateOf(distances[i], parts.bits);
  }
  return resultOf(parts, found, estimates, 'hamming');
}

/** A result with the ids of its rows. */
export function resultOf(
  parts: SearchParts,
  { rows, distances }: RowsByDistance,
  similarities: Float64Array,
  rank: Rank,
): SearchResult {
  const ids: Id[] = [];
  for (let i = 0; i < rows.length; i++) ids.push(parts.ids.idOf(rows[i]));
  const [exact, estimated] = rank === 'exact' ? [similarities, null] : [null, similarities];
  if (parts.measure !== JACCARD) {
    return { rows, ids, distances, rank, cosines: exact, estimatedCosines: estimated };
  }
  const none = { cosines: null, estimatedCosines: null };
  return { rows, ids, distances, rank, ...none, jaccards: exact, estimatedJaccards: estimated };
}

/** A result with its explanation; `start` and `found` are times of performance.now(). */
export function explained(
  result: SearchResult,
  how: Pick<Explanation, 'method' | 'why' | 'built'>,
  work: Work,
  start: number,
  found: number,
): SearchResult {
  const milliseconds = { find: found - start, rank: performance.now() - found };
  const { codesCompared, candidates: reranked, probes } = work;
  return { ...result, explain: { ...how, codesCompared, reranked, probes, milliseconds } };
}
