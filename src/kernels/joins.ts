/**
 * Pairs of near codes. A pass of a join gives each distinct code a bucket by some of its bits,
 * sorts entries (code, bucket) by bucket, and compares each two codes of equal bucket. All lies in
 * one linear memory, which threads share: distinct codes padded to whole 64-bit words, entries, and
 * the space in which codes of one bucket are compared.
 */

import type { Secret } from '../base/hash-tables';
import { Arena, homeOf } from './memory';
import type { SearchKernels } from './search.generated';
import { searchKernels } from './search-kernels';

/** Buckets are sorted by two digits, the higher one first, of at most this many bits each. */
const MAX_DIGIT_BITS = 12;
export const MAX_BUCKET_BITS = 2 * MAX_DIGIT_BITS;
/** Values of a digit. */
const DIGITS = 2 ** MAX_DIGIT_BITS;
/** Entries of a part of the work; each part counts the higher digits of its entries. */
export const PART_ENTRIES = 2 ** 17;
/** 32-bit numbers of an entry (code, bucket), and of a hit (two codes, distance). */
export const ENTRY = 2;
export const HIT = 3;
/**
 * A run is the entries of one bucket. Its codes are copied next to each other and compared while
 * they are in the cache: at most MAX_RUN of them, fewer where they take more than GATHER_BYTES: 32
 * of the widest. Kernels stop at longer runs, which callers compare in another way.
 */
const MAX_RUN = 4096;
const GATHER_BYTES = 2 ** 18;
/** Hits that there is room for: those of one code with all of its run, or more. */
const HITS = 2 ** 14;
/** Entries that have memory at least. */
const MIN_ENTRIES = 64;

/** The arrays that the threads of a join share. */
export interface JoinArrays {
  readonly bytesPerCode: number;
  /** Codes, and masks of their bits, of `words` 32-bit words each. */
  readonly codes: Uint32Array;
  readonly masks: Uint32Array;
  /** Entries before and after a sort by one digit. */
  readonly entries: Uint32Array;
  readonly sorted: Uint32Array;
  /** For each part of the entries the number of them with each value of the higher digit. */
  readonly counts: Uint32Array;
  /** For each code the number of its distinct code. May be empty. */
  readonly numbers: Uint32Array;
}

export class JoinMemory {
  readonly arrays: JoinArrays;
  /** 32-bit words of a code: an even number. */
  readonly words: number;
  /** Space of this thread for hits. */
  readonly hits: Uint32Array;
  /** Largest number of entries of a run that kernels compare. */
  readonly #longestRun: number;
  /** Space of this thread for the codes of a run, and for counts of the lower digit. */
  readonly #gather: Uint32Array;
  readonly #lows: Uint32Array;
  readonly #kernels: SearchKernels;
  /** Where the scratch space of this thread begins. */
  readonly #free: number;

  /** Arrays of any thread, with the scratch space that this one has in their memory. */
  constructor(arrays: JoinArrays) {
    this.arrays = arrays;
    this.words = paddedWords(arrays.bytesPerCode);
    this.#longestRun = Math.min(MAX_RUN, Math.floor(GATHER_BYTES / (4 * this.words)));
    const home = homeOf(arrays.codes);
    this.#kernels = searchKernels(home);
    this.#free = home.free;
    const own = [GATHER_BYTES / 4, HIT * HITS, DIGITS];
    const views = viewsOf(arrays.codes.buffer, home.free + WORK_AT, own);
    [this.#gather, this.hits, this.#lows] = views;
  }

  /** A new memory for `count` codes, `masks` masks and `rows` of `numbers`. */
  static allocate(count: number, bytesPerCode: number, masks: number, rows = 0): JoinMemory {
    const words = paddedWords(bytesPerCode);
    const listed = ENTRY * Math.max(MIN_ENTRIES, count);
    const parts = Math.max(1, Math.ceil(count / PART_ENTRIES));
    const lengths = [count * words, masks * words, listed, listed, parts * DIGITS, rows];
    const { buffer, byteOffset } = new Arena(bytesOf(lengths), true).bytes;
    const [codes, masked, entries, sorted, counts, numbers] = viewsOf(buffer, byteOffset, lengths);
    return new JoinMemory({ bytesPerCode, codes, masks: masked, entries, sorted, counts, numbers });
  }

  /** Counts of the higher digit in a part of the entries: a view. */
  countsOf(part: number): Uint32Array {
    return this.arrays.counts.subarray(part * DIGITS, (part + 1) * DIGITS);
  }

  /**
   * Writes the entries of codes `first` to `end - 1`, and adds 1 to `counts` for the higher digit
   * of each bucket.
   */
  keysInto(first: number, end: number, key: JoinKey, counts: Uint32Array): void {
    const { codes, entries } = this.arrays;
    const { parts, hashShift, lowBits } = key;
    const staged = parts.flatMap(({ word, left, right }) => [4 * word, left, right]);
    const partsAt = this.#free + PARTS_AT;
    new Uint32Array(codes.buffer, partsAt, staged.length).set(staged);
    const given = [codes.byteOffset, this.words / 2, first, end] as const;
    const bucket = [partsAt, parts.length, hashShift, lowBits] as const;
    this.#kernels.keysInto(...given, ...bucket, entries.byteOffset, counts.byteOffset);
  }

  /**
   * Copies entries `first` to `end - 1` to `sorted`, each to the next position that `offsets` has
   * for its bucket's bits from `shift` on; `offsets` then has the positions behind them.
   */
  scatter(first: number, end: number, shift: number, offsets: Uint32Array): void {
    const { entries, sorted } = this.arrays;
    const places = [entries.byteOffset, first, end, sorted.byteOffset] as const;
    this.#kernels.scatter(...places, shift, offsets.byteOffset);
  }

  /**
   * Copies `sorted` from `first` to `end - 1` back to the entries, ordered by the lower digit, of
   * `bits` bits, within each value of the higher one. All entries of each value of the higher digit
   * must be there. Equal buckets stay in order of code.
   */
  sortLow(first: number, end: number, bits: number): void {
    const { entries, sorted } = this.arrays;
    const places = [sorted.byteOffset, first, end, entries.byteOffset] as const;
    this.#kernels.sortLow(...places, bits, this.#lows.byteOffset);
  }

  /**
   * Numbers the distinct codes among `first` to `end - 1`, in order, from `found` on: moves each to
   * the position of its number, and writes the number of each code to `numbers`. All codes before
   * `first` must be numbered, by the same secret. Returns the number of distinct codes so far. The
   * memory of entries is the hash table: all 0 before the first call.
   */
  distinctInto(first: number, end: number, found: number, [a, b, c]: Secret): number {
    const { codes, entries, numbers } = this.arrays;
    const given = [codes.byteOffset, this.words / 2, first, end, found] as const;
    const table = [a, b, c, entries.byteOffset, entries.length] as const;
    return this.#kernels.distinctInto(...given, ...table, numbers.byteOffset, this.#free);
  }

  /**
   * Reads entries from `state.next` to `end - 1`, which are sorted by bucket, and writes to `hits`
   * the pairs of equal bucket that are within the distance, agree in the first mask and differ in
   * each of the `rejects` that follow. Returns their number. Pauses when the budget is used up,
   * hits are full, or a run is too long; `state` then says where the next call continues.
   */
  runs(end: number, state: Runs): number {
    const { codes, entries, masks } = this.arrays;
    // The state of joins.assembly.ts: position, end of the hits, end of a long run, budget.
    const registers = new Uint32Array(codes.buffer, this.#free, 4);
    registers.set([state.place, 0, 0, state.budget]);
    const { maxDistance, rejects, fromCode, toCode } = state;
    const { byteOffset: hitsAt, byteLength } = this.hits;
    const given = [entries.byteOffset, state.next, end, codes.byteOffset, this.words / 2] as const;
    const wanted = [maxDistance, masks.byteOffset, rejects, fromCode, toCode] as const;
    const space = [this.#longestRun, this.#gather.byteOffset, hitsAt, hitsAt + byteLength] as const;
    state.next = this.#kernels.joinRuns(...given, ...wanted, ...space, this.#free);
    state.place = registers[0];
    state.longEnd = registers[2];
    state.budget = registers[3] | 0;
    return (registers[1] - hitsAt) / (4 * HIT);
  }
}

/** 32-bit words of a code that is padded to whole 64-bit words. */
function paddedWords(bytesPerCode: number): number {
  return 2 * Math.ceil(bytesPerCode / 8);
}

/** Bytes of arrays, each of which begins at a 64-bit word. */
function bytesOf(lengths: readonly number[]): number {
  return 4 * lengths.reduce((sum, length) => sum + length + (length & 1), 0);
}

/** Arrays of these lengths, one after another from address `at` on. */
function viewsOf(buffer: ArrayBufferLike, at: number, lengths: readonly number[]): Uint32Array[] {
  return lengths.map((length, i) => {
    return new Uint32Array(buffer, at + bytesOf(lengths.slice(0, i)), length);
  });
}

/**
 * How the bucket of a code is computed: its runs of bits one after another, or a hash of them where
 * they are too many. Bits that leave the word at the top come in again at the bottom, by exclusive
 * or.
 */
export interface JoinKey {
  /** A run within a 32-bit word: the word, and the shifts left and then right that isolate it. */
  readonly parts: readonly { word: number; left: number; right: number }[];
  /** Right shift of the hash that leaves the bits of a bucket; 0 where the runs are the bucket. */
  readonly hashShift: number;
  /** Bits of the lower of the two digits by which buckets are sorted. */
  readonly lowBits: number;
}

/** The pairs that `runs` searches for, and the position from which it continues. */
export interface Runs {
  /** Largest distance of a pair, in bits. */
  readonly maxDistance: number;
  /** Number of masks after the first in which a pair must differ; other passes report the rest. */
  readonly rejects: number;
  /** The lower code of a pair must be in `fromCode` to `toCode - 1`. */
  fromCode: number;
  toCode: number;
  /** The entry with which the current run begins, and the position in the run to continue from. */
  next: number;
  place: number;
  /** The end of a run that is too long, which begins at `next`; 0 if none does. */
  longEnd: number;
  /** Comparisons left before `runs` pauses; it is checked between runs. */
  budget: number;
}

/** The scratch space begins with a state; the parts of a key follow. */
const PARTS_AT = 32;
const PART_BYTES = 12;
/** This thread's arrays begin here: the widest code has 2,048 words, a part each. */
const WORK_AT = PARTS_AT + PART_BYTES * 2048;
