/**
 * Columns made of rows of others, whatever their type: rows picked from one, columns one after
 * another, rows of nulls. Dictionary columns become plain ones, since files cannot replace a
 * dictionary between batches; so do views. The library's own builders are not used for nested
 * types: without builders for the children they make every value null.
 */

import {
  Binary,
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
  Struct,
  Type,
  Utf8,
} from 'apache-arrow';
import { bitAt, bitmapOf, countNulls } from '../../base/bitmap';
import { concatenated } from '../arrow/bytes';
import type { Column } from './builder';
import { type Chunk, checkBitmaps, type Ranges, rangesOf } from './chunk';
import { isBinaryType, isLargeType, isTextType } from './types';
import { bytesReader } from './values';

/** Types whose values lie one after another, so many elements each. */
const FIXED: readonly number[] = [
  ...[Type.Int, Type.Float, Type.FixedSizeBinary],
  ...[Type.Date, Type.Time, Type.Timestamp, Type.Duration, Type.Decimal, Type.Interval],
];
const LISTS: readonly number[] = [Type.List, Type.LargeList, Type.Map];

/** Offsets of 32 bits end here. */
const MAX_ELEMENTS = 2 ** 31 - 1;

/** Elements of a run from which on copying it by one call is faster than by a loop. */
const LONG_RUN = 16;

/** Rows `from` to `to - 1` of a column; without a column so many nulls. */
interface Run {
  readonly data: Data | null;
  readonly from: number;
  readonly to: number;
}

/** Rows of a column, by number, in that order. */
export function taken(data: Data, rows: ArrayLike<number>): Data {
  const runs: Run[] = []; // neighbours that follow each other are one
  for (let i = 0; i < rows.length; ) {
    const from = rows[i];
    let to = from + 1;
    for (i++; i < rows.length && rows[i] === to; i++) to++;
    runs.push({ data, from, to });
  }
  return gathered(plainOf(data.type as DataType), runs);
}

/** Columns of one type, one after another. Throws where their bytes do not fit one column. */
export function joinedData(parts: readonly Data[]): Data {
  const type = plainOf(parts[0].type as DataType);
  if (parts.length === 1 && type === parts[0].type) return parts[0];
  const runs = parts.map((data) => ({ data, from: 0, to: data.length }));
  return gathered(type, runs);
}

/** The column of which these are parts; one of nulls alone takes the type of the others. */
export function joinedColumn(parts: readonly Column[]): Column {
  const { field } = parts.find(({ data }) => data.nullCount < data.length) ?? parts[0];
  const type = plainOf(field.type);
  const fitted = parts.map(({ data }) => {
    if (String(plainOf(data.type)) === String(type)) return data;
    if (data.nullCount === data.length) return nullsOfType(type, data.length);
    throw new TypeError(`column "${field.name}" of type ${type} cannot take one of ${data.type}`);
  });
  return { field: field.clone({ type }) as Field, data: joinedData(fitted) };
}

/** A column of nulls. */
export function nullsOfType(type: DataType, length: number): Data {
  return gathered(plainOf(type), [{ data: null, from: 0, to: length }]);
}

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

/** A column of a plain type from rows of columns of that type, or of dictionaries of it. */
function gathered(type: DataType, given: readonly Run[]): Data {
  const { typeId } = type;
  const children = (type.children ?? []) as Field[];
  const runs = given.some(isDictionary) ? plainRuns(given) : given;
  const length = runs.reduce((sum, { from, to }) => sum + to - from, 0);
  if (typeId === Type.Null) return makeData({ type, length } as never);
  const made = { type, length, ...nullsOf(runs, length) };
  if (FIXED.includes(typeId)) {
    return makeData({ ...made, data: elements(type, runs, length) } as never);
  }
  if (typeId === Type.Bool) {
    const isSet = (data: Data, row: number) => bitAt(data.values, data.offset + row);
    return makeData({ ...made, data: bits(runs, length, isSet) } as never);
  }
  if (typeId === Type.Struct) {
    const columns = children.map((field, i) => {
      const own = runs.map(({ data, from, to }) => ({ data: data?.children[i] ?? null, from, to }));
      return gathered(field.type, own);
    });
    return makeData({ ...made, children: columns } as never);
  }
  if (typeId === Type.FixedSizeList || LISTS.includes(typeId)) {
    const ranges = ofEach((data) => rangesOf({ data, firstRow: 0 }));
    const child = gathered(
      children[0].type,
      runs.map((run) => itemsOf(type, run, ranges)),
    );
    if (typeId === Type.FixedSizeList) return makeData({ ...made, child } as never);
    const lengthOf = (data: Data, row: number) => ranges(data).end(row) - ranges(data).start(row);
    return makeData({ ...made, valueOffsets: offsetsOf(made, runs, lengthOf), child } as never);
  }
  if (isTextType(typeId) || isBinaryType(typeId)) {
    const readers = ofEach((data) => bytesReader(data));
    const parts: Uint8Array[] = [];
    const valueOffsets = offsetsOf(made, runs, (data, row) => {
      if (!data.getValid(row)) return 0;
      return parts[parts.push(readers(data)(row)) - 1].length;
    });
    return makeData({ ...made, valueOffsets, data: concatenated(parts) } as never);
  }
  throw new Error(`columns of type ${type} are not supported`);
}

/** What is made of a column once, however many runs of it there are. */
function ofEach<T>(make: (data: Data) => T): (data: Data) => T {
  const made = new Map<Data, T>();
  return (data) => {
    if (!made.has(data)) made.set(data, make(data));
    return made.get(data) as T;
  };
}

const isDictionary = ({ data }: Run) => data?.typeId === Type.Dictionary;

/** Rows of dictionaries as rows of their entries; a null row may have any index. */
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

function nullsOf(runs: readonly Run[], length: number) {
  if (runs.every(({ data }) => data !== null && data.nullCount === 0)) return { nullCount: 0 };
  const nullBitmap = bits(runs, length, (data, row) => data.getValid(row));
  const nullCount = countNulls(nullBitmap, length);
  return nullCount === 0 ? { nullCount } : { nullCount, nullBitmap };
}

/** A bit for each row, 0 for those without a column. */
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

function elements(type: DataType, runs: readonly Run[], length: number) {
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

/** The items of a run of lists, which are one run of the child. */
function itemsOf(type: DataType, { data, from, to }: Run, ranges: (data: Data) => Ranges): Run {
  if (data === null) {
    const isFixed = type.typeId === Type.FixedSizeList;
    return { data, from: 0, to: isFixed ? (to - from) * (type as FixedSizeList).listSize : 0 };
  }
  const { start, end } = ranges(data);
  const items = from === to ? { from: 0, to: 0 } : { from: start(from), to: end(to - 1) };
  return { data: data.children[0], ...items };
}

/** Offsets of a column of texts, bytes or lists, from the length of each row. */
function offsetsOf(
  { type, length }: { type: DataType; length: number },
  runs: readonly Run[],
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

/**
 * A column of one batch of `count` rows, the first of which is row `firstRow` of its source; its
 * bitmaps are checked. A column without rows may lack the memory, and the children, that readers
 * expect: it is made again.
 */
export function chunkOf(
  field: Field,
  data: Data | undefined,
  { count, firstRow }: { readonly count: number; readonly firstRow: number },
): Chunk {
  if (count === 0) return { data: nullsOfType(field.type, 0), firstRow };
  if (data?.length !== count) throw new Error(`column "${field.name}" is shorter than its batch`);
  checkBitmaps(data);
  return { data, firstRow };
}
