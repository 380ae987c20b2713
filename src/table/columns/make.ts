/**
 * Makes Arrow columns of what programs have: typed arrays, codes, matrices, arrays of plain values.
 * Only plain values are copied, so other memory must not change while the column is used.
 */

import {
  type Data,
  Field,
  FixedSizeBinary,
  FixedSizeList,
  type Float32,
  Int64,
  List,
  makeData,
  RecordBatch,
  Schema,
  Struct,
} from 'apache-arrow';
import { countNulls } from '../../base/bitmap';
import { checkAttached, wrongType } from '../../base/check';
import { Codes } from '../../codes/codes';
import { checkDenseMatrix, type DenseMatrix, isDenseMatrix } from '../../vectors/vectors';
import { builderOf, type Column, finished } from './builder';
import { type ColumnKind, type NumberArray, typeOfArray } from './types';

/** A bitmap of the rows that are not null; null or missing where all are not. */
type Validity = Uint8Array | null | undefined;

/**
 * Codes as signed integers of 64 bits, which every engine has: one for each row, or a list of them
 * where codes are wider. The first bits of a code are the lowest of the first integer. A copy;
 * `codesOf` reads them back as codes.
 */
export function wordColumn(name: string, codes: Codes): Column {
  const { bytes, bytesPerCode, count: length, validity } = codes;
  const words = Math.ceil(bytesPerCode / 8);
  const values = new Uint8Array(8 * words * length);
  for (let row = 0; row < length; row++) {
    values.set(bytes.subarray(row * bytesPerCode, (row + 1) * bytesPerCode), 8 * words * row);
  }
  const items = numberData(new BigInt64Array(values.buffer)) as Data;
  if (words === 1) {
    const data = makeData({
      ...nullsOf(validity, length),
      type: new Int64(),
      length,
      data: items.values,
    });
    return { field: new Field(name, data.type, true), data };
  }
  const type = new List(new Field('item', items.type, true));
  const valueOffsets = Int32Array.from({ length: length + 1 }, (_, row) => row * words);
  const data = makeData({ ...nullsOf(validity, length), type, length, valueOffsets, child: items });
  return { field: new Field(name, type, true), data };
}

/** The number of nulls and their bitmap, as `makeData` takes them. */
export function nullsOf(validity: Validity, length: number) {
  const nullCount = countNulls(validity, length);
  return nullCount === 0 ? { nullCount } : { nullCount, nullBitmap: validity as Uint8Array };
}

/** A column of numbers of the array's type; not copied. */
export function numberData(values: NumberArray): Data<Float32> {
  const type = typeOfArray(values) as Float32;
  const data = values as Float32Array;
  return makeData({ type, length: values.length, nullCount: 0, data });
}

/** A column of `width` bytes for each row; not copied. */
export function bytesData(
  data: Uint8Array,
  { width, length, validity }: { width: number; length: number; validity: Validity },
): Data {
  const type = new FixedSizeBinary(width);
  return makeData({ type, length, data, ...nullsOf(validity, length) });
}

/** A column of `width` numbers for each row; `isNullable` is what its type says of the numbers. */
export function vectorData(
  values: NumberArray,
  shape: { width: number; length: number; validity?: Validity; isNullable: boolean },
): Data {
  const { width, length, validity, isNullable } = shape;
  const child = numberData(values);
  const type = new FixedSizeList(width, new Field('item', child.type, isNullable));
  return makeData({ type, length, child, ...nullsOf(validity, length) });
}

/**
 * Changes a schema so that the library makes its batches in time proportional to their columns. For
 * each batch the library assigns the fields to the schema again and looks for the name of each
 * among all others, although they are the schema's own: with 200,000 columns this took longer than
 * a minute.
 */
export function quickSchema(schema: Schema): Schema {
  const assign = (fields: Field[]) => {
    const isSame = schema.fields.every((field, i) => field === fields[i]);
    return isSame ? schema : Schema.prototype.assign.call(schema, fields);
  };
  return Object.defineProperty(schema, 'assign', { value: assign, configurable: true });
}

/** A record batch of columns with `length` rows each. */
export function recordBatch(
  schema: Schema,
  children: Data[],
  length: number,
  metadata?: Map<string, string>,
): RecordBatch {
  const data = makeData({ type: new Struct(schema.fields), length, nullCount: 0, children });
  return new RecordBatch(quickSchema(schema), data, metadata);
}

/** What a column can be made of: its values, one for each row. */
export type ColumnData =
  | NumberArray
  | readonly (string | number | boolean | bigint | null)[]
  | Codes
  | DenseMatrix
  | Column;

/** Makes one column, whose rows may be null; throws a TypeError for what cannot be one. */
export function columnOf(name: string, given: ColumnData): Column {
  if (Array.isArray(given)) return fromValues(name, given);
  const made = dataOf(name, given);
  if (made !== null) return { field: new Field(name, made.type, true), data: made };
  const { field, data } = (given ?? {}) as Column;
  if (!(field instanceof Field)) {
    throw wrongType(name, 'an array, a typed array, Codes or a matrix', given);
  }
  return { field: new Field(name, field.type, true, field.metadata), data };
}

/** The data of a typed array, codes or a matrix; null for anything else. */
function dataOf(name: string, given: ColumnData) {
  if (given instanceof Codes) {
    const { bytes, bytesPerCode: width, count: length, validity } = given;
    return bytesData(bytes, { width, length, validity });
  }
  if (ArrayBuffer.isView(given)) {
    checkAttached(name, given);
    if (typeOfArray(given) !== undefined) return numberData(given as NumberArray);
    throw wrongType(name, 'a typed array of numbers', given);
  }
  if (!isDenseMatrix(given)) return null;
  const length = checkDenseMatrix(given, name);
  const { values, dimensions: width, validity } = given;
  return vectorData(values, { width, length, validity, isNullable: true });
}

/** Numbers are always float64, so that the type does not depend on the values of a batch. */
const KINDS: Record<string, ColumnKind> = {
  string: 'text',
  number: 'float64',
  boolean: 'bool',
  bigint: 'int64',
};

/** A column of plain values, all of one type; nulls are allowed. */
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
