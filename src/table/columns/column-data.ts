/**
 * Columns from what programs have at hand: typed arrays, arrays of plain values, codes, matrices.
 */

import {
  type Data,
  type DataType,
  Field,
  FixedSizeBinary,
  FixedSizeList,
  Float32,
  Float64,
  Int8,
  Int16,
  Int32,
  Int64,
  makeData,
  Uint8,
  Uint16,
  Uint32,
  Uint64,
} from 'apache-arrow';
import { wrongType } from '../../base/check';
import { Codes } from '../../codes/codes';
import { checkDenseMatrix, type DenseMatrix, isDenseMatrix } from '../../vectors/vectors';
import { builderOf, type Column, type ColumnKind, finished } from './builder';

export type NumberArray =
  | Int8Array
  | Uint8Array
  | Int16Array
  | Uint16Array
  | Int32Array
  | Uint32Array
  | Float32Array
  | Float64Array
  | BigInt64Array
  | BigUint64Array;

/** The values of a column, one a row. */
export type ColumnData =
  | NumberArray
  | readonly (string | number | boolean | bigint | null)[]
  | Codes
  | DenseMatrix
  | Column;

const TYPES: readonly (readonly [new (length: number) => NumberArray, DataType])[] = [
  [Int8Array, new Int8()],
  [Uint8Array, new Uint8()],
  [Int16Array, new Int16()],
  [Uint16Array, new Uint16()],
  [Int32Array, new Int32()],
  [Uint32Array, new Uint32()],
  [Float32Array, new Float32()],
  [Float64Array, new Float64()],
  [BigInt64Array, new Int64()],
  [BigUint64Array, new Uint64()],
];

/** One column; nothing is copied but plain arrays. */
export function columnOf(name: string, given: ColumnData): Column {
  if (Array.isArray(given)) return fromValues(name, given);
  if (given instanceof Codes) return fromCodes(name, given);
  if (ArrayBuffer.isView(given)) return fromNumbers(name, given as NumberArray);
  if (isDenseMatrix(given)) return fromMatrix(name, given);
  const { field, data } = (given ?? {}) as Column;
  if (!(field instanceof Field)) {
    throw wrongType(name, 'an array, a typed array, Codes or a matrix', given);
  }
  return { field: new Field(name, field.type, true, field.metadata), data };
}

function fromNumbers(name: string, values: NumberArray): Column {
  const type = TYPES.find(([Values]) => values instanceof Values)?.[1];
  if (type === undefined) throw wrongType(name, 'a typed array of numbers', values);
  const { length } = values;
  const data = makeData({ type: type as Int32, length, nullCount: 0, data: values as Int32Array });
  return { field: new Field(name, type, true), data };
}

/** All numbers are float64, so that the type does not depend on what a batch holds. */
const KINDS: Record<string, ColumnKind> = {
  string: 'text',
  number: 'float64',
  boolean: 'bool',
  bigint: 'int64',
};

function fromValues(name: string, values: readonly unknown[]): Column {
  const known = values.find((value) => value !== null && value !== undefined);
  const type = known === undefined ? 'string' : typeof known;
  const kind = KINDS[type];
  const builder = builderOf(kind ?? 'text');
  values.forEach((value, row) => {
    if (kind === undefined || (value !== null && value !== undefined && typeof value !== type)) {
      const expected = kind === undefined ? 'a string, number, boolean or null' : `a ${type}`;
      throw wrongType(`${name}[${row}]`, expected, value);
    }
    builder.append(value);
  });
  return finished(name, builder, kind);
}

/** Nulls of a bitmap in Arrow's layout. */
function nullsOf(validity: Uint8Array | null | undefined, count: number) {
  if (!validity) return { nullCount: 0 };
  let nullCount = 0;
  for (let row = 0; row < count; row++) nullCount += 1 - ((validity[row >> 3] >> (row & 7)) & 1);
  return nullCount === 0 ? { nullCount } : { nullCount, nullBitmap: validity };
}

function fromCodes(name: string, codes: Codes): Column {
  const { count: length, bytes, validity } = codes;
  const type = new FixedSizeBinary(codes.bytesPerCode);
  const data = makeData({ type, length, data: bytes, ...nullsOf(validity, length) });
  return { field: new Field(name, type, true), data };
}

function fromMatrix(name: string, matrix: DenseMatrix): Column {
  const length = checkDenseMatrix(matrix, name);
  const { values, dimensions, validity } = matrix;
  const element = values instanceof Float32Array ? new Float32() : new Float64();
  const type: FixedSizeList = new FixedSizeList(dimensions, new Field('item', element, true));
  const child: Data = makeData({
    ...{ type: element as Float64, length: values.length, nullCount: 0 },
    data: values as Float64Array,
  });
  const data = makeData({
    type: type as FixedSizeList,
    length,
    child,
    ...nullsOf(validity, length),
  });
  return { field: new Field(name, type, true), data };
}
