/**
 * The memory of a join: distinct codes padded to whole 64-bit words, entries (code number, bucket)
 * that are sorted by bucket, and the space in which codes of one bucket are compared. One linear
 * memory, where kernels read all of it in place.
 */

import { Arena } from '../memory';

/** Buckets are sorted by two digits of at most this many bits each. */
const MAX_DIGIT_BITS = 12;
export const MAX_BUCKET_BITS = 2 * MAX_DIGIT_BITS;
const DIGITS = 2 ** MAX_DIGIT_BITS;
/** Entries of a part of the work: the higher digit is counted for each part. */
export const PART_ENTRIES = 2 ** 17;
/** 32-bit numbers of an entry (code, bucket), and of a hit (two codes, distance). */
export const ENTRY = 2;
export const HIT = 3;
/**
 * Codes of one bucket are copied next to each other and compared while they are in the cache: at
 * most MAX_RUN of them, fewer where they take more than MAX_GATHER_BYTES. Longer runs are left to
 * callers.
 */
const MAX_RUN = 4096;
const MAX_GATHER_BYTES = 2 ** 18;
const MIN_RUN = 64;
const MIN_HITS = 2 ** 14;
const MIN_ENTRIES = 64;

/** What the threads of a join share. */
export interface JoinArrays {
  readonly bytesPerCode: number;
  /** Codes and masks take `words` each. */
  readonly codes: Uint32Array;
  readonly masks: Uint32Array;
  readonly entries: Uint32Array;
  readonly sorted: Uint32Array;
  /** For each part of the entries how many have each value of the higher digit. */
  readonly counts: Uint32Array;
  /** By code the first equal one, plus 1; 0 where it is the first itself. Empty without rows. */
  readonly firsts: Uint32Array;
}

export class JoinMemory {
  readonly arrays: JoinArrays;
  /** 32-bit words of a code: an even number. */
  readonly words: number;
  readonly longestRun: number;
  /** Space of one thread: gathered codes, hits, and counts of the lower digit. */
  readonly gather: Uint32Array;
  readonly hits: Uint32Array;
  readonly lows: Uint32Array;

  /** Arrays of another thread, with this one's own space at an address of their memory. */
  constructor(arrays: JoinArrays, workAt: number) {
    this.arrays = arrays;
    this.words = wordsOf(arrays.bytesPerCode);
    this.longestRun = longestRunOf(this.words);
    const { buffer } = arrays.codes;
    [this.gather, this.hits, this.lows] = viewsOf(buffer, workAt, workLengths(this.words));
  }

  /** Space for `count` codes of `bytesPerCode` bytes and `masks` masks; with `firsts` of rows. */
  static allocate(count: number, bytesPerCode: number, masks: number, rows = 0): JoinMemory {
    const words = wordsOf(bytesPerCode);
    const listed = ENTRY * Math.max(MIN_ENTRIES, count);
    const parts = Math.max(1, Math.ceil(count / PART_ENTRIES));
    const lengths = [count * words, masks * words, listed, listed, parts * DIGITS, rows];
    const own = workLengths(words);
    const { buffer, byteOffset } = new Arena(bytesOf([...lengths, ...own]), true).bytes;
    const [codes, masked, entries, sorted, counts, firsts] = viewsOf(buffer, byteOffset, lengths);
    const arrays = { bytesPerCode, codes, masks: masked, entries, sorted, counts, firsts };
    return new JoinMemory(arrays, byteOffset + bytesOf(lengths));
  }

  /** Counts of the higher digit in a part of the entries. */
  countsOf(part: number): Uint32Array {
    return this.arrays.counts.subarray(part * DIGITS, (part + 1) * DIGITS);
  }

  /** Bytes that a further thread needs. */
  get workBytes(): number {
    return bytesOf(workLengths(this.words));
  }

  /** Bytes of the whole memory. */
  get bytes(): number {
    return this.arrays.codes.buffer.byteLength;
  }
}

function wordsOf(bytesPerCode: number): number {
  return 2 * Math.ceil(bytesPerCode / 8);
}

function longestRunOf(words: number): number {
  return Math.max(MIN_RUN, Math.min(MAX_RUN, Math.floor(MAX_GATHER_BYTES / (4 * words))));
}

/** Lengths of the arrays that each thread has for itself. */
function workLengths(words: number): number[] {
  const longest = longestRunOf(words);
  return [longest * words, HIT * Math.max(MIN_HITS, 2 * longest), DIGITS];
}

/** Bytes of arrays, each of which begins at a 64-bit word. */
function bytesOf(lengths: readonly number[]): number {
  return 4 * lengths.reduce((sum, length) => sum + length + (length & 1), 0);
}

function viewsOf(buffer: ArrayBufferLike, at: number, lengths: readonly number[]): Uint32Array[] {
  return lengths.map((length, i) => {
    return new Uint32Array(buffer, at + bytesOf(lengths.slice(0, i)), length);
  });
}
