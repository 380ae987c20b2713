/**
 * The memory of a join: distinct codes padded to whole 64-bit words, entries (code number, bucket)
 * that are sorted by bucket, and the space in which codes of one bucket are compared. One linear
 * memory, where kernels read all of it in place.
 */

import { newSecret } from '../../base/secret';
import { Arena } from '../memory';

/** A bucket is sorted by two digits of at most this many bits each. */
const MAX_DIGIT_BITS = 12;
export const MAX_BUCKET_BITS = 2 * MAX_DIGIT_BITS;
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

export class JoinMemory {
  /** 32-bit words of a code: an even number. */
  readonly words: number;
  readonly bytesPerCode: number;
  readonly longestRun: number;
  /** Codes, masks and gathered codes take `words` each. */
  readonly codes: Uint32Array;
  readonly entries: Uint32Array;
  readonly sorted: Uint32Array;
  readonly masks: Uint32Array;
  readonly gather: Uint32Array;
  readonly hits: Uint32Array;
  /** For hashes of codes. */
  readonly secret = newSecret();
  /** How many entries have each value of the lower digit, then of the higher one. */
  readonly counts: Uint32Array;

  /** Space for `count` codes of `bytesPerCode` bytes, and `masks` masks. */
  constructor(count: number, bytesPerCode: number, masks: number) {
    this.words = 2 * Math.ceil(bytesPerCode / 8);
    this.bytesPerCode = bytesPerCode;
    const longest = Math.floor(MAX_GATHER_BYTES / (4 * this.words));
    this.longestRun = Math.max(MIN_RUN, Math.min(MAX_RUN, longest));
    const lengths = [
      count * this.words,
      ENTRY * Math.max(MIN_ENTRIES, count),
      ENTRY * Math.max(MIN_ENTRIES, count),
      masks * this.words,
      this.longestRun * this.words,
      HIT * Math.max(MIN_HITS, 2 * this.longestRun),
      2 ** (MAX_DIGIT_BITS + 1),
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

  /** The bytes of a code, for the caller to write. */
  codeAt(code: number): Uint8Array {
    const { buffer, byteOffset } = this.codes;
    return new Uint8Array(buffer, byteOffset + 4 * this.words * code, this.bytesPerCode);
  }

  /** Bytes of the whole memory. */
  get bytes(): number {
    return this.codes.buffer.byteLength;
  }
}
