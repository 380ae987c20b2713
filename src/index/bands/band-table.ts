/**
 * One table of multi-index hashing: codes in buckets by a key of some of their bits, built by a
 * radix sort whose parts stay in the cache. A bucket's number is XOR-linear in the key (class H3 of
 * Carter & Wegman 1979), so flipping a key bit is one XOR, whether keys are hashed or not.
 */
import { toStarts } from '../../base/arrays';
import { mixed } from '../../base/random';
import type { BitRun } from '../../codes/pigeonhole';
import { sharedValues } from '../../kernels/memory';
import { bucketBits } from './band-layout';

/** Where the codes are. Read again at every step, since growth may move them. */
export interface CodeSource {
  /** Memory i holds code i * 2 ** shift and those behind it. */
  readonly memories: readonly { readonly codes: Uint8Array }[];
  readonly shift: number;
}

interface TableOptions {
  readonly bits: number;
  readonly count: number;
}

/** How a code leads to its bucket. */
interface TableKeys {
  /** Number of key bits. */
  readonly width: number;
  /** Position of the first of them in a code. */
  readonly firstBit: number;
  readonly bucketBits: number;
  /** True if all codes of a bucket have the same key. */
  readonly isDirect: boolean;
  /** For each key bit, what flipping it XORs to the bucket's number. */
  readonly flipOf: Uint32Array;
  /** Bytes of a code that contain key bits; what each of their 256 values XORs to the bucket. */
  readonly touched: Uint16Array;
  readonly addends: Uint32Array;
  /** The words of a code that contain key bits, and those bits in each. */
  readonly words: Uint16Array;
  readonly masks: Int32Array;
}

/** A finished table. */
export interface BandTable extends TableKeys {
  /** Bucket b holds `members[offsets[b]]` to `members[offsets[b + 1] - 1]`, ascending codes. */
  readonly offsets: Uint32Array;
  /** One entry more than there are codes, so that a read at the end of the last bucket is valid. */
  readonly members: Uint32Array;
  /** The sum of the squares of bucket sizes, from which `Bands.skew` follows. */
  readonly squares: number;
}

/** Most codes whose keys are computed at once, and most bytes that go into them. */
const KEY_ROWS = 2 ** 14;
const KEY_BYTES = 2 ** 20;
/** Codes or buckets between two yields: some milliseconds of work. */
const STEP_ROWS = 2 ** 16;
/** Parts have about 2 ** PART_ROW_BITS codes: they and their buckets fit the second-level cache. */
const PART_ROW_BITS = 13;
const MAX_PART_BITS = 10;

/** Scratch space of a build: key and code of each; for one table at a time. */
export class Sorting {
  readonly rowKeys = new Uint32Array(KEY_ROWS);
  readonly keys: Uint32Array;
  readonly members: Uint32Array;

  constructor({ count }: TableOptions) {
    this.keys = new Uint32Array(count);
    this.members = new Uint32Array(count);
  }
}

/** Builds a table in short steps; most yield how many of `3 * count` passes over codes are done. */
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
  // Three passes: codes are counted by part, then put into parts, then sorted part by part.
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

/** The loops of a build, each over some codes or buckets. */
class TableMaker {
  readonly shift: number;
  /** First sizes of the parts, then their starts, which `spread` turns into their ends. */
  readonly ends: Uint32Array;
  readonly #members: Uint32Array;
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
    this.#keys = keys;
    this.#bytesPerCode = Math.ceil(options.bits / 8);
    this.#sorting = sorting;
    // Shared, since searches on other threads read them in place.
    this.#offsets = sharedValues(Uint32Array, 2 ** keys.bucketBits + 1);
    this.#members = sharedValues(Uint32Array, options.count + 1);
  }

  /** Counts codes by part; all of them must be in one memory of the source. */
  countParts(source: CodeSource, from: number, to: number): void {
    const { shift, ends } = this;
    const { rowKeys } = this.#sorting;
    this.#keysOf(source, from, to);
    for (let i = 0; i < to - from; i++) ends[rowKeys[i] >>> shift]++;
  }

  /** Turns the counts of the parts into their starts. */
  beginParts(): void {
    toStarts(this.ends);
  }

  /** Appends codes, with their keys, to their parts. */
  spread(source: CodeSource, from: number, to: number): void {
    const { shift, ends } = this;
    const { rowKeys, keys, members } = this.#sorting;
    this.#keysOf(source, from, to);
    for (let row = from; row < to; row++) {
      const key = rowKeys[row - from];
      const at = ends[key >>> shift]++;
      keys[at] = key;
      members[at] = row;
    }
  }

  /**
   * Computes the buckets of some codes into `rowKeys`, byte by byte for all codes, so that no inner
   * loop is short.
   */
  #keysOf({ memories, shift }: CodeSource, from: number, to: number): void {
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
  }

  /** Counts codes by bucket. */
  countBuckets(from: number, to: number): void {
    const { keys } = this.#sorting;
    const offsets = this.#offsets;
    for (let i = from; i < to; i++) offsets[keys[i]]++;
  }

  /** Turns the sizes of a part's buckets into their ends. */
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

  /**
   * Puts codes into their buckets, last one first: each offset falls from its bucket's end to its
   * start, and the codes of a bucket ascend.
   */
  place(from: number, to: number): void {
    const { keys, members: unsorted } = this.#sorting;
    const [offsets, members] = [this.#offsets, this.#members];
    for (let i = to - 1; i >= from; i--) {
      const at = --offsets[keys[i]];
      members[at] = unsorted[i];
    }
  }

  result(): BandTable {
    this.#offsets[this.#offsets.length - 1] = this.#sum;
    return {
      ...this.#keys,
      offsets: this.#offsets,
      members: this.#members,
      squares: this.#squares,
    };
  }
}

/** The keys of a table over a run of bits. */
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
  return {
    ...{ width, firstBit },
    bucketBits: buckets.bits,
    isDirect: buckets.isDirect,
    flipOf,
    touched: Uint16Array.from(touched),
    addends,
    words: Uint16Array.from(words),
    masks: Int32Array.from(words, (w) => masks[w]),
  };
}

/**
 * What flipping each key bit XORs to a bucket's number of `bits` bits. The first bits are
 * themselves, so every bucket has equally many keys; each other flips a different set of bits.
 */
function hashedFlips(width: number, bits: number): Uint32Array {
  const flips = new Set(Array.from({ length: bits }, (_, j) => 2 ** j));
  for (let i = 1; flips.size < width; i++) {
    const word = mixed(Math.imul(i, 0x9e37_79b9)) >>> (32 - bits);
    if (word !== 0) flips.add(word);
  }
  return Uint32Array.from(flips);
}
