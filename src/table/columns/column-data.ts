/**
 * Columns from what programs have at hand: typed arrays, arrays of plain values, codes, matrices.
 */

import {
  type Data,
  Field,
  FixedSizeBinary,
  FixedSizeList,
  type Float64,
  type Int32,
  makeData,
} from 'apache-arrow';
import { countNulls } from '../../base/bitmap';
import { wrongType } from '../../base/check';
import { Codes } from '../../codes/codes';
import { checkDenseMatrix, type DenseMatrix, isDenseMatrix } from '../../vectors/vectors';
import { builderOf, type Column, type ColumnKind, finished } from './builder';
import { type NumberArray, typeOfArray } from './types';

/** The values of a column, one a row. */
export type ColumnData =
  | NumberArray
  | readonly (string | number | boolean | bigint | null)[]
  | Codes
  | DenseMatrix
  | Column;

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
  const type = typeOfArray(values);
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
  const nullCount = countNulls(validity, count);
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
  const element = typeOfArray(values) as Float64;
  const type: FixedSizeList = new FixedSizeList(dimensions, new Field('item', element, true));
  const child: Data = makeData({
    ...{ type: element, length: values.length, nullCount: 0 },
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
