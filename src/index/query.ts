/** From what a caller gives to what is searched with: code, accumulators, unit vector. */

import { bitsOf, isValid } from '../base/bitmap';
import { checkAttached, naming, wrongType, wrongValue } from '../base/check';
import { lengthOf } from '../base/length';
import { Codes, checkUnusedBits } from '../codes/codes';
import { rowsOfMatrix } from '../hashing/row-hasher';
import type { SimHasher } from '../hashing/simhash';
import { canonicalRows } from '../vectors/sparse-rows';
import { SparseUnit } from '../vectors/sparse-unit';
import {
  checkMatrix,
  type DenseMatrix,
  type DenseVector,
  isDense,
  isDenseMatrix,
  isSparse,
  isSparseMatrix,
  type SparseMatrix,
  type SparseVector,
  type Vector,
  type VectorBatch,
  vectorAt,
} from '../vectors/vectors';
import { codeOf } from './candidates';
import type { IndexParts, Query, SearchParts } from './index-parts';
import { halvesOf } from './vectors/sparse-vectors';

/** One vector or code; null for a zero vector where the index lets it be. */
export function queryOf(
  parts: SearchParts,
  given: Vector | Uint8Array,
  name = 'query',
): Query | null {
  if (given instanceof Uint8Array) return ofCode(parts, given, name);
  if (!isDense(given) && !isSparse(given)) {
    throw wrongType(name, 'a vector or a code', given);
  }
  if (parts.isForeign) {
    throw new Error('this index holds codes made elsewhere: query it by codes, not by vectors');
  }
  return naming(name, () => ofVector(parts, given));
}

function ofVector(parts: SearchParts, given: Vector): Query | null {
  const length = lengthOfQuery(isDense(given) ? given : given.values);
  const query = ofUsualLength(given, length);
  const { hasher, mean } = parts;
  const isSet = hasher.projection === 'minwise';
  const sums = isSet
    ? null
    : hasher.accumulate(isDense(query) ? centred(query, mean) : refuseMean(query, mean));
  if (length === 0) {
    if (hasher.zero === 'null') return null;
    throw new RangeError('an all-zero vector has no direction');
  }
  if (sums === null) return ofSet(parts, query);
  const code = codeOf(sums);
  if (isDense(query)) return { code, sums, unit: unitOf(query) };
  return { code, sums, unit: parts.vectors?.kind === 'sparse' ? sparseUnitOf(query) : null };
}

/** Lengths outside lose bits in products and sums; a query's length decides nothing. */
const MIN_LENGTH = 1e-280;
const MAX_LENGTH = 1e280;
const SCALE = 2 ** 600;

/** NaN of what is no array of numbers: it is refused where the vector is summed. */
function lengthOfQuery(values: ArrayLike<number>): number {
  const isOfNumbers = Array.isArray(values)
    ? values.every((value) => typeof value === 'number')
    : values instanceof Float32Array || values instanceof Float64Array;
  return isOfNumbers ? lengthOf(values) : Number.NaN;
}

/** The vector; where its length is near the ends of float64, times a power of two. */
function ofUsualLength(vector: Vector, length: number): Vector {
  const values: ArrayLike<number> = isDense(vector) ? vector : vector.values;
  // A detached array has no values, and cannot be copied.
  if (isDense(vector) && vector.length === 0) return [];
  checkAttached('values', values);
  if (!(length < MIN_LENGTH || length > MAX_LENGTH)) return vector;
  const scale = length < MIN_LENGTH ? SCALE : 1 / SCALE;
  const scaled = Float64Array.from(values, (value) => value * scale);
  return isDense(vector) ? scaled : { ...vector, values: scaled };
}

/** A set as its code, and its members where the index holds sets to compare them with. */
function ofSet({ hasher, vectors }: SearchParts, vector: Vector): Query {
  const query = { code: hasher.hash(vector), sums: null };
  if (vectors === null || isDense(vector)) return { ...query, unit: null };
  const set = { offsets: [0, vector.indices.length], ...vector };
  return { ...query, unit: sparseUnitOf(vector), set };
}

function ofCode(parts: SearchParts, code: Uint8Array, name: string): Query {
  const { bytesPerCode } = parts.distinctCodes;
  if (code.length !== bytesPerCode)
    throw wrongValue(name, `a code of ${bytesPerCode} bytes`, code.length);
  checkUnusedBits(code, parts.bits, 0);
  // A copy: code of the caller that runs later may give it away.
  return { code: new Uint8Array(code), sums: null, unit: null };
}

/** A row of the index as a query: by its kept vector, or by its code. */
export function queryOfRow(parts: IndexParts, row: number): Query {
  const { vectors, distinctCodes } = parts;
  if (vectors !== null) return queryOf(parts, vectors.at(row)) as Query;
  return {
    code: distinctCodes.codeAt(distinctCodes.distinctOf(row)),
    sums: null,
    unit: null,
  };
}

/** Whether rows lie one after another in one array of floats. */
export function isFlat(batch: unknown): batch is Float32Array | Float64Array {
  return batch instanceof Float32Array || batch instanceof Float64Array;
}

/** Such an array as a matrix; the index must know how many values a row has. */
export function matrixOf(
  { dimensions }: SimHasher,
  values: Float32Array | Float64Array,
  name: string,
): DenseMatrix {
  if (dimensions === undefined) {
    throw new TypeError(
      `a flat array of "${name}" needs an index with "dimensions": make the index with them, ` +
        'or give { values, dimensions }',
    );
  }
  if (values.length % dimensions === 0) return { values, dimensions };
  throw wrongValue(name, `a multiple of ${dimensions} values`, values.length);
}

/** Some codes, none of a class: they are sent to another thread. */
export type CodesPart = Pick<Codes, 'bits' | 'bytes' | 'validity'>;

/** Queries of a batch: null ones have no neighbours. */
export interface Queries {
  readonly count: number;
  at(index: number): Query | null;
  /** A part of them as another thread takes it. */
  slice(first: number, end: number): VectorBatch | CodesPart;
}

/** The queries of a batch, one by one; errors name them from `first` on. */
export function queriesOf(
  parts: SearchParts,
  given: VectorBatch | Float32Array | Float64Array | Codes,
  first = 0,
): Queries {
  const batch = isFlat(given) ? matrixOf(parts.hasher, given, 'queries') : given;
  if (batch instanceof Codes) {
    if (batch.bits !== parts.bits)
      throw wrongValue('queries', `codes of ${parts.bits} bits`, batch.bits);
    const at = (i: number) =>
      batch.isNull(i) ? null : ofCode(parts, batch.at(i), `queries[${first + i}]`);
    const { bits, bytesPerCode } = batch;
    const slice = (from: number, end: number) => ({
      ...{ bits, bytes: batch.bytes.subarray(from * bytesPerCode, end * bytesPerCode) },
      validity: bitsOf(batch.validity, from, end),
    });
    return { count: batch.count, at, slice };
  }
  if (isDenseMatrix(batch) || isSparseMatrix(batch)) {
    const matrix = batch as DenseMatrix | SparseMatrix;
    const count = naming('queries', () => checkMatrix(matrix));
    const slice = (from: number, end: number) => rowsOfMatrix(matrix, from, end);
    return { ...ofRows(parts, matrix, count, (i) => vectorAt(matrix, i), first), slice };
  }
  if (!Array.isArray(batch))
    throw wrongType('queries', 'a matrix, codes or an array of vectors', batch);
  const rows = batch as readonly Vector[];
  const slice = (from: number, end: number) => rows.slice(from, end) as VectorBatch;
  return { ...ofRows(parts, {}, rows.length, (i) => rows[i], first), slice };
}

function ofRows(
  parts: SearchParts,
  { validity }: { validity?: Uint8Array | null },
  count: number,
  at: (index: number) => Vector,
  first: number,
): Omit<Queries, 'slice'> {
  return {
    count,
    at: (i: number) =>
      isValid(validity, i) ? queryOf(parts, at(i), `queries[${first + i}]`) : null,
  };
}

/** Throws where query `i` of a batch has no exact cosine with the vectors that the index holds. */
export function needComparable(parts: SearchParts, query: Query, i: number): void {
  if (parts.vectors === null || parts.canCompare(query)) return;
  const [held, other] = parts.vectors.kind === 'sparse' ? ['sparse', 'dense'] : ['dense', 'sparse'];
  const isCode = query.sums === null && query.unit === null;
  const got = isCode ? 'a code' : `a ${other} vector`;
  throw new TypeError(
    `"queries"[${i}] expected a ${held} vector, as the index holds them, got ${got}`,
  );
}

/** The direction of a dense vector less the mean. */
export function centred(vector: DenseVector, mean: Float64Array | null): DenseVector {
  if (mean === null || vector.length !== mean.length) return vector;
  const length = lengthOf(vector);
  if (!(length > 0)) return vector;
  return Float64Array.from(mean, (value, i) => vector[i] / length - value);
}

/** The vector itself; throws in an index with a mean, which sparse vectors have no place for. */
export function refuseMean<T>(vector: T, mean: Float64Array | null): T {
  if (mean === null) return vector;
  throw new TypeError('an index with "mean" takes dense vectors');
}

/** The vector at length 1; the same steps as the exact scan takes. */
function unitOf(vector: DenseVector): Float64Array {
  const length = lengthOf(vector);
  const values = new Float64Array(vector.length);
  if (length > 0) for (let i = 0; i < values.length; i++) values[i] = vector[i] / length;
  return values;
}

/** The same of a sparse vector: its entries by ascending dimension, each once. */
function sparseUnitOf({ indices, values }: SparseVector): SparseUnit {
  const matrix = { offsets: [0, indices.length], indices, values };
  const { offsets, dimensions, values: weights } = canonicalRows(matrix, 0, 1);
  const entries = { halves: halvesOf(dimensions), weights };
  return new SparseUnit(entries, 0, offsets[1], lengthOf(weights, 0, offsets[1]));
}
