/**
 * The vectors of one column of a batch: lists of any number type, of one width. Floats stay where
 * they lie when they lie there whole; an error names the row in the file.
 */

import { type Data, Type } from 'apache-arrow';
import type { DenseMatrix, SparseMatrix } from '../../vectors/vectors';
import { checkExpansion, rangesOf, validityOf } from '../arrow/source';
import { float16 } from './values';

/** Dense vectors; `dimensions` tells the width where it is known already. */
export function denseOf(data: Data, firstRow: number, dimensions?: number): DenseMatrix {
  const { length } = data;
  const validity = validityOf([{ data, firstRow: 0 }], length);
  const { start, end } = rangesOf({ data, firstRow });
  const width = dimensions ?? widthOf(data, firstRow);
  for (let row = 0; row < length; row++) {
    const found = end(row) - start(row);
    if (found === width || !data.getValid(row)) continue;
    throw new Error(`row ${firstRow + row}: expected a vector of ${width} values, got ${found}`);
  }
  const [child] = data.children;
  const first = length === 0 ? 0 : start(0);
  const isFloat = child.values instanceof Float32Array || child.values instanceof Float64Array;
  if (validity === null && isFloat && child.nullCount === 0) {
    const values = child.values.subarray(first, first + length * width);
    if (values.length < length * width) throw new Error('the vectors are shorter than their batch');
    return { values, dimensions: width };
  }
  const isWide = isWideNumber(child);
  checkExpansion([{ data, firstRow: 0 }], length, width * (isWide ? 8 : 4));
  const values = isWide ? new Float64Array(length * width) : new Float32Array(length * width);
  for (let row = 0; row < length; row++) {
    if (data.getValid(row))
      copyNumbers(child, start(row), width, values, row * width, firstRow + row);
  }
  return validity === null
    ? { values, dimensions: width }
    : { values, dimensions: width, validity };
}

/** Width of the first vector that is there; of none any will do. */
function widthOf(data: Data, firstRow: number): number {
  const { start, end } = rangesOf({ data, firstRow });
  for (let row = 0; row < data.length; row++) {
    if (!data.getValid(row)) continue;
    const width = end(row) - start(row);
    if (width === 0) throw new Error(`row ${firstRow + row}: a vector without values`);
    return width;
  }
  return data.typeId === Type.FixedSizeList ? Math.max(1, data.stride) : 1;
}

/** Numbers that float32 does not hold. */
function isWideNumber(child: Data): boolean {
  const { values } = child;
  return (
    values instanceof Float64Array || (child.typeId === Type.Int && values.BYTES_PER_ELEMENT > 2)
  );
}

function copyNumbers(
  child: Data,
  from: number,
  count: number,
  out: Float32Array | Float64Array,
  at: number,
  row: number,
): void {
  const { values } = child;
  if (from + count > values.length) throw new Error(`row ${row}: a list ends beyond its values`);
  if (child.nullCount > 0) {
    for (let i = from; i < from + count; i++) {
      if (!child.getValid(i)) throw new Error(`row ${row}: a null within the list`);
    }
  }
  if (child.typeId === Type.Float && values instanceof Uint16Array) {
    for (let i = 0; i < count; i++) out[at + i] = float16(values[from + i]);
  } else if (values instanceof BigInt64Array || values instanceof BigUint64Array) {
    for (let i = 0; i < count; i++) out[at + i] = Number(values[from + i]);
  } else {
    for (let i = 0; i < count; i++) out[at + i] = values[from + i];
  }
}

/** Two list columns, or the keys and values of a Map column. */
export interface SparseColumns {
  readonly indices: Data;
  readonly values: Data;
}

export function sparseOf({ indices, values }: SparseColumns, firstRow: number): SparseMatrix {
  const isMap = indices === values;
  const [keys, weights] = isMap
    ? indices.children[0].children
    : [indices.children[0], values.children[0]];
  const keyRanges = rangesOf({ data: indices, firstRow });
  const weightRanges = rangesOf({ data: values, firstRow });
  const { length } = indices;
  const offsets = new Uint32Array(length + 1);
  for (let row = 0; row < length; row++) {
    const isPresent = indices.getValid(row);
    if (isPresent !== values.getValid(row)) {
      throw new Error(`row ${firstRow + row}: dimensions or values are null, but not both`);
    }
    const count = isPresent ? keyRanges.end(row) - keyRanges.start(row) : 0;
    const weightCount = isPresent ? weightRanges.end(row) - weightRanges.start(row) : 0;
    if (count !== weightCount) {
      throw new Error(`row ${firstRow + row}: ${count} dimensions but ${weightCount} values`);
    }
    offsets[row + 1] = offsets[row] + count;
  }
  const numbers = new Float64Array(offsets[length]);
  const dimensions = new (keys.values.constructor as Uint32ArrayConstructor)(offsets[length]);
  for (let row = 0; row < length; row++) {
    const count = offsets[row + 1] - offsets[row];
    if (count === 0) continue;
    const from = keyRanges.start(row);
    if (from + count > keys.values.length) throw new Error(`row ${firstRow + row}: too few values`);
    for (let at = from; keys.nullCount > 0 && at < from + count; at++) {
      if (!keys.getValid(at)) throw new Error(`row ${firstRow + row}: a null within the list`);
    }
    dimensions.set(keys.values.subarray(from, from + count), offsets[row]);
    copyNumbers(weights, weightRanges.start(row), count, numbers, offsets[row], firstRow + row);
  }
  const validity = validityOf([{ data: indices, firstRow: 0 }], length);
  return { offsets, indices: narrow(dimensions), values: numbers, validity };
}

/** Integers as the hashers take them: 32 bits where they fit, since each bigint costs. */
function narrow(dimensions: ArrayLike<number | bigint>): SparseMatrix['indices'] {
  if (dimensions instanceof Uint32Array || dimensions instanceof Int32Array) return dimensions;
  if (dimensions instanceof BigInt64Array || dimensions instanceof BigUint64Array) {
    const words = new Uint32Array(dimensions.buffer, dimensions.byteOffset, 2 * dimensions.length);
    for (let i = 1; i < words.length; i += 2) if (words[i] !== 0) return dimensions;
    return Uint32Array.from(dimensions, (_, i) => words[2 * i]);
  }
  return Int32Array.from(dimensions as ArrayLike<number>);
}
