/**
 * Ids: the user's own names of rows, integers or strings, in and out of Arrow. Integers of up to 32
 * bits are numbers; BigInt only where the column has 64.
 */

import {
  Binary,
  BinaryView,
  type Data,
  type Field,
  type Int,
  Int32,
  Int64,
  LargeBinary,
  makeData,
  Type,
  Uint32,
  Uint64,
  Utf8,
  Vector,
} from 'apache-arrow';
import type { Ids } from '../../base/ids';
import { type ArrowBatches, type Chunk, checkOffsets, chunksOf, pickField } from '../arrow/source';

export type { Ids };

const STRINGS: readonly number[] = [Type.Utf8, Type.LargeUtf8, Type.Utf8View];

function isIdType(type: Field['type']): boolean {
  if (type.typeId === Type.Dictionary) return isIdType(type.dictionary);
  return type.typeId === Type.Int || STRINGS.includes(type.typeId);
}

/** The named column of ids, or one called "id" if there is one; else null. */
export function pickIds(source: ArrowBatches, column: string | undefined): Field | null {
  const fits = (field: Field) => isIdType(field.type);
  const hasDefault = source.schema.fields.some((field) => field.name === 'id' && fits(field));
  if (column === undefined && !hasDefault) return null;
  const options = { column: column ?? 'id', usual: [], option: 'id' };
  return pickField(source, 'id column of integers or strings', fits, options);
}

/** The ids of all rows. */
export function readIds(source: ArrowBatches, field: Field | null): Ids | null {
  if (field === null) return null;
  const chunks = chunksOf(source, field.name);
  if (field.type.typeId === Type.Int) return readIntegers(field, chunks, source.count);
  const ids: string[] = [];
  for (const { data, firstRow } of chunks) {
    refuseNulls(data, firstRow);
    const strings = stringsOf(data, firstRow);
    for (let row = 0; row < data.length; row++) {
      const id = strings(row);
      if (id === null) throw new Error(`row ${firstRow + row}: no id`);
      ids.push(id);
    }
  }
  return ids;
}

function readIntegers(field: Field, chunks: readonly Chunk[], count: number): Ids {
  const { bitWidth, isSigned } = field.type as Int;
  const Wide = isSigned ? BigInt64Array : BigUint64Array;
  const Narrow = isSigned ? Int32Array : Uint32Array;
  const ids = bitWidth === 64 ? new Wide(count) : new Narrow(count);
  for (const { data, firstRow } of chunks) {
    refuseNulls(data, firstRow);
    if (data.values.length < data.length) throw new Error('the ids are shorter than their batch');
    ids.set(data.values.subarray(0, data.length) as never, firstRow);
  }
  return ids;
}

/** The library's own decoder drops a byte order mark, and two ids could become one. */
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

const BINARY_OF = new Map<number, Field['type']>([
  [Type.Utf8, new Binary()],
  [Type.LargeUtf8, new LargeBinary()],
  [Type.Utf8View, new BinaryView()],
]);

/** Reads the strings of a chunk; of a dictionary those that its indices stand for. */
function stringsOf(data: Data, firstRow: number): (row: number) => string | null {
  if (data.typeId === Type.Dictionary) {
    const entries = (data.dictionary?.data ?? []).flatMap((chunk) => {
      const string = stringsOf(chunk, 0);
      return Array.from({ length: chunk.length }, (_, i) => (chunk.getValid(i) ? string(i) : null));
    });
    const indices = data.values as ArrayLike<number | bigint>;
    return (row) => entries[Number(indices[row])] ?? null;
  }
  if (data.valueOffsets) checkOffsets({ data, firstRow }, data.values.length);
  const binary = BINARY_OF.get(data.typeId);
  const values = new Vector([binary === undefined ? data : data.clone(binary)]);
  return (row) => {
    const value: unknown = values.get(row);
    if (value instanceof Uint8Array) return decoder.decode(value);
    return value === null || value === undefined ? null : String(value);
  };
}

function refuseNulls(data: Data, firstRow: number): void {
  if (data.nullCount === 0) return;
  for (let row = 0; row < data.length; row++) {
    if (!data.getValid(row)) throw new Error(`row ${firstRow + row}: the id is null`);
  }
}

/** The column type of ids, and a function that cuts the rows of one batch out of them. */
export function idColumn(ids: Ids): {
  type: Field['type'];
  slice(first: number, end: number): Data;
} {
  if (!ArrayBuffer.isView(ids)) {
    const type = new Utf8();
    return { type, slice: (first, end) => strings(ids.slice(first, end), type) };
  }
  const type =
    ids instanceof Int32Array
      ? new Int32()
      : ids instanceof Uint32Array
        ? new Uint32()
        : ids instanceof BigInt64Array
          ? new Int64()
          : new Uint64();
  return {
    type,
    slice: (first, end) =>
      makeData({
        type: type as Int32,
        length: end - first,
        nullCount: 0,
        data: ids.slice(first, end) as Int32Array,
      }),
  };
}

function strings(values: readonly string[], type: Utf8): Data {
  const encoder = new TextEncoder();
  const encoded = values.map((value) => encoder.encode(value));
  const valueOffsets = new Int32Array(values.length + 1);
  encoded.forEach((bytes, row) => {
    valueOffsets[row + 1] = valueOffsets[row] + bytes.length;
  });
  const data = new Uint8Array(valueOffsets[values.length]);
  for (let row = 0; row < encoded.length; row++) data.set(encoded[row], valueOffsets[row]);
  return makeData({ type, length: values.length, nullCount: 0, valueOffsets, data });
}
