/**
 * Columns of Parquet as ours: numbers, texts, bytes and lists keep their types, dates and times
 * become texts that lose nothing, deeper nesting becomes JSON.
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
import { exactJson } from '../jsonl/json-text';
import type { Node } from './metadata';
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
export function leafType({ type, typeLength, meaning, digits }: Node): LeafType {
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

/**
 * The element whose values are the items of a list: LIST, then a repeated group, then the item. An
 * old writer's item is the repeated element itself. Null for other elements.
 */
function itemOf({ meaning, children }: Node): Node | null {
  const [repeated] = children;
  if (meaning !== 'LIST' || children.length !== 1 || !repeated.isRepeated) return null;
  return repeated.children.length === 1 ? repeated.children[0] : repeated;
}

/** The kind of a column; lists of anything but plain values are JSON. */
export function kindOfNode(node: Node): ColumnKind {
  if (node.children.length === 0) {
    const { kind } = leafType(node);
    return node.isRepeated ? { list: kind } : kind;
  }
  const item = itemOf(node);
  const isPlain = item !== null && item.children.length === 0;
  const isNested = item !== node.children[0] && item?.isRepeated;
  return isPlain && !isNested ? { list: leafType(item).kind } : 'json';
}

/** A column of `rows` rows from the values of its leaves. */
export function columnData(
  { node, kind, rows }: { node: Node; kind: ColumnKind; rows: number },
  leaves: readonly LeafValues[],
  budget: Budget,
): Column['data'] {
  const [first] = leaves;
  const data =
    node.children.length === 0 && !node.isRepeated
      ? leafData(kind, first.values, first.definitions, budget)
      : typeof kind === 'object' && 'list' in kind
        ? listColumn(node, kind.list, first, budget)
        : plainData(kind, nestedTexts(node, rows, leaves, budget));
  if (data.length === rows) return data;
  throw new Error(`column "${node.name}" has ${data.length} rows, not ${rows}`);
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
  node: Node,
  kind: ColumnKind,
  leaf: LeafValues,
  budget: Budget,
): Column['data'] {
  const { values, levelCount, definitions } = leaf;
  const { maxDefinition } = leaf.node;
  const itemLevel = (node.isRepeated ? node : node.children[0]).maxDefinition;
  const repetitions = leaf.repetitions as Uint8Array;
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

/** The rows of a nested column as JSON. */
function nestedTexts(
  node: Node,
  rows: number,
  leaves: readonly LeafValues[],
  budget: Budget,
): (string | null)[] {
  const nested = new Nested(node, leaves);
  const texts = Array.from({ length: rows }, () => {
    const value = nested.row(node);
    const text = value === null ? null : exactJson(value);
    budget.take(sizeOf(text));
    return text;
  });
  nested.checkEnd();
  return texts;
}

/** Puts the values of several leaves together, row after row, as plain values of any depth. */
class Nested {
  readonly #firstLeaf: number;
  /** For each leaf the next level and the next value. */
  readonly #places: { at: number; next: number }[];

  constructor(
    root: Node,
    readonly leaves: readonly LeafValues[],
  ) {
    this.#firstLeaf = root.firstLeaf;
    this.#places = leaves.map(() => ({ at: 0, next: 0 }));
  }

  /** The value of the next row. */
  row(root: Node): unknown {
    const isRow = this.leaves.every((leaf, i) => !leaf.repetitions?.[this.#places[i].at]);
    if (!isRow) throw new Error('an item outside of a list');
    return this.#value(root);
  }

  /** Fails unless all levels were read. */
  checkEnd(): void {
    const isEnd = this.leaves.every(({ levelCount }, i) => this.#places[i].at === levelCount);
    if (!isEnd) throw new Error('more levels than rows');
  }

  /** A value of an element, all of whose elements above are there. */
  #value(node: Node): unknown {
    if (node.isRepeated) return this.#items(node);
    if (node.isOptional && this.#definition(node) < node.maxDefinition) return this.#skip(node);
    return this.#present(node);
  }

  #items(node: Node): unknown[] {
    const items: unknown[] = [];
    if (this.#definition(node) < node.maxDefinition) {
      this.#skip(node);
      return items;
    }
    const i = node.firstLeaf - this.#firstLeaf;
    do items.push(this.#present(node));
    while (this.leaves[i].repetitions?.[this.#places[i].at] === node.maxRepetition);
    return items;
  }

  /** The value of an element that is there. */
  #present(node: Node): unknown {
    const { children, meaning } = node;
    if (children.length === 0) {
      const i = node.firstLeaf - this.#firstLeaf;
      const definition = this.#definition(node);
      this.#places[i].at++;
      if (definition === node.maxDefinition) return this.leaves[i].values[this.#places[i].next++];
      throw new Error('the parts of a column are not of the same rows');
    }
    const item = itemOf(node);
    const [first] = children;
    if (item !== null) {
      const items = this.#items(first);
      return item === first ? items : items.map((one) => (one as Entry)[item.name]);
    }
    if (
      meaning === 'MAP' &&
      children.length === 1 &&
      first.isRepeated &&
      first.children.length === 2
    ) {
      const [key, value] = first.children;
      const entries = this.#items(first) as Entry[];
      return Object.fromEntries(
        entries.map((entry) => [String(entry[key.name]), entry[value.name]]),
      );
    }
    return Object.fromEntries(children.map((child) => [child.name, this.#value(child)]));
  }

  /** Passes over the level that an element has where it is null or an empty list. */
  #skip(node: Node): null {
    const first = node.firstLeaf - this.#firstLeaf;
    for (let i = first; i < first + node.leafCount; i++) this.#places[i].at++;
    return null;
  }

  /** The definition level of the next value of an element, which its first leaf has. */
  #definition(node: Node): number {
    const i = node.firstLeaf - this.#firstLeaf;
    const { levelCount, definitions, node: leaf } = this.leaves[i];
    const { at } = this.#places[i];
    if (at >= levelCount) throw new Error('fewer levels than rows');
    return definitions === null ? leaf.maxDefinition : definitions[at];
  }
}

type Entry = Readonly<Record<string, unknown>>;
