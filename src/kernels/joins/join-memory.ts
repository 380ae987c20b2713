/**
 * The memory of a join: codes padded to whole 64-bit words, entries (slot, bucket) that are sorted
 * by bucket, and room for what is compared and found. In a linear memory of its own, where kernels
 * read everything in place.
 */

import { Arena } from '../memory';

/** Entries are sorted by two digits of at most so many bits each. */
const MOST_DIGIT_BITS = 12;
export const MAX_BUCKET_BITS = 2 * MOST_DIGIT_BITS;
/** 32-bit numbers of an entry, and of a hit: two slots and their distance. */
export const ENTRY = 2;
export const HIT = 3;
/** Codes of one bucket that are compared side by side: so many, in the cache. */
const LONGEST_RUN = 4096;
const GATHER_BYTES = 2 ** 18;
const LEAST_RUN = 64;
const LEAST_HITS = 2 ** 14;
const LEAST_ENTRIES = 64;

export class JoinMemory {
  /** 32-bit words of a code: an even number. */
  readonly words: number;
  readonly bytesPerCode: number;
  readonly longestRun: number;
  /** In each of the views below, a code or mask takes `words`. */
  readonly codes: Uint32Array;
  readonly entries: Uint32Array;
  readonly sorted: Uint32Array;
  readonly masks: Uint32Array;
  readonly gather: Uint32Array;
  readonly hits: Uint32Array;
  /** Of the two digits of a bucket. */
  readonly counts: Uint32Array;

  /** Room for codes of `bytesPerCode` bytes, and so many masks. */
  constructor(count: number, bytesPerCode: number, masks: number) {
    this.words = 2 * Math.ceil(bytesPerCode / 8);
    this.bytesPerCode = bytesPerCode;
    const longest = Math.floor(GATHER_BYTES / (4 * this.words));
    this.longestRun = Math.max(LEAST_RUN, Math.min(LONGEST_RUN, longest));
    const lengths = [
      count * this.words,
      ENTRY * Math.max(LEAST_ENTRIES, count),
      ENTRY * Math.max(LEAST_ENTRIES, count),
      masks * this.words,
      this.longestRun * this.words,
      HIT * Math.max(LEAST_HITS, 2 * this.longestRun),
      2 ** (MOST_DIGIT_BITS + 1),
    ];
    const arena = new Arena(4 * (lengths.reduce((sum, length) => sum + length, 0) + 4));
    const { buffer, byteOffset } = arena.bytes;
    let at = byteOffset;
    const next = () => {
      const length = lengths.shift() as number;
      const view = new Uint32Array(buffer, at, length);
      at += 4 * (length + (length & 1)); // 64-bit words stay aligned
      return view;
    };
    this.codes = next();
    this.entries = next();
    this.sorted = next();
    this.masks = next();
    this.gather = next();
    this.hits = next();
    this.counts = next();
  }

  /** The code at a place, to be filled. */
  codeAt(place: number): Uint8Array {
    const { buffer, byteOffset } = this.codes;
    return new Uint8Array(buffer, byteOffset + 4 * this.words * place, this.bytesPerCode);
  }

  get bytes(): number {
    return this.codes.buffer.byteLength;
  }
}
