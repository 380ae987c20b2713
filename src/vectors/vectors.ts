/**
 * The shapes in which vectors come: dense, sparse, and batches of both. Shapes are checked here,
 * values are not: a NaN or an infinity shows in the sums that it makes, and is looked for only
 * then.
 */

import { checkValidity, isValid } from '../base/bitmap';
import { checkAttached, checkInteger, describe, wrongType, wrongValue } from '../base/check';
import { checkedLength } from '../base/length';

/** A value for each dimension. */
export type DenseVector = Float32Array | Float64Array | readonly number[];

/** Entries of one vector, in any order; repeated dimensions are summed. */
export interface SparseVector {
  readonly indices: Indices;
  readonly values: Values;
}

/** One vector in any shape. */
export type Vector = DenseVector | SparseVector;

/** Dimensions: integers from 0 to 2^64 - 1, as bigint from 2^53 on. */
export type Indices =
  | Uint32Array
  | Int32Array
  | BigUint64Array
  | BigInt64Array
  | readonly (number | bigint)[];

/** Values of sparse entries. */
export type Values = Float32Array | Float64Array | readonly number[];

/** Vectors of `dimensions` values, one after another. */
export interface DenseMatrix {
  readonly values: Float32Array | Float64Array;
  readonly dimensions: number;
  /** Arrow's layout: bit r is 0 when row r is null, and its values are not read. */
  readonly validity?: Uint8Array | null;
}

/** Sparse rows, compressed: those of row r lie at `offsets[r]` to `offsets[r + 1]`. */
export interface SparseMatrix {
  readonly offsets: Uint32Array | Int32Array | readonly number[];
  readonly indices: Indices;
  readonly values: Values;
  readonly validity?: Uint8Array | null;
}

/** Rows in any shape; a flat array is cut into rows where the number of dimensions is known. */
export type VectorBatch =
  | DenseMatrix
  | SparseMatrix
  | readonly Vector[]
  | Float32Array
  | Float64Array;

/** By shape alone; the entries are not looked at. */
export function isSparse(vector: unknown): vector is SparseVector {
  return typeof vector === 'object' && vector !== null && 'indices' in vector && 'values' in vector;
}

/** By type alone: an array may hold anything. */
export function isDense(vector: unknown): vector is DenseVector {
  return vector instanceof Float32Array || vector instanceof Float64Array || Array.isArray(vector);
}

/** By shape alone, as `isSparse`. */
export function isSparseMatrix(batch: unknown): batch is SparseMatrix {
  return isSparse(batch) && 'offsets' in batch;
}

/** By shape alone; `checkDenseMatrix` looks at the rest. */
export function isDenseMatrix(batch: unknown): batch is DenseMatrix {
  return typeof batch === 'object' && batch !== null && 'dimensions' in batch && 'values' in batch;
}

/** A dense vector by itself, whose plain numbers are numbers. */
export function checkDenseVector(name: string, vector: unknown): DenseVector {
  if (!isDense(vector)) {
    throw wrongType(name, 'a Float32Array, a Float64Array or an array of numbers', vector);
  }
  if (Array.isArray(vector)) checkNumbers(vector, null);
  return vector;
}

/** What a vector is expected to be, in one place for all messages. */
export function notAVector(name: string, value: unknown): TypeError {
  return wrongType(
    name,
    'a Float32Array, a Float64Array, an array of numbers or { indices, values }',
    value,
  );
}

/** Number of rows of a dense matrix whose shape is sound. */
export function checkDenseMatrix(matrix: DenseMatrix, name = 'matrix'): number {
  if (!isDenseMatrix(matrix)) throw wrongType(name, '{ values, dimensions }', matrix);
  const { values, dimensions } = matrix;
  if (!(values instanceof Float32Array || values instanceof Float64Array)) {
    throw wrongType('values', 'a Float32Array or a Float64Array', values);
  }
  checkAttached('values', values);
  checkInteger('dimensions', dimensions, 1, Number.MAX_SAFE_INTEGER);
  const count = values.length / dimensions;
  if (!Number.isInteger(count)) {
    throw wrongValue('values', `a multiple of ${dimensions} values`, values.length);
  }
  checkValidity(matrix.validity, count);
  return count;
}

/** Lengths of rows from `first` on, 0 for null ones; throws where cosines would be wrong. */
export function lengthsOf(matrix: DenseMatrix, first: number, count: number): Float64Array {
  const { values, dimensions, validity } = matrix;
  const lengths = new Float64Array(count);
  for (let i = 0; i < count; i++) {
    if (!isValid(validity, first + i)) continue;
    const row = first + i;
    const from = row * dimensions;
    lengths[i] = checkedLength(`row ${row}`, values.subarray(from, from + dimensions));
  }
  return lengths;
}

/** Number of rows of a sparse matrix whose shape is sound. */
function checkSparseMatrix(matrix: SparseMatrix): number {
  const { offsets, indices, values } = matrix;
  if (!isList(offsets)) {
    throw wrongType('offsets', 'a Uint32Array, an Int32Array or an array', offsets);
  }
  checkEntries('', indices, values);
  const count = offsets.length - 1;
  if (count < 0) throw wrongValue('offsets', 'one entry more than rows', 'none');
  for (let row = 0; row <= count; row++) {
    const from = row === 0 ? 0 : offsets[row - 1];
    if (Number.isInteger(offsets[row]) && offsets[row] >= from) continue; // no name is built
    checkInteger(`offsets[${row}]`, offsets[row], from, Number.MAX_SAFE_INTEGER);
  }
  if (offsets[count] > indices.length) {
    throw wrongValue('offsets', `at most ${indices.length}, the entries`, offsets[count]);
  }
  checkValidity(matrix.validity, count);
  return count;
}

/** Number of rows of a matrix of either kind whose shape is sound. */
export function checkMatrix(matrix: DenseMatrix | SparseMatrix): number {
  return isDenseMatrix(matrix) ? checkDenseMatrix(matrix) : checkSparseMatrix(matrix);
}

/** One row of a matrix: a view of a dense one, a copy of the entries of a sparse one. */
export function vectorAt(matrix: DenseMatrix | SparseMatrix, row: number): Vector {
  if (isDenseMatrix(matrix)) {
    const { values, dimensions } = matrix;
    return values.subarray(row * dimensions, (row + 1) * dimensions);
  }
  const { offsets, indices, values } = matrix;
  const [from, to] = [offsets[row], offsets[row + 1]];
  return { indices: indices.slice(from, to) as Indices, values: values.slice(from, to) };
}

/** Indices and values of a kind that is known, and as many of one as of the other. */
export function checkEntries(where: string, indices: unknown, values: unknown): void {
  if (!isList(indices)) {
    throw wrongType(`${where}indices`, 'an array or a typed array of integers', indices);
  }
  if (!isDense(values)) {
    throw wrongType(`${where}values`, 'a Float32Array, a Float64Array or an array', values);
  }
  checkAttached(`${where}indices`, indices);
  checkAttached(`${where}values`, values);
  if (indices.length !== values.length) {
    throw wrongValue(`${where}values`, `${indices.length} numbers, one an index`, values.length);
  }
}

function isList(value: unknown): value is { length: number } {
  return Array.isArray(value) || (ArrayBuffer.isView(value) && !(value instanceof DataView));
}

/**
 * A batch as a matrix; matrices and flat arrays are not copied. A flat array needs `dimensions`,
 * the number of values in a row. Shapes are checked by `checkMatrix`.
 */
export function matrixOf(batch: VectorBatch, dimensions?: number): DenseMatrix | SparseMatrix {
  if (isDenseMatrix(batch) || isSparseMatrix(batch)) return batch;
  if (batch instanceof Float32Array || batch instanceof Float64Array) {
    if (dimensions !== undefined) return { values: batch, dimensions };
    throw new TypeError(
      `"batch" is a flat ${describe(batch)} and its number of dimensions is not known: ` +
        'set "dimensions", or pass { values, dimensions }',
    );
  }
  if (!Array.isArray(batch)) {
    throw wrongType(
      'batch',
      '{ values, dimensions }, { offsets, indices, values }, an array of vectors or a flat array',
      batch,
    );
  }
  return batch.length > 0 ? packVectors(batch) : { offsets: [0], indices: [], values: [] };
}

/** Packs an array of vectors, all dense of one width or all sparse, into a matrix. */
export function packVectors(vectors: readonly Vector[]): DenseMatrix | SparseMatrix {
  if (isSparse(vectors[0])) return packSparse(vectors);
  if (!isDense(vectors[0])) throw notAVector('batch[0]', vectors[0]);
  const dimensions = vectors[0].length;
  const isNarrow = vectors.every((vector) => vector instanceof Float32Array);
  const length = vectors.length * dimensions;
  const values = isNarrow ? new Float32Array(length) : new Float64Array(length);
  vectors.forEach((vector, row) => {
    if (!isDense(vector)) {
      throw new TypeError(`row ${row}: expected a dense vector as row 0, got ${describe(vector)}`);
    }
    if (vector.length !== dimensions) {
      throw new RangeError(`row ${row}: expected ${dimensions} dimensions, got ${vector.length}`);
    }
    if (Array.isArray(vector)) checkNumbers(vector, row);
    // A detached array has no values: its shape is refused later.
    if (dimensions > 0) values.set(vector as ArrayLike<number>, row * dimensions);
  });
  return { values, dimensions };
}

function packSparse(vectors: readonly Vector[]): SparseMatrix {
  const offsets = [0];
  const indices: (number | bigint)[] = [];
  const values: number[] = [];
  vectors.forEach((vector, row) => {
    if (!isSparse(vector)) {
      throw new TypeError(`row ${row}: expected { indices, values }, got ${describe(vector)}`);
    }
    checkEntries(`row ${row}: `, vector.indices, vector.values);
    for (const index of vector.indices) indices.push(index);
    for (const value of vector.values) values.push(value);
    offsets.push(indices.length);
  });
  return { offsets, indices, values };
}

/** A plain array may hold anything; typed arrays would turn it into NaN. */
export function checkNumbers(values: readonly unknown[], row: number | null): void {
  for (let i = 0; i < values.length; i++) {
    if (typeof values[i] === 'number') continue;
    const where = row === null ? '' : `row ${row}: `;
    throw new TypeError(`${where}expected a number at position ${i}, got ${describe(values[i])}`);
  }
}
