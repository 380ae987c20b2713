/**
 * The values of a column chunk, page by page. Counts, run lengths and widths are checked as they
 * are read: a damaged page is an error, never a loop, and a memory budget bounds what it makes. No
 * decoder, of Node or of this library, makes more bytes than its page must have.
 */

import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { concatenated } from '../../base/arrays';
import { decodeLz4Block, decodeZstd } from '../../table/compression';
import {
  type Chunk,
  Cursor,
  integerOf,
  type Leaf,
  readStruct,
  type Struct,
  structOf,
} from './metadata';

/** Takes bytes from a budget of memory; throws where the file does not justify more. */
export type Take = (bytes: number) => void;

/** A budget for rows of which the file has so many bytes. */
export function budgetFor(held: number): Take {
  let left = Math.max(FREE_BYTES, MAX_EXPANSION * held);
  return (bytes) => {
    left -= bytes;
    if (left >= 0) return;
    const advice = 'write them with fewer rows a row group';
    throw new Error(`rows that take far more memory than their ${held} bytes; ${advice}`);
  };
}

/**
 * Memory that each byte of the file may need: repeated values take a few bytes, however many there
 * are.
 */
const MAX_EXPANSION = 256;
/** Memory that is always allowed: 4,000,000 numbers. */
const FREE_BYTES = 1 << 27;
/** Memory that is counted for a value and its levels, besides the bytes of a page. */
const VALUE_BYTES = 32;

/** Values of a page as they are stored: numbers, 0 or 1 for booleans, or views of bytes. */
type Stored = Int32Array | BigInt64Array | Float32Array | Float64Array | Uint8Array | Uint8Array[];

/** Values that are there, with what they mean: typed arrays, or plain values. */
export type Values = Exclude<Stored, Uint8Array[]> | unknown[];

/** The values of a leaf in one row group. */
export interface LeafValues {
  /** Those that are there: no nulls, no empty lists. */
  readonly values: Values;
  /** How many levels there are: nulls and empty lists have one too. */
  readonly levelCount: number;
  /** How much is there at each level; null where all of it is. */
  readonly definitions: Uint8Array | null;
  /** Which list each level goes on with, 0 for a new row; null where there are no lists. */
  readonly repetitions: Uint8Array | null;
}

/** Kinds of pages, by number. */
const PAGES = { data: 0, dictionary: 2, data2: 3 };
/** Encodings of values, by number. Those of differences are refused: only version 2 has them. */
const ENCODINGS = { plain: 0, dictionary: 2, rle: 3, rleDictionary: 8 };
/** Arrays of numbers of one width. */
const NUMBERS = {
  INT32: Int32Array,
  INT64: BigInt64Array,
  FLOAT: Float32Array,
  DOUBLE: Float64Array,
};

/** The content of a data page after its levels. */
interface DataPage {
  readonly content: Cursor;
  /** Values that are there. */
  readonly count: number;
  readonly encoding: number;
}

/** Reads the chunks of one leaf. */
export class LeafReader {
  /** Values of the dictionary, with what they mean. */
  #dictionary: Values | null = null;

  /** `turn` makes plain values of what is stored; null where that is what it means. */
  constructor(
    readonly leaf: Leaf,
    readonly chunk: Chunk,
    readonly turn: ((value: never) => unknown) | null,
    readonly take: Take,
  ) {}

  /** The values in the bytes of the chunk. */
  read(bytes: Uint8Array): LeafValues {
    const { leaf, chunk } = this;
    this.take(chunk.values * VALUE_BYTES);
    const cursor = new Cursor(bytes);
    const definitions = leaf.maxDefinition > 0 ? new Uint8Array(chunk.values) : null;
    const repetitions = leaf.maxRepetition > 0 ? new Uint8Array(chunk.values) : null;
    const parts: Values[] = [];
    let [levelCount, present] = [0, 0];
    while (levelCount < chunk.values) {
      const header = readStruct(cursor);
      const kind = integerOf(header, 1, 'a page of kind');
      const length = integerOf(header, 2, 'the length of a page');
      const body = cursor.take(integerOf(header, 3, 'the length of a page'));
      if (kind === PAGES.dictionary) {
        const own = structOf(header, 7, 'the header of a page');
        const content = this.#decoded(body, length);
        const count = integerOf(own, 1, 'entries of a dictionary', content.length);
        this.#dictionary = this.#turned(plain(new Cursor(content), count, leaf));
        continue;
      }
      if (kind !== PAGES.data && kind !== PAGES.data2) throw new Error(`a page of kind ${kind}`);
      const own = structOf(header, kind === PAGES.data ? 5 : 8, 'the header of a page');
      const count = integerOf(own, 1, 'values of a page', chunk.values - levelCount);
      const into = {
        definitions: definitions?.subarray(levelCount, levelCount + count) ?? null,
        repetitions: repetitions?.subarray(levelCount, levelCount + count) ?? null,
      };
      const page = this.#dataPage(own, kind === PAGES.data2, { body, length }, count, into);
      levelCount += count;
      present += page.count;
      parts.push(this.#valuesOf(page));
    }
    return {
      values: joined(parts),
      levelCount,
      repetitions,
      definitions: present === levelCount ? null : definitions,
    };
  }

  /** Decodes the bytes of a page. The budget counts them twice, since values may be copies. */
  #decoded(body: Uint8Array, length: number): Uint8Array {
    this.take(2 * length);
    const { codec } = this.chunk;
    const decode = CODECS[codec];
    if (decode === undefined) {
      const advice = 'write the file with Snappy, gzip, Brotli, ZSTD or LZ4_RAW';
      throw new Error(`pages compressed by codec ${codec} are not read: ${advice}`);
    }
    if (length < 0) throw new Error(`a page of ${length} bytes`);
    const content = length === 0 ? new Uint8Array() : decode(body, length);
    if (content.length === length) return content;
    throw new Error(`a page of ${content.length} bytes, ${length} were expected`);
  }

  /**
   * Reads the levels of a data page. In the first kind each run of levels follows its length, and
   * the page is compressed as a whole; in the second the header has the lengths, and only what
   * comes after the levels may be compressed.
   */
  #dataPage(
    header: Struct,
    isSecond: boolean,
    { body, length }: { body: Uint8Array; length: number },
    count: number,
    into: Pick<LeafValues, 'definitions' | 'repetitions'>,
  ): DataPage {
    const { maxDefinition, maxRepetition } = this.leaf;
    const content = new Cursor(isSecond ? body : this.#decoded(body, length));
    const levelsOf = (field: number, max: number, to: Uint8Array | null) => {
      if (max === 0 && !isSecond) return count;
      const bytes = isSecond ? integerOf(header, field, 'the length of levels') : content.uint32();
      const own = content.take(bytes);
      return max > 0 ? levels(own, max, to) : count;
    };
    levelsOf(6, maxRepetition, into.repetitions);
    const present = levelsOf(5, maxDefinition, into.definitions);
    const encoding = integerOf(header, isSecond ? 4 : 2, 'an encoding');
    if (!isSecond) return { content, count: present, encoding };
    const nulls = integerOf(header, 2, 'nulls of a page', count);
    if (nulls !== count - present) {
      throw new Error(`${nulls} nulls, the page has ${count - present}`);
    }
    const rest = content.take(content.left);
    const isPacked = header.get(7) !== false;
    const values = isPacked ? this.#decoded(rest, length - body.length + rest.length) : rest;
    return { content: new Cursor(values), count: present, encoding };
  }

  /** The values of a page, with what they mean. */
  #valuesOf({ content, count, encoding }: DataPage): Values {
    if (encoding !== ENCODINGS.dictionary && encoding !== ENCODINGS.rleDictionary) {
      return this.#turned(this.#stored(content, count, encoding));
    }
    const entries = this.#dictionary;
    if (entries === null) throw new Error('a page of a dictionary that is not there');
    const indices = new Uint32Array(count);
    const width = content.left > 0 || count > 0 ? content.byte() : 0;
    if (width > 32) throw new Error(`indices of ${width} bits`);
    // Indices of a dictionary with one entry have no bits, and of some writers no runs.
    if (width > 0) runs(content, width, indices);
    const values = emptyLike(entries, count);
    for (let i = 0; i < count; i++) {
      if (indices[i] >= entries.length) throw new Error('a value that is not in its dictionary');
      values[i] = entries[indices[i]];
    }
    return values;
  }

  /** Decodes the values of a page that needs no dictionary. */
  #stored(content: Cursor, count: number, encoding: number): Stored {
    const { leaf } = this;
    if (encoding === ENCODINGS.plain) return plain(content, count, leaf);
    if (encoding === ENCODINGS.rle && leaf.type === 'BOOLEAN') {
      content.uint32(); // the length of the runs
      const bits = new Uint8Array(count);
      runs(content, 1, bits);
      return bits;
    }
    const advice = 'write the file by version 1, plain or with dictionaries';
    throw new Error(`values in encoding ${encoding} are not read: ${advice}`);
  }

  #turned(stored: Stored): Values {
    const { turn } = this;
    return turn === null ? stored : Array.from(stored as Uint8Array, (one) => turn(one as never));
  }
}

function joined(parts: readonly Values[]): Values {
  if (parts.length === 1) return parts[0];
  if (parts.every(Array.isArray)) return (parts as unknown[][]).flat(1);
  return concatenated(parts as Float32Array[]);
}

function emptyLike(values: Values, count: number): unknown[] {
  if (Array.isArray(values)) return new Array(count);
  return new (values.constructor as new (count: number) => never)(count);
}

/** Reads levels of at most `max`; returns how many are `max`, which is that of values. */
function levels(bytes: Uint8Array, max: number, into: Uint8Array | null): number {
  if (into === null) return 0;
  runs(new Cursor(bytes), 32 - Math.clz32(max), into);
  let equal = 0;
  for (let i = 0; i < into.length; i++) {
    if (into[i] > max) throw new Error(`a level of ${into[i]}, above ${max}`);
    if (into[i] === max) equal++;
  }
  return equal;
}

/**
 * Fills an array with integers of `width` bits, in runs that are repeated or packed. No run may be
 * longer than what is left, or than its own bytes.
 */
function runs(cursor: Cursor, width: number, into: Uint8Array | Uint32Array): void {
  for (let done = 0; done < into.length; ) {
    const left = into.length - done;
    const head = cursor.varint();
    const length = Math.floor(head / 2);
    if (head % 2 === 0) {
      if (length > left) throw new Error(`a run of ${length} values, ${left} are left`);
      const value = bitsAt(cursor.take(Math.ceil(width / 8)), 0, width);
      into.fill(value, done, done + length);
      done += length;
      continue;
    }
    const used = Math.min(8 * length, left);
    // DuckDB pads packed bits, so a run may end after the last value; its bytes may be cut there.
    const bytes = cursor.take(Math.min(length * width, cursor.left));
    if (length === 0 || used * width > 8 * bytes.length) throw new Error('a run is cut short');
    if (width === 1) for (let i = 0; i < used; i++) into[done + i] = (bytes[i >> 3] >> (i & 7)) & 1;
    else for (let i = 0; i < used; i++) into[done + i] = bitsAt(bytes, i * width, width);
    done += used;
  }
}

/** An integer of `width` bits, at most 32, from bit `at` on, lowest first. */
function bitsAt(bytes: Uint8Array, at: number, width: number): number {
  let value = 0;
  for (let done = 0; done < width; ) {
    const bit = (at + done) & 7;
    const step = Math.min(8 - bit, width - done);
    value += ((bytes[(at + done) >>> 3] >> bit) & ((1 << step) - 1)) * 2 ** done;
    done += step;
  }
  return value;
}

/** Values one after another, as their type stores them. */
function plain(content: Cursor, count: number, { type, typeLength }: Leaf): Stored {
  if (type in NUMBERS) {
    const Numbers = NUMBERS[type as keyof typeof NUMBERS];
    // Not `slice`, by which a Buffer, as zlib makes it, shares its memory.
    return new Numbers(new Uint8Array(content.take(count * Numbers.BYTES_PER_ELEMENT)).buffer);
  }
  if (type === 'BOOLEAN') {
    const bits = content.take(Math.ceil(count / 8));
    return Uint8Array.from({ length: count }, (_, i) => (bits[i >> 3] >> (i & 7)) & 1);
  }
  const isOfAnyLength = type === 'BYTE_ARRAY';
  const width = type === 'INT96' ? 12 : typeLength;
  if (!isOfAnyLength && count * width > content.left) {
    throw new Error(`${count} values of ${width} bytes in ${content.left}`);
  }
  const values: Uint8Array[] = [];
  for (let i = 0; i < count; i++) {
    values.push(content.take(isOfAnyLength ? content.uint32() : width));
  }
  return values;
}

/** Decodes a page of `length` bytes; throws where it cannot. */
type Decode = (page: Uint8Array, length: number) => Uint8Array;

/** By number; 3, LZO, and 5, LZ4 as Hadoop frames it, are not read. */
const CODECS: Readonly<Record<number, Decode>> = {
  0: (page) => page,
  1: decodeSnappy,
  2: (page, length) => gunzipSync(page, { maxOutputLength: length + 1 }),
  4: (page, length) => brotliDecompressSync(page, { maxOutputLength: length + 1 }),
  6: decodeZstd,
  7: decodeLz4Block,
};

/**
 * The content of a Snappy block (google/snappy, format_description.txt), which must have `length`
 * bytes: each byte is written once, and `length` of them at most.
 */
export function decodeSnappy(block: Uint8Array, length: number): Uint8Array {
  const out = new Uint8Array(length);
  let at = 0;
  let filled = 0;
  const byte = () => {
    if (at >= block.length) throw new Error('a Snappy block is cut short');
    return block[at++];
  };
  const number = (bytes: number) => {
    let value = 0;
    for (let i = 0; i < bytes; i++) value += byte() * 2 ** (8 * i);
    return value;
  };
  while (byte() > 0x7f); // the length again, which the page's header has
  while (at < block.length) {
    const tag = byte();
    const kind = tag & 3;
    let count = (tag >> 2) + 1;
    if (kind === 0) {
      if (count > 60) count = number(count - 60) + 1;
      if (count > block.length - at || count > length - filled) throw tooLong(length);
      out.set(block.subarray(at, at + count), filled);
      at += count;
      filled += count;
      continue;
    }
    // Kinds 1 to 3 copy bytes from before, at a distance of 11, 16 or 32 bits.
    if (kind === 1) count = ((tag >> 2) & 7) + 4;
    const offset = kind === 1 ? ((tag >> 5) << 8) + byte() : number(kind === 2 ? 2 : 4);
    if (offset < 1 || offset > filled) throw new Error('a Snappy block refers to before its start');
    if (count > length - filled) throw tooLong(length);
    // The copy may overlap what it makes.
    for (const end = filled + count; filled < end; filled++) out[filled] = out[filled - offset];
  }
  if (filled === length) return out;
  throw new Error(`a Snappy block of ${filled} bytes, ${length} were expected`);
}

function tooLong(length: number): Error {
  return new Error(`a Snappy block of more than ${length} bytes`);
}
