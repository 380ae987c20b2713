/**
 * Reads lists of floats straight from pages. hyparquet makes an array for each row and a number for
 * each level: five times the work and twelve times the memory of the values.
 */

import type { ColumnBuilder, ColumnKind } from '../../table/columns/builder';
import type { ParquetColumn } from './footer';
import {
  type CheckedPages,
  type ChunkShape,
  ENCODINGS,
  levels,
  type PageValues,
  runs,
} from './pages';

/**
 * The error for a value that is not in its dictionary; columns that hyparquet reads throw the same.
 */
const NOT_THERE = 'a value that is not in its dictionary';

/**
 * Appends the lists of a column in a row group to a builder. Returns false, and appends nothing,
 * unless they are lists of floats in one of the usual encodings.
 */
export function appendNumberLists(
  builder: ColumnBuilder,
  { name, kind, elements }: ParquetColumn & { kind: ColumnKind },
  chunks: readonly (CheckedPages & { readonly shape: ChunkShape })[],
  rows: number,
): boolean {
  const [{ pages, dictionary, shape }] = chunks;
  const { type, maxRepetition, maxDefinition } = shape;
  const leaf = elements[elements.length - 1];
  const isPlain = leaf.converted_type === undefined && leaf.logical_type === undefined;
  const isList = typeof kind === 'object' && 'list' in kind && maxRepetition === 1;
  if (!isList || !isPlain || (type !== 'FLOAT' && type !== 'DOUBLE')) return false;
  if (!pages.every(({ encoding }) => READ.includes(encoding))) return false;

  const Values = type === 'FLOAT' ? Float32Array : Float64Array;
  const own = new Values(pages.reduce((sum, { count }) => sum + count, 0));
  const entries = floatsOf(dictionary ?? new Uint8Array(), Values);
  let end = 0;
  for (const page of pages) {
    putValues(page, entries, own.subarray(end, end + page.count));
    end += page.count;
  }
  // Definition level of an item that may be null: one higher where the list may be null too.
  const isNullable = elements.length > 1 && elements[0].repetition_type !== 'REQUIRED';
  builder.reserve(own.length);
  const lists = new Lists(builder, own, { maxDefinition, firstItem: Number(isNullable) + 1 });
  for (const page of pages) lists.take(page);
  lists.close();
  if (lists.count !== rows)
    throw new Error(`column "${name}" has ${lists.count} rows, not ${rows}`);
  return true;
}

/** The encodings that are read here. */
const READ: readonly number[] = [ENCODINGS.plain, ENCODINGS.dictionary, ENCODINGS.rleDictionary];

type Floats = Float32Array | Float64Array;
type FloatsType = typeof Float32Array | typeof Float64Array;

/** Bytes at any address as floats, a copy; bytes of a part of a float are left out. */
function floatsOf(bytes: Uint8Array, Values: FloatsType): Floats {
  const count = Math.floor(bytes.length / Values.BYTES_PER_ELEMENT);
  return new Values(bytes.slice(0, count * Values.BYTES_PER_ELEMENT).buffer);
}

/** Decodes the values of a page: plain floats, or indices of a dictionary's entries. */
function putValues({ page, count, encoding }: PageValues, entries: Floats, into: Floats): void {
  if (encoding === ENCODINGS.plain) {
    const bytes = page.take(count * into.BYTES_PER_ELEMENT);
    new Uint8Array(into.buffer, into.byteOffset, into.byteLength).set(bytes);
    return;
  }
  const indices = new Uint32Array(count);
  const width = page.byte();
  if (width > 0) runs(page, { width, count, into: indices });
  for (let i = 0; i < count; i++) {
    if (indices[i] >= entries.length) throw new Error(NOT_THERE);
    into[i] = entries[indices[i]];
  }
}

/** Cuts values into lists by the levels of their pages; a list may go on in the next page. */
class Lists {
  /** Lists appended. */
  count = 0;
  /** The next value, and the first one of the open list. */
  #next = 0;
  #first = 0;
  /**
   * Definition level of the open list, null outside of one; its items, once one of them is null.
   */
  #definition: number | null = null;
  #withNulls: (number | null)[] | null = null;

  constructor(
    private readonly builder: ColumnBuilder,
    private readonly values: Floats,
    /** Definition level of a value, and of an item, null or not. */
    private readonly at: { readonly maxDefinition: number; readonly firstItem: number },
  ) {}

  /** Takes the levels of a page. */
  take({ repetitions, definitions, levelCount }: PageValues): void {
    const { maxDefinition, firstItem } = this.at;
    const begins = new Uint8Array(levelCount);
    const depths = new Uint8Array(levelCount);
    levels(repetitions, 1, levelCount, begins);
    if (levels(definitions, maxDefinition, levelCount, depths) === levelCount) {
      this.#takeValues(begins);
      return;
    }
    for (let i = 0; i < levelCount; i++) {
      const depth = depths[i];
      // Repetition level 0 begins a new list.
      if (begins[i] === 0) {
        this.close();
        this.#definition = depth;
        this.#first = this.#next;
      } else if (this.#definition === null || this.#definition < firstItem || depth < firstItem) {
        throw new Error('an item outside of a list');
      }
      if (depth === maxDefinition) {
        this.#withNulls?.push(this.values[this.#next]);
        this.#next++;
      } else if (depth >= firstItem) {
        this.#withNulls ??= Array.from(this.values.subarray(this.#first, this.#next));
        this.#withNulls.push(null);
      }
    }
  }

  /** Takes the levels of a page that has a value at each: no null, and no list without items. */
  #takeValues(begins: Uint8Array): void {
    for (let i = 0; i < begins.length; ) {
      if (begins[i] === 0) {
        this.close();
        this.#definition = this.at.maxDefinition;
        this.#first = this.#next;
      } else if (this.#definition === null || this.#definition < this.at.firstItem) {
        throw new Error('an item outside of a list');
      }
      const next = begins.indexOf(0, i + 1);
      const end = next === -1 ? begins.length : next;
      const items = this.values.subarray(this.#next, this.#next + end - i);
      if (this.#withNulls !== null) for (const item of items) this.#withNulls.push(item);
      this.#next += items.length;
      i = end;
    }
  }

  /** Ends the list that is open. */
  close(): void {
    const { builder, values } = this;
    if (this.#definition === null) return;
    // One level below an item the list is empty; further below it is null.
    const isNull = this.#definition < this.at.firstItem - 1;
    const items = this.#withNulls ?? values.subarray(this.#first, this.#next);
    builder.append(isNull ? null : items);
    this.#definition = null;
    this.#withNulls = null;
    this.count++;
  }
}
