/**
 * Brings sparse rows into the form that kernels read: dimensions in ascending order, each once. The
 * order of a caller's entries does not matter: they are sorted by dimension, and values of a
 * repeated dimension are summed in ascending order of value, so that even the rounding is the same.
 * Arrays that are in order and of a type that kernels read are not copied. A row, sparse or dense,
 * that would lose its direction as float32 is refused and not rounded (`checkFloat32`).
 */

import { isValid } from '../base/arrays';
import { describe } from '../base/check';
import { HashCounts } from '../base/hash-tables';
import type { SparseRows } from '../kernels/sums';
import {
  checkNumbers,
  type DenseMatrix,
  type Indices,
  isDenseMatrix,
  type SparseMatrix,
} from './vectors';

type Dimensions = SparseRows['dimensions'];

/**
 * The rows `first` to `end - 1` of a matrix whose shape is checked; null rows have no entries.
 * Errors call the first of them row `named`. Values may be views of the caller's, and are checked
 * for NaN and infinities only where rows must be sorted.
 */
export function canonicalRows(
  matrix: SparseMatrix,
  first: number,
  end: number,
  named = first,
): SparseRows {
  for (let row = first; row < end; row++) {
    if (isValid(matrix.validity, row)) continue;
    return readRows(withoutNulls(matrix, first, end), 0, end - first, named);
  }
  return readRows(matrix, first, end, named);
}

/** A copy of some rows in which the null ones are empty. */
function withoutNulls(matrix: SparseMatrix, first: number, end: number): SparseMatrix {
  const offsets = [0];
  const kept: number[] = [];
  for (let row = first; row < end; row++) {
    const isPresent = isValid(matrix.validity, row);
    const to = isPresent ? matrix.offsets[row + 1] : 0;
    for (let i = matrix.offsets[row]; i < to; i++) kept.push(i);
    offsets.push(kept.length);
  }
  return {
    offsets,
    indices: kept.map((i) => matrix.indices[i]),
    values: kept.map((i) => matrix.values[i]),
  };
}

/** `canonicalRows` of a matrix without null rows; offsets of the result count from 0. */
function readRows(matrix: SparseMatrix, first: number, end: number, named: number): SparseRows {
  const { offsets } = matrix;
  const from = offsets[first];
  const to = offsets[end];
  const starts = new Uint32Array(end - first + 1);
  for (let row = first; row <= end; row++) starts[row - first] = offsets[row] - from;
  const nameOf = (entry: number) => rowAt(offsets, first, entry) - first + named;
  const rows: SparseRows = {
    count: end - first,
    offsets: starts,
    dimensions: dimensionsOf(matrix.indices, from, to, nameOf),
    values: valuesOf(matrix, first, end, named),
  };
  for (let row = 0; row < rows.count; row++) {
    if (!isAscending(rows.dimensions, starts[row], starts[row + 1])) return sorted(rows, named);
  }
  return rows;
}

/** The row of an entry, from `first` on; only for messages. */
function rowAt(offsets: SparseMatrix['offsets'], first: number, entry: number): number {
  let row = first;
  while (offsets[row + 1] <= entry) row++;
  return row;
}

/** Values as float64: a view of a Float64Array, else a copy. Items of a plain array are checked. */
function valuesOf(
  { values, offsets }: SparseMatrix,
  first: number,
  end: number,
  named: number,
): Float64Array {
  const from = offsets[first];
  const to = offsets[end];
  if (values instanceof Float64Array) return values.subarray(from, to);
  if (values instanceof Float32Array) return Float64Array.from(values.subarray(from, to));
  for (let row = first; row < end; row++) {
    checkNumbers(values.slice(offsets[row], offsets[row + 1]), row - first + named);
  }
  return Float64Array.from(values.slice(from, to));
}

/**
 * Dimensions as unsigned integers of 32 or 64 bits: a view of typed arrays, where negative ones
 * throw, else a checked copy in the narrower type that holds all of them.
 */
function dimensionsOf(
  indices: Indices,
  from: number,
  to: number,
  rowOf: (entry: number) => number,
): Dimensions {
  if (indices instanceof Uint32Array || indices instanceof BigUint64Array) {
    return indices.subarray(from, to);
  }
  if (indices instanceof Int32Array || indices instanceof BigInt64Array) {
    for (let i = from; i < to; i++) if (indices[i] < 0) throw badIndex(indices[i], i, rowOf);
    // No value is negative, so the same bytes read as unsigned integers are the same numbers.
    const { buffer, byteOffset, BYTES_PER_ELEMENT: bytes } = indices;
    return indices instanceof Int32Array
      ? new Uint32Array(buffer, byteOffset + from * bytes, to - from)
      : new BigUint64Array(buffer, byteOffset + from * bytes, to - from);
  }
  let largest = 0;
  for (let i = from; i < to; i++) {
    if (!isDimension(indices[i])) throw badIndex(indices[i], i, rowOf);
    largest = Math.max(largest, Number(indices[i]));
  }
  const some = indices.slice(from, to);
  if (largest < 2 ** 32) return Uint32Array.from(some as ArrayLike<unknown>, Number);
  return BigUint64Array.from(some as ArrayLike<unknown>, (index) => BigInt(index as number));
}

function isDimension(index: unknown): boolean {
  if (typeof index === 'number') return Number.isSafeInteger(index) && index >= 0;
  return typeof index === 'bigint' && index >= 0n && index <= 0xffff_ffff_ffff_ffffn;
}

function badIndex(index: unknown, entry: number, rowOf: (entry: number) => number): Error {
  const message =
    `row ${rowOf(entry)}: "indices" expected integers in 0..2^64 - 1 ` +
    `(bigint from 2^53 on), got ${describe(index)}`;
  const isNumeric = typeof index === 'number' || typeof index === 'bigint';
  return isNumeric ? new RangeError(message) : new TypeError(message);
}

/** True where each dimension of a row is above the one before it, so that none is repeated. */
function isAscending(dimensions: Dimensions, from: number, to: number): boolean {
  if (dimensions instanceof Uint32Array) {
    for (let i = from + 1; i < to; i++) if (dimensions[i] <= dimensions[i - 1]) return false;
    return true;
  }
  // Compares 32-bit halves, since reading an element of a 64-bit array allocates a BigInt.
  const halves = new Uint32Array(dimensions.buffer, dimensions.byteOffset, 2 * dimensions.length);
  for (let at = 2 * from + 2; at < 2 * to; at += 2) {
    const high = halves[at + 1];
    const before = halves[at - 1];
    if (high < before || (high === before && halves[at] <= halves[at - 2])) return false;
  }
  return true;
}

/**
 * A copy of rows with entries sorted and repeated dimensions summed. Throws for values that are not
 * finite, which have no place in the order.
 */
function sorted(rows: SparseRows, firstRow: number): SparseRows {
  const { values } = rows;
  const given = rows.dimensions;
  const dimensions = given.slice();
  const outValues = new Float64Array(values.length);
  const offsets = new Uint32Array(rows.count + 1);
  let filled = 0;
  for (let row = 0; row < rows.count; row++) {
    const [from, to] = [rows.offsets[row], rows.offsets[row + 1]];
    for (let i = from; i < to; i++) {
      if (!Number.isFinite(values[i])) throw badValue(firstRow + row, given[i], values[i]);
    }
    const start = filled;
    for (const i of ordered(rows, from, to)) {
      if (filled > start && dimensions[filled - 1] === given[i]) {
        outValues[filled - 1] += values[i];
      } else {
        dimensions[filled] = given[i];
        outValues[filled++] = values[i];
      }
    }
    offsets[row + 1] = filled;
  }
  return {
    count: rows.count,
    offsets,
    dimensions: dimensions.subarray(0, filled),
    values: outValues.subarray(0, filled),
  };
}

/** Entries of a row whose positions fit next to 32 bits of a dimension in 53 bits. */
const MAX_KEYED = 2 ** 21;

/** The entries of a row in ascending order of dimension, then value. */
function ordered({ dimensions, values }: SparseRows, from: number, to: number): Float64Array {
  const entries = new Float64Array(to - from);
  let isOrdered = false;
  if (dimensions instanceof Uint32Array && to - from <= MAX_KEYED) {
    // Typed arrays sort numbers of dimension and position faster than by a comparison.
    for (let i = from; i < to; i++) entries[i - from] = dimensions[i] * MAX_KEYED + (i - from);
    entries.sort();
    isOrdered = true;
    for (let i = 0, last = -1; i < entries.length; i++) {
      const dimension = Math.floor(entries[i] / MAX_KEYED);
      entries[i] += from - dimension * MAX_KEYED;
      if (dimension === last) isOrdered = false;
      last = dimension;
    }
  } else for (let i = from; i < to; i++) entries[i - from] = i;
  if (isOrdered) return entries;
  const isBelow = (a: number, b: number) => dimensions[a] < dimensions[b];
  return entries.sort((a, b) => (isBelow(a, b) ? -1 : isBelow(b, a) ? 1 : values[a] - values[b]));
}

/** Dimensions as 64-bit integers: the same array if it has these, else a copy. */
export function wideDimensions(dimensions: Dimensions): BigUint64Array<ArrayBufferLike> {
  return dimensions instanceof BigUint64Array
    ? dimensions
    : BigUint64Array.from(dimensions as ArrayLike<unknown>, (index) => BigInt(index as number));
}

/** The error for a NaN or an infinity in a vector. */
export function badValue(row: number, dimension: number | bigint, value: number): RangeError {
  return new RangeError(
    `row ${row}: expected finite values, got ${value} at dimension ${dimension}`,
  );
}

/** Rows whose entries are brought in order together. */
const BLOCK_ROWS = 2048;
/** A row of float64 whose largest value is smaller loses digits as float32. */
const MIN_FLOAT32 = 2 ** -126;

/**
 * Throws a RangeError for one of the rows `from` to `to - 1` that is not finite or does not fit
 * float32; skips null rows.
 */
export function checkFloat32(
  matrix: DenseMatrix | SparseMatrix,
  from: number,
  to: number,
  isNull: (row: number) => boolean,
): void {
  const least = matrix.values instanceof Float32Array ? 0 : MIN_FLOAT32;
  for (let first = from; first < to; first += BLOCK_ROWS) {
    const end = Math.min(to, first + BLOCK_ROWS);
    const rows = isDenseMatrix(matrix) ? null : canonicalRows(matrix, first, end);
    const values = rows?.values ?? (matrix as DenseMatrix).values;
    const width = rows === null ? (matrix as DenseMatrix).dimensions : 0;
    for (let row = first; row < end; row++) {
      if (isNull(row) || !isValid(matrix.validity, row)) continue;
      const start = rows?.offsets[row - first] ?? row * width;
      const stop = rows?.offsets[row - first + 1] ?? (row + 1) * width;
      let most = 0; // the largest magnitude; NaN if the row has one
      for (let i = start; i < stop; i++) most = Math.max(most, Math.abs(values[i]));
      if (most === 0) continue;
      if (!Number.isFinite(most)) throw new RangeError(`row ${row}: expected finite values`);
      if (most >= least && Number.isFinite(Math.fround(most))) continue;
      const limits = 'the largest must be 2^-126 to 2^128';
      throw new RangeError(
        `row ${row}: its values do not fit float32, in which they are kept: ${limits}`,
      );
    }
  }
}

/** Entries of sparse rows: dimension i in the 32-bit halves 2i (low) and 2i + 1, and its weight. */
export interface Entries {
  readonly halves: Uint32Array;
  readonly weights: Float32Array | Float64Array;
}

/**
 * A sparse query vector at length 1, for dot products with many others: a small hash table from
 * dimensions to values. The terms of a product are added in the order of the other's entries, which
 * is ascending, so that every caller gets the same float64. Immutable.
 */
export class SparseUnit {
  /** By dimension the number of its entry + 1. */
  readonly #entries = new HashCounts();
  /** Values by entry, divided by the length. */
  readonly #values: Float64Array;

  /** Copies entries `from` to `to - 1`, of distinct dimensions; a `length` of 0 gives zeros. */
  constructor({ halves, weights }: Entries, from: number, to: number, length: number) {
    this.#entries.reserve(2 * (to - from)); // other dimensions are soon known not to be there
    this.#values = new Float64Array(to - from);
    for (let i = from; i < to; i++) {
      this.#entries.add(halves[2 * i], halves[2 * i + 1], i - from + 1);
      this.#values[i - from] = length > 0 ? weights[i] / length : 0;
    }
  }

  /** The dot product with entries `from` to `to - 1` of another vector. */
  dot({ halves, weights }: Entries, from: number, to: number): number {
    let sum = 0;
    for (let i = from; i < to; i++) {
      const entry = this.#entries.countOf(halves[2 * i], halves[2 * i + 1]);
      if (entry > 0) sum += weights[i] * this.#values[entry - 1];
    }
    return sum;
  }

  /** Calls `take` with the low and the high half of each dimension, and its value. */
  each(take: (low: number, high: number, value: number) => void): void {
    this.#entries.each((low, high, entry) => take(low, high, this.#values[entry - 1]));
  }
}
