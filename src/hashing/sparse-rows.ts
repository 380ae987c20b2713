/**
 * Sparse rows as kernels want them: 64-bit dimensions in ascending order, each once. The order of a
 * caller's entries does not matter: they are sorted by dimension, and values of a repeated dimension
 * are summed in ascending order of value, so that even the rounding is the same.
 */

import { describe } from '../check';
import type { Indices, SparseMatrix } from '../codes/vectors';
import { checkNumbers } from '../codes/vectors';
import type { SparseRows } from '../kernels/sums.scalar';

/** The rows `first` to `end - 1` of a matrix whose shape is checked. */
export function canonicalRows(matrix: SparseMatrix, first: number, end: number): SparseRows {
  const { offsets } = matrix;
  const from = offsets[first];
  const to = offsets[end];
  const dimensions = new BigUint64Array(to - from);
  const words = new Uint32Array(dimensions.buffer);
  const rowOf = (entry: number) => rowAt(offsets, first, entry);
  widen(matrix.indices, from, to, words, rowOf);
  const values = new Float64Array(to - from);
  if (Array.isArray(matrix.values)) {
    for (let row = first; row < end; row++) {
      checkNumbers(matrix.values.slice(offsets[row], offsets[row + 1]), row);
    }
    values.set(matrix.values.slice(from, to));
  } else {
    values.set((matrix.values as Float64Array).subarray(from, to));
  }
  const rows = {
    count: end - first,
    offsets: new Uint32Array(end - first + 1),
    dimensions,
    values,
  };
  for (let row = first; row <= end; row++) rows.offsets[row - first] = offsets[row] - from;
  for (let row = 0; row < rows.count; row++) {
    if (!isAscending(words, rows.offsets[row], rows.offsets[row + 1])) return sorted(rows, first);
  }
  return rows;
}

function rowAt(offsets: SparseMatrix['offsets'], first: number, entry: number): number {
  let row = first;
  while (offsets[row + 1] <= entry) row++;
  return row;
}

/** Writes each index as two 32-bit words, low first. */
function widen(
  indices: Indices,
  from: number,
  to: number,
  words: Uint32Array,
  rowOf: (entry: number) => number,
): void {
  if (indices instanceof BigUint64Array || indices instanceof BigInt64Array) {
    const start = indices.byteOffset + 8 * from;
    // A view needs an offset of whole words, which a 64-bit array has.
    words.set(new Uint32Array(indices.buffer, start, words.length));
    if (indices instanceof BigUint64Array) return;
    for (let i = 0; i < to - from; i++) {
      if (words[2 * i + 1] > 0x7fff_ffff) throw badIndex(indices[from + i], from + i, rowOf);
    }
    return;
  }
  if (indices instanceof Uint32Array) {
    for (let i = from, at = 0; i < to; i++, at += 2) words[at] = indices[i];
    return;
  }
  for (let i = from, at = 0; i < to; i++, at += 2) {
    const index = indices[i];
    if (typeof index === 'number' && Number.isSafeInteger(index) && index >= 0) {
      words[at] = index;
      words[at + 1] = index / 2 ** 32;
    } else if (typeof index === 'bigint' && index >= 0n && index <= 0xffff_ffff_ffff_ffffn) {
      words[at] = Number(index & 0xffff_ffffn);
      words[at + 1] = Number(index >> 32n);
    } else {
      throw badIndex(index, i, rowOf);
    }
  }
}

function badIndex(index: unknown, entry: number, rowOf: (entry: number) => number): Error {
  const message =
    `row ${rowOf(entry)}: "indices" expected integers in 0..2^64 - 1 ` +
    `(bigint from 2^53 on), got ${describe(index)}`;
  const isNumeric = typeof index === 'number' || typeof index === 'bigint';
  return isNumeric ? new RangeError(message) : new TypeError(message);
}

function isAscending(words: Uint32Array, from: number, to: number): boolean {
  for (let at = 2 * from + 2; at < 2 * to; at += 2) {
    const high = words[at + 1];
    const before = words[at - 1];
    if (high < before || (high === before && words[at] <= words[at - 2])) return false;
  }
  return true;
}

/** The same rows with sorted entries and repeats summed. */
function sorted(rows: SparseRows, firstRow: number): SparseRows {
  const words = new Uint32Array(rows.dimensions.buffer);
  const { values } = rows;
  const dimensions = new BigUint64Array(rows.dimensions.length);
  const outWords = new Uint32Array(dimensions.buffer);
  const outValues = new Float64Array(values.length);
  const offsets = new Uint32Array(rows.count + 1);
  let filled = 0;
  for (let row = 0; row < rows.count; row++) {
    const order: number[] = [];
    for (let i = rows.offsets[row]; i < rows.offsets[row + 1]; i++) {
      if (!Number.isFinite(values[i]))
        throw badValue(firstRow + row, rows.dimensions[i], values[i]);
      order.push(i);
    }
    order.sort(
      (a, b) =>
        words[2 * a + 1] - words[2 * b + 1] || words[2 * a] - words[2 * b] || values[a] - values[b],
    );
    const start = filled;
    for (const i of order) {
      const last = filled - 1;
      const isRepeat =
        last >= start &&
        outWords[2 * last] === words[2 * i] &&
        outWords[2 * last + 1] === words[2 * i + 1];
      if (isRepeat) {
        outValues[last] += values[i];
        continue;
      }
      outWords[2 * filled] = words[2 * i];
      outWords[2 * filled + 1] = words[2 * i + 1];
      outValues[filled++] = values[i];
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

/** NaN or an infinity in a vector. */
export function badValue(row: number, dimension: number | bigint, value: number): RangeError {
  return new RangeError(
    `row ${row}: expected finite values, got ${value} at dimension ${dimension}`,
  );
}
