/** Exact cosines by the vectors that an index keeps, be they dense or sparse. */

import type { IndexState, Query } from './state';

/** True where vectors are kept. */
export function keepsVectors({ vectors, sparse }: IndexState): boolean {
  return vectors !== null || sparse !== null;
}

/** True when a query is of the shape of the vectors that are kept. */
export function isComparable(
  { vectors, sparse }: IndexState,
  { unit, sparseUnit }: Query,
): boolean {
  return (vectors !== null && unit !== null) || (sparse !== null && sparseUnit !== null);
}

/** The exact cosines of rows with a comparable query. Valid until the next call. */
export function exactCosines(
  { vectors, sparse }: IndexState,
  { unit, sparseUnit }: Query,
  rows: Uint32Array,
): Float64Array {
  if (vectors !== null && unit !== null) return vectors.cosinesOf(rows, unit);
  if (sparse !== null && sparseUnit !== null) return sparse.cosinesOf(rows, sparseUnit);
  throw new Error('the query is not of the shape of the kept vectors');
}
