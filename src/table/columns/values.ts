/**
 * Values of Arrow columns as plain JavaScript values: numbers, bigints of 64-bit columns, strings,
 * booleans, bytes, arrays, objects, null. Dates, times and decimals are texts that lose nothing.
 */

import {
  BinaryView,
  type Data,
  type Decimal,
  type Field,
  type Int,
  type Time,
  type Timestamp,
  Type,
  Vector,
} from 'apache-arrow';
import { bitAt } from '../../base/arrays';
import type { Ids } from '../../base/check';
import { type Chunk, rangesOf } from './chunk';
import { integerArray, isBinaryType, isListType, isTextType } from './types';

/** Returns the value of a row of a column. */
type ReadValue = (row: number) => unknown;

/** Keeps a byte order mark, which the decoder of the library drops. */
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/** The values of all rows. */
export function valuesOf(data: Data, firstRow = 0): unknown[] {
  const read = valueReader(data, firstRow);
  const values = new Array<unknown>(data.length);
  for (let row = 0; row < data.length; row++) values[row] = read(row);
  return values;
}

/**
 * The ids of a column of integers, of texts, or of a dictionary of either; a null id throws.
 * Integers of up to 32 bits are numbers; BigInt is used only where a column has 64.
 */
export function idsOf({ data, firstRow }: Chunk): Ids {
  for (let row = 0; data.nullCount > 0 && row < data.length; row++) {
    if (data.getValid(row)) continue;
    throw new Error(`row ${firstRow + row}: the id is null (--id none: rows go by numbers)`);
  }
  // Everything but integers becomes text, also the entries of a dictionary of integers.
  if (data.typeId === Type.Int) {
    if (data.values.length < data.length) throw new Error('the ids are shorter than their batch');
    const ids = integerArray(data.type as Int, data.length);
    ids.set(data.values.subarray(0, data.length) as never);
    return ids;
  }
  return valuesOf(data, firstRow).map((id, row) => {
    if (id === null || id === undefined) throw new Error(`row ${firstRow + row}: no id`);
    return String(id);
  });
}

/**
 * Returns a reader of single rows; `firstRow` is the source's number of the first row, for errors.
 */
function valueReader(data: Data, firstRow = 0): ReadValue {
  const read = presentReader(data, firstRow);
  if (data.nullCount === 0 || data.typeId === Type.Null) return read;
  return (row) => (data.getValid(row) ? read(row) : null);
}

/**
 * Returns a reader of rows that are not null. It reads itself what Arrow's own accessors would
 * change.
 */
function presentReader(data: Data, firstRow: number): ReadValue {
  const { values, stride, typeId } = data;
  if (isBinaryType(typeId)) return bytesReader(data, firstRow);
  if (isTextType(typeId)) {
    const bytes = bytesReader(data, firstRow);
    return (row) => decoder.decode(bytes(row));
  }
  if (isListType(typeId)) {
    const { start, end } = rangesOf({ data, firstRow });
    const item = valueReader(data.children[0]);
    return (row) => listOf(item, start(row), end(row));
  }
  switch (typeId) {
    case Type.Null:
      return () => null;
    case Type.Int:
    case Type.Duration:
      return (row) => values[row];
    case Type.Float:
      // The library has half-precision numbers as integers of 16 bits.
      return values instanceof Uint16Array ? (row) => float16(values[row]) : (row) => values[row];
    case Type.Bool:
      return (row) => bitAt(values, data.offset + row);
    case Type.FixedSizeBinary:
      return (row) => values.subarray(stride * row, stride * (row + 1));
    case Type.Dictionary:
      return dictionaryReader(data, firstRow);
    case Type.Map:
      return mapReader(data);
    case Type.Struct: {
      const fields: readonly Field[] = data.type.children;
      const readers = data.children.map((child) => valueReader(child));
      return (row) => Object.fromEntries(fields.map(({ name }, i) => [name, readers[i](row)]));
    }
    case Type.Decimal:
      return (row) => decimal(data, row);
    case Type.Date:
      return values instanceof Int32Array
        ? (row) => dateText(values[row])
        : (row) => timeText(BigInt(values[row]), 3);
    case Type.Timestamp: {
      const { unit, timezone } = data.type as Timestamp;
      return (row) => timeText(values[row], 3 * unit) + (timezone ? 'Z' : '');
    }
    case Type.Time:
      return (row) => timeText(BigInt(values[row]), 3 * (data.type as Time).unit).slice(11);
    default:
      return otherReader(data);
  }
}

function listOf(item: ReadValue, start: number, end: number): unknown[] {
  const list = new Array<unknown>(end - start);
  for (let at = start; at < end; at++) list[at - start] = item(at);
  return list;
}

/** Returns a reader of the bytes of a row, for texts and bytes of any length; it returns views. */
export function bytesReader(data: Data, firstRow = 0): (row: number) => Uint8Array {
  const { values, valueOffsets } = data;
  if (!valueOffsets) {
    // A column of views has no offsets; the library resolves its buffers.
    const views = new Vector([data.clone(new BinaryView())]);
    return (row) => views.get(row) as Uint8Array;
  }
  const { start, end } = rangesOf({ data, firstRow });
  return (row) => values.subarray(start(row), end(row));
}

/** Decodes each entry that rows refer to once: a dictionary may be larger than its column. */
function dictionaryReader(data: Data, firstRow: number): ReadValue {
  const chunks = (data.dictionary?.data ?? []).map((chunk) => ({
    length: chunk.length,
    read: valueReader(chunk),
  }));
  const known = new Map<number, unknown>();
  // The index of an entry counts over all chunks of the dictionary.
  const look = (index: number) => {
    let at = index;
    for (const { length, read } of chunks) {
      if (at >= 0 && at < length) return read(at);
      at -= length;
    }
    return undefined;
  };
  return (row) => {
    const index = Number(data.values[row]);
    if (!known.has(index)) known.set(index, look(index));
    if (known.get(index) === undefined) {
      throw new Error(`row ${firstRow + row}: entry ${index} is not in the column's dictionary`);
    }
    return known.get(index);
  };
}

/** A Map with texts as keys becomes an object, any other an array of pairs. */
function mapReader(data: Data): ReadValue {
  const { start, end } = rangesOf({ data, firstRow: 0 });
  const [keys, values] = data.children[0].children.map((child) => valueReader(child));
  const isText = isTextType(data.children[0].children[0].typeId);
  return (row) => {
    const pairs = listOf((at) => [keys(at), values(at)], start(row), end(row));
    return isText ? Object.fromEntries(pairs as [string, unknown][]) : pairs;
  };
}

/** A day of the calendar, from a count of days since 1970; the count where no Date holds it. */
export function dateText(days: number): string {
  const date = new Date(days * 86_400_000);
  return Number.isNaN(date.getTime()) ? String(days) : date.toISOString().slice(0, -14);
}

/**
 * A time without a zone, from a count of units of 10^-digits seconds; the count where no Date holds
 * it.
 */
export function timeText(value: bigint, digits: number): string {
  const per = 10n ** BigInt(digits);
  // Never negative, also for times before 1970.
  const rest = ((value % per) + per) % per;
  const date = new Date(Number((value - rest) / per) * 1000);
  if (Number.isNaN(date.getTime())) return String(value);
  const seconds = date.toISOString().slice(0, -5);
  return digits === 0 ? seconds : `${seconds}.${String(rest).padStart(digits, '0')}`;
}

/** A decimal number: two's complement of 128 or 256 bits, lowest word first, and a scale. */
function decimal(data: Data, row: number): string {
  const words = data.values.subarray(data.stride * row, data.stride * (row + 1)) as Uint32Array;
  let value = 0n;
  for (let i = words.length - 1; i >= 0; i--) value = (value << 32n) | BigInt(words[i]);
  value = BigInt.asIntN(32 * words.length, value);
  const { scale } = data.type as Decimal;
  // One digit at least before the point; a negative scale appends zeros.
  const digits = String(value < 0n ? -value : value).padStart(scale + 1, '0');
  const text =
    scale > 0 ? `${digits.slice(0, -scale)}.${digits.slice(-scale)}` : digits + '0'.repeat(-scale);
  return value < 0n ? `-${text}` : text;
}

/** Rare types are read by the library's own accessor. */
function otherReader(data: Data): ReadValue {
  const vector = new Vector([data]);
  return (row) => {
    const value: unknown = vector.get(row);
    if (value === null || typeof value !== 'object') return value;
    return ArrayBuffer.isView(value) ? Array.from(value as Int32Array) : String(value);
  };
}

/** A half-precision number (IEEE 754) from its bits. */
export function float16(bits: number): number {
  const sign = bits >> 15 === 0 ? 1 : -1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  // Infinity and NaN, numbers below 2^-14, and all others.
  if (exponent === 31) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}
