/**
 * Some rows with all their columns: readers give batches, writers take them, and all between works
 * on them. A batch lies over one Arrow record batch and is never changed; its errors name the row
 * in the file that it came from.
 */

import { type Data, type RecordBatch, Schema } from 'apache-arrow';
import {
  asFormatError,
  checkInteger,
  checkOptions,
  checkText,
  type Ids,
  noColumn,
  wrongType,
  wrongValue,
} from '../base/check';
import type { BitOrder, Codes } from '../codes/codes';
import type { DenseMatrix, SparseMatrix } from '../vectors/vectors';
import { bytesOf, type Chunk, checkBitmaps } from './columns/chunk';
import { codesOf } from './columns/codes';
import { type Column, type ColumnData, columnOf, recordBatch } from './columns/make';
import { joinedColumn, nullsOfType, taken } from './columns/pick';
import { type ColumnInfo, columnInfo, type Fit } from './columns/types';
import { idsOf, valuesOf } from './columns/values';
import { denseOf, sparseOf } from './columns/vectors';
import { headerOf, KEY } from './sealed/seal';

/** Where rows come from, for errors. */
export interface RowPlace {
  /** Number of the first row in its source. */
  firstRow?: number;
  /** Name of the source, for errors. */
  file?: string;
}

/** Fails unless an option is a batch of rows. */
export function checkBatch(name: string, value: unknown): void {
  if (!(value instanceof RowBatch)) throw wrongType(name, 'a RowBatch', value);
}

const PLACE = { firstRow: { min: 0 }, file: checkText } as const;

/** Rows with named columns of Arrow's types. Immutable; methods that change return a new batch. */
export class RowBatch {
  /** Number of the first row in the source. */
  readonly firstRow: number;
  /** Rows. */
  readonly count: number;
  /** Name and type of each column. */
  readonly columns: readonly ColumnInfo[];
  /** Name of the source, for errors. */
  readonly file: string | undefined;
  readonly #schema: Schema;
  readonly #data: readonly Data[];
  /** By name, the first column that has it; made when it is first needed. */
  #places: ReadonlyMap<string, number> | null = null;

  private constructor(schema: Schema, data: readonly Data[], count: number, place: RowPlace) {
    this.firstRow = place.firstRow ?? 0;
    this.file = place.file;
    this.count = count;
    this.#schema = schema;
    this.#data = data;
    this.columns = schema.fields.map(columnInfo);
  }

  /** A batch of columns of one length. They keep the order of the keys. */
  static of(columns: Record<string, ColumnData>, options?: RowPlace): RowBatch {
    const place = checkOptions(options, PLACE);
    const made = entriesOf(columns).map(([name, given]) => columnOf(name, given));
    const count = made[0]?.data.length ?? 0;
    for (const { field, data } of made) {
      if (data.length !== count) throw wrongValue(field.name, `${count} values`, data.length);
    }
    return RowBatch.ofColumns(made, count, place);
  }

  /**
   * The same of columns that are made already.
   * @internal
   */
  static ofColumns(
    columns: readonly Column[],
    count: number,
    place: RowPlace,
    metadata?: Map<string, string>,
  ): RowBatch {
    const fields = columns.map(({ field }) => field);
    const data = columns.map((column) => column.data);
    return new RowBatch(new Schema(fields, metadata), data, count, place);
  }

  /** A view of a record batch of apache-arrow. Nothing is copied. */
  static fromArrow(batch: RecordBatch, place: RowPlace = {}): RowBatch {
    const given = checkOptions(place, PLACE);
    const children: unknown = batch?.data?.children;
    if (!Array.isArray(children) || !Array.isArray(batch.schema?.fields)) {
      throw wrongType('batch', 'a RecordBatch', batch);
    }
    return new RowBatch(batch.schema, children, batch.numRows, given);
  }

  /**
   * Batches of equal columns as one. Dictionaries and views become plain columns. A column of nulls
   * alone fits every type.
   */
  static join(batches: readonly RowBatch[]): RowBatch {
    if (!Array.isArray(batches as unknown))
      throw wrongType('batches', 'an array of RowBatch', batches);
    for (const [i, batch] of batches.entries()) {
      if (!(batch instanceof RowBatch)) throw wrongType(`batches[${i}]`, 'a RowBatch', batch);
    }
    if (batches.length === 0) throw wrongValue('batches', 'one RowBatch at least', 'none');
    if (batches.length === 1) return batches[0];
    const [first] = batches;
    const names = (batch: RowBatch) => batch.columns.map(({ name }) => name).join(', ');
    const other = batches.findIndex((batch) => names(batch) !== names(first));
    if (other >= 0)
      throw wrongValue(`batches[${other}]`, `columns ${names(first)}`, names(batches[other]));
    const parts = batches.map((batch) => batch.#all());
    const columns = parts[0].map((_, i) => joinedColumn(parts.map((part) => part[i])));
    const count = batches.reduce((sum, batch) => sum + batch.count, 0);
    return first.#made(columns, count, first.#schema.metadata);
  }

  /** A view as a record batch of apache-arrow. Nothing is copied. */
  toArrow(): RecordBatch {
    return recordBatch(this.#schema, [...this.#data], this.count);
  }

  /** Bytes that the columns take, about. */
  get byteLength(): number {
    return this.#data.reduce((sum, data) => sum + bytesOf(data), 0);
  }

  /**
   * Plain values of a column. Numbers, strings, bigints of 64-bit columns, arrays, objects, bytes,
   * null.
   */
  values(name: string): unknown[] {
    const { data, firstRow } = this.chunk(name);
    return this.#reading(() => valuesOf(data, firstRow));
  }

  /** The texts of a column, null where there is none. */
  texts(name: string): (string | null)[] {
    const { data, firstRow } = this.chunk(name, 'text', 'text');
    return this.#reading(() => valuesOf(data, firstRow) as (string | null)[]);
  }

  /** Ids, none of which may be null. `I` is their type where the caller knows it, not checked. */
  ids<I extends Ids = Ids>(name: string): I {
    const chunk = this.chunk(name, 'id', 'id of integers or strings');
    return this.#reading(() => idsOf(chunk) as I);
  }

  /** Vectors of one width. Null rows stay null. */
  vectors(name: string, options?: { dimensions?: number }): DenseMatrix {
    const { dimensions } = checkOptions(options, { dimensions: null });
    const chunk = this.chunk(name, 'vector', 'vector: a list of numbers');
    return this.#reading(() => denseOf(chunk, dimensions));
  }

  /** Sparse rows of two list columns or one Map column. */
  sparse(indices: string, values?: string): SparseMatrix {
    const isMap = values === undefined;
    const keys = this.chunk(indices, isMap ? 'map' : 'indices', 'column of dimensions');
    const weights = isMap ? keys : this.chunk(values, 'vector', 'column of values');
    return this.#reading(() => sparseOf(keys, weights));
  }

  /** A copy of the codes. A file of this library says how they were made. */
  codes(name: string, options?: { bits?: number; bitOrder?: BitOrder }): Codes {
    const given = checkOptions(options, { bits: null, bitOrder: null });
    const chunk = this.chunk(name, 'code', 'code');
    return this.#reading(() => codesOf([chunk], name, given, headerOf(this.#schema)));
  }

  /**
   * A column in Arrow's own form, for the readers of this layer, with its bitmaps checked. Throws
   * where no column has this name, or where it cannot be read as `fit`. One without rows is made
   * again, since it may lack the memory, or the children, that readers expect.
   * @internal
   */
  chunk(name: string, fit?: Fit, what?: string): Chunk {
    const { field, data } = this.column(name, fit, what);
    const { count, firstRow } = this;
    return this.#reading(() => {
      if (count === 0) return { data: nullsOfType(field.type, 0), firstRow };
      if (data?.length !== count) throw new Error(`column "${name}" is shorter than its batch`);
      checkBitmaps(data);
      return { data, firstRow };
    });
  }

  /**
   * A column as another batch takes it, checked to be of use as `fit`; `what` names the use in the
   * error.
   * @internal
   */
  column(name: string, fit?: Fit, what?: string): Column {
    if (typeof name !== 'string') throw wrongType('name', 'the name of a column', name);
    this.#places ??= new Map(this.columns.map((column, i) => [column.name, i] as const).reverse());
    const at = this.#places.get(name);
    if (at === undefined) throw noColumn(name, [...this.#places.keys()].reverse());
    const { type, fits } = this.columns[at];
    if (fit !== undefined && !fits.includes(fit)) {
      throw new TypeError(`column "${name}" of type ${type} is no ${what}`);
    }
    return { field: this.#schema.fields[at], data: this.#data[at] };
  }

  /** These rows of the batch, in this order. */
  select(rows: ArrayLike<number>): RowBatch {
    if (!Array.isArray(rows) && !ArrayBuffer.isView(rows)) {
      throw wrongType('rows', 'an array of numbers', rows);
    }
    for (let i = 0; i < rows.length; i++) checkInteger('row', rows[i], 0, this.count - 1);
    const columns = this.#reading(() => this.#all().map((column) => taken(column, rows)));
    return this.#made(columns, rows.length, this.#schema.metadata);
  }

  /** Rows `first` to `end - 1`, or to the last; nothing is copied. */
  slice(first: number, end: number): RowBatch {
    checkInteger('first', first, 0, this.count);
    const count = Math.min(checkInteger('end', end, first, 2 ** 32), this.count) - first;
    const data = this.#data.map((column) => column.slice(first, count));
    const place = { file: this.file, firstRow: this.firstRow + first };
    return new RowBatch(this.#schema, data, count, place);
  }

  /** Adds these columns; one of an existing name replaces that column. */
  with(columns: Record<string, ColumnData>): RowBatch {
    const all = this.#all();
    for (const [name, given] of entriesOf(columns)) {
      const made = columnOf(name, given);
      if (made.data.length !== this.count) {
        throw wrongValue(name, `${this.count} values`, made.data.length);
      }
      const there = all.findIndex(({ field }) => field.name === name);
      all[there < 0 ? all.length : there] = made;
    }
    return this.#made(all, this.count);
  }

  /**
   * The columns of these names alone, in the order of the names.
   * @internal
   */
  only(names: readonly string[]): RowBatch {
    const order = new Map(names.map((name, i) => [name, i]));
    const placeOf = ({ field }: Column) => order.get(field.name ?? '') ?? -1;
    const kept = this.#all().filter((column) => placeOf(column) >= 0);
    kept.sort((a, b) => placeOf(a) - placeOf(b));
    return this.#made(kept, this.count);
  }

  /** Fields and data together. */
  #all(): Column[] {
    return this.#schema.fields.map((field, i) => ({ field, data: this.#data[i] }));
  }

  /** A batch of this source; metadata of other programs may not be true of new columns. */
  #made(columns: readonly Column[], count: number, metadata?: Map<string, string>): RowBatch {
    const header = this.#schema.metadata.get(KEY);
    const own = new Map(header === undefined ? [] : [[KEY, header]]);
    return RowBatch.ofColumns(columns, count, this, metadata ?? own);
  }

  /** Runs `read`; values that cannot be read are a FormatError of the batch's file. */
  #reading<T>(read: () => T): T {
    return asFormatError(this.file, read);
  }
}

function entriesOf(columns: Record<string, ColumnData>): [string, ColumnData][] {
  if (typeof columns === 'object' && columns !== null) return Object.entries(columns);
  throw wrongType('columns', 'an object of columns', columns);
}

/**
 * Names for columns that go next to others: one that has the name of these gets the prefix `row_`,
 * as often as the name is that of another column.
 */
export function freeNames(names: readonly string[], others: readonly string[]): string[] {
  const taken = new Set([...others, ...names]);
  return names.map((name) => {
    if (!others.includes(name)) return name;
    let own = name;
    do own = `row_${own}`;
    while (taken.has(own));
    taken.add(own);
    return own;
  });
}
