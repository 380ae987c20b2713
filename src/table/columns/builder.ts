/**
 * Builds columns value by value, as readers of other formats need it: numbers, texts, bytes, lists.
 * A builder fills memory that grows by doubling, and hands over a finished column for each batch.
 */

import {
  Binary,
  Bool,
  type Data,
  type DataType,
  Field,
  FixedSizeBinary,
  List,
  makeData,
  Utf8,
} from 'apache-arrow';
import { type ColumnKind, JSON_METADATA, type NumberKind, numberType } from './types';

/** A column of a batch: its name and type, and its values. */
export interface Column {
  readonly field: Field;
  readonly data: Data;
}

/**
 * Texts and bytes of one batch stay below 2^31, where 32-bit offsets end. Readers end batches
 * before.
 */
const MAX_BYTES = 0x7fff_ffff;

/** Texts of fewer characters get room for the most bytes that they may take: 768 KiB. */
const MAX_UNCOUNTED = 2 ** 18;

const encoder = new TextEncoder();

/** The arrays that a builder of numbers fills. */
type Numbers = Float64Array | BigInt64Array;

/** `old` where it has room for `needed` elements; else a copy of twice the length or more. */
export function grown<T extends Numbers | Uint8Array | Int32Array>(old: T, needed: number): T {
  if (needed <= old.length) return old;
  const Values = old.constructor as new (length: number) => T;
  const larger = new Values(Math.max(needed, 2 * old.length));
  larger.set(old as never);
  return larger;
}

/** Columns of more bytes are handed over; others are copied out of memory that is used again. */
const MAX_COPIED_BYTES = 2 ** 24;

/** The first `count` values: a view where they are too many to be copied. */
function firstOf<T extends Numbers | Uint8Array>(values: T, count: number): T {
  const isLarge = count * values.BYTES_PER_ELEMENT > MAX_COPIED_BYTES;
  return (isLarge ? values.subarray(0, count) : values.slice(0, count)) as T;
}

/** Takes the values of a column one by one; null and undefined become nulls. */
export abstract class ColumnBuilder {
  /** A bit is 1 where a row is null, so that rows after the last null need no bits. */
  #nulls = new Uint8Array(8);
  #nullCount = 0;
  protected count = 0;

  abstract readonly type: DataType;

  /** Rows so far. */
  get length(): number {
    return this.count;
  }

  /** Makes room for so many further numbers, of lists for their items, which need not grow then. */
  reserve(_count: number): void {}

  /** Adds a row. */
  append(value: unknown): void {
    if (value === null || value === undefined) {
      this.#nulls = grown(this.#nulls, (this.count >> 3) + 1);
      this.#nulls[this.count >> 3] |= 1 << (this.count & 7);
      this.#nullCount++;
      this.put(null);
    } else this.put(value);
    this.count++;
  }

  /**
   * Stores the value of row `count`. A null takes as much room as a value, if values have a fixed
   * width.
   */
  protected abstract put(value: unknown): void;
  /** The memory of the rows so far, which never changes again: later values go elsewhere. */
  protected abstract take(): { data?: unknown; valueOffsets?: Int32Array; child?: Data };

  /** The column so far; the builder begins again without rows. */
  finish(): Data {
    const { count: length, type } = this;
    const nullCount = this.#nullCount;
    // A builder without nulls gives a column without a bitmap.
    const ones = this.#nulls.subarray(0, Math.ceil(length / 8));
    const nulls = nullCount > 0 && { nullBitmap: validityFrom(ones, length) };
    const data = makeData({ type, length, nullCount, ...nulls, ...this.take() } as never);
    this.#nulls.fill(0);
    this.#nullCount = 0;
    this.count = 0;
    return data;
  }
}

/**
 * A bitmap of `count` rows as Arrow has it, 1 for values, from one of nulls that may be shorter.
 */
function validityFrom(nulls: Uint8Array, count: number): Uint8Array {
  const validity = new Uint8Array(Math.ceil(count / 8)).fill(255);
  for (let i = 0; i < nulls.length; i++) validity[i] = ~nulls[i];
  return validity;
}

/** The column that a builder has, under its name. */
export function finished(name: string, builder: ColumnBuilder, kind: ColumnKind): Column {
  const metadata = kind === 'json' ? JSON_METADATA : undefined;
  return { field: new Field(name, builder.type, true, metadata), data: builder.finish() };
}

/** A builder for a kind of column. */
export function builderOf(kind: ColumnKind): ColumnBuilder {
  if (typeof kind === 'object') {
    return 'list' in kind
      ? new ListBuilder(builderOf(kind.list))
      : new FixedBuilder(kind.fixedBytes);
  }
  if (kind === 'bool') return new BoolBuilder();
  if (kind === 'text' || kind === 'json') return new BytesBuilder(new Utf8());
  if (kind === 'binary') return new BytesBuilder(new Binary());
  return new NumberBuilder(kind);
}

/** Numbers of one kind. Nothing is checked: callers give values that the kind holds. */
class NumberBuilder extends ColumnBuilder {
  readonly type: DataType;
  /** True of integers of 64 bits. */
  readonly isWide: boolean;
  #values: Numbers;

  constructor(kind: NumberKind) {
    super();
    const { type, Values } = numberType(kind);
    this.type = type;
    this.isWide = kind.endsWith('64') && kind !== 'float64';
    this.#values = new Values(64) as Numbers;
  }

  override reserve(count: number): void {
    this.#values = grown(this.#values, this.count + count);
  }

  protected put(value: unknown): void {
    this.#values = grown(this.#values, this.count + 1);
    if (!this.isWide) this.#values[this.count] = Number(value);
    // Integers of 64 bits may also be given as numbers; a null becomes 0.
    else this.#values[this.count] = typeof value === 'bigint' ? value : BigInt(Number(value));
  }

  /** Adds numbers at once, none of them null; not for integers of 64 bits. */
  appendAll(values: Floats): void {
    this.reserve(values.length);
    (this.#values as Float64Array).set(values, this.count);
    this.count += values.length;
  }

  protected take() {
    const data = firstOf(this.#values, this.count);
    if (data.buffer === this.#values.buffer)
      this.#values = grown(data.subarray(0, 0) as Numbers, 64);
    return { data };
  }
}

type Floats = Float32Array | Float64Array;

/** Floats are copied to a builder of numbers without a loop. */
function isFloats(list: ArrayLike<unknown>): list is Floats {
  return list instanceof Float32Array || list instanceof Float64Array;
}

/** A bit for each row. */
class BoolBuilder extends ColumnBuilder {
  readonly type = new Bool();
  #bits = new Uint8Array(64);

  protected put(value: unknown): void {
    const at = this.count >> 3;
    this.#bits = grown(this.#bits, at + 1);
    if (value === true) this.#bits[at] |= 1 << (this.count & 7);
    else this.#bits[at] &= ~(1 << (this.count & 7));
  }

  protected take() {
    return { data: this.#bits.slice(0, Math.ceil(this.count / 8)) };
  }
}

/** Texts and bytes of any length. */
export class BytesBuilder extends ColumnBuilder {
  #bytes = new Uint8Array(64);
  #filled = 0;
  #offsets = new Int32Array(65);

  constructor(readonly type: Utf8 | Binary) {
    super();
  }

  /** Memory with room for `more` bytes after those that are filled. */
  #room(more: number): Uint8Array {
    this.#bytes = grown(this.#bytes, this.#filled + more);
    return this.#bytes;
  }

  /** Notes where the value of row `count` ends. */
  #end(): void {
    if (this.#filled > MAX_BYTES) throw new Error('more than 2 GiB of text in one batch');
    this.#offsets = grown(this.#offsets, this.count + 2);
    this.#offsets[this.count + 1] = this.#filled;
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
    this.#end();
    this.count++;
  }

  protected put(value: unknown): void {
    if (value instanceof Uint8Array) {
      this.#room(value.length).set(value, this.#filled);
      this.#filled += value.length;
    } else if (value !== null) {
      const text = String(value);
      // A UTF-16 unit takes 3 bytes of UTF-8 at most. Counting them takes longer than encoding, so
      // the exact number is counted only of texts whose room would be memory of note.
      const room = text.length < MAX_UNCOUNTED ? 3 * text.length : byteLength(text);
      const target = this.#room(room).subarray(this.#filled);
      this.#filled += encoder.encodeInto(text, target).written;
    }
    this.#end();
  }

  protected take() {
    const data = firstOf(this.#bytes, this.#filled);
    if (data.buffer === this.#bytes.buffer) this.#bytes = new Uint8Array(64);
    this.#filled = 0;
    return { valueOffsets: this.#offsets.slice(0, this.count + 1), data };
  }
}

/** Bytes of a text in UTF-8. */
function byteLength(text: string): number {
  let bytes = text.length;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit > 0x7f) bytes += unit > 0x7ff ? 2 : 1;
  }
  return bytes;
}

/** Bytes of one width; a value of another width throws. */
class FixedBuilder extends ColumnBuilder {
  readonly type: FixedSizeBinary;
  #bytes: Uint8Array;

  constructor(readonly width: number) {
    super();
    this.type = new FixedSizeBinary(width);
    this.#bytes = new Uint8Array(64 * width);
  }

  protected put(value: unknown): void {
    const { count, width } = this;
    this.#bytes = grown(this.#bytes, (count + 1) * width);
    const bytes = value as Uint8Array | null;
    if (bytes === null) this.#bytes.fill(0, count * width, (count + 1) * width);
    else if (bytes.length === width) this.#bytes.set(bytes, count * width);
    else throw new Error(`${bytes.length} bytes, not ${width}`);
  }

  protected take() {
    return { data: this.#bytes.slice(0, this.count * this.width) };
  }
}

/** Lists of any length, whose items another builder takes. */
class ListBuilder extends ColumnBuilder {
  readonly type: List;
  #offsets = new Int32Array(65);

  constructor(readonly items: ColumnBuilder) {
    super();
    this.type = new List(new Field('item', items.type, true));
  }

  override reserve(count: number): void {
    this.items.reserve(count);
  }

  protected put(value: unknown): void {
    const { items } = this;
    const list = (value ?? []) as ArrayLike<unknown>;
    if (items instanceof NumberBuilder && !items.isWide && isFloats(list)) items.appendAll(list);
    else for (let i = 0; i < list.length; i++) items.append(list[i]);
    this.#offsets = grown(this.#offsets, this.count + 2);
    this.#offsets[this.count + 1] = items.length;
  }

  protected take() {
    const valueOffsets = this.#offsets.slice(0, this.count + 1);
    return { valueOffsets, child: this.items.finish() };
  }
}
