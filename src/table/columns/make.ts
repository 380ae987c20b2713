/**
 * Makes Arrow columns of what programs have: typed arrays, codes, matrices, and plain values, which
 * are all of one kind. Only plain values are copied, so other memory must not change while the
 * column is used.
 */

import {
  Binary,
  Bool,
  type Data,
  type DataType,
  Field,
  FixedSizeBinary,
  FixedSizeList,
  List,
  makeData,
  RecordBatch,
  Schema,
  Struct,
  Utf8,
} from 'apache-arrow';
import { bitmapOf, countNulls, grown } from '../../base/arrays';
import { checkAttached, wrongType } from '../../base/check';
import { Codes } from '../../codes/codes';
import { checkDenseMatrix, type DenseMatrix, isDenseMatrix } from '../../vectors/vectors';
import {
  type ColumnKind,
  JSON_METADATA,
  type NumberArray,
  type NumberKind,
  numberType,
  typeOfArray,
} from './types';

/** A column of a batch: its name and type, and its values. */
export interface Column {
  readonly field: Field;
  readonly data: Data;
}

/** A bitmap of the rows that are not null; null or missing where all are not. */
type Validity = Uint8Array | null | undefined;

type Nulls = ReturnType<typeof nullsOf>;

/** The number of nulls and their bitmap, as `makeData` takes them. */
export function nullsOf(validity: Validity, length: number) {
  const nullCount = countNulls(validity, length);
  return nullCount === 0 ? { nullCount } : { nullCount, nullBitmap: validity as Uint8Array };
}

/** The same from the rows that are null, which ascend. */
export function nullsAt(rows: readonly number[], length: number) {
  if (rows.length === 0) return { nullCount: 0 };
  const nullBitmap = bitmapOf(length, () => true);
  for (const row of rows) nullBitmap[row >> 3] &= ~(1 << (row & 7));
  return { nullCount: rows.length, nullBitmap };
}

/** A column of numbers of the array's type; not copied. */
export function numberData(values: NumberArray, nulls: Nulls = { nullCount: 0 }): Data {
  const type = typeOfArray(values) as DataType;
  return makeData({ type, length: values.length, data: values, ...nulls } as never);
}

/** A column of `width` bytes for each row; not copied. */
export function bytesData(
  data: Uint8Array,
  { width, length, validity }: { width: number; length: number; validity: Validity },
): Data {
  const type = new FixedSizeBinary(width);
  return makeData({ type, length, data, ...nullsOf(validity, length) });
}

/** A column of `width` numbers for each row; `isNullable` is what its type says of the numbers. */
export function vectorData(
  values: NumberArray,
  shape: { width: number; length: number; validity?: Validity; isNullable: boolean },
): Data {
  const { width, length, validity, isNullable } = shape;
  const child = numberData(values);
  const type = new FixedSizeList(width, new Field('item', child.type, isNullable));
  return makeData({ type, length, child, ...nullsOf(validity, length) });
}

/** A column of lists of the rows of another column; its type says that items `areNullable`. */
export function listData(
  child: Data,
  valueOffsets: Int32Array,
  nulls: Nulls = { nullCount: 0 },
  areNullable = true,
): Data {
  const length = valueOffsets.length - 1;
  const type = new List(new Field('item', child.type, areNullable));
  return makeData({ type, length, valueOffsets, child, ...nulls });
}

/** Texts and bytes, and items of lists, of one batch stay below 2^31, where 32-bit offsets end. */
const MAX_OFFSET = 0x7fff_ffff;

const isNull = (value: unknown) => value === null || value === undefined;

/** A column of plain values, which its kind can hold; null and undefined become nulls. */
export function plainData(kind: ColumnKind, values: ArrayLike<unknown>): Data {
  const builder = builderOf(kind);
  if (builder instanceof NumberBuilder) builder.appendAll(values);
  else for (let row = 0; row < values.length; row++) builder.append(values[row]);
  return builder.finish();
}

/** A column under its name; JSON is marked as such. */
export function plainColumn(name: string, kind: ColumnKind, data: Data): Column {
  const metadata = kind === 'json' ? JSON_METADATA : undefined;
  return { field: new Field(name, data.type, true, metadata), data };
}

/** Takes the values of a column one by one; the column of a batch does not change later. */
export interface ColumnBuilder {
  /** Adds a row; null and undefined become nulls. */
  append(value: unknown): void;
  /** The column so far; the builder begins again without rows. */
  finish(): Data;
}

/** A builder of columns of one kind. */
export function builderOf(kind: ColumnKind): ColumnBuilder {
  if (kind === 'text' || kind === 'json' || kind === 'binary') return new BytesBuilder(kind);
  if (kind === 'bool') return new BitsBuilder();
  return typeof kind === 'string' ? new NumberBuilder(kind) : new ListBuilder(builderOf(kind.list));
}

/** Arrays that numbers are copied to; of integers of 64 bits they take bigints. */
type Numbers = Float64Array;

/** Texts of at most so many characters get room for the most bytes that they may take, 768 KiB. */
const MAX_ROOMY = 2 ** 18;
/** Columns of more bytes are handed over; others are copied out of memory that is used again. */
const MAX_COPIED_BYTES = 2 ** 24;

const encoder = new TextEncoder();

/** The first `count` values: a view where they are too many to be copied. */
function firstOf<T extends Uint8Array | Numbers>(values: T, count: number): T {
  const isLarge = count * values.BYTES_PER_ELEMENT > MAX_COPIED_BYTES;
  return (isLarge ? values.subarray(0, count) : values.slice(0, count)) as T;
}

/** `old` where it has room for `needed` elements; else a copy of twice the length or more. */
export function withRoom<T extends Uint8Array | Int32Array | Numbers>(old: T, needed: number): T {
  return needed <= old.length ? old : grown(old, Math.max(needed, 2 * old.length));
}

/** Numbers, which are copied to one array as they come. */
class NumberBuilder implements ColumnBuilder {
  #data: Numbers;
  #filled = 0;
  #nulls: number[] = [];
  /** True of integers of 64 bits, which may also be given as numbers. */
  readonly #isWide: boolean;

  constructor(kind: NumberKind) {
    this.#isWide = kind === 'int64' || kind === 'uint64';
    this.#data = new (numberType(kind).Values)(64) as Numbers;
  }

  append(value: unknown): void {
    this.#data = withRoom(this.#data, this.#filled + 1);
    this.#put(value);
  }

  appendAll(list: ArrayLike<unknown>): void {
    this.#data = withRoom(this.#data, this.#filled + list.length);
    if (!this.#isWide && (list instanceof Float32Array || list instanceof Float64Array)) {
      this.#data.set(list, this.#filled);
      this.#filled += list.length;
    } else for (let i = 0; i < list.length; i++) this.#put(list[i]);
  }

  #put(value: unknown): void {
    const number = value ?? 0;
    if (isNull(value)) this.#nulls.push(this.#filled);
    if (this.#isWide) this.#data[this.#filled++] = BigInt(number as number) as never;
    else this.#data[this.#filled++] = Number(number);
  }

  finish(): Data {
    const length = this.#filled;
    const data = firstOf(this.#data, length);
    if (data.buffer === this.#data.buffer) this.#data = withRoom(data.subarray(0, 0), 64);
    const made = numberData(data, nullsAt(this.#nulls, length));
    this.#filled = 0;
    this.#nulls = [];
    return made;
  }
}

/** Notes where each of some values of any length ends, and which are null. */
class Ends {
  #offsets = new Int32Array(65);
  #nulls: number[] = [];
  #count = 0;

  /** `most` names in an error what does not fit. */
  constructor(readonly most: string) {}

  add(end: number, isMissing: boolean): void {
    if (end > MAX_OFFSET) throw new Error(`more than ${this.most} in one batch`);
    if (isMissing) this.#nulls.push(this.#count);
    this.#count++;
    this.#offsets = withRoom(this.#offsets, this.#count + 1);
    this.#offsets[this.#count] = end;
  }

  /** The offsets and nulls so far; begins again. */
  take() {
    const length = this.#count;
    const valueOffsets = this.#offsets.slice(0, length + 1);
    const nulls = nullsAt(this.#nulls, length);
    this.#count = 0;
    this.#nulls = [];
    return { length, valueOffsets, nulls };
  }
}

/**
 * Lists, whose items are copied as they come: lists that wait for the end of a batch would survive
 * collections of garbage, which made reading JSON lines of vectors a third slower.
 */
class ListBuilder implements ColumnBuilder {
  readonly #ends = new Ends('2^31 items of lists');
  #filled = 0;

  constructor(readonly items: ColumnBuilder) {}

  append(value: unknown): void {
    const { items } = this;
    const list = (value ?? []) as ArrayLike<unknown>;
    if (items instanceof NumberBuilder) items.appendAll(list);
    else for (let i = 0; i < list.length; i++) items.append(list[i]);
    this.#filled += list.length;
    this.#ends.add(this.#filled, isNull(value));
  }

  finish(): Data {
    const { valueOffsets, nulls } = this.#ends.take();
    this.#filled = 0;
    return listData(this.items.finish(), valueOffsets, nulls);
  }
}

/** True or false, which are collected first. */
class BitsBuilder implements ColumnBuilder {
  #values: unknown[] = [];

  append(value: unknown): void {
    this.#values.push(value);
  }

  finish(): Data {
    const values = this.#values;
    this.#values = [];
    const { length } = values;
    const data = bitmapOf(length, (row) => values[row] === true);
    const isThere = bitmapOf(length, (row) => !isNull(values[row]));
    return makeData({ type: new Bool(), length, data, ...nullsOf(isThere, length) });
  }
}

/** Texts, which may also be given as their bytes, and bytes of any length. */
export class BytesBuilder implements ColumnBuilder {
  readonly #ends = new Ends('2 GiB of text');
  #bytes = new Uint8Array(64);
  #filled = 0;

  constructor(readonly kind: 'text' | 'json' | 'binary') {}

  append(value: unknown): void {
    if (value instanceof Uint8Array) this.appendBytes(value, 0, value.length);
    else if (isNull(value)) this.#ends.add(this.#filled, true);
    else this.#appendText(String(value));
  }

  #appendText(text: string): void {
    if (text.length > MAX_ROOMY) this.append(encoder.encode(text));
    else {
      // A UTF-16 unit takes 3 bytes of UTF-8 at most; counting them takes longer than encoding.
      const target = this.#room(3 * text.length).subarray(this.#filled);
      this.#filled += encoder.encodeInto(text, target).written;
      this.#ends.add(this.#filled, false);
    }
  }

  /** Adds bytes `start` to `end - 1` as a value, without making a string. */
  appendBytes(bytes: Uint8Array, start: number, end: number): void {
    const length = end - start;
    const room = this.#room(length);
    const filled = this.#filled;
    // A call that copies a few bytes takes longer than a loop.
    if (length > 24) room.set(bytes.subarray(start, end), filled);
    else for (let i = 0; i < length; i++) room[filled + i] = bytes[start + i];
    this.#filled += length;
    this.#ends.add(this.#filled, false);
  }

  /** Memory with room for `more` bytes after those that are filled. */
  #room(more: number): Uint8Array {
    this.#bytes = withRoom(this.#bytes, this.#filled + more);
    return this.#bytes;
  }

  finish(): Data {
    const { length, valueOffsets, nulls } = this.#ends.take();
    const data = firstOf(this.#bytes, this.#filled);
    if (data.buffer === this.#bytes.buffer) this.#bytes = new Uint8Array(64);
    this.#filled = 0;
    const type = this.kind === 'binary' ? new Binary() : new Utf8();
    return makeData({ type, length, valueOffsets, data, ...nulls } as never);
  }
}

/**
 * Changes a schema so that the library makes its batches in time proportional to their columns. For
 * each batch the library assigns the fields to the schema again and looks for the name of each
 * among all others, although they are the schema's own: with 200,000 columns this took longer than
 * a minute.
 */
export function quickSchema(schema: Schema): Schema {
  const assign = (fields: Field[]) => {
    const isSame = schema.fields.every((field, i) => field === fields[i]);
    return isSame ? schema : Schema.prototype.assign.call(schema, fields);
  };
  return Object.defineProperty(schema, 'assign', { value: assign, configurable: true });
}

/** A record batch of columns with `length` rows each. */
export function recordBatch(
  schema: Schema,
  children: Data[],
  length: number,
  metadata?: Map<string, string>,
): RecordBatch {
  const data = makeData({ type: new Struct(schema.fields), length, nullCount: 0, children });
  return new RecordBatch(quickSchema(schema), data, metadata);
}

/** What a column can be made of: its values, one for each row. */
export type ColumnData =
  | NumberArray
  | readonly (string | number | boolean | bigint | null)[]
  | Codes
  | DenseMatrix
  | Column;

/** Makes one column, whose rows may be null; throws a TypeError for what cannot be one. */
export function columnOf(name: string, given: ColumnData): Column {
  if (Array.isArray(given)) return fromValues(name, given);
  const made = dataOf(name, given);
  if (made !== null) return { field: new Field(name, made.type, true), data: made };
  const { field, data } = (given ?? {}) as Column;
  if (!(field instanceof Field)) {
    throw wrongType(name, 'an array, a typed array, Codes or a matrix', given);
  }
  return { field: new Field(name, field.type, true, field.metadata), data };
}

/** The data of a typed array, codes or a matrix; null for anything else. */
function dataOf(name: string, given: ColumnData) {
  if (given instanceof Codes) {
    const { bytes, bytesPerCode: width, count: length, validity } = given;
    return bytesData(bytes, { width, length, validity });
  }
  if (ArrayBuffer.isView(given)) {
    checkAttached(name, given);
    if (typeOfArray(given) !== undefined) return numberData(given as NumberArray);
    throw wrongType(name, 'a typed array of numbers', given);
  }
  if (!isDenseMatrix(given)) return null;
  const length = checkDenseMatrix(given, name);
  const { values, dimensions: width, validity } = given;
  return vectorData(values, { width, length, validity, isNullable: true });
}

/** Numbers are always float64, so that the type does not depend on the values of a batch. */
const KINDS: Record<string, ColumnKind> = {
  string: 'text',
  number: 'float64',
  boolean: 'bool',
  bigint: 'int64',
};

/** A column of plain values, all of one type; nulls are allowed. */
function fromValues(name: string, values: readonly unknown[]): Column {
  const known = values.find((value) => !isNull(value));
  const type = known === undefined ? 'string' : typeof known;
  const kind = KINDS[type];
  values.forEach((value, row) => {
    if (kind !== undefined && (isNull(value) || typeof value === type)) return;
    const expected = kind === undefined ? 'a string, number, boolean or null' : `a ${type}`;
    throw wrongType(`${name}[${row}]`, expected, value);
  });
  return plainColumn(name, kind, plainData(kind, values));
}
