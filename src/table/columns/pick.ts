/**
 * Makes columns of the rows of other columns, whatever their type: picked rows, columns one after
 * another, rows of nulls. Dictionary columns and views become plain columns, since files cannot
 * replace a dictionary between batches. The library's own builders are not used for nested types:
 * without builders for the children they make every value null.
 */

import {
  Binary,
  type Data,
  type DataType,
  type Dictionary,
  type Field,
  type FixedSizeBinary,
  type FixedSizeList,
  makeData,
  Type,
  Utf8,
} from 'apache-arrow';
import { bitAt, bitmapOf, concatenated } from '../../base/arrays';
import { rangesOf } from './chunk';
import { type Column, nullsOf } from './make';
import { isBinaryType, isLargeType, isListType, isTextType } from './types';
import { bytesReader } from './values';

/** Offsets of 32 bits reach no further. */
const MAX_ELEMENTS = 2 ** 31 - 1;

/** A run of this many elements or more is copied faster by a call than by a loop. */
const LONG_RUN = 16;

/** Rows `from` to `to - 1` of a column; where `data` is null, as many nulls. */
interface Run {
  readonly data: Data | null;
  readonly from: number;
  readonly to: number;
}

/** The rows of a column with these numbers, in the order given. */
export function taken({ field, data }: Column, rows: ArrayLike<number>): Column {
  const runs: Run[] = []; // rows that follow one another are one run
  for (let i = 0; i < rows.length; ) {
    const from = rows[i];
    let to = from + 1;
    for (i++; i < rows.length && rows[i] === to; i++) to++;
    runs.push({ data, from, to });
  }
  const type = plainOf(field.type);
  return { field: field.clone({ type }) as Field, data: gathered(type, runs) };
}

/** Columns of one type, one after another. Throws where their elements do not fit one column. */
export function joinedData(parts: readonly Data[]): Data {
  const type = plainOf(parts[0].type as DataType);
  if (parts.length === 1 && type === parts[0].type) return parts[0];
  const runs = parts.map((data) => ({ data, from: 0, to: data.length }));
  return gathered(type, runs);
}

/** Joins parts to one column. A part that is all null takes the type of the others. */
export function joinedColumn(parts: readonly Column[]): Column {
  const { field } = parts.find(({ data }) => data.nullCount < data.length) ?? parts[0];
  const type = plainOf(field.type);
  const fitted = parts.map(({ data }) => {
    const own = ofType(type, data);
    if (own !== null) return own;
    throw new TypeError(`column "${field.name}" of type ${type} cannot take one of ${data.type}`);
  });
  return { field: field.clone({ type }) as Field, data: joinedData(fitted) };
}

/**
 * The column itself if its plain type is `type`; as nulls of `type` if it is all null; else null.
 */
export function ofType(type: DataType, data: Data): Data | null {
  if (String(plainOf(data.type)) === String(type)) return data;
  return data.nullCount === data.length ? nullsOfType(type, data.length) : null;
}

/** A column of `length` nulls. */
export function nullsOfType(type: DataType, length: number): Data {
  return gathered(plainOf(type), [{ data: null, from: 0, to: length }]);
}

/**
 * The same type without dictionaries and views, at any depth. Columns of type Null become texts:
 * they have no bytes, which are what a file is checked by.
 */
function plainOf(type: DataType): DataType {
  if (type.typeId === Type.Null) return new Utf8();
  if (type.typeId === Type.Dictionary) return plainOf((type as Dictionary).dictionary);
  if (type.typeId === Type.Utf8View) return new Utf8();
  if (type.typeId === Type.BinaryView) return new Binary();
  // A type whose children are plain already stays the same object.
  const children = (type.children ?? []) as Field[];
  if (children.length === 0) return type;
  const plain = children.map((field) => field.clone({ type: plainOf(field.type) }) as Field);
  if (plain.every((field, i) => field.type === children[i].type)) return type;
  return Object.assign(Object.create(Object.getPrototypeOf(type)), type, { children: plain });
}

/** Makes a column of a plain type from runs of columns of that type, or of dictionaries of it. */
function gathered(type: DataType, given: readonly Run[]): Data {
  // Dictionaries are looked up row by row; all other columns are copied in runs.
  const runs = (given.some(isDictionary) ? plainRuns(given) : given).map((run) =>
    run.data?.typeId === Type.Null ? { ...run, data: null } : run,
  );
  const length = runs.reduce((sum, { from, to }) => sum + to - from, 0);
  const hasNulls = runs.some(({ data }) => data === null || data.nullCount > 0);
  const validity = hasNulls ? bits(runs, length, (data, row) => data.getValid(row)) : null;
  const made = { type, length, ...nullsOf(validity, length) };
  return makeData({ ...made, ...contentOf(type, runs, length) } as never);
}

/** Types with a fixed number of elements for each row. */
const OF_ELEMENTS: readonly Type[] = [
  ...[Type.Int, Type.Float, Type.FixedSizeBinary, Type.Decimal],
  ...[Type.Date, Type.Time, Type.Timestamp, Type.Duration, Type.Interval],
];

/**
 * The buffers and children of a column of a plain type, without its bitmap. Throws for types that
 * are only read.
 */
function contentOf(type: DataType, runs: readonly Run[], length: number) {
  const { typeId } = type;
  if (OF_ELEMENTS.includes(typeId)) return { data: elements(type, runs, length) };
  if (isTextType(typeId) || isBinaryType(typeId)) return bytes(type, runs, length);
  if (typeId === Type.Struct || typeId === Type.FixedSizeList) return children(type, runs);
  if (isListType(typeId) || typeId === Type.Map) return items(type, runs, length);
  if (typeId !== Type.Bool) throw new Error(`columns of type ${type} are not supported`);
  return { data: bits(runs, length, (data, row) => bitAt(data.values, data.offset + row)) };
}

/** Bytes of any length: the values of all rows, joined. */
function bytes(type: DataType, runs: readonly Run[], length: number) {
  const readers = ofEach((data) => bytesReader(data));
  const parts: Uint8Array[] = [];
  const valueOffsets = offsetsOf(type, runs, length, (data, row) => {
    if (!data.getValid(row)) return 0;
    return parts[parts.push(readers(data)(row)) - 1].length;
  });
  return { valueOffsets, data: concatenated(parts) };
}

/** Lists: the items of each run follow one another, so they are a run of the child. */
function items(type: DataType, runs: readonly Run[], length: number) {
  const ranges = ofEach((data) => rangesOf({ data, firstRow: 0 }));
  const own = runs.map(({ data, from, to }): Run => {
    if (data === null || from === to) return { data: null, from: 0, to: 0 };
    const { start, end } = ranges(data);
    return { data: data.children[0], from: start(from), to: end(to - 1) };
  });
  const child = gathered(type.children[0].type, own);
  const lengthOf = (data: Data, row: number) => ranges(data).end(row) - ranges(data).start(row);
  return { valueOffsets: offsetsOf(type, runs, length, lengthOf), child };
}

/** Structs and lists of fixed size: each child has a fixed number of rows for each row. */
function children(type: DataType, runs: readonly Run[]) {
  const each = type.typeId === Type.FixedSizeList ? (type as FixedSizeList).listSize : 1;
  const made = (type.children as Field[]).map((field, i) => {
    const own = runs.map(({ data, from, to }): Run => {
      const child = data?.children[i] ?? null;
      if (child !== null && child.length < to * each) {
        throw new Error('a column is shorter than its batch');
      }
      return { data: child, from: from * each, to: to * each };
    });
    return gathered(field.type, own);
  });
  return { children: made, child: made[0] };
}

/** Caches the result of `make` for each column, since a column may have many runs. */
function ofEach<T>(make: (data: Data) => T): (data: Data) => T {
  const made = new Map<Data, T>();
  return (data) => {
    if (!made.has(data)) made.set(data, make(data));
    return made.get(data) as T;
  };
}

const isDictionary = ({ data }: Run) => data?.typeId === Type.Dictionary;

/** Turns rows of dictionaries into runs of their entries. The index of a null row is not read. */
function plainRuns(runs: readonly Run[]): Run[] {
  const entriesOf = ofEach((data) => joinedData((data.dictionary?.data ?? []) as Data[]));
  const plain: Run[] = [];
  for (const run of runs) {
    const { data, to } = run;
    if (data === null || !isDictionary(run)) {
      plain.push(run);
      continue;
    }
    const entries = entriesOf(data);
    for (let row = run.from; row < to; row++) {
      if (!data.getValid(row)) {
        plain.push({ data: null, from: 0, to: 1 });
        continue;
      }
      const from = Number(data.values[row]);
      if (!(from >= 0 && from < entries.length)) {
        throw new Error(`entry ${from} is not in the column's dictionary`);
      }
      plain.push({ data: entries, from, to: from + 1 });
    }
  }
  return plain;
}

/** A bit for each row of the runs in order; 0 for rows without a column. */
function bits(
  runs: readonly Run[],
  length: number,
  isSet: (data: Data, row: number) => boolean,
): Uint8Array {
  let at = -1;
  let row = -1;
  let end = -1;
  return bitmapOf(length, () => {
    for (row++; row >= end; ) ({ from: row, to: end } = runs[++at]);
    const { data } = runs[at];
    return data !== null && isSet(data, row);
  });
}

/** The elements of a column with a fixed number of them for each row; zeros for nulls. */
function elements(type: DataType, runs: readonly Run[], length: number) {
  // How many elements a row has, as the library counts them for this type.
  const { stride } = makeData({ type: type as FixedSizeBinary, length: 0 });
  const joined = new (type.ArrayType as Uint8ArrayConstructor)(length * stride);
  let at = 0;
  for (const { data, from, to } of runs) {
    const count = (to - from) * stride;
    if (data !== null) {
      const { values } = data;
      const first = from * stride;
      if (values.length < first + count) throw new Error('a column is shorter than its batch');
      if (count >= LONG_RUN) joined.set(values.subarray(first, first + count), at);
      else for (let i = 0; i < count; i++) joined[at + i] = values[first + i];
    }
    at += count;
  }
  return joined;
}

/** The offsets of a column of texts, bytes or lists, from the length of each row. */
function offsetsOf(
  type: DataType,
  runs: readonly Run[],
  length: number,
  lengthOf: (data: Data, row: number) => number,
): Int32Array | BigInt64Array {
  const isLarge = isLargeType(type.typeId);
  const offsets = new (isLarge ? BigInt64Array : Int32Array)(length + 1);
  let at = 0;
  let filled = 0;
  for (const { data, from, to } of runs) {
    for (let row = from; row < to; row++) {
      if (data !== null) filled += lengthOf(data, row);
      offsets[++at] = isLarge ? BigInt(filled) : filled;
    }
  }
  if (isLarge || filled <= MAX_ELEMENTS) return offsets;
  throw new RangeError(`${filled} bytes or items do not fit one column of type ${type}`);
}
