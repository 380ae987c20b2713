/**
 * Exact similarities of pairs that codes found, from the vectors of their rows: cosines, or Jaccard
 * similarities of sparse rows as sets. Distances only estimate similarities; checked by these, no
 * reported pair is below the similarity that was asked for.
 */

import { wrongType, wrongValue } from '../base/check';
import { runSteps, type Steps } from '../base/steps';
import { type Measure, measureOf } from '../codes/measure';
import { DenseVectors } from '../index/vectors/dense-vectors';
import type { RowVectors } from '../index/vectors/row-vectors';
import { SparseVectors } from '../index/vectors/sparse-vectors';
import { inParallel } from '../threads/parallel';
import { checkFloat32 } from '../vectors/float32';
import {
  checkMatrix,
  type DenseMatrix,
  isDenseMatrix,
  isSparseMatrix,
  type SparseMatrix,
} from '../vectors/vectors';
import { COMPARING, type RowPairs, similaritiesOfRows } from './exact-task';
import type { Rows } from './source';

/** Pairs of a part: some milliseconds of work. */
const PART_PAIRS = 4096;

/**
 * The rows with the vectors of a matrix, copied to float32, one for each row. Throws if there is
 * not one for each, or if values do not fit. An empty sparse row is near to none.
 */
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
  const count = checkMatrix(given);
  if (count !== rowCount) {
    throw wrongValue('vectors', `one for each of ${rowCount} rows`, count);
  }
  const isPresent = (row: number) => !rows.codes.isNull(row);
  runSteps(
    checkFloat32(given, count, (row) => !isPresent(row)),
    {},
  );
  const vectors: RowVectors = isDenseMatrix(given)
    ? new DenseVectors('float32', given.dimensions, rows.kernel)
    : new SparseVectors();
  vectors.append(given, 0, count, isPresent);
  return { ...rows, vectors };
}

/** The measure in which rows can be compared exactly; null without fitting vectors. */
export function exactMeasure({ codes, vectors }: Rows): Measure | null {
  const measure = measureOf(codes.origin?.projection);
  if (vectors === null || (measure.name === 'jaccard' && vectors.kind !== 'sparse')) return null;
  return measure;
}

/** Exact similarities of pairs of rows; fastest where pairs of the same `a` follow each other. */
export function similaritiesOf(
  { name }: Measure,
  both: readonly [Rows, Rows],
  a: Uint32Array,
  b: Uint32Array,
): Float64Array {
  return similaritiesOfRows(name === 'jaccard', vectorsOf(both), ownRows(both, { a, b }));
}

/** The same, in parts that threads share. */
export function* similaritiesInSteps(
  { name }: Measure,
  both: readonly [Rows, Rows],
  { a, b }: RowPairs,
): Steps<Float64Array> {
  const isJaccard = name === 'jaccard';
  const vectors = vectorsOf(both);
  const [left, right] = vectors;
  const found = new Float64Array(a.length);
  yield* inParallel({
    task: COMPARING,
    sharesRows: true,
    get state() {
      return { isJaccard, left: left.state, right: left === right ? null : right.state };
    },
    count: Math.ceil(a.length / PART_PAIRS),
    part(i) {
      const [from, to] = [i * PART_PAIRS, (i + 1) * PART_PAIRS];
      return ownRows(both, { a: a.subarray(from, to), b: b.subarray(from, to) });
    },
    here: (pairs) => ({ found: similaritiesOfRows(isJaccard, vectors, pairs) }),
    take(part, i) {
      found.set(part.found, i * PART_PAIRS);
      return undefined;
    },
  });
  return found;
}

function vectorsOf([left, right]: readonly [Rows, Rows]): readonly [RowVectors, RowVectors] {
  return [left.vectors as RowVectors, right.vectors as RowVectors];
}

/** Pairs of rows as pairs of the rows whose vectors are held, see `Rows.vectorOf`. */
function ownRows([left, right]: readonly [Rows, Rows], { a, b }: RowPairs): RowPairs {
  const own = (rows: Uint32Array, of: Uint32Array | null) => of && rows.map((row) => of[row]);
  return { a: own(a, left.vectorOf) ?? a, b: own(b, right.vectorOf) ?? b };
}
