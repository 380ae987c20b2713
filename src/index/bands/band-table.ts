/**
 * One table of multi-index hashing: codes in buckets by a key of some of their bits, made by a
 * radix sort whose parts stay in the cache. A bucket's number is XOR-linear in the key (class H3 of
 * Carter & Wegman 1979), so that flipping a key bit is one XOR, whether keys are hashed or not.
 */

import { toStarts } from '../../base/arrays';
import type { BitRun } from '../../codes/pigeonhole';
import { bitCount } from '../../kernels/hamming/hamming.scalar';
import { sharedValues } from '../../kernels/memory';
import { bucketBits } from './band-layout';

/** Where codes are. Read again at every step, because growth may move them. */
export interface CodeSource {
  /** The first holds code i * 2 ** shift and those behind it. */
  readonly memories: readonly { readonly codes: Uint8Array }[];
  readonly shift: number;
}

interface TableOptions {
  readonly bits: number;
  readonly count: number;
  readonly prefilter?: boolean;
}

/** How a code comes to its bucket. */
interface TableKeys {
  /** Number of key bits. */
  readonly width: number;
  /** Where they begin in the code. */
  readonly firstBit: number;
  readonly bucketBits: number;
  /** Whether all codes of a bucket have the same key. */
  readonly isDirect: boolean;
  /** What flipping a key bit does to the bucket's number. */
  readonly flipOf: Uint32Array;
  /** Bytes of a code with key bits in them, and what their 256 values add to the number. */
  readonly touched: Uint16Array;
  readonly addends: Uint32Array;
  /** The key bits as 32-bit words of a code. */
  readonly words: Uint16Array;
  readonly masks: Int32Array;
  /** The word of a code, and its bits that are the prefilter bits; none of them is in the key. */
  readonly prefilterWord: number;
  readonly prefilterMask: number;
}

/** A finished table: the way to a bucket, and what is in each. */
export interface BandTable extends TableKeys {
  /** Bucket b holds `members[offsets[b]]` to `members[offsets[b + 1] - 1]`, ascending. */
  readonly offsets: Uint32Array;
  /** One entry more than is used, so that where the last bucket ends can be read. */
  readonly members: Uint32Array;
  readonly prefilter: Int32Array | null;
  /** The sum of the squares of the buckets' sizes. */
  readonly squares: number;
}

/** Rows whose keys are made at once, at most, and bytes of codes that go into them. */
const KEY_ROWS = 2 ** 14;
const KEY_BYTES = 2 ** 20;
/** Rows or buckets that are sorted between two yields: a few milliseconds. */
const STEP_ROWS = 2 ** 16;
/** A part of so many rows, and its buckets, are sorted within the second-level cache. */
const PART_ROW_BITS = 13;
const MAX_PART_BITS = 10;
/** Fewer prefilter bits dismiss too few candidates. */
const MIN_PREFILTER_BITS = 12;

/**
 * Room for sorting: a key, a number and prefilter bits for each code; used by one table at a time.
 */
export class Sorting {
  readonly rowKeys = new Uint32Array(KEY_ROWS);
  readonly keys: Uint32Array;
  readonly members: Uint32Array;
  readonly prefilter: Int32Array;

  constructor({ count, prefilter }: TableOptions) {
    this.keys = new Uint32Array(count);
    this.members = new Uint32Array(count);
    this.prefilter = new Int32Array(prefilter ? count : 0);
  }
}

/** Makes a table in short steps; most of them yield how many of `3 * count` rows are done. */
export function* tableSteps(
  key: BitRun,
  source: CodeSource,
  options: TableOptions,
  sorting: Sorting,
): Generator<number | undefined, BandTable> {
  const { bits, count } = options;
  const keys = tableKeys(key, bits, count);
  const table = new TableMaker(keys, options, sorting);
  const rows = Math.min(KEY_ROWS, Math.ceil(KEY_BYTES / keys.touched.length));
  const endOf = (from: number) =>
    Math.min(count, from + rows, ((from >>> source.shift) + 1) * 2 ** source.shift);
  for (let from = 0, to = 0; from < count; from = to) {
    to = endOf(from);
    table.countParts(source, from, to);
    yield to;
  }
  table.beginParts();
  for (let from = 0, to = 0; from < count; from = to) {
    to = endOf(from);
    table.spread(source, from, to);
    yield count + to;
  }
  const parts = table.ends.length;
  for (let part = 0, work = 0; part < parts; part++) {
    const start = part === 0 ? 0 : table.ends[part - 1];
    const end = table.ends[part];
    for (let from = start; from < end; from += STEP_ROWS) {
      table.countBuckets(from, Math.min(end, from + STEP_ROWS));
      if (end - start > STEP_ROWS) yield undefined;
    }
    table.endBuckets(part);
    for (let to = end; to > start; to -= STEP_ROWS) {
      table.place(Math.max(start, to - STEP_ROWS), to);
      if (end - start > STEP_ROWS) yield undefined;
    }
    work += end - start + 2 ** table.shift;
    if (work < STEP_ROWS || part + 1 === parts) continue;
    work = 0;
    yield 2 * count + Math.floor((count * (part + 1)) / parts);
  }
  return table.result();
}

/** The loops of a build, each over some rows or buckets. */
class TableMaker {
  readonly shift: number;
  /** Where the parts end; before, where the next row of each goes. */
  readonly ends: Uint32Array;
  readonly hasPrefilter: boolean;
  readonly #members: Uint32Array;
  readonly #prefilter: Int32Array | null;
  readonly #keys: TableKeys;
  readonly #bytesPerCode: number;
  readonly #sorting: Sorting;
  readonly #offsets: Uint32Array;
  #sum = 0;
  #squares = 0;

  constructor(keys: TableKeys, options: TableOptions, sorting: Sorting) {
    const rowBits = 32 - Math.clz32(options.count);
    const parts = Math.min(keys.bucketBits, MAX_PART_BITS, rowBits - PART_ROW_BITS);
    this.shift = keys.bucketBits - Math.max(0, parts);
    this.ends = new Uint32Array(2 ** (keys.bucketBits - this.shift));
    this.hasPrefilter = (options.prefilter ?? false) && keys.prefilterMask !== 0;
    this.#keys = keys;
    this.#bytesPerCode = Math.ceil(options.bits / 8);
    this.#sorting = sorting;
    // Searches on other threads read them in place.
    this.#offsets = sharedValues(Uint32Array, 2 ** keys.bucketBits + 1);
    this.#members = sharedValues(Uint32Array, options.count + 1);
    this.#prefilter = this.hasPrefilter ? sharedValues(Int32Array, options.count + 1) : null;
  }

  /** Counts rows, all of which are in one memory of the source, by their parts. */
  countParts(source: CodeSource, from: number, to: number): void {
    const { shift, ends } = this;
    const { rowKeys } = this.#sorting;
    this.#keysOf(source, from, to);
    for (let i = 0; i < to - from; i++) ends[rowKeys[i] >>> shift]++;
  }

  beginParts(): void {
    toStarts(this.ends);
  }

  /** Puts rows behind those that are in their parts already. */
  spread(source: CodeSource, from: number, to: number): void {
    const { shift, ends, hasPrefilter } = this;
    const { rowKeys, keys, members, prefilter } = this.#sorting;
    const { prefilterWord, prefilterMask } = this.#keys;
    const { codes, place } = this.#keysOf(source, from, to);
    for (let row = from; row < to; row++) {
      const key = rowKeys[row - from];
      const at = ends[key >>> shift]++;
      keys[at] = key;
      members[at] = row;
      if (!hasPrefilter) continue;
      const b = place + (row - from) * this.#bytesPerCode + 4 * prefilterWord;
      const low = codes[b] | (codes[b + 1] << 8) | (codes[b + 2] << 16);
      prefilter[at] = (low | (codes[b + 3] << 24)) & prefilterMask;
    }
  }

  /**
   * The buckets of some rows, each byte for all rows in turn: no inner loop is short. Returns where
   * the rows begin.
   */
  #keysOf({ memories, shift }: CodeSource, from: number, to: number) {
    const { rowKeys } = this.#sorting;
    const { touched, addends } = this.#keys;
    const width = this.#bytesPerCode;
    const { codes } = memories[from >>> shift];
    const place = (from % 2 ** shift) * width;
    rowKeys.fill(0);
    for (let i = 0; i < touched.length; i++) {
      const values = addends.subarray(256 * i, 256 * i + 256);
      for (let r = 0, at = place + touched[i]; r < to - from; r++, at += width) {
        rowKeys[r] ^= values[codes[at]];
      }
    }
    return { codes, place };
  }

  countBuckets(from: number, to: number): void {
    const { keys } = this.#sorting;
    const offsets = this.#offsets;
    for (let i = from; i < to; i++) offsets[keys[i]]++;
  }

  /** From the sizes of a part's buckets to where they end. */
  endBuckets(part: number): void {
    const offsets = this.#offsets;
    let sum = this.#sum;
    let squares = this.#squares;
    for (let b = part * 2 ** this.shift, end = b + 2 ** this.shift; b < end; b++) {
      squares += offsets[b] * offsets[b];
      sum += offsets[b];
      offsets[b] = sum;
    }
    this.#sum = sum;
    this.#squares = squares;
  }

  /** Last row first, so that offsets end as where the buckets begin, and codes ascend. */
  place(from: number, to: number): void {
    const { keys, members: unsorted, prefilter: unsortedPrefilter } = this.#sorting;
    const [offsets, members, prefilter] = [this.#offsets, this.#members, this.#prefilter];
    for (let i = to - 1; i >= from; i--) {
      const at = --offsets[keys[i]];
      members[at] = unsorted[i];
      if (prefilter !== null) prefilter[at] = unsortedPrefilter[i];
    }
  }

  result(): BandTable {
    this.#offsets[this.#offsets.length - 1] = this.#sum;
    return {
      ...this.#keys,
      offsets: this.#offsets,
      members: this.#members,
      prefilter: this.#prefilter,
      squares: this.#squares,
    };
  }
}

function tableKeys({ firstBit, bits: width }: BitRun, bits: number, count: number): TableKeys {
  const buckets = bucketBits(width, count);
  const flipOf = buckets.isDirect
    ? Uint32Array.from({ length: width }, (_, j) => 2 ** j)
    : hashedFlips(width, buckets.bits);
  const keyBits = Array.from({ length: width }, (_, i) => firstBit + i);
  const touched = [...new Set(keyBits.map((bit) => bit >> 3))];
  const addends = new Uint32Array(256 * touched.length);
  const masks = new Int32Array(Math.ceil(bits / 32));
  keyBits.forEach((bit, j) => {
    masks[bit >> 5] |= 1 << (bit & 31);
    const at = 256 * touched.indexOf(bit >> 3);
    for (let byte = 0; byte < 256; byte++) {
      if ((byte >> (bit & 7)) & 1) addends[at + byte] ^= flipOf[j];
    }
  });
  const words = [...masks.keys()].filter((w) => masks[w] !== 0);
  const free = Array.from({ length: Math.floor(bits / 32) }, (_, w) => 32 - bitCount(masks[w]));
  const prefilterWord = Math.max(0, free.indexOf(Math.max(...free)));
  return {
    ...{ width, firstBit },
    bucketBits: buckets.bits,
    isDirect: buckets.isDirect,
    flipOf,
    touched: Uint16Array.from(touched),
    addends,
    words: Uint16Array.from(words),
    masks: Int32Array.from(words, (w) => masks[w]),
    prefilterWord,
    prefilterMask: (free[prefilterWord] ?? 0) < MIN_PREFILTER_BITS ? 0 : ~masks[prefilterWord],
  };
}

/**
 * What flipping a key bit does where keys are hashed to `bits` bits: the first ones are themselves,
 * so that every bucket has as many keys; the others flip some, no two of them the same.
 */
function hashedFlips(width: number, bits: number): Uint32Array {
  const flips = new Set(Array.from({ length: bits }, (_, j) => 2 ** j));
  for (let i = 1; flips.size < width; i++) {
    let word = Math.imul(i, 0x9e37_79b9);
    word = Math.imul(word ^ (word >>> 16), 0x85eb_ca6b);
    word = Math.imul(word ^ (word >>> 13), 0xc2b2_ae35);
    word = (word ^ (word >>> 16)) >>> (32 - bits);
    if (word !== 0) flips.add(word);
  }
  return Uint32Array.from(flips);
}
