/**
 * Rows as the kernels of codes read them: parts of batches, members of sets and the caller's own
 * patterns; and errors that name a row which has no code.
 */

import { bitsOf } from '../base/arrays';
import { describe } from '../base/check';
import { bytesPerCode } from '../codes/codes';
import type { SetMemory } from '../kernels/sets';
import { ALL_ZERO, type DenseRows, NOT_FINITE, type SparseRows } from '../kernels/sums';
import { badValue } from '../vectors/sparse-rows';
import { type DenseMatrix, isDenseMatrix, type SparseMatrix } from '../vectors/vectors';

export const PROJECTIONS = ['signs', 'gaussian', 'hadamard', 'direct', 'minwise'] as const;
export type Projection = (typeof PROJECTIONS)[number];

/**
 * The caller's own patterns: returns the bits of a dimension as ceil(bits / 8) bytes, lowest bit
 * first, which are copied. A dimension is a number below 2^53 and a bigint from there on.
 */
export type PatternFunction = (dimension: number | bigint) => Uint8Array;

/** Codes of some rows, one after another; where row i has none, `isNull[i]` is 1 and its code 0. */
export interface RowCodes {
  readonly bytes: Uint8Array;
  readonly isNull: Uint8Array;
}

/** Adds a row's dimensions whose value is not zero to a set; returns the flags of the row. */
export function readMembers(rows: SparseRows, row: number, memory: SetMemory): number {
  const { dimensions, values } = rows;
  const [from, to] = [rows.offsets[row], rows.offsets[row + 1]];
  memory.reserve(to - from);
  const isWide = dimensions instanceof BigUint64Array;
  // 64-bit dimensions are read as 32-bit halves, low before high: no BigInt is made.
  const words = isWide
    ? new Uint32Array(dimensions.buffer, dimensions.byteOffset, 2 * dimensions.length)
    : dimensions;
  let areFinite = true;
  for (let i = from; i < to; i++) {
    if (values[i] === 0) continue;
    areFinite &&= Number.isFinite(values[i]);
    memory.addMember(isWide ? words[2 * i] : words[i], isWide ? words[2 * i + 1] : 0);
  }
  return (areFinite ? 0 : NOT_FINITE) | (memory.memberCount === 0 ? ALL_ZERO : 0);
}

/** Rows `first` to `end - 1` of a matrix as a matrix: views of typed arrays, copies of others. */
export function rowsOfMatrix(
  matrix: DenseMatrix | SparseMatrix,
  first: number,
  end: number,
): DenseMatrix | SparseMatrix {
  const validity = bitsOf(matrix.validity, first, end);
  if (isDenseMatrix(matrix)) {
    const { values, dimensions } = matrix;
    return { dimensions, validity, values: values.subarray(first * dimensions, end * dimensions) };
  }
  const { offsets, indices, values } = matrix;
  const [from, to] = [offsets[first], offsets[end]];
  return {
    validity,
    offsets: Uint32Array.from({ length: end - first + 1 }, (_, i) => offsets[first + i] - from),
    indices: cut(indices, from, to),
    values: cut(values, from, to),
  };
}

function cut<T extends { slice(from: number, to: number): unknown }>(
  list: T,
  from: number,
  to: number,
): T {
  if (ArrayBuffer.isView(list)) return (list as unknown as Uint8Array).subarray(from, to) as never;
  return list.slice(from, to) as T;
}

/** Copies a row's values. Slow: only for messages and flagged rows. */
export function valuesOf(rows: DenseRows | SparseRows, index: number): number[] {
  const isDenseRow = 'width' in rows;
  const from = isDenseRow ? index * rows.width : rows.offsets[index];
  const to = isDenseRow ? from + rows.width : rows.offsets[index + 1];
  return Array.from(rows.values.subarray(from, to));
}

/** True where all sums are finite. A plain loop, since `every` takes 30 ns a value. */
export function areFinite(sums: Float64Array): boolean {
  for (let i = 0; i < sums.length; i++) if (!Number.isFinite(sums[i])) return false;
  return true;
}

/** The error for a row whose sums are not finite: it names the first bad value, or an overflow. */
export function notFinite(rows: DenseRows | SparseRows, index: number, row: number): RangeError {
  const values = valuesOf(rows, index);
  const at = values.findIndex((value) => !Number.isFinite(value));
  if (at < 0) return new RangeError(`row ${row}: the values are too large, their sums overflow`);
  const dimension = 'width' in rows ? at : rows.dimensions[rows.offsets[index] + at];
  return badValue(row, dimension, values[at]);
}

/** The error for a row without a direction. */
export function allZero(row: number): RangeError {
  return new RangeError(
    `row ${row}: an all-zero vector, or a text without tokens, has no direction (hashAll makes ` +
      "its code null by zero: 'null', of texts by empty: 'null')",
  );
}

/**
 * Calls `pattern` for each dimension, in order, and packs its bits into 64-bit words: word w of
 * entry i is at [w * entries + i].
 */
export function patternWords(
  pattern: PatternFunction,
  dimensions: BigUint64Array,
  bits: number,
): BigUint64Array {
  const words = Math.ceil(bits / 64);
  const entries = dimensions.length;
  const out = new BigUint64Array(words * entries);
  const padded = new BigUint64Array(words);
  const paddedBytes = new Uint8Array(padded.buffer);
  for (let i = 0; i < entries; i++) {
    const dimension = dimensions[i];
    const isSafe = dimension <= BigInt(Number.MAX_SAFE_INTEGER);
    const bytes: unknown = pattern(isSafe ? Number(dimension) : dimension);
    if (!(bytes instanceof Uint8Array)) {
      throw new TypeError(`"pattern" expected to return a Uint8Array, got ${describe(bytes)}`);
    }
    if (bytes.length !== bytesPerCode(bits)) {
      throw new RangeError(
        `"pattern" expected to return ${bytesPerCode(bits)} bytes, ` +
          `got ${bytes.length} for dimension ${dimension}`,
      );
    }
    paddedBytes.set(bytes);
    for (let word = 0; word < words; word++) out[word * entries + i] = padded[word];
  }
  return out;
}
