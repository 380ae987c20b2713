/**
 * From what a caller searches for, a vector or a code, to a `Query`: code, sums, unit vector.
 * Errors name the argument and, in a batch, the position of the query.
 */

import { bitsOf, isValid } from '../base/arrays';
import { checkAttached, naming, wrongType, wrongValue } from '../base/check';
import { Codes, checkSameOrigin, checkUnusedBits } from '../codes/codes';
import { type Measure, measureOf } from '../codes/measure';
import { rowsOfMatrix } from '../hashing/rows';
import { SimHasher } from '../hashing/simhash';
import { signsInto } from '../kernels/sums';
import { canonicalRows, SparseUnit } from '../vectors/sparse-rows';
import {
  checkMatrix,
  type DenseMatrix,
  type DenseVector,
  isDense,
  isDenseMatrix,
  isSparse,
  isSparseMatrix,
  lengthOf,
  quotientsOf,
  type SparseMatrix,
  type SparseVector,
  type Vector,
  type VectorBatch,
  vectorAt,
} from '../vectors/vectors';
import type { CheckedOptions, Rank, RecallReport } from './index-options';
import { DenseVectors } from './vectors/dense-vectors';
import type { Zeros } from './vectors/rounding';
import type { RowVectors, UnitVector, VectorStorage } from './vectors/row-vectors';
import { halvesOf, SparseVectors } from './vectors/sparse-vectors';

/** The query of a vector or a code; null for a zero vector where the index has `zero: 'null'`. */
export function queryOf(
  parts: QueryParts,
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

/** A vector as a query. */
function ofVector(parts: QueryParts, given: Vector): Query | null {
  // NaN for values that are no numbers: `accumulate` or `hash` below then throws.
  const length = lengthOfQuery(isDense(given) ? given : given.values);
  const { hasher } = parts;
  if (length > 0 && !(length > MIN_LENGTH && length < MAX_LENGTH)) {
    if (hasher.projection !== 'minwise') hasher.accumulate(given); // refuses what is not finite
    throw new RangeError(`expected a length of ${MIN_LENGTH} to ${MAX_LENGTH}, got ${length}`);
  }
  checkAttached('values', isDense(given) ? given : given.values);
  checkKind(parts, isSparse(given));
  const isSet = hasher.projection === 'minwise';
  const isLazy = length > 0 && !isSet && hasher.projection !== 'direct';
  if (isLazy && isDense(given) && given.length === hasher.dimensions) {
    return new DenseQuery(hasher, given, length);
  }
  const sums = isSet ? null : hasher.accumulate(given);
  if (length === 0) {
    if (hasher.zero === 'null') return null;
    throw new RangeError('an all-zero vector has no direction');
  }
  if (sums === null) return ofSet(parts, given);
  const code = codeOf(sums);
  if (isDense(given)) return { code, sums, unit: quotientsOf(given, length) };
  return { code, sums, unit: parts.vectors?.kind === 'sparse' ? sparseUnitOf(given) : null };
}

/** A dense vector, whose sums and code are made when a search needs them: most need neither. */
class DenseQuery implements Query {
  readonly unit: Float64Array;
  readonly #hasher: SimHasher;
  readonly #vector: DenseVector;
  #sums: Float64Array | null = null;
  #code: Uint8Array | null = null;

  /** Copies the vector, which the caller may change before the sums are made. */
  constructor(hasher: SimHasher, vector: DenseVector, length: number) {
    this.#hasher = hasher;
    // Both in one array, since the engine takes long to make and free those of some kilobytes.
    const { length: count } = vector;
    const values = new Float64Array(2 * count);
    values.set(vector, count);
    for (let i = 0; i < count; i++) values[i] = values[count + i] / length;
    this.unit = values.subarray(0, count);
    this.#vector = values.subarray(count);
  }

  get sums(): Float64Array {
    this.#sums ??= this.#hasher.accumulate(this.#vector);
    return this.#sums;
  }

  get code(): Uint8Array {
    this.#code ??= codeOf(this.sums);
    return this.#code;
  }
}

/** Outside of these lengths squares and products leave the range of float64. */
const MIN_LENGTH = 1e-280;
const MAX_LENGTH = 1e280;

/** The length; NaN for values that are no numbers, which `accumulate` refuses with a message. */
function lengthOfQuery(values: ArrayLike<number>): number {
  const isOfNumbers = Array.isArray(values)
    ? values.every((value) => typeof value === 'number')
    : values instanceof Float32Array || values instanceof Float64Array;
  return isOfNumbers ? lengthOf(values) : Number.NaN;
}

/** The code of a query: the signs of its sums. */
function codeOf(sums: Float64Array): Uint8Array {
  const code = new Uint8Array(Math.ceil(sums.length / 8));
  signsInto(sums, code, 0);
  return code;
}

/** A set as its code, with its members where the index holds sets to compare them with. */
function ofSet({ hasher, vectors }: QueryParts, vector: Vector): Query {
  const query = { code: hasher.hash(vector), sums: null };
  if (vectors === null || isDense(vector)) return { ...query, unit: null };
  const set = { offsets: [0, vector.indices.length], ...vector };
  return { ...query, unit: sparseUnitOf(vector), set };
}

/** A code as a query: checked, and copied. */
function ofCode(parts: QueryParts, code: Uint8Array, name: string): Query {
  const { bytesPerCode } = parts.hasher;
  if (code.length !== bytesPerCode)
    throw wrongValue(name, `a code of ${bytesPerCode} bytes`, code.length);
  checkUnusedBits(code, parts.bits, 0);
  // Copied, since a filter or progress callback that runs later may detach the caller's array.
  return { code: new Uint8Array(code), sums: null, unit: null };
}

/** Some codes as a plain object, since messages to threads carry no classes. */
export type CodesPart = Pick<Codes, 'bits' | 'bytes' | 'validity'>;

/** The queries of a batch, made one by one on demand. */
export interface Queries {
  readonly count: number;
  /** Query `index`; null for a null row, and for a zero vector where the index allows it. */
  at(index: number): Query | null;
  /** Queries `first` to `end - 1` as the caller gave them, for another thread. */
  slice(first: number, end: number): VectorBatch | CodesPart;
}

/** The queries of a batch. Errors count them from `first`, for a batch that is part of another. */
export function queriesOf(parts: QueryParts, batch: VectorBatch | Codes, first = 0): Queries {
  if (batch instanceof Codes) {
    if (batch.bits !== parts.bits)
      throw wrongValue('queries', `codes of ${parts.bits} bits`, batch.bits);
    if (!parts.isForeign) checkSameOrigin('queries', parts.hasher.origin, batch.origin);
    const at = (i: number) =>
      batch.isNull(i) ? null : ofCode(parts, batch.at(i), `queries[${first + i}]`);
    const { bits, bytesPerCode } = batch;
    const slice = (from: number, end: number) => ({
      bits,
      bytes: batch.bytes.subarray(from * bytesPerCode, end * bytesPerCode),
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

/** `count` and `at` of queries whose vectors `at` returns. */
function ofRows(
  parts: QueryParts,
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

/** Throws for vectors of another kind than the index holds. */
export function checkKind({ vectors }: QueryParts, isSparse: boolean): void {
  if (vectors === null || (vectors.kind === 'sparse') === isSparse) return;
  const [wanted, got] = isSparse ? ['dense', 'sparse'] : ['sparse', 'dense'];
  throw new TypeError(
    `an index with vectors '${vectors.kind}' takes ${wanted} vectors, got ${got} ones`,
  );
}

/** Throws if query `i` of a batch is a code, but the index holds vectors to compare it with. */
export function needComparable(parts: QueryParts, query: Query, i: number): void {
  if (parts.vectors === null || parts.canCompare(query)) return;
  throw new TypeError(`"queries"[${i}] expected a vector, as the index holds them, got a code`);
}

/** A sparse vector at length 1: dimensions ascending, each once, repeated ones summed. */
function sparseUnitOf({ indices, values }: SparseVector): SparseUnit {
  const matrix = { offsets: [0, indices.length], indices, values };
  const { offsets, dimensions, values: weights } = canonicalRows(matrix, 0, 1);
  const entries = { halves: halvesOf(dimensions), weights };
  return new SparseUnit(entries, 0, offsets[1], lengthOf(weights.subarray(0, offsets[1])));
}

/** A checked query, in the forms that searches read. */
export interface Query {
  readonly code: Uint8Array;
  /** One number a bit, whose sign is the bit; null for a query given as code, and for a set. */
  readonly sums: Float64Array | null;
  /** The vector at length 1; null for a code, and for a sparse one where the index holds none. */
  readonly unit: UnitVector | null;
  /** A query that is a set, where the index holds sets to compare it with: a matrix of one row. */
  readonly set?: SparseMatrix;
}

/**
 * What an index makes queries by and compares them with, wherever its rows are: `IndexCore` adds
 * rows in memory, a stored index (`store/content.ts`) reads rows from files.
 */
export class QueryParts {
  readonly bits: number;
  readonly hasher: SimHasher;
  /** The vectors of rows in memory; where rows are in files an empty container of their kind. */
  vectors: RowVectors | null;
  /** What `optimize` measured, with the rows added and removed since; null before. */
  report: RecallReport | null = null;
  /** True if codes were added that other options made: then only codes can be searched for. */
  isForeign = false;

  /** The parts of an index of these options, without vectors yet. */
  constructor({ hasher, vectors }: CheckedOptions) {
    this.hasher = new SimHasher(hasher);
    this.bits = this.hasher.bits;
    this.vectors = noVectors(vectors, this.hasher.dimensions);
  }

  /** Takes what holds for all rows of a saved index: of which kind they are, and its report. */
  take({ isForeign, report, dense }: QueryParts): void {
    this.isForeign = isForeign;
    this.report = report;
    if (dense !== null) this.dense?.zeros.add(dense.zeros);
  }

  /** The vectors where they are dense; partitions and joins work on dense ones alone. */
  get dense(): DenseVectors | null {
    return this.vectors instanceof DenseVectors ? this.vectors : null;
  }

  /** True if exact similarities of the query with the held vectors can be computed. */
  canCompare({ unit }: { readonly unit: UnitVector | null }): boolean {
    return unit !== null && this.vectors !== null;
  }

  /** The rank of searches by vector where no `rank` is given. */
  get usualRank(): Rank {
    if (this.isForeign || this.hasher.projection === 'minwise') return 'hamming';
    return this.vectors === null ? 'estimate' : 'exact';
  }

  /** What distances estimate: cosines, or Jaccard similarities with projection 'minwise'. */
  get measure(): Measure {
    return measureOf(this.hasher.projection);
  }
}

/** An empty container for vectors of a kind, which adds what it rounds to 0; null for 'none'. */
export function noVectors(
  storage: VectorStorage,
  dimensions: number | undefined,
  zeros?: Zeros,
): RowVectors | null {
  if (storage === 'none') return null;
  return storage === 'sparse'
    ? new SparseVectors()
    : new DenseVectors(storage, dimensions as number, zeros);
}
