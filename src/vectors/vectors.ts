/**
 * The shapes of vectors that callers may pass: dense, sparse, and batches of both. Shapes are
 * checked here, numbers are not: a NaN or an infinity makes a sum that is not finite, and only then
 * is it searched for. Lengths and cosines are correct where squares leave the range of float64 too.
 */

import { checkValidity, isValid } from '../base/arrays';
import {
  checkAttached,
  checkInteger,
  checkOptions,
  checkText,
  describe,
  wrongType,
  wrongValue,
} from '../base/check';

/** One value for each dimension. */
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

/** Vectors of `dimensions` values each, one after another. */
export interface DenseMatrix {
  readonly values: Float32Array | Float64Array;
  readonly dimensions: number;
  /** Arrow's layout: bit r is 0 when row r is null, and its values are not read. */
  readonly validity?: Uint8Array | null;
}

/** Compressed sparse rows: row r has the entries `offsets[r]` to `offsets[r + 1] - 1`. */
export interface SparseMatrix {
  readonly offsets: Uint32Array | Int32Array | readonly number[];
  readonly indices: Indices;
  readonly values: Values;
  readonly validity?: Uint8Array | null;
}

/** Rows in any shape. */
export type VectorBatch = DenseMatrix | SparseMatrix | readonly Vector[];

/** Decides by the names of the fields; does not check their types. */
export function isSparse(vector: unknown): vector is SparseVector {
  return typeof vector === 'object' && vector !== null && 'indices' in vector && 'values' in vector;
}

/** Decides by the type of the array; a plain array may contain anything. */
export function isDense(vector: unknown): vector is DenseVector {
  return vector instanceof Float32Array || vector instanceof Float64Array || Array.isArray(vector);
}

/** Decides by the names of the fields, as `isSparse` does. */
export function isSparseMatrix(batch: unknown): batch is SparseMatrix {
  return isSparse(batch) && 'offsets' in batch;
}

/** Decides by the names of the fields; `checkDenseMatrix` checks the rest. */
export function isDenseMatrix(batch: unknown): batch is DenseMatrix {
  return typeof batch === 'object' && batch !== null && 'dimensions' in batch && 'values' in batch;
}

/** Checks the argument `name`: a dense vector, and if it is a plain array, of numbers only. */
export function checkDenseVector(name: string, vector: unknown): DenseVector {
  if (!isDense(vector)) {
    throw wrongType(name, 'a Float32Array, a Float64Array or an array of numbers', vector);
  }
  if (Array.isArray(vector)) checkNumbers(vector, null);
  return vector;
}

/** The error for an argument that is no vector of any shape. */
export function notAVector(name: string, value: unknown): TypeError {
  return wrongType(
    name,
    'a Float32Array, a Float64Array, an array of numbers or { indices, values }',
    value,
  );
}

/** Checks the shape of a dense matrix; returns its number of rows. */
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

/**
 * Euclidean lengths of `count` rows from `first` on, 0 for null ones. Throws for a row that is not
 * finite, or whose length is out of the range in which cosines are precise.
 */
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

/**
 * Checks the shape of a sparse matrix, offsets that never fall included; returns its number of
 * rows. Does not check the items of plain arrays.
 */
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
    if (Number.isInteger(offsets[row]) && offsets[row] >= from) continue; // builds no name
    checkInteger(`offsets[${row}]`, offsets[row], from, Number.MAX_SAFE_INTEGER);
  }
  if (offsets[count] > indices.length) {
    throw wrongValue('offsets', `at most ${indices.length}, the entries`, offsets[count]);
  }
  checkValidity(matrix.validity, count);
  return count;
}

/** Checks the shape of a matrix of either kind; returns its number of rows. */
export function checkMatrix(matrix: DenseMatrix | SparseMatrix): number {
  return isDenseMatrix(matrix) ? checkDenseMatrix(matrix) : checkSparseMatrix(matrix);
}

/** One row of a matrix: a view of a dense row, a copy of a sparse one. Ignores validity. */
export function vectorAt(matrix: DenseMatrix | SparseMatrix, row: number): Vector {
  if (isDenseMatrix(matrix)) {
    const { values, dimensions } = matrix;
    return values.subarray(row * dimensions, (row + 1) * dimensions);
  }
  const { offsets, indices, values } = matrix;
  const [from, to] = [offsets[row], offsets[row + 1]];
  return { indices: indices.slice(from, to) as Indices, values: values.slice(from, to) };
}

/**
 * Checks the types of indices and values, and that there are as many of one as of the other.
 * `where` begins the names in errors.
 */
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
 * A batch as a matrix. Matrices are not copied, arrays of vectors are. `checkMatrix` must then
 * check the shape.
 */
export function matrixOf(
  batch: VectorBatch,
  dimensions: number | undefined,
): DenseMatrix | SparseMatrix {
  if (isDenseMatrix(batch) || isSparseMatrix(batch)) return batch;
  if (!Array.isArray(batch)) {
    throw wrongType(
      'batch',
      '{ values, dimensions }, { offsets, indices, values } or an array of vectors',
      batch,
    );
  }
  if (batch.length > 0) return packVectors(batch, dimensions);
  return { offsets: [0], indices: [], values: [] };
}

/**
 * Copies an array of vectors, all dense of one width or all sparse, into a matrix. It is of float32
 * if all vectors are Float32Arrays, else of float64. The width is `dimensions`, else the first's.
 */
export function packVectors(
  vectors: readonly Vector[],
  dimensions = (vectors[0] as DenseVector)?.length,
): DenseMatrix | SparseMatrix {
  if (isSparse(vectors[0])) return packSparse(vectors);
  if (!isDense(vectors[0])) throw notAVector('batch[0]', vectors[0]);
  const isNarrow = vectors.every((vector) => vector instanceof Float32Array);
  const length = vectors.length * dimensions;
  const values = isNarrow ? new Float32Array(length) : new Float64Array(length);
  // Not by `forEach`, which passes over what is missing in an array.
  for (const [row, vector] of vectors.entries()) {
    if (!isDense(vector)) {
      throw new TypeError(`row ${row}: expected a dense vector as row 0, got ${describe(vector)}`);
    }
    if (vector.length !== dimensions) {
      throw new RangeError(`row ${row}: expected ${dimensions} dimensions, got ${vector.length}`);
    }
    if (Array.isArray(vector)) checkNumbers(vector, row);
    // A detached array has width 0; `checkMatrix` refuses a matrix of that width.
    if (dimensions > 0) values.set(vector as ArrayLike<number>, row * dimensions);
  }
  return { values, dimensions };
}

/** Copies sparse vectors into plain arrays: of one type, whatever the types of the vectors. */
function packSparse(vectors: readonly Vector[]): SparseMatrix {
  const offsets = [0];
  const indices: (number | bigint)[] = [];
  const values: number[] = [];
  for (const [row, vector] of vectors.entries()) {
    if (!isSparse(vector)) {
      throw new TypeError(`row ${row}: expected { indices, values }, got ${describe(vector)}`);
    }
    checkEntries(`row ${row}: `, vector.indices, vector.values);
    for (const index of vector.indices) indices.push(index);
    for (const value of vector.values) values.push(value);
    offsets.push(indices.length);
  }
  return { offsets, indices, values };
}

/**
 * Throws unless all items of a plain array are numbers: copied to a typed array, others would
 * become NaN or another number. `row` is for the message.
 */
export function checkNumbers(values: readonly unknown[], row: number | null): void {
  for (let i = 0; i < values.length; i++) {
    if (typeof values[i] === 'number') continue;
    const where = row === null ? '' : `row ${row}: `;
    throw new TypeError(`${where}expected a number at position ${i}, got ${describe(values[i])}`);
  }
}

/** True for a sum of squares far from both ends of float64: its root is a precise length. */
export const isUsualSum = (sum: number): boolean => sum > 1e-280 && sum < 1e280;

/** Room for the values of one vector. */
const wide = new Float64Array(4096);

/** Values as float64, until the next call: loops over arrays of many types take far longer. */
function widened(values: ArrayLike<number>): Float64Array {
  if (values instanceof Float64Array) return values;
  if (values.length > wide.length) return Float64Array.from(values);
  if (values.length > 0) wide.set(values); // which a detached array refuses
  return wide;
}

/**
 * The length of a vector, also where the squares of its values overflow or vanish and they do not.
 * NaN or Infinity if a value is not finite. Squares are added in the order of the values.
 */
export function lengthOf(vector: ArrayLike<number>): number {
  const { length } = vector;
  const values = widened(vector);
  let sum = 0;
  for (let i = 0; i < length; i++) sum += values[i] * values[i];
  if (isUsualSum(sum)) return Math.sqrt(sum);
  let largest = 0;
  for (let i = 0; i < length; i++) largest = Math.max(largest, Math.abs(values[i]));
  if (largest === 0 || !Number.isFinite(largest)) return largest;
  sum = 0; // of the squares in units of the largest value: from 1 to their number
  for (let i = 0; i < length; i++) sum += (values[i] / largest) ** 2;
  return largest * Math.sqrt(sum);
}

/** A copy of a vector divided by its length, which is not 0. */
export function quotientsOf(vector: ArrayLike<number>, length: number): Float64Array {
  const values = new Float64Array(vector.length);
  values.set(vector);
  for (let i = 0; i < values.length; i++) values[i] /= length;
  return values;
}

/**
 * The length of a vector that cosines are computed of: 0, or in 1e-300..1e300, where quotients by
 * it keep the precision of float64. Throws a RangeError, which begins with `name`, for any other.
 */
export function checkedLength(name: string, values: ArrayLike<number>): number {
  const length = lengthOf(values);
  if (length === 0 || (length >= 1e-300 && length <= 1e300)) return length;
  throw new RangeError(`${name}: expected finite values, and a length of 1e-300 to 1e300`);
}

/** A computed cosine, brought back to -1..1 where rounding has left that range. */
export const clampedCosine = (cosine: number): number => Math.max(-1, Math.min(1, cosine));

/** The cosine of a vector of this length and a unit vector, from their dot product; 0 of zeros. */
export function cosineOf(dot: number, length: number): number {
  return length > 0 ? clampedCosine(dot / length) : 0;
}

/** Above the rounding error of a cosine in float64, at most 5e-13 with 4,096 dimensions. */
const SIMILARITY_ERROR = 1e-12;

/**
 * True where an exact similarity is at least `least`, apart from rounding: the computed cosine of a
 * vector with itself may be 1 - 2e-16, and `minCosine: 1` must find it.
 */
export function reaches(similarity: number, least: number): boolean {
  return similarity >= least - SIMILARITY_ERROR;
}

// Which sentence model made vectors of texts: what their files and indexes keep, for queries.

export const POOLINGS = ['mean', 'cls', 'last_token'] as const;

/** A sentence model in ONNX, as `@huggingface/transformers` runs it. */
export interface TextModel {
  /** Its name on the Hugging Face Hub, or a folder: a path that begins with `/` or `./`. */
  model: string;
  /**
   * A branch, a tag or a commit of the model on the Hub.
   * @default 'main'
   */
  revision?: string;
  /** Which vectors of tokens become that of a text; by default as the model says, else 'mean'. */
  pooling?: (typeof POOLINGS)[number];
}

/** Checks a model, as it may come from a file; a string is its name. Returns a copy. */
export function checkTextModel(given: string | TextModel): TextModel {
  const model = typeof given === 'string' ? { model: given } : given;
  if (typeof model?.model !== 'string') {
    throw wrongType('model', 'a name, a path or { model, revision, pooling }', given);
  }
  return checkOptions(model, { model: checkText, revision: checkText, pooling: POOLINGS });
}
