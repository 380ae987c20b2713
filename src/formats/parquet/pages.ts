/**
 * Decodes and checks the pages of a column chunk before hyparquet reads them. hyparquet trusts run
 * lengths, counts and lengths, so that a flipped bit makes it run for ever or fill all memory. Here
 * the chunk bounds every count, and a memory budget bounds the chunk.
 */

import { POPCOUNT } from '../../kernels/hamming/hamming.scalar';
import { decodePage } from './codecs';
import { Cursor, integerOf, readStruct, type Struct } from './thrift';

/** What the footer says of a chunk; checked before. */
export interface ChunkShape {
  readonly type: string | undefined;
  /** Bytes of a value, in types of fixed length. */
  readonly typeLength: number;
  readonly codec: string | undefined;
  /** How many values it has, nulls and empty lists included. */
  readonly values: number;
  /** The highest levels of its leaf in the schema. */
  readonly maxDefinition: number;
  readonly maxRepetition: number;
}

/** Counts bytes of memory that are taken; throws where a file does not justify more. */
export class Budget {
  #left: number;

  /** `bytes` is what the file has of the rows that are read. */
  constructor(readonly bytes: number) {
    this.#left = Math.max(FREE_BYTES, MAX_EXPANSION * bytes);
  }

  /** Takes bytes from the budget, or throws. */
  take(bytes: number): void {
    this.#left -= bytes;
    if (this.#left >= 0) return;
    const advice = 'write them with fewer rows a row group';
    throw new Error(`rows that take far more memory than their ${this.bytes} bytes; ${advice}`);
  }
}

/**
 * Memory that each byte of the file may need: repeated values take a few bytes, however many there
 * are.
 */
const MAX_EXPANSION = 256;
/** Memory that is always allowed: 4,000,000 numbers. */
const FREE_BYTES = 1 << 27;

/** Kinds of pages, by number. */
const PAGES = { data: 0, dictionary: 2, data2: 3 };
/** Encodings of values, by number. */
export const ENCODINGS = {
  ...{ plain: 0, bytesApart: 9 },
  ...{ dictionary: 2, rleDictionary: 8, rle: 3 },
  ...{ delta: 5, deltaLengths: 6, deltaBytes: 7 },
};
/** Bytes of a value, in types of one width. */
const WIDTHS: Readonly<Record<string, number>> = {
  INT32: 4,
  INT64: 8,
  INT96: 12,
  FLOAT: 4,
  DOUBLE: 8,
};

/** What is left of a page after its header. */
export interface PageValues {
  readonly page: Cursor;
  /** Values that are there: no nulls, no empty lists. */
  readonly count: number;
  readonly encoding: number;
  /**
   * Repetition levels (where lists begin), definition levels (how much is there); empty for all 0.
   */
  readonly repetitions: Uint8Array;
  readonly definitions: Uint8Array;
  /** How many levels there are: nulls and empty lists have one too. */
  readonly levelCount: number;
  /** True for the second kind of page, which stores runs even for indices of no bits. */
  readonly isSecond: boolean;
}

/** The pages of a chunk, decoded and checked. */
export interface CheckedPages {
  /** The decoded contents, in the order in which hyparquet asks for them. */
  readonly contents: readonly Uint8Array[];
  /** How many bytes of the chunk are pages: after the last value nothing is read. */
  readonly byteCount: number;
  /** The data pages, each at its first value. */
  readonly pages: readonly PageValues[];
  readonly dictionary: Uint8Array | null;
}

/** Decodes and checks the pages of a chunk. */
export function checkPages(bytes: Uint8Array, shape: ChunkShape, budget: Budget): CheckedPages {
  const cursor = new Cursor(bytes);
  const contents: Uint8Array[] = [];
  const pages: PageValues[] = [];
  let dictionaryPage: Uint8Array | null = null;
  let dictionary: number | null = null;
  let values = 0;
  while (values < shape.values) {
    const header = readStruct(cursor);
    const kind = integerOf(header, 1, 'a page of kind');
    const length = integerOf(header, 2, 'the length of a page');
    const body = cursor.take(integerOf(header, 3, 'the length of a page'));
    if (kind === PAGES.dictionary) {
      const page = decoded(shape, body, length, budget);
      dictionary = integerOf(structOf(header, 7), 1, 'entries of a dictionary', page.length);
      contents.push(page);
      dictionaryPage = page;
      continue;
    }
    if (kind !== PAGES.data && kind !== PAGES.data2) throw new Error(`a page of kind ${kind}`);
    const own = structOf(header, kind === PAGES.data ? 5 : 8);
    const count = integerOf(own, 1, 'values of a page', shape.values - values);
    values += count;
    const found =
      kind === PAGES.data
        ? dataPage(decoded(shape, body, length, budget), own, count, shape)
        : dataPage2({ header: own, body, length, count }, shape, budget);
    if (found.isDecoded) contents.push(found.content);
    pages.push({ ...found, page: new Cursor(found.page.bytes, found.page.at) });
    checkValues(found, shape, { dictionary, budget });
  }
  return { contents, byteCount: cursor.at, pages, dictionary: dictionaryPage };
}

function structOf(header: Struct, id: number): Struct {
  const found = header.get(id);
  if (found instanceof Map) return found;
  throw new Error('a page without the header of its kind');
}

/** Decodes a page. The budget counts it twice. */
function decoded({ codec }: ChunkShape, body: Uint8Array, length: number, budget: Budget) {
  budget.take(2 * length);
  return decodePage(codec, body, length);
}

/** A data page of the first kind: levels with their lengths before them, then values. */
function dataPage(content: Uint8Array, header: Struct, count: number, shape: ChunkShape) {
  const page = new Cursor(content);
  const section = (max: number) =>
    page.take(max > 0 ? new DataView(page.take(4).slice().buffer).getUint32(0, true) : 0);
  const repetitions = section(shape.maxRepetition);
  const definitions = section(shape.maxDefinition);
  const present = checkLevels({ repetitions, definitions }, shape, count);
  const encoding = integerOf(header, 2, 'an encoding');
  const own = { page, count: present, encoding, content, isDecoded: true, isSecond: false };
  return { ...own, repetitions, definitions, levelCount: count };
}

/** A data page of the second kind: levels first; only the values after them may be compressed. */
function dataPage2(
  {
    header,
    body,
    length,
    count,
  }: { header: Struct; body: Uint8Array; length: number; count: number },
  shape: ChunkShape,
  budget: Budget,
) {
  const cursor = new Cursor(body);
  const repetitions = cursor.take(integerOf(header, 6, 'the length of levels', body.length));
  const definitions = cursor.take(integerOf(header, 5, 'the length of levels', body.length));
  // hyparquet reads the levels of a column that has none, too.
  const present = checkLevels({ repetitions, definitions }, shape, count);
  const nulls = integerOf(header, 2, 'nulls of a page', count);
  if (nulls !== count - present) throw new Error(`${nulls} nulls, the page has ${count - present}`);
  const rest = cursor.take(body.length - cursor.at);
  const isDecoded = header.get(7) !== false;
  const content = isDecoded ? decoded(shape, rest, length - cursor.at + rest.length, budget) : rest;
  const encoding = integerOf(header, 4, 'an encoding');
  const page = new Cursor(content);
  const own = { page, count: present, encoding, content, isDecoded, isSecond: true };
  return { ...own, repetitions, definitions, levelCount: count };
}

/** Checks the levels of `count` values; returns how many values are not null. */
function checkLevels(
  { repetitions, definitions }: Pick<PageValues, 'repetitions' | 'definitions'>,
  { maxRepetition, maxDefinition }: ChunkShape,
  count: number,
): number {
  if (maxRepetition > 0) levels(repetitions, maxRepetition, count);
  return maxDefinition > 0 ? levels(definitions, maxDefinition, count) : count;
}

/** Reads `count` levels of at most `max`; returns how many are `max`, which is that of values. */
export function levels(bytes: Uint8Array, max: number, count: number, into?: Uint8Array): number {
  return runs(new Cursor(bytes), { width: 32 - Math.clz32(max), count, wanted: max, into });
}

/** Integers of `width` bits. `wanted` is the value to count, and the highest allowed. */
interface Runs {
  readonly width: number;
  readonly count: number;
  readonly wanted?: number;
  readonly into?: Uint8Array | Uint32Array;
}

/**
 * Reads runs of `count` integers, repeated or packed, and puts them `into` an array where there is
 * one. No run may be longer than what is left, or than its own bytes. Returns how many are
 * `wanted`; a higher one throws.
 */
export function runs(cursor: Cursor, { width, count, wanted, into }: Runs): number {
  let equal = 0;
  for (let left = count; left > 0; ) {
    const head = cursor.varint();
    const isPacked = head % 2 === 1;
    const length = (isPacked ? 8 : 1) * Math.floor(head / 2);
    if (isPacked && length === 0) throw new Error('a run of no values');
    const held = 8 * (cursor.bytes.length - cursor.at);
    // DuckDB pads packed bits, so a packed run may end after the last value. Indices of a
    // dictionary with one entry have no bits.
    const most = isPacked ? Math.max(left + 7, width > 0 ? held / width : 0) : left;
    if (length > most) throw new Error(`a run of ${length} values, ${left} are left`);
    const used = Math.min(length, left);
    left -= used;
    // The last run may be cut after its last value.
    const bits = isPacked ? Math.min(length * width, held) : width;
    if (bits < (isPacked ? used : 1) * width) throw new Error('a run is cut short');
    const from = 8 * cursor.at;
    cursor.take(Math.ceil(bits / 8));
    if (wanted === undefined && into === undefined) continue;
    const first = count - left - used;
    if (isPacked && width === 1 && wanted === 1) {
      equal += bitsInto(cursor.bytes, from / 8, used, into?.subarray(first, first + used));
      continue;
    }
    for (let i = 0; i < (isPacked ? used : 1); i++) {
      const value = bitsAt(cursor.bytes, from + i * width, width);
      if (wanted !== undefined && value > wanted) {
        throw new Error(`a level of ${value}, above ${wanted}`);
      }
      if (value === wanted) equal += isPacked ? 1 : used;
      if (isPacked && into !== undefined) into[first + i] = value;
      else into?.fill(value, first, first + used);
    }
  }
  return equal;
}

/** Puts `count` bits, the lowest of byte `at` first, `into` an array; returns how many are 1. */
function bitsInto(bytes: Uint8Array, at: number, count: number, into?: Uint8Array | Uint32Array) {
  let ones = 0;
  for (let i = 0; i < count; i += 8, at++) {
    const bits = Math.min(8, count - i);
    const byte = bytes[at] & ((1 << bits) - 1);
    ones += POPCOUNT[byte];
    if (into !== undefined) for (let j = 0; j < bits; j++) into[i + j] = (byte >> j) & 1;
  }
  return ones;
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

/** Checks the values of a page, as far as hyparquet does not do it. */
function checkValues(
  { page, count, encoding, isSecond }: PageValues,
  { type, typeLength }: ChunkShape,
  { dictionary, budget }: { dictionary: number | null; budget: Budget },
): void {
  if (!Object.values(ENCODINGS).includes(encoding)) {
    throw new Error(`values of an unknown encoding, ${encoding}`);
  }
  const left = page.bytes.length - page.at;
  const isRuns = encoding === ENCODINGS.rle;
  if (isRuns || encoding === ENCODINGS.dictionary || encoding === ENCODINGS.rleDictionary) {
    if (isRuns !== (type === 'BOOLEAN')) throw new Error(`encoding ${encoding} of type ${type}`);
    if (!isRuns && dictionary === null) throw new Error('a page of a dictionary that is not there');
    if (isRuns) page.take(4);
    const width = isRuns ? 1 : page.byte();
    if (width > 32) throw new Error(`indices of ${width} bits`);
    if (count > 0 && dictionary === 0) throw new Error('a dictionary without entries');
    if (width > 0 || isSecond) runs(page, { width, count });
  } else if (encoding === ENCODINGS.delta) {
    deltas(page, count);
  } else if (encoding === ENCODINGS.deltaLengths) {
    deltas(page, count, (length) => {
      if (length < 0) throw new Error(`a value of ${length} bytes`);
    });
  } else if (encoding === ENCODINGS.deltaBytes) {
    prefixes(page, count, budget);
  } else {
    const width = WIDTHS[type ?? ''] ?? (type === 'FIXED_LEN_BYTE_ARRAY' ? typeLength : 0);
    if (count * width > left) throw new Error(`${count} values of ${width} bytes in ${left}`);
  }
}

/**
 * Reads `count` integers that are stored as differences, in blocks whose parts have a width each;
 * calls `take` with each integer, which has 32 bits.
 */
function deltas(page: Cursor, count: number, take?: (value: number) => void): void {
  const [block, perBlock] = [page.varint(), page.varint()];
  const perWidth = block / perBlock;
  if (!(perBlock > 0 && perWidth > 0 && perWidth % 8 === 0)) {
    throw new Error(`blocks of ${block} values in ${perBlock} parts`);
  }
  page.varint(); // the count once more
  let value = page.zigzag() | 0;
  if (count > 0) take?.(value);
  for (let left = count - 1; left > 0; ) {
    const least = page.zigzag();
    for (const width of page.take(perBlock).slice()) {
      if (width > 64) throw new Error(`differences of ${width} bits`);
      const from = 8 * page.at;
      const used = Math.min(perWidth, Math.max(0, left));
      left -= used;
      // Parts after the last value have no bytes at all.
      if (used > 0) page.take(Math.min((perWidth * width) / 8, page.bytes.length - page.at));
      if (from + used * width > 8 * page.bytes.length) throw new Error('differences are cut short');
      for (let i = 0; take !== undefined && i < used; i++) {
        value = (value + least + bitsAt(page.bytes, from + i * width, Math.min(width, 32))) | 0;
        take(value);
      }
    }
  }
}

/**
 * Checks byte arrays that repeat the start of the one before; the budget counts each as a whole.
 */
function prefixes(page: Cursor, count: number, budget: Budget): void {
  const starts = new Int32Array(count);
  let at = 0;
  deltas(page, count, (value) => {
    starts[at++] = value;
  });
  let row = 0;
  let before = 0;
  deltas(page, count, (rest) => {
    const start = starts[row++];
    if (start < 0 || start > before || rest < 0)
      throw new Error(`a value that begins as ${start} bytes of ${before}`);
    before = start + rest;
    budget.take(before);
  });
}
