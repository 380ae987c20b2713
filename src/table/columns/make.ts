/**
 * Arrow columns over memory that is there already: numbers, codes, vectors. Nothing is copied, so
 * the memory must stay as it is while the column is used.
 */

import {
  type Data,
  Field,
  FixedSizeBinary,
  FixedSizeList,
  type Float32,
  makeData,
  RecordBatch,
  type Schema,
  Struct,
} from 'apache-arrow';
import { countNulls } from '../../base/bitmap';
import { type NumberArray, typeOfArray } from './types';

/** A bitmap of the rows that are there; absent where all are. */
type Validity = Uint8Array | null | undefined;

function nullsOf(validity: Validity, length: number) {
  const nullCount = countNulls(validity, length);
  return nullCount === 0 ? { nullCount } : { nullCount, nullBitmap: validity as Uint8Array };
}

/** A number a row, of the array's type. */
export function numberData(values: NumberArray): Data<Float32> {
  const type = typeOfArray(values) as Float32;
  const data = values as Float32Array;
  return makeData({ type, length: values.length, nullCount: 0, data });
}

/** `width` bytes a row. */
export function bytesData(
  data: Uint8Array,
  { width, length, validity }: { width: number; length: number; validity: Validity },
): Data {
  const type = new FixedSizeBinary(width);
  return makeData({ type, length, data, ...nullsOf(validity, length) });
}

/** `width` numbers a row; `isNullable` is what the type says of the numbers. */
export function vectorData(
  values: NumberArray,
  shape: { width: number; length: number; validity?: Validity; isNullable: boolean },
): Data {
  const { width, length, validity, isNullable } = shape;
  const child = numberData(values);
  const type = new FixedSizeList(width, new Field('item', child.type, isNullable));
  return makeData({ type, length, child, ...nullsOf(validity, length) });
}

/** A record batch of these columns, all of `length` rows. */
export function recordBatch(
  schema: Schema,
  children: Data[],
  length: number,
  metadata?: Map<string, string>,
): RecordBatch {
  const data = makeData({ type: new Struct(schema.fields), length, nullCount: 0, children });
  return new RecordBatch(schema, data, metadata);
}
