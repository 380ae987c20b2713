/**
 * Sets and their one-bit minwise codes. A text is read from letters to hashes of words, and from
 * hashes to the numbers of shingles, which are the members; a sparse row gives its dimensions.
 *
 * Bit j of a code is the lowest bit of the j-th min-hash: two sets of Jaccard similarity J differ
 * in a share (1 - J) / 2 of the bits (Li & König 2010). Min-hashes are those of Dahlgaard, Knudsen
 * & Thorup (FOCS 2017): in each round every member draws a bit and a value, and a bit keeps the
 * least value of the first round in which a member drew it. One round suffices for some 1,500
 * members and 256 bits, and the work is O(members + bits log bits). All is arithmetic of 32-bit
 * integers, on which engines agree. docs/format.md states the numbers and the bits.
 */

import { mixed } from '../base/random';
import { Arena, homeOf } from './memory';
import { halves } from './xxhash';

/** Added to a letter of a script written without spaces. */
export const DENSE = 0x1_0000;

/** 2^32 divided by the golden ratio: the step between the inputs of two rounds. */
const GOLDEN = 0x9e37_79b9;

/** Largest number of letters of one call of `readWords`. */
export const MAX_LETTERS = 2 ** 16;
/** Hashes of one call, at most one a letter, and those before that its first shingles include. */
const MAX_HASHES = MAX_LETTERS + 1024;

/** Bytes of the widest code, 65,535 bits, and of a round and a value for each of its bits. */
const CODE_BYTES = 2 ** 13;
const DRAW_BYTES = 8 * 2 ** 16;
/** Bytes of a word of all letters in UTF-8. */
const WORD_BYTES = 3 * MAX_LETTERS;

/** The byte at which each part begins; the code is first, the members are last, since they grow. */
const DRAWS = CODE_BYTES;
const WORD = DRAWS + DRAW_BYTES;
const LETTERS = WORD + WORD_BYTES;
const HASHES = LETTERS + 4 * MAX_LETTERS;
const MEMBERS = HASHES + 8 * MAX_HASHES;

let shared: SetMemory | undefined;

/** A memory with more bytes of members is released at the next set. */
const MAX_IDLE_BYTES = 16 << 20;

/** The memory of this thread, without hashes and members, for the caller's current set. */
export function setMemory(): SetMemory {
  if (shared === undefined || shared.members.byteLength > MAX_IDLE_BYTES) shared = new SetMemory();
  shared.hashCount = 0;
  shared.memberCount = 0;
  return shared;
}

/**
 * The memory in which a text or a sparse row becomes the code of a set: letters, hashes of words,
 * and members, one set at a time. Each thread has one, whose contents no caller needs after its
 * call. It grows with the largest set, by 8 bytes a member. Its arrays are views that `reserve` may
 * replace.
 */
export class SetMemory {
  readonly #arena = new Arena(MEMBERS + 8 * 1024);
  readonly #kernels = homeOf(this.#arena.bytes).kernels;
  hashCount = 0;
  memberCount = 0;
  /** For each bit of the last code the round of its min-hash, from 1, and the value. */
  draws!: Uint32Array;
  /** Space for the UTF-8 of a word. */
  word!: Uint8Array;
  /** Letters, as callers of `readWords` write them. */
  letters!: Uint32Array;
  /** Halves of the hashes and of the members, low before high. */
  hashes!: Uint32Array;
  members!: Uint32Array;
  /** Space in which the kernel writes a code. */
  #code!: Uint8Array;

  constructor() {
    this.#view();
  }

  /** True where the hashes of another `readWords` may not fit. */
  get isFull(): boolean {
    return this.hashCount > MAX_HASHES - MAX_LETTERS;
  }

  /** Where the next hash goes. */
  get #nextHash(): number {
    return this.hashes.byteOffset + 8 * this.hashCount;
  }

  /** Makes room for `members` members in all, the present ones included; may replace all views. */
  reserve(members: number): void {
    if (2 * members <= this.members.length) return;
    this.#arena.reserve(MEMBERS + 8 * Math.ceil(1.5 * members));
    this.#view();
  }

  /**
   * Appends to `hashes` the xxHash64 of the UTF-8 bytes of each word in the first `count` letters.
   * A word is a run of letters below `DENSE`. In a run of letters from `DENSE` on, each pair of
   * neighbours is a word, or the only letter. A letter of 0 separates words.
   */
  readWords(count: number): void {
    const from = this.letters.byteOffset;
    const { byteOffset } = this.word;
    this.hashCount += this.#kernels.wordHashesInto(from, count, byteOffset, this.#nextHash);
  }

  /**
   * The same for a text of ASCII, the first `count` bytes of `word`, at most MAX_LETTERS: a word is
   * a run of letters and digits, with capital letters made small. May overwrite both.
   */
  readAscii(count: number): void {
    this.hashCount += this.#kernels.asciiHashesInto(this.word.byteOffset, count, this.#nextHash);
  }

  /**
   * Appends to `members` the number of each run of `width` hashes (a shingle): the halves of the
   * hashes are the digits of `low` to base 0x9e3779b1 and of `high` to base 0x85ebca77, modulo
   * 2^32. Fewer than `width` hashes give no number.
   */
  readShingles(width: number): void {
    const added = this.hashCount - width + 1;
    if (added <= 0) return;
    this.reserve(this.memberCount + added);
    const to = this.members.byteOffset + 8 * this.memberCount;
    this.#kernels.shinglesInto(this.hashes.byteOffset, this.hashCount, width, to);
    this.memberCount += added;
  }

  addHash(hash: bigint): void {
    const { low, high } = halves(hash);
    this.hashes[2 * this.hashCount] = low;
    this.hashes[2 * this.hashCount++ + 1] = high;
  }

  addMember(low: number, high: number): void {
    this.reserve(this.memberCount + 1);
    this.members[2 * this.memberCount] = low;
    this.members[2 * this.memberCount++ + 1] = high;
  }

  /** Drops all but the last `count` hashes. */
  keepHashes(count: number): void {
    this.hashes.copyWithin(0, 2 * (this.hashCount - count), 2 * this.hashCount);
    this.hashCount = count;
  }

  /**
   * Writes the code of the members, of which some may be equal, and the min-hashes to `draws`.
   * Without members the code is all zero, and `draws` stays unchanged. May overwrite the members.
   */
  codeInto({ bits, seed }: { bits: number; seed: bigint }, code: Uint8Array): void {
    code.fill(0);
    if (this.memberCount === 0) return;
    // The halves of the seed, mixed, as they are combined with the members.
    const { low, high } = halves(seed);
    const first = mixed(low ^ GOLDEN);
    const given = [this.members.byteOffset, this.memberCount, bits, first] as const;
    const out = [this.draws.byteOffset, this.#code.byteOffset] as const;
    this.#kernels.minwiseInto(...given, mixed(high ^ first), ...out);
    code.set(this.#code.subarray(0, code.length));
  }

  /** Makes the views again, whose memory growing replaces. */
  #view(): void {
    const { bytes } = this.#arena;
    const words = (from: number, to: number) =>
      new Uint32Array(bytes.buffer, bytes.byteOffset + from, (to - from) >> 2);
    this.#code = bytes.subarray(0, DRAWS);
    this.draws = words(DRAWS, WORD);
    this.word = bytes.subarray(WORD, LETTERS);
    this.letters = words(LETTERS, HASHES);
    this.hashes = words(HASHES, MEMBERS);
    this.members = words(MEMBERS, bytes.length & ~7);
  }
}
