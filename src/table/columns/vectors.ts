/**
 * Vectors of a column: dense ones from lists of any number type, sparse ones from two list columns
 * or a Map. Floats without nulls are not copied. An error names the row of the source.
 */

import { type Data, type Int, Type } from 'apache-arrow';
import type { DenseMatrix, SparseMatrix } from '../../vectors/vectors';
import {
  type Chunk,
  checkExpansion,
  type Ranges,
  rangesOf,
  refuseNullItems,
  validityOf,
} from './chunk';
import { integerArray } from './types';
import { float16 } from './values';

type Floats = Float32Array | Float64Array;

/**
 * Dense vectors of one width: `dimensions`, or that of the first vector. Values are float32, or
 * float64 for float64 and for integers of more than 16 bits. Null rows are zeros, and 0 in
 * `validity`.
 */
export function denseOf(chunk: Chunk, dimensions?: number): DenseMatrix {
  const { data, firstRow } = chunk;
  if (data.typeId === Type.FixedSizeList && data.stride < 1) {
    throw new Error('vectors without values');
  }
  const validity = validityOf([chunk]);
  const ranges = rangesOf(chunk);
  const width = widthOf(chunk, ranges, dimensions);
  const { length: count } = data;
  const [child] = data.children;
  // Without nulls all values lie one after another.
  const isDense = validity === null && child.nullCount === 0;
  const from = isDense && count > 0 ? ranges.start(0) : 0;
  const { values } = child;
  if (isDense && (values instanceof Float32Array || values instanceof Float64Array)) {
    const end = from + count * width;
    if (values.length < end) throw new Error('the vectors are shorter than their batch');
    return { values: values.subarray(from, end), dimensions: width };
  }
  // Integers of up to 16 bits are exact in float32, wider ones need float64.
  const isWide = isWideNumber(child);
  checkExpansion(chunk, width * (isWide ? 8 : 4)); // before memory is taken
  const copy = isWide ? new Float64Array(count * width) : new Float32Array(count * width);
  if (isDense) copyNumbers(child, { from, count: count * width, row: firstRow }, copy, 0);
  for (let row = 0; !isDense && row < count; row++) {
    if (!data.getValid(row)) continue;
    const run = { from: ranges.start(row), count: width, row: firstRow + row };
    copyNumbers(child, run, copy, row * width);
  }
  return { values: copy, dimensions: width, ...(validity !== null && { validity }) };
}

/** The width of all vectors: the one given, or that of the first; any fits where all are null. */
function widthOf({ data, firstRow }: Chunk, { start, end }: Ranges, given?: number): number {
  let width = given;
  for (let row = 0; row < data.length; row++) {
    const found = end(row) - start(row);
    if (found === width || !data.getValid(row)) continue;
    const place = `row ${firstRow + row}:`;
    if (width !== undefined) {
      throw new Error(`${place} expected a vector of ${width} values, got ${found}`);
    }
    if (found === 0) throw new Error(`${place} a vector without values`);
    width = found;
  }
  return width ?? (data.typeId === Type.FixedSizeList ? data.stride : 1);
}

/** True of numbers that float32 may not hold exactly. */
function isWideNumber({ values, typeId }: Data): boolean {
  const isInteger = typeId === Type.Int;
  return values instanceof Float64Array || (isInteger && values.BYTES_PER_ELEMENT > 2);
}

/** Copies `count` numbers of any type, of row `row`, to `out` as floats; none may be null. */
function copyNumbers(
  child: Data,
  { from, count, row }: { from: number; count: number; row: number },
  out: Floats,
  at: number,
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

/**
 * Sparse rows of two list columns, or of one Map column, which is given twice. Dimensions are
 * 32-bit integers, or bigints where the column has 64 bits and one needs more than 32; values are
 * float32, or float64 for float64 and for integers of more than 16 bits. Null rows have no entries.
 */
export function sparseOf(rows: Chunk, weightRows: Chunk): SparseMatrix {
  const { data, firstRow } = rows;
  const [first] = data.children;
  // A Map is a list of pairs, whose two children are the keys and the values.
  const [keys, weights] =
    data.typeId === Type.Map ? first.children : [first, weightRows.data.children[0]];
  const [keyRanges, weightRanges] = [rangesOf(rows), rangesOf(weightRows)];
  const offsets = offsetsOf(rows, weightRows, keyRanges, weightRanges);
  const entries = offsets[data.length];
  const indices = integerArray(keys.type as Int, entries);
  const values = isWideNumber(weights) ? new Float64Array(entries) : new Float32Array(entries);
  for (let place = 0; place < data.length; place++) {
    const count = offsets[place + 1] - offsets[place];
    if (count === 0) continue;
    const row = firstRow + place;
    const from = keyRanges.start(place);
    if (from + count > keys.values.length) {
      throw new Error(`row ${row}: a list ends beyond its values`);
    }
    refuseNullItems(keys, { start: from, end: from + count, row });
    indices.set(keys.values.subarray(from, from + count) as never, offsets[place]);
    copyNumbers(weights, { from: weightRanges.start(place), count, row }, values, offsets[place]);
  }
  return { offsets, indices: narrowed(indices), values, validity: validityOf([rows]) };
}

/**
 * Offsets of the entries of each row in the result. Both columns must have equally many for each
 * row.
 */
function offsetsOf(
  { data, firstRow }: Chunk,
  { data: weights }: Chunk,
  keyRanges: Ranges,
  weightRanges: Ranges,
): Uint32Array {
  const offsets = new Uint32Array(data.length + 1);
  let entries = 0;
  for (let row = 0; row < data.length; row++) {
    const isPresent = data.getValid(row);
    // A row is null as a whole: both lists are null, or none.
    if (isPresent !== weights.getValid(row)) {
      throw new Error(`row ${firstRow + row}: dimensions or values are null, but not both`);
    }
    const count = isPresent ? keyRanges.end(row) - keyRanges.start(row) : 0;
    const weightCount = isPresent ? weightRanges.end(row) - weightRanges.start(row) : 0;
    if (count !== weightCount) {
      throw new Error(`row ${firstRow + row}: ${count} dimensions but ${weightCount} values`);
    }
    entries += count;
    if (entries > 0xffff_ffff) throw new Error('more than 2^32 entries, read fewer rows');
    offsets[row + 1] = entries;
  }
  return offsets;
}

/** Dimensions as 32-bit integers if all fit, since a bigint for each makes hashing slower. */
function narrowed(indices: SparseMatrix['indices']): SparseMatrix['indices'] {
  // The high word of each integer must be 0.
  if (!(indices instanceof BigInt64Array || indices instanceof BigUint64Array)) return indices;
  const words = new Uint32Array(indices.buffer, indices.byteOffset, 2 * indices.length);
  for (let i = 1; i < words.length; i += 2) if (words[i] !== 0) return indices;
  return Uint32Array.from(indices, (_, i) => words[2 * i]);
}
