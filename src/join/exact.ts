/**
 * Exact similarities of pairs that codes found, from the vectors of their rows: the cosine, or the
 * Jaccard similarity of sparse rows as sets. What codes estimate is checked here, so that what is
 * reported holds no pair below the similarity that was asked for.
 */

import { wrongType, wrongValue } from '../base/check';
import { type Measure, measureOf } from '../codes/measure';
import { DenseVectors } from '../index/vectors/dense-vectors';
import type { RowVectors } from '../index/vectors/row-vectors';
import { SparseVectors } from '../index/vectors/sparse-vectors';
import {
  checkDenseMatrix,
  checkSparseMatrix,
  type DenseMatrix,
  isDenseMatrix,
  isSparseMatrix,
  type SparseMatrix,
} from '../vectors/vectors';
import type { Rows } from './source';

/** The rows with the vectors of a matrix, one a row; an empty sparse row is near to none. */
export function withVectors(
  rows: Rows,
  given: DenseMatrix | SparseMatrix | SparseVectors | undefined,
): Rows {
  if (given === undefined) return rows;
  if (rows.vectors !== null) {
    throw new TypeError('"vectors" are of codes; an index is compared by those that it holds');
  }
  const { count: rowCount } = rows.codes;
  if (given instanceof SparseVectors) {
    if (given.rowCount === rowCount) return { ...rows, vectors: given };
    throw wrongValue('vectors', `one for each of ${rowCount} rows`, given.rowCount);
  }
  if (!isDenseMatrix(given) && !isSparseMatrix(given)) {
    throw wrongType('vectors', 'a dense or sparse matrix', given);
  }
  const count = isDenseMatrix(given) ? checkDenseMatrix(given) : checkSparseMatrix(given);
  if (count !== rowCount) {
    throw wrongValue('vectors', `one for each of ${rowCount} rows`, count);
  }
  const isPresent = (row: number) => !rows.codes.isNull(row);
  const vectors: RowVectors = isDenseMatrix(given)
    ? new DenseVectors('float32', given.dimensions, rows.kernel)
    : new SparseVectors();
  vectors.append(given, 0, count, isPresent);
  return { ...rows, vectors };
}

/** The measure in which rows can be compared exactly; null where they have no fitting vectors. */
export function exactMeasure({ codes, vectors }: Rows): Measure | null {
  const measure = measureOf(codes.origin?.projection);
  if (vectors === null || (measure.name === 'jaccard' && vectors.kind !== 'sparse')) return null;
  return measure;
}

/** Exact similarities of pairs of rows with vectors. Quick where pairs of an `a` adjoin. */
export function similaritiesOf(
  { name }: Measure,
  [left, right]: readonly [Rows, Rows],
  a: Uint32Array,
  b: Uint32Array,
): Float64Array {
  const [ours, theirs] = [left.vectors as RowVectors, right.vectors as RowVectors];
  const one = left.vectorOf === null ? a : a.map((row) => (left.vectorOf as Uint32Array)[row]);
  const other = right.vectorOf === null ? b : b.map((row) => (right.vectorOf as Uint32Array)[row]);
  const found = new Float64Array(a.length);
  if (name === 'jaccard') {
    const [sets, otherSets] = [ours as SparseVectors, theirs as SparseVectors];
    for (let i = 0; i < a.length; i++) found[i] = sets.jaccardOf(one[i], otherSets, other[i]);
    return found;
  }
  for (let from = 0, to = 0; from < a.length; from = to) {
    while (to < a.length && one[to] === one[from]) to++;
    const unit = ours.unitOf(one[from]);
    found.set(theirs.cosinesOf(other.subarray(from, to), unit), from);
  }
  return found;
}
