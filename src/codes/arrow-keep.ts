/**
 * Some rows of a column, whatever its type. Dictionary columns become plain ones, since files
 * cannot replace a dictionary between batches.
 */

import {
  type Data,
  type DataType,
  type Dictionary,
  Field,
  type FixedSizeBinary,
  FixedSizeList,
  LargeList,
  List,
  Map_,
  makeBuilder,
  makeData,
  type Null,
  Struct,
  Type,
  type Utf8,
  Vector,
} from 'apache-arrow';
import { rangesOf } from './arrow-source';
import { bytesReader } from './row-values';

/** Types whose values lie one after another, so many elements each. */
const FIXED: readonly number[] = [
  ...[Type.Int, Type.Float, Type.FixedSizeBinary],
  ...[Type.Date, Type.Time, Type.Timestamp, Type.Duration],
];
/** Types whose values are bytes between offsets; the library would drop a byte order mark. */
const BYTES: readonly number[] = [Type.Utf8, Type.LargeUtf8, Type.Binary, Type.LargeBinary];
const LISTS: readonly number[] = [Type.List, Type.LargeList, Type.Map];

/** The same type without dictionaries, at any depth. */
export function plainOf(type: DataType): DataType {
  if (type.typeId === Type.Dictionary) return plainOf((type as Dictionary).dictionary);
  const children = (type.children ?? []) as Field[];
  if (children.length === 0) return type;
  const plain = children.map(({ name, type: own, nullable, metadata }) => {
    return new Field(name, plainOf(own), nullable, metadata);
  });
  if (plain.every((field, i) => field.type === children[i].type)) return type;
  if (type.typeId === Type.Struct) return new Struct(plain);
  if (type.typeId === Type.List) return new List(plain[0]);
  if (type.typeId === Type.LargeList) return new LargeList(plain[0]);
  if (type.typeId === Type.FixedSizeList) {
    return new FixedSizeList((type as FixedSizeList).listSize, plain[0]);
  }
  if (type.typeId === Type.Map) return new Map_(plain[0] as never, (type as Map_).keysSorted);
  throw new Error(`columns of type ${type} with dictionaries in them are not supported`);
}

/** Rows of a column, by place, in that order. */
export function taken(data: Data, rows: ArrayLike<number>): Data {
  const { typeId, stride } = data;
  const { length } = rows;
  const type = plainOf(data.type as DataType);
  if (typeId === Type.Null) return makeData({ type: type as Null, length });
  const nulls = nullsOf(data, rows);
  if (FIXED.includes(typeId) && data.values.length >= stride * data.length) {
    const values = new (data.values.constructor as Uint8ArrayConstructor)(stride * length);
    for (let i = 0; i < length; i++) {
      for (let j = 0; j < stride; j++) values[stride * i + j] = data.values[stride * rows[i] + j];
    }
    return makeData({ type: type as FixedSizeBinary, length, data: values, ...nulls });
  }
  if (typeId === Type.Struct) {
    const children = data.children.map((child) => taken(child, rows));
    return makeData({ type: type as Struct, length, children, ...nulls });
  }
  if (typeId === Type.FixedSizeList || LISTS.includes(typeId)) {
    const { start, end } = rangesOf({ data, firstRow: 0 });
    const inner: number[] = [];
    const offsets = [0];
    for (let i = 0; i < length; i++) {
      for (let at = start(rows[i]); at < end(rows[i]); at++) inner.push(at);
      offsets.push(inner.length);
    }
    const child = taken(data.children[0], inner);
    if (typeId === Type.FixedSizeList) {
      return makeData({ type: type as FixedSizeList, length, child, ...nulls });
    }
    const valueOffsets =
      typeId === Type.LargeList
        ? BigInt64Array.from(offsets, BigInt)
        : (Int32Array.from(offsets) as never);
    return makeData({ type: type as List, length, valueOffsets, child, ...nulls } as never);
  }
  if (BYTES.includes(typeId)) {
    return makeData({ type: type as Utf8, length, ...takenBytes(data, rows), ...nulls });
  }
  const values = new Vector([data]);
  const builder = makeBuilder({ type, nullValues: [null, undefined] });
  for (let i = 0; i < length; i++) builder.append(values.get(rows[i]));
  return builder.finish().flush();
}

function takenBytes(data: Data, rows: ArrayLike<number>) {
  const bytes = bytesReader(data);
  const parts: Uint8Array[] = [];
  const isLarge = data.typeId === Type.LargeUtf8 || data.typeId === Type.LargeBinary;
  const offsets = new (isLarge ? BigInt64Array : Int32Array)(rows.length + 1);
  let filled = 0;
  for (let i = 0; i < rows.length; i++) {
    const part = bytes(rows[i]);
    parts.push(part);
    filled += part.length;
    offsets[i + 1] = isLarge ? BigInt(filled) : filled;
  }
  const values = new Uint8Array(filled);
  filled = 0;
  for (const part of parts) {
    values.set(part, filled);
    filled += part.length;
  }
  return { valueOffsets: offsets as Int32Array, data: values };
}

function nullsOf(data: Data, rows: ArrayLike<number>) {
  if (data.nullCount === 0) return { nullCount: 0 };
  const nullBitmap = new Uint8Array(Math.ceil(rows.length / 8));
  let nullCount = 0;
  for (let i = 0; i < rows.length; i++) {
    if (data.getValid(rows[i])) nullBitmap[i >> 3] |= 1 << (i & 7);
    else nullCount++;
  }
  return { nullCount, nullBitmap };
}
