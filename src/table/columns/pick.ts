/**
 * Some rows of a column, and columns one behind the other, whatever their type. Dictionary columns
 * become plain ones, since files cannot replace a dictionary between batches; so do views. The
 * library's own builders are not used for nested types: without builders for the children they make
 * every value null.
 */

import {
  Binary,
  type Bool,
  type Data,
  type DataType,
  type Dictionary,
  Field,
  type FixedSizeBinary,
  FixedSizeList,
  LargeList,
  List,
  Map_,
  makeData,
  type Null,
  Struct,
  Type,
  Utf8,
} from 'apache-arrow';
import { bitAt, bitmapOf } from '../../base/bitmap';
import { concatenated } from '../arrow/bytes';
import { rangesOf } from './chunk';
import { isBinaryType, isLargeType, isTextType } from './types';
import { bytesReader } from './values';

/** Types whose values lie one after another, so many elements each. */
const FIXED: readonly number[] = [
  ...[Type.Int, Type.Float, Type.FixedSizeBinary],
  ...[Type.Date, Type.Time, Type.Timestamp, Type.Duration, Type.Decimal, Type.Interval],
];
/** Types whose values are bytes between offsets; the library would drop a byte order mark. */
const isBytesType = (typeId: number) => isTextType(typeId) || isBinaryType(typeId);
const LISTS: readonly number[] = [Type.List, Type.LargeList, Type.Map];

/** The same type without dictionaries and views, at any depth. */
export function plainOf(type: DataType): DataType {
  if (type.typeId === Type.Dictionary) return plainOf((type as Dictionary).dictionary);
  if (type.typeId === Type.Utf8View) return new Utf8();
  if (type.typeId === Type.BinaryView) return new Binary();
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
  if (isBytesType(typeId)) {
    return makeData({ type: type as Utf8, length, ...takenBytes(data, rows), ...nulls });
  }
  if (typeId === Type.Bool) {
    const bits = bitmapOf(length, (i) => bitAt(data.values, data.offset + rows[i]));
    return makeData({ type: type as Bool, length, data: bits, ...nulls });
  }
  if (typeId === Type.Dictionary) return takenOfDictionary(data, rows);
  throw new Error(`rows of a column of type ${data.type} cannot be picked`);
}

/** The entries that rows of a dictionary column stand for; a null entry makes a null row. */
function takenOfDictionary(data: Data, rows: ArrayLike<number>): Data {
  const entries = joinedData((data.dictionary?.data ?? []) as Data[]);
  // A null row may have any index: it takes the place behind the entries, which is null.
  const none = entries.length;
  const withNull = joinedData([entries, nullsOfType(entries.type, 1)]);
  const places = Array.from(rows, (row) => (data.getValid(row) ? Number(data.values[row]) : none));
  const wrong = places.find((place) => !(place >= 0 && place <= none));
  if (wrong !== undefined) throw new Error(`entry ${wrong} is not in the column's dictionary`);
  return taken(withNull, places);
}

const NO_BYTES = new Uint8Array();

function takenBytes(data: Data, rows: ArrayLike<number>) {
  const bytes = bytesReader(data);
  const parts: Uint8Array[] = [];
  const isLarge = isLargeType(data.typeId);
  const offsets = new (isLarge ? BigInt64Array : Int32Array)(rows.length + 1);
  let filled = 0;
  for (let i = 0; i < rows.length; i++) {
    const part = data.getValid(rows[i]) ? bytes(rows[i]) : NO_BYTES;
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
  let nullCount = 0;
  const nullBitmap = bitmapOf(rows.length, (i) => {
    const isValid = data.getValid(rows[i]);
    if (!isValid) nullCount++;
    return isValid;
  });
  return { nullCount, nullBitmap };
}

/** Columns of one type, one behind the other. Throws where their bytes do not fit one column. */
export function joinedData(chunks: readonly Data[]): Data {
  const parts = chunks.map(plainData);
  if (parts.length === 1) return parts[0];
  const [{ type, typeId }] = parts;
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  if (typeId === Type.Null) return makeData({ type: type as Null, length });
  const nulls = joinedNulls(parts, length);
  if (FIXED.includes(typeId)) {
    return makeData({ type, length, data: joinedValues(parts, length), ...nulls } as never);
  }
  if (typeId === Type.Bool) {
    const data = joinedBits(parts, length, (part, row) => bitAt(part.values, part.offset + row));
    return makeData({ type: type as Bool, length, data, ...nulls });
  }
  if (typeId === Type.Struct) {
    const children = (type as Struct).children.map((_, i) => {
      return joinedData(parts.map((part) => part.children[i]));
    });
    return makeData({ type: type as Struct, length, children, ...nulls });
  }
  if (typeId === Type.FixedSizeList) {
    const child = joinedData(
      parts.map((part) => part.children[0].slice(0, part.length * part.stride)),
    );
    return makeData({ type: type as FixedSizeList, length, child, ...nulls });
  }
  const spans = parts.map(({ valueOffsets, length: rows }) => {
    return rows === 0 ? [0, 0] : [Number(valueOffsets[0]), Number(valueOffsets[rows])];
  });
  const valueOffsets = joinedOffsets(parts, spans, length);
  if (isBytesType(typeId)) {
    const bytes = parts.map((part, i) => part.values.subarray(...spans[i]) as Uint8Array);
    const data = concatenated(bytes);
    return makeData({ type, length, valueOffsets, data, ...nulls } as never);
  }
  const child = joinedData(
    parts.map((part, i) => part.children[0].slice(spans[i][0], spans[i][1] - spans[i][0])),
  );
  return makeData({ type, length, valueOffsets, child, ...nulls } as never);
}

/** The same column without dictionaries and views. */
function plainData(data: Data): Data {
  if (plainOf(data.type as DataType) === data.type) return data;
  return taken(
    data,
    Uint32Array.from({ length: data.length }, (_, row) => row),
  );
}

function joinedValues(parts: readonly Data[], length: number) {
  const [{ values, stride }] = parts;
  const joined = new (values.constructor as Uint8ArrayConstructor)(length * stride);
  let at = 0;
  for (const part of parts) {
    joined.set(part.values.subarray(0, part.length * stride), at);
    at += part.length * stride;
  }
  return joined;
}

/** Offsets of 32 bits end at 2^31 - 1. */
const MOST_ELEMENTS = 2 ** 31 - 1;

function joinedOffsets(parts: readonly Data[], spans: readonly number[][], length: number) {
  const isLarge = isLargeType(parts[0].typeId);
  const total = spans.reduce((sum, [from, to]) => sum + to - from, 0);
  if (!isLarge && total > MOST_ELEMENTS) {
    throw new RangeError(`${total} bytes or items do not fit one column of type ${parts[0].type}`);
  }
  const offsets = new (isLarge ? BigInt64Array : Int32Array)(length + 1);
  let row = 0;
  let at = 0;
  parts.forEach((part, i) => {
    const [from, to] = spans[i];
    for (let j = 1; j <= part.length; j++) {
      const offset = at + Number(part.valueOffsets[j]) - from;
      offsets[++row] = isLarge ? BigInt(offset) : offset;
    }
    at += to - from;
  });
  return offsets;
}

function joinedNulls(parts: readonly Data[], length: number) {
  const nullCount = parts.reduce((sum, part) => sum + part.nullCount, 0);
  if (nullCount === 0) return { nullCount };
  return { nullCount, nullBitmap: joinedBits(parts, length, (part, row) => part.getValid(row)) };
}

function joinedBits(
  parts: readonly Data[],
  length: number,
  isSet: (part: Data, row: number) => boolean,
): Uint8Array {
  const bits = new Uint8Array(Math.ceil(length / 8));
  let at = 0;
  for (const part of parts) {
    for (let row = 0; row < part.length; row++, at++) {
      if (isSet(part, row)) bits[at >> 3] |= 1 << (at & 7);
    }
  }
  return bits;
}

/** A column of nulls. */
export function nullsOfType(given: DataType, length: number): Data {
  const type = plainOf(given);
  const { typeId } = type;
  if (typeId === Type.Null) return makeData({ type: type as Null, length });
  const nullBitmap = new Uint8Array(Math.ceil(length / 8));
  const nulls = { type, length, nullCount: length, nullBitmap };
  const children = (type.children ?? []) as Field[];
  if (typeId === Type.Struct) {
    return makeData({
      ...nulls,
      children: children.map((one) => nullsOfType(one.type, length)),
    } as never);
  }
  if (typeId === Type.FixedSizeList) {
    const { listSize } = type as FixedSizeList;
    return makeData({ ...nulls, child: nullsOfType(children[0].type, length * listSize) } as never);
  }
  if (LISTS.includes(typeId) || isBytesType(typeId)) {
    const isLarge = isLargeType(typeId);
    const valueOffsets = new (isLarge ? BigInt64Array : Int32Array)(length + 1);
    if (isBytesType(typeId))
      return makeData({ ...nulls, valueOffsets, data: new Uint8Array() } as never);
    return makeData({ ...nulls, valueOffsets, child: nullsOfType(children[0].type, 0) } as never);
  }
  if (typeId === Type.Bool)
    return makeData({ ...nulls, data: new Uint8Array(nullBitmap.length) } as never);
  if (!FIXED.includes(typeId)) throw new Error(`columns of type ${type} are not supported`);
  const { stride } = makeData({ type: type as FixedSizeBinary, length: 0 });
  const data = new (type.ArrayType as Uint8ArrayConstructor)(length * stride);
  return makeData({ ...nulls, data } as never);
}
