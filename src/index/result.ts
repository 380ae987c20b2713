/** What searches return, and how it is made of rows, distances and similarities. */

import type { AngleEstimate } from '../codes/angle';
import { JACCARD, type JaccardEstimate, type Measure } from '../codes/measure';
import type { NearRows } from './distance';
import type { Id } from './ids';
import type { Rank, RecallReport } from './index-options';
import type { Request } from './request';
import type { Work } from './searched';
import type { KeptSparseVector } from './vectors/row-vectors';

/** Neighbours, best first; all arrays have one entry a neighbour. */
export interface SearchResult<I extends Id = Id> {
  readonly rows: Uint32Array;
  readonly ids: readonly I[];
  /** Distances of the codes in bits, with rank 'hamming'; else null. */
  readonly distances: Uint16Array | null;
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
  /** What a stored index read while this search ran, others that ran at the same time included. */
  readonly read?: { readonly ranges: number; readonly bytes: number };
  readonly milliseconds: number;
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

/** Rows with their ids, as a result has them. */
interface NamedRows extends Omit<NearRows, 'distances'> {
  readonly ids: readonly Id[];
  readonly distances: Uint16Array | null;
}

/** A result of rows and their similarities, exact with rank 'exact'. */
export function resultOf(
  measure: Measure,
  { rows, ids, distances }: NamedRows,
  similarities: Float64Array,
  rank: Rank,
): SearchResult {
  const [exact, estimated] = rank === 'exact' ? [similarities, null] : [null, similarities];
  if (measure !== JACCARD) {
    return { rows, ids, distances, rank, cosines: exact, estimatedCosines: estimated };
  }
  const none = { cosines: null, estimatedCosines: null };
  return { rows, ids, distances, rank, ...none, jaccards: exact, estimatedJaccards: estimated };
}

/** A result without rows. */
export function emptyResult(measure: Measure, rank: Rank): SearchResult {
  const distances = rank === 'hamming' ? new Uint16Array() : null;
  const none = { rows: new Uint32Array(), ids: [], distances };
  return resultOf(measure, none, new Float64Array(), rank);
}

/** The similarities of a result, exact or estimated. */
export function similaritiesIn(found: SearchResult): Float64Array {
  const { cosines, estimatedCosines, jaccards, estimatedJaccards } = found;
  return (cosines ?? estimatedCosines ?? jaccards ?? estimatedJaccards) as Float64Array;
}

/** The similarities that distances estimate, in their order. */
export function estimatesOf(measure: Measure, distances: Uint16Array, bits: number): Float64Array {
  const estimates = new Float64Array(distances.length);
  for (let i = 0; i < estimates.length; i++) {
    const isSame = i > 0 && distances[i] === distances[i - 1];
    estimates[i] = isSame ? estimates[i - 1] : measure.estimateOf(distances[i], bits);
  }
  return estimates;
}

/** The result with what the search did since `start`, a time of performance.now(). */
export function explained(
  result: SearchResult,
  work: Work,
  start: number,
  how: Pick<Explanation, 'method' | 'why'>,
): SearchResult {
  const { codesCompared, candidates: reranked, probes } = work;
  const milliseconds = performance.now() - start;
  return { ...result, explain: { ...how, codesCompared, reranked, probes, milliseconds } };
}

/** Why a search by cosine used its method. */
export function whyByCosine(
  { method }: Request,
  ran: 'scan' | 'bands' | 'partitions',
  isOfAccepted: boolean,
  report: RecallReport | null,
): string {
  if (method !== 'auto') return 'as asked for';
  if (ran === 'partitions' && report !== null) {
    const { recall, k, truth } = report;
    const found = `${recall.toFixed(3)} of the true ${k} nearest by ${truth}`;
    return `measured by optimize(): finds ${found}`;
  }
  if (isOfAccepted) return 'the filter leaves few rows';
  return report ? 'measured by optimize(): as fast as partitions' : 'not optimized';
}
