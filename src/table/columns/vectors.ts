/**
 * Vectors of a column: dense ones from lists of any number type, sparse ones from two list columns
 * or a Map. There is one result for all batches of a source, allocated once; floats that lie in one
 * batch without nulls are not copied. An error names the row of the source.
 */

import { type Data, type Int, Type } from 'apache-arrow';
import type { DenseMatrix, SparseMatrix } from '../../vectors/vectors';
import {
  type Chunk,
  checkExpansion,
  type Ranges,
  rangesOf,
  refuseNullItems,
  rowsOf,
  validityOf,
} from './chunk';
import { integerArray } from './types';
import { float16 } from './values';

/**
 * Dense vectors of one width: `dimensions`, or that of the first vector. Values are float32, or
 * float64 for float64 and for integers of more than 16 bits. Null rows are zeros, and 0 in
 * `validity`.
 */
export function denseOf(chunks: readonly Chunk[], dimensions?: number): DenseMatrix {
  const [{ data: first }] = chunks;
  if (first.typeId === Type.FixedSizeList && first.stride < 1) {
    throw new Error('vectors without values');
  }
  const validity = validityOf(chunks);
  const ranges = chunks.map(rangesOf);
  const width = dimensions ?? widthOf(chunks, ranges);
  chunks.forEach((chunk, i) => {
    checkWidths(chunk, ranges[i], width);
  });
  const count = rowsOf(chunks);
  const length = count * width;
  // Floats of one batch without nulls are returned as a view of its memory.
  if (chunks.length === 1 && validity === null) {
    const [{ values, nullCount }] = first.children;
    const isFloat = values instanceof Float32Array || values instanceof Float64Array;
    if (isFloat && nullCount === 0) {
      const from = count === 0 ? 0 : ranges[0].start(0);
      if (values.length < from + length)
        throw new Error('the vectors are shorter than their batch');
      return { values: values.subarray(from, from + length), dimensions: width };
    }
  }
  // Integers of up to 16 bits are exact in float32, wider ones need float64.
  const isWide = isWideNumber(first.children[0]);
  checkExpansion(chunks, width * (isWide ? 8 : 4)); // before memory is taken
  const values = isWide ? new Float64Array(length) : new Float32Array(length);
  let row = 0;
  chunks.forEach(({ data, firstRow }, i) => {
    const [child] = data.children;
    const { start } = ranges[i];
    // Without nulls all values of a chunk lie one after another, and are copied at once.
    const isDense = data.length > 0 && data.nullCount === 0 && child.nullCount === 0;
    if (isDense) copyNumbers(child, start(0), data.length * width, values, row * width, firstRow);
    for (let at = 0; !isDense && at < data.length; at++) {
      if (!data.getValid(at)) continue;
      copyNumbers(child, start(at), width, values, (row + at) * width, firstRow + at);
    }
    row += data.length;
  });
  return { values, dimensions: width, ...(validity !== null && { validity }) };
}

/** The width of the first vector that is not null; where all are null, any width fits. */
function widthOf(chunks: readonly Chunk[], ranges: readonly Ranges[]): number {
  for (const [i, { data, firstRow }] of chunks.entries()) {
    for (let row = 0; row < data.length; row++) {
      if (!data.getValid(row)) continue;
      const width = ranges[i].end(row) - ranges[i].start(row);
      if (width === 0) throw new Error(`row ${firstRow + row}: a vector without values`);
      return width;
    }
  }
  const [{ data }] = chunks;
  return data.typeId === Type.FixedSizeList ? data.stride : 1;
}

/** Fails unless all vectors of a chunk have this width. */
function checkWidths({ data, firstRow }: Chunk, { start, end }: Ranges, width: number): void {
  for (let row = 0; row < data.length; row++) {
    const found = end(row) - start(row);
    if (found === width || !data.getValid(row)) continue;
    throw new Error(`row ${firstRow + row}: expected a vector of ${width} values, got ${found}`);
  }
}

/** True of numbers that float32 may not hold exactly. */
function isWideNumber({ values, typeId }: Data): boolean {
  const isInteger = typeId === Type.Int;
  return values instanceof Float64Array || (isInteger && values.BYTES_PER_ELEMENT > 2);
}

/** Copies numbers of any type to `out` as floats; none of them may be null. */
function copyNumbers(
  child: Data,
  from: number,
  count: number,
  out: Float32Array | Float64Array,
  at: number,
  row: number,
): void {
  const { values, typeId } = child;
  if (from + count > values.length) throw new Error(`row ${row}: a list ends beyond its values`);
  refuseNullItems(child, { start: from, end: from + count, row });
  if (typeId === Type.Float && values instanceof Uint16Array) {
    for (let i = 0; i < count; i++) out[at + i] = float16(values[from + i]);
  } else if (values instanceof BigInt64Array || values instanceof BigUint64Array) {
    for (let i = 0; i < count; i++) out[at + i] = Number(values[from + i]);
  } else {
    out.set(values.subarray(from, from + count), at);
  }
}

/** The dimensions and the values of some rows: two list columns, or the same Map column twice. */
interface SparseChunk {
  readonly indices: Chunk;
  readonly values: Chunk;
}

/** The children with dimensions and values, and where those of each row lie in them. */
interface SparsePart {
  readonly rows: SparseChunk;
  readonly keys: Data;
  readonly weights: Data;
  readonly keyRanges: Ranges;
  readonly weightRanges: Ranges;
}

/**
 * Sparse rows. Dimensions are 32-bit integers, or bigints where the column has 64 bits; values are
 * float32, or float64 for float64 and for integers of more than 16 bits. Null rows have no entries.
 */
export function sparseOf(chunks: readonly SparseChunk[]): SparseMatrix {
  const parts = chunks.map(partOf);
  const validity = validityOf(chunks.map(({ indices }) => indices));
  const offsets = offsetsOf(parts);
  const entries = offsets[offsets.length - 1];
  const indices = integerArray(parts[0].keys.type as Int, entries);
  const values = isWideNumber(parts[0].weights)
    ? new Float64Array(entries)
    : new Float32Array(entries);
  let place = 0;
  for (const { rows, keys, weights, keyRanges, weightRanges } of parts) {
    const { data, firstRow } = rows.indices;
    for (let row = 0; row < data.length; row++, place++) {
      const length = offsets[place + 1] - offsets[place];
      if (length === 0) continue;
      const from = keyRanges.start(row);
      if (from + length > keys.values.length) {
        throw new Error(`row ${firstRow + row}: a list ends beyond its values`);
      }
      refuseNullItems(keys, { start: from, end: from + length, row: firstRow + row });
      indices.set(keys.values.subarray(from, from + length) as never, offsets[place]);
      const start = weightRanges.start(row);
      copyNumbers(weights, start, length, values, offsets[place], firstRow + row);
    }
  }
  return { offsets, indices, values, validity };
}

/** Finds the children of a Map, or of two lists. */
function partOf(rows: SparseChunk): SparsePart {
  const [first] = rows.indices.data.children;
  // A Map is a list of pairs, whose two children are the keys and the values.
  const isMap = rows.indices.data.typeId === Type.Map;
  const [keys, weights] = isMap ? first.children : [first, rows.values.data.children[0]];
  const [keyRanges, weightRanges] = [rangesOf(rows.indices), rangesOf(rows.values)];
  return { rows, keys, weights, keyRanges, weightRanges };
}

/**
 * Offsets of the entries of each row in the result. Both columns must have equally many for each
 * row.
 */
function offsetsOf(parts: readonly SparsePart[]): Uint32Array {
  const offsets = new Uint32Array(rowsOf(parts.map(({ rows }) => rows.indices)) + 1);
  let place = 0;
  let entries = 0;
  for (const { rows, keyRanges, weightRanges } of parts) {
    const { data, firstRow } = rows.indices;
    for (let row = 0; row < data.length; row++) {
      const isPresent = data.getValid(row);
      // A row is null as a whole: both lists are null, or none.
      if (isPresent !== rows.values.data.getValid(row)) {
        throw new Error(`row ${firstRow + row}: dimensions or values are null, but not both`);
      }
      const count = isPresent ? keyRanges.end(row) - keyRanges.start(row) : 0;
      const weightCount = isPresent ? weightRanges.end(row) - weightRanges.start(row) : 0;
      if (count !== weightCount) {
        throw new Error(`row ${firstRow + row}: ${count} dimensions but ${weightCount} values`);
      }
      entries += count;
      if (entries > 0xffff_ffff) throw new Error('more than 2^32 entries, read fewer batches');
      offsets[++place] = entries;
    }
  }
  return offsets;
}

/** Makes dimensions 32-bit integers if all fit, since a bigint for each makes hashing slower. */
export function narrowed(rows: SparseMatrix): SparseMatrix {
  const { indices } = rows;
  // The high word of each integer must be 0.
  if (!(indices instanceof BigInt64Array || indices instanceof BigUint64Array)) return rows;
  const words = new Uint32Array(indices.buffer, indices.byteOffset, 2 * indices.length);
  for (let i = 1; i < words.length; i += 2) if (words[i] !== 0) return rows;
  return { ...rows, indices: Uint32Array.from(indices, (_, i) => words[2 * i]) };
}
