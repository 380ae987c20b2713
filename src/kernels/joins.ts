/**
 * Pairs of near codes. A pass of a join gives each distinct code a bucket by some of its bits,
 * sorts entries (code, bucket) by bucket, and compares each two codes of equal bucket. All lies in
 * one linear memory, which threads share: distinct codes padded to whole 64-bit words, entries, and
 * the space in which codes of one bucket are compared.
 */

import type { Secret } from '../base/hash-tables';
import { Arena, homeOf } from './memory';
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
 * they are in the cache: at most MAX_RUN of them, fewer where they take more than MAX_GATHER_BYTES,
 * but always MIN_RUN. Kernels stop at longer runs, which callers compare in another way.
 */
const MAX_RUN = 4096;
const MAX_GATHER_BYTES = 2 ** 18;
const MIN_RUN = 64;
/** Hits and entries that have memory at least. */
const MIN_HITS = 2 ** 14;
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
  /** Largest number of entries of a run that kernels compare. */
  readonly longestRun: number;
  /** Space of this thread for the codes of a run. */
  readonly gather: Uint32Array;
  /** Space of this thread for hits: room for all pairs of one code of a run, or more. */
  readonly hits: Uint32Array;
  /** Space of this thread for counts of the lower digit. */
  readonly lows: Uint32Array;

  /** Arrays of any thread, with this thread's own space at the address `workAt` of their memory. */
  constructor(arrays: JoinArrays, workAt: number) {
    this.arrays = arrays;
    this.words = paddedWords(arrays.bytesPerCode);
    this.longestRun = longestRunOf(this.words);
    const { buffer } = arrays.codes;
    [this.gather, this.hits, this.lows] = viewsOf(buffer, workAt, workLengths(this.words));
  }

  /** A new memory for `count` codes, `masks` masks and `rows` of `numbers`. */
  static allocate(count: number, bytesPerCode: number, masks: number, rows = 0): JoinMemory {
    const words = paddedWords(bytesPerCode);
    const listed = ENTRY * Math.max(MIN_ENTRIES, count);
    const parts = Math.max(1, Math.ceil(count / PART_ENTRIES));
    const lengths = [count * words, masks * words, listed, listed, parts * DIGITS, rows];
    const own = workLengths(words);
    const { buffer, byteOffset } = new Arena(bytesOf([...lengths, ...own]), true).bytes;
    const [codes, masked, entries, sorted, counts, numbers] = viewsOf(buffer, byteOffset, lengths);
    const arrays = { bytesPerCode, codes, masks: masked, entries, sorted, counts, numbers };
    return new JoinMemory(arrays, byteOffset + bytesOf(lengths));
  }

  /** Counts of the higher digit in a part of the entries: a view. */
  countsOf(part: number): Uint32Array {
    return this.arrays.counts.subarray(part * DIGITS, (part + 1) * DIGITS);
  }

  /** Bytes that one more thread needs for its own arrays. */
  get workBytes(): number {
    return bytesOf(workLengths(this.words));
  }

  /** Bytes of the whole memory. */
  get bytes(): number {
    return this.arrays.codes.buffer.byteLength;
  }
}

/** 32-bit words of a code that is padded to whole 64-bit words. */
function paddedWords(bytesPerCode: number): number {
  return 2 * Math.ceil(bytesPerCode / 8);
}

function longestRunOf(words: number): number {
  return Math.max(MIN_RUN, Math.min(MAX_RUN, Math.floor(MAX_GATHER_BYTES / (4 * words))));
}

/** Lengths of a thread's own arrays: gathered codes, hits, and counts of the lower digit. */
function workLengths(words: number): number[] {
  const longest = longestRunOf(words);
  return [longest * words, HIT * Math.max(MIN_HITS, 2 * longest), DIGITS];
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
  /** Bits of the lower and the higher digit by which buckets are sorted. */
  readonly lowBits: number;
  readonly highBits: number;
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
  /** The end of a run of more than `longestRun` entries that begins at `next`; 0 if none does. */
  longEnd: number;
  /** Comparisons left before `runs` pauses; it is checked between runs. */
  budget: number;
}

/** The scratch space begins with a state; the parts of a key follow. */
const PARTS_AT = 32;
const PART_BYTES = 12;
/** A thread's own arrays begin here or later: the widest code has 2,048 words, a part each. */
export const JOIN_WORK_AT = PARTS_AT + PART_BYTES * 2048;

/** 64-bit words of a code. */
const words64Of = ({ words }: JoinMemory) => words / 2;

export const joinKernel = {
  /**
   * Writes the entries of codes `first` to `end - 1`, and adds 1 to `counts` for the higher digit
   * of each bucket.
   */
  keysInto(
    memory: JoinMemory,
    first: number,
    end: number,
    key: JoinKey,
    counts: Uint32Array,
  ): void {
    const home = homeOf(memory.arrays.codes);
    const { codes, entries } = memory.arrays;
    const { parts, hashShift, lowBits } = key;
    const staged = parts.flatMap(({ word, left, right }) => [4 * word, left, right]);
    const partsAt = home.free + PARTS_AT;
    new Uint32Array(home.bytes.buffer, partsAt, staged.length).set(staged);
    searchKernels(home).keysInto(
      codes.byteOffset,
      words64Of(memory),
      first,
      end,
      partsAt,
      parts.length,
      hashShift,
      lowBits,
      entries.byteOffset,
      counts.byteOffset,
    );
  },

  /**
   * Copies entries `first` to `end - 1` to `sorted`, each to the next position that `offsets` has
   * for its bucket's bits from `shift` on; `offsets` then has the positions behind them.
   */
  scatter(
    memory: JoinMemory,
    first: number,
    end: number,
    shift: number,
    offsets: Uint32Array,
  ): void {
    const home = homeOf(memory.arrays.codes);
    const { entries, sorted } = memory.arrays;
    const places = [entries.byteOffset, first, end, sorted.byteOffset] as const;
    searchKernels(home).scatter(...places, shift, offsets.byteOffset);
  },

  /**
   * Copies `sorted` from `first` to `end - 1` back to the entries, ordered by the lower digit, of
   * `bits` bits, within each value of the higher one. All entries of each value of the higher digit
   * must be there. Equal buckets stay in order of code.
   */
  sortLow(memory: JoinMemory, first: number, end: number, bits: number): void {
    const home = homeOf(memory.arrays.codes);
    const { entries, sorted } = memory.arrays;
    const places = [sorted.byteOffset, first, end, entries.byteOffset] as const;
    searchKernels(home).sortLow(...places, bits, memory.lows.byteOffset);
  },

  /**
   * Numbers the distinct codes among `first` to `end - 1`, in order, from `found` on: moves each to
   * the position of its number, and writes the number of each code to `numbers`. All codes before
   * `first` must be numbered, by the same secret. Returns the number of distinct codes so far. The
   * memory of entries is the hash table: all 0 before the first call.
   */
  distinctInto(
    memory: JoinMemory,
    first: number,
    end: number,
    found: number,
    secret: Secret,
  ): number {
    const home = homeOf(memory.arrays.codes);
    const { codes, entries, numbers } = memory.arrays;
    const [a, b, c] = secret;
    const table = [entries.byteOffset, entries.length] as const;
    const rows = [first, end, found] as const;
    const out = [numbers.byteOffset, home.free] as const;
    return searchKernels(home).distinctInto(
      codes.byteOffset,
      words64Of(memory),
      ...rows,
      a,
      b,
      c,
      ...table,
      ...out,
    );
  },

  /**
   * Reads entries from `state.next` to `end - 1`, which are sorted by bucket, and writes to
   * `memory.hits` the pairs of equal bucket that are within the distance, agree in the first mask
   * and differ in each of the `rejects` that follow. Returns their number. Pauses when the budget
   * is used up, hits are full, or a run is too long; `state` then says where the next call
   * continues.
   */
  runs(memory: JoinMemory, end: number, state: Runs): number {
    const home = homeOf(memory.arrays.codes);
    const { codes, entries, masks } = memory.arrays;
    // The state of joins.assembly.ts: position, end of the hits, end of a long run, budget.
    const registers = new Uint32Array(home.bytes.buffer, home.free, 4);
    registers.set([state.place, 0, 0, state.budget]);
    const { maxDistance, rejects, fromCode, toCode } = state;
    const hitsAt = memory.hits.byteOffset;
    state.next = searchKernels(home).joinRuns(
      entries.byteOffset,
      state.next,
      end,
      codes.byteOffset,
      words64Of(memory),
      maxDistance,
      masks.byteOffset,
      rejects,
      fromCode,
      toCode,
      memory.longestRun,
      memory.gather.byteOffset,
      hitsAt,
      hitsAt + memory.hits.byteLength,
      home.free,
    );
    state.place = registers[0];
    state.longEnd = registers[2];
    state.budget = registers[3] | 0;
    return (registers[1] - hitsAt) / (4 * HIT);
  },
};
