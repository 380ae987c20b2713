/**
 * Columns of Parquet as ours: numbers, texts, bytes and lists keep their types, dates and times
 * become texts that lose nothing. Rows are read a row group at a time, which memory holds. Each
 * value in a struct is a column, and one in a list of structs a list. Lists within lists are not
 * read.
 */

import { bitmapOf } from '../../base/arrays';
import { asFormatError, FormatError } from '../../base/check';
import {
  type Column,
  listData,
  nullsAt,
  nullsOf,
  numberData,
  plainColumn,
  plainData,
} from '../../table/columns/make';
import type { ColumnKind } from '../../table/columns/types';
import { dateText, float16, timeText } from '../../table/columns/values';
import { RowBatch } from '../../table/row-batch';
import type { ByteSource } from '../byte-source';
import { checkColumns, type FormatRows, type ReadOptions } from '../row-reader';
import { type Leaf, readFooter } from './metadata';
import { budgetFor, LeafReader, type LeafValues, type Take, type Values } from './pages';

/**
 * The kind of a leaf's values, and what makes them of stored ones; null where they are the same.
 */
interface LeafType {
  readonly kind: ColumnKind;
  readonly turn: ((value: never) => unknown) | null;
}

/** The numbers of types that mean what they store. */
const NUMBERS: Readonly<Record<string, ColumnKind>> = {
  INT32: 'int32',
  INT64: 'int64',
  FLOAT: 'float32',
  DOUBLE: 'float64',
};

/** How the values of a leaf are read. */
function leafType({ type, meaning, digits }: Leaf): LeafType {
  switch (meaning) {
    case 'DECIMAL':
      return { kind: 'float64', turn: (value) => decimal(value) / 10 ** digits };
    case 'DATE':
      return { kind: 'text', turn: dateText };
    case 'TIME':
      return {
        kind: 'text',
        turn: (value: number | bigint) => timeText(BigInt(value), digits).slice(11),
      };
    case 'TIMESTAMP':
      return { kind: 'text', turn: (value: bigint) => timeText(BigInt(value), digits) };
    case 'INSTANT': // of UTC, marked as those of Arrow are
      return { kind: 'text', turn: (value: bigint) => `${timeText(BigInt(value), digits)}Z` };
    case 'UNSIGNED':
      return type === 'INT64'
        ? { kind: 'uint64', turn: (value: bigint) => BigInt.asUintN(64, value) }
        : { kind: 'uint32', turn: (value: number) => value >>> 0 };
    case 'UUID':
      return { kind: 'text', turn: uuid };
    case 'FLOAT16':
      return { kind: 'float32', turn: ([low, high]: Uint8Array) => float16(low | (high << 8)) };
    case 'STRING':
    case 'JSON':
      return { kind: meaning === 'JSON' ? 'json' : 'text', turn: textOf };
  }
  if (type in NUMBERS) return { kind: NUMBERS[type], turn: null };
  if (type === 'BOOLEAN') return { kind: 'bool', turn: (bit: number) => bit === 1 };
  if (type === 'INT96') return { kind: 'text', turn: int96 };
  return { kind: 'binary', turn: null };
}

/** Bytes that are no UTF-8 become U+FFFD, as Arrow's readers have it. */
function textOf({ buffer, byteOffset, length }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, length).toString('utf8');
}

/** A time of old writers: nanoseconds of a day in 8 bytes, then the Julian day in 4. */
function int96(bytes: Uint8Array): string {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const days = BigInt(view.getInt32(8, true)) - 2_440_588n;
  return timeText(days * 86_400_000_000_000n + view.getBigInt64(0, true), 9);
}

/** A decimal without its point: a number, or bytes of two's complement, the highest first. */
function decimal(value: number | bigint | Uint8Array): number {
  if (!(value instanceof Uint8Array)) return Number(value);
  let sum = 0n;
  for (const byte of value) sum = (sum << 8n) | BigInt(byte);
  return Number(BigInt.asIntN(8 * value.length, sum));
}

function uuid(bytes: Uint8Array): string {
  return Buffer.from(bytes)
    .toString('hex')
    .replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

/** A column of `rows` rows from its values. */
function columnData(
  { leaf, item: { kind } }: { readonly leaf: Leaf; readonly item: LeafType },
  rows: number,
  values: LeafValues,
  take: Take,
): Column['data'] {
  const { name, maxRepetition, maxDefinition } = leaf;
  // Of a part of a struct there are several levels below that of a value: the struct may be null.
  const isThere = () => values.definitions?.map((level) => Number(level === maxDefinition)) ?? null;
  const data =
    maxRepetition === 0
      ? leafData(kind, values.values, isThere(), take)
      : listColumn(leaf, kind, values, take);
  if (data.length === rows) return data;
  throw new Error(`column "${name}" has ${data.length} rows, not ${rows}`);
}

/** A column of the values that are there and, where `isThere` is 0, of nulls. */
function leafData(
  kind: ColumnKind,
  values: Values,
  isThere: Uint8Array | null,
  take: Take,
): Column['data'] {
  const length = isThere?.length ?? values.length;
  if (!Array.isArray(values)) {
    if (isThere === null || values.length === length) return numberData(values); // none is null
    take(8 * length);
    const all = new (values.constructor as Float64ArrayConstructor)(length);
    for (let row = 0, next = 0; row < length; row++) {
      if (isThere[row] === 1) all[row] = (values as Float64Array)[next++];
    }
    const validity = bitmapOf(length, (row) => isThere[row] === 1);
    return numberData(all, nullsOf(validity, length));
  }
  let next = 0;
  const rows = Array.from({ length }, (_, row) => {
    const value = isThere?.[row] === 0 ? null : values[next++];
    take(typeof value === 'string' || value instanceof Uint8Array ? 4 + value.length : 8);
    return value;
  });
  return plainData(kind, rows);
}

/**
 * A column of lists of plain values. The definition level of an item, null or not, is that of the
 * repeated element; one level below it the list is empty, further below it is null.
 */
function listColumn(
  { itemLevel, maxDefinition }: Leaf,
  kind: ColumnKind,
  { values, levelCount, definitions, ...levels }: LeafValues,
  take: Take,
): Column['data'] {
  const repetitions = levels.repetitions as Uint8Array;
  // Repetition level 0 begins a new list; only one that has items goes on.
  const rows = repetitions.reduce((sum, level) => sum + Number(level === 0), 0);
  const offsets = new Int32Array(rows + 1);
  const isThere = definitions === null ? null : new Uint8Array(levelCount);
  const nulls: number[] = [];
  let [row, items, isOfItems] = [-1, 0, false];
  for (let at = 0; at < levelCount; at++) {
    const level = definitions === null ? maxDefinition : definitions[at];
    const isItem = level >= itemLevel;
    if (repetitions[at] === 0) {
      row++;
      if (level < itemLevel - 1) nulls.push(row);
      isOfItems = isItem;
    } else if (!isOfItems || !isItem) throw new Error('an item outside of a list');
    if (isThere !== null && isItem) isThere[items] = Number(level === maxDefinition);
    if (isItem) items++;
    offsets[row + 1] = items;
  }
  const child = leafData(kind, values, isThere?.subarray(0, items) ?? null, take);
  return listData(child, offsets, nullsAt(nulls, rows));
}

/** Reads rows of Parquet; memory holds one row group. */
export async function parquetRows(source: ByteSource, options: ReadOptions): Promise<FormatRows> {
  const { name: file } = source;
  const bytes = await source.randomAccess(); // its schema comes last
  const { leaves, groups, rowCount } = await asParquet(file, () => readFooter(bytes));
  const names = leaves.map(({ name }) => name);
  const wanted = new Set(options.columns ?? names);
  checkColumns(wanted, names);
  const all = leaves.map((leaf, i) => {
    const item = leafType(leaf);
    // The kind of lists within lists is only listed.
    const kinds = [item.kind, { list: item.kind }, 'json' as const];
    return { leaf, i, item, name: leaf.name, kind: kinds[Math.min(2, leaf.maxRepetition)] };
  });
  const plans = all.filter(({ name }) => wanted.has(name));
  const none = plans.map(({ name, kind }) => plainColumn(name, kind, plainData(kind, [])));
  const empty = RowBatch.ofColumns(none, 0, { file });

  const read: FormatRows['read'] = async (send) => {
    const deep = plans.find(({ leaf }) => leaf.maxRepetition > 1);
    if (deep !== undefined) {
      const advice = 'name the columns to read without it';
      throw new FormatError(`column "${deep.name}" has lists within lists: ${advice}`, file);
    }
    let firstRow = 0;
    for (const { rows, chunks } of groups.filter((group) => group.rows > 0)) {
      const own = plans.map(({ i }) => chunks[i]);
      const sum = own.reduce((all, { length }) => all + length, 0);
      if (sum > bytes.byteCount) throw new FormatError('column chunks that overlap', file);
      const take = budgetFor(sum);
      const made = await asParquet(file, async () => {
        const contents = await bytes.read(own);
        return plans.map((plan): Column => {
          const { leaf, name, kind, i, item } = plan;
          const reader = new LeafReader(leaf, chunks[i], item.turn, budgetFor(sum));
          const values = reader.read(contents.shift() as Uint8Array); // so that it can be freed
          return plainColumn(name, kind, columnData(plan, rows, values, take));
        });
      });
      await send(RowBatch.ofColumns(made, rows, { firstRow, file }));
      firstRow += rows;
    }
  };
  return { empty, rowCount, read };
}

const asParquet = <T>(file: string, read: () => Promise<T>): Promise<T> =>
  asFormatError(file, read, 'cannot be read as Parquet');
