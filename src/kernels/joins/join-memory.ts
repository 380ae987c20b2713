/**
 * The memory of a join: distinct codes padded to whole 64-bit words, entries (code, bucket) that
 * are sorted by bucket, and the space in which codes of one bucket are compared. All is in one
 * linear memory, where kernels read it in place and threads share it.
 */

import { Arena } from '../memory';

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
  /** For each code the first equal one, plus 1; 0 where the code is the first. May be empty. */
  readonly firsts: Uint32Array;
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

  /** A new memory for `count` codes, `masks` masks and `rows` entries of `firsts`. */
  static allocate(count: number, bytesPerCode: number, masks: number, rows = 0): JoinMemory {
    const words = paddedWords(bytesPerCode);
    const listed = ENTRY * Math.max(MIN_ENTRIES, count);
    const parts = Math.max(1, Math.ceil(count / PART_ENTRIES));
    const lengths = [count * words, masks * words, listed, listed, parts * DIGITS, rows];
    const own = workLengths(words);
    const { buffer, byteOffset } = new Arena(bytesOf([...lengths, ...own]), true).bytes;
    const [codes, masked, entries, sorted, counts, firsts] = viewsOf(buffer, byteOffset, lengths);
    const arrays = { bytesPerCode, codes, masks: masked, entries, sorted, counts, firsts };
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
