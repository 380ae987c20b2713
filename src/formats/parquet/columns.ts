/**
 * Columns of Parquet as ours: numbers, texts, bytes and lists keep their types, dates and times
 * become texts that lose nothing. Each value in a struct is a column, and one in a list of structs
 * a list. Lists within lists are not read.
 */

import { bitmapOf } from '../../base/bitmap';
import {
  type Column,
  listData,
  nullsAt,
  nullsOf,
  numberData,
  plainData,
} from '../../table/columns/make';
import type { ColumnKind } from '../../table/columns/types';
import { float16, timeText } from '../../table/columns/values';
import type { Leaf } from './metadata';
import type { Budget, LeafValues, Values } from './pages';

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
export function leafType({ type, typeLength, meaning, digits }: Leaf): LeafType {
  switch (meaning) {
    case 'DECIMAL':
      return { kind: 'float64', turn: (value) => decimal(value) / 10 ** digits };
    case 'DATE':
      return {
        kind: 'text',
        turn: (days: number) => timeText(BigInt(days) * 86_400n, 0).slice(0, -9),
      };
    case 'TIMESTAMP':
      return { kind: 'text', turn: (value: bigint) => timeText(BigInt(value), digits) };
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
  return { kind: type === 'BYTE_ARRAY' ? 'binary' : { fixedBytes: typeLength }, turn: null };
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

/** The kind of a column; that of lists within lists is only listed. */
export function kindOfLeaf(leaf: Leaf): ColumnKind {
  const { kind } = leafType(leaf);
  return [kind, { list: kind }, 'json' as const][Math.min(2, leaf.maxRepetition)];
}

/** A column of `rows` rows from its values. */
export function columnData(
  leaf: Leaf,
  rows: number,
  values: LeafValues,
  budget: Budget,
): Column['data'] {
  const { name, maxRepetition } = leaf;
  const { kind } = leafType(leaf);
  const data =
    maxRepetition === 0
      ? leafData(kind, values.values, values.definitions, budget)
      : listColumn(leaf, kind, values, budget);
  if (data.length === rows) return data;
  throw new Error(`column "${name}" has ${data.length} rows, not ${rows}`);
}

/** Bytes that a value takes in a column, about. */
function sizeOf(value: unknown): number {
  return typeof value === 'string' || value instanceof Uint8Array ? 4 + value.length : 8;
}

/** A column of the values that are there and, where `isThere` is 0, of nulls. */
function leafData(
  kind: ColumnKind,
  values: Values,
  isThere: Uint8Array | null,
  budget: Budget,
): Column['data'] {
  const length = isThere?.length ?? values.length;
  if (!Array.isArray(values)) {
    if (isThere === null || values.length === length) return numberData(values); // none is null
    budget.take(8 * length);
    const all = new (values.constructor as Float64ArrayConstructor)(length);
    for (let row = 0, next = 0; row < length; row++) {
      if (isThere[row] === 1) all[row] = (values as Float64Array)[next++];
    }
    return numberData(
      all,
      nullsOf(
        bitmapOf(length, (row) => isThere[row] === 1),
        length,
      ),
    );
  }
  let next = 0;
  const rows = Array.from({ length }, (_, row) => {
    const value = isThere?.[row] === 0 ? null : values[next++];
    budget.take(sizeOf(value));
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
  budget: Budget,
): Column['data'] {
  const repetitions = levels.repetitions as Uint8Array;
  // Repetition level 0 begins a new list; only one that has items goes on.
  const rows = countOf(repetitions, 0);
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
  const child = leafData(kind, values, isThere?.subarray(0, items) ?? null, budget);
  return listData(child, offsets, nullsAt(nulls, rows));
}

function countOf(levels: Uint8Array, level: number): number {
  let count = 0;
  for (let i = 0; i < levels.length; i++) if (levels[i] === level) count++;
  return count;
}
