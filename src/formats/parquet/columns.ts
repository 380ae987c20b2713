/**
 * Columns of Parquet as ours: numbers, texts, bytes and lists keep their types, dates and times
 * become texts that lose nothing, deeper nesting becomes JSON.
 */

import type { ColumnBuilder } from '../../table/columns/builder';
import type { ColumnKind } from '../../table/columns/types';
import { float16, timeText } from '../../table/columns/values';
import { exactJson } from '../jsonl/json-text';
import type { Node } from './metadata';
import type { Budget, LeafValues } from './pages';

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

/** Appends the rows of a column to its builder, from the values of its leaves. */
export function appendColumn(
  builder: ColumnBuilder,
  { node, kind, rows }: { node: Node; kind: ColumnKind; rows: number },
  leaves: readonly LeafValues[],
  budget: Budget,
): void {
  const append = (value: unknown) => {
    budget.take(sizeOf(value));
    builder.append(value);
  };
  if (node.children.length === 0 && !node.isRepeated) appendValues(append, leaves[0]);
  else if (typeof kind === 'object' && 'list' in kind) {
    const list = node.isRepeated ? node : node.children[0];
    builder.reserve(leaves[0].values.length);
    appendLists(append, leaves[0], list.maxDefinition);
  } else {
    const nested = new Nested(node, leaves);
    for (let i = 0; i < rows; i++) {
      const value = nested.row(node);
      append(value === null ? null : exactJson(value));
    }
    nested.checkEnd();
  }
  if (builder.length !== rows) {
    throw new Error(`column "${node.name}" has ${builder.length} rows, not ${rows}`);
  }
}

/** Bytes that a value takes in a column, about. */
function sizeOf(value: unknown): number {
  if (typeof value === 'string' || value instanceof Uint8Array) return 4 + value.length;
  if (ArrayBuffer.isView(value)) return 4 + value.byteLength;
  if (!Array.isArray(value)) return 8;
  return value.reduce((sum, item) => sum + sizeOf(item), 4);
}

type Append = (value: unknown) => void;

function appendValues(append: Append, { values, levelCount, definitions }: LeafValues): void {
  let next = 0;
  for (let row = 0; row < levelCount; row++) {
    const isThere = definitions === null || definitions[row] === 1;
    append(isThere ? values[next++] : null);
  }
}

/**
 * Appends lists of plain values; `itemLevel` is the definition level of an item, null or not. One
 * level below it the list is empty, further below it is null.
 */
function appendLists(append: Append, leaf: LeafValues, itemLevel: number): void {
  const { values, levelCount, definitions } = leaf;
  const { maxDefinition } = leaf.node;
  const repetitions = leaf.repetitions as Uint8Array;
  let next = 0;
  for (let at = 0, end = 0; at < levelCount; at = end) {
    // Repetition level 0 begins a new list.
    const found = repetitions.indexOf(0, at + 1);
    end = found < 0 ? levelCount : found;
    const isOfValues =
      definitions === null || countOf(definitions, maxDefinition, at, end) === end - at;
    if (repetitions[at] !== 0) throw new Error('an item outside of a list');
    if (isOfValues) {
      append(
        Array.isArray(values)
          ? values.slice(next, next + end - at)
          : values.subarray(next, next + end - at),
      );
      next += end - at;
    } else if (definitions[at] < itemLevel) {
      if (end - at > 1) throw new Error('an item outside of a list');
      append(definitions[at] < itemLevel - 1 ? null : []);
    } else {
      const items: unknown[] = [];
      for (let i = at; i < end; i++) {
        if (definitions[i] < itemLevel) throw new Error('an item outside of a list');
        items.push(definitions[i] === maxDefinition ? values[next++] : null);
      }
      append(items);
    }
  }
}

function countOf(levels: Uint8Array, level: number, from: number, to: number): number {
  let count = 0;
  for (let i = from; i < to; i++) if (levels[i] === level) count++;
  return count;
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
