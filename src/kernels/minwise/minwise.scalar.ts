/**
 * One-bit minwise codes of sets: the contract, and the scalar kernel in plain loops of 32-bit
 * integers, on which all engines agree. Bit j is the lowest bit of the j-th min-hash: two sets of
 * Jaccard similarity J differ in a share (1 - J) / 2 of the bits (Li & König 2010). Min-hashes are
 * those of Dahlgaard, Knudsen & Thorup (FOCS 2017): in each round every member draws a bit and a
 * value, and a bit keeps the least value of the first round in which a member drew it. One round
 * suffices for some 1,500 members and 256 bits, and the work is O(members + bits log bits).
 * docs/format.md states the bits.
 */

import { mixed } from '../../base/random';
import { halves as halvesOf, hashBytes } from '../xxhash/xxhash.scalar';
import type { SetMemory } from './set-memory';

export interface MinwiseKernel {
  readonly name: string;

  /**
   * Appends to `hashes` the xxHash64 of the UTF-8 bytes of each word in the first `count` letters.
   * A word is a run of letters below `DENSE`. In a run of letters from `DENSE` on, each pair of
   * neighbours is a word, or the only letter. A letter of 0 separates words.
   */
  readWords(memory: SetMemory, count: number): void;

  /**
   * The same for a text of ASCII, the first `count` bytes of `word`, at most MAX_LETTERS: a word is
   * a run of letters and digits, with capital letters made small by `toLower`. May overwrite both.
   */
  readAscii(memory: SetMemory, count: number, toLower: boolean): void;

  /**
   * Appends to `members` the number of each run of `width` hashes (a shingle): the halves of the
   * hashes are the digits of `low` to base LOW and of `high` to base HIGH, modulo 2^32. Fewer than
   * `width` hashes give no number.
   */
  readShingles(memory: SetMemory, width: number): void;

  /**
   * Writes the code of the members, of which some may be equal, and the min-hashes to `draws`.
   * Without members the code is all zero, and `draws` stays unchanged. May overwrite the members.
   */
  codeInto(rule: MinwiseRule, memory: SetMemory, code: Uint8Array): void;
}

interface MinwiseRule {
  readonly bits: number;
  readonly seed: bigint;
}

/** Added to a letter of a script written without spaces. */
export const DENSE = 0x1_0000;

/** 2^32 divided by the golden ratio: the step between the inputs of two rounds. */
const GOLDEN = 0x9e37_79b9;
/** Bases of the numbers of shingles. */
const LOW = 0x9e37_79b1;
const HIGH = 0x85eb_ca77;

/** The halves of a seed, mixed, as they are combined with the members. */
export function seedHalves(seed: bigint): { readonly low: number; readonly high: number } {
  const { low, high } = halvesOf(seed);
  const mixedLow = mixed(low ^ GOLDEN);
  return { low: mixedLow, high: mixed(high ^ mixedLow) };
}

/** The number of one run of hashes, given as halves, low before high; see `readShingles`. */
export function shingleNumber(hashes: ArrayLike<number>): { low: number; high: number } {
  let [low, high] = [0, 0];
  for (let i = 0; i < hashes.length; i += 2) {
    low = (Math.imul(low, LOW) + hashes[i]) >>> 0;
    high = (Math.imul(high, HIGH) + hashes[i + 1]) >>> 0;
  }
  return { low, high };
}

export const scalarMinwise: MinwiseKernel = {
  name: 'scalar',

  readWords(memory, count) {
    const { letters } = memory;
    let spelled: number[] = [];
    const take = () => {
      if (spelled.length > 0) memory.addHash(hashBytes(utf8Of(spelled), 0n));
      spelled = [];
    };
    for (let at = 0; at < count; at++) {
      const letter = letters[at];
      const before = at === 0 ? 0 : letters[at - 1];
      if (letter < DENSE) {
        if (letter === 0 || before >= DENSE) take();
        if (letter > 0) spelled.push(letter);
        continue;
      }
      if (before < DENSE) take();
      const isPair = before >= DENSE;
      const isAlone = !isPair && !(at + 1 < count && letters[at + 1] >= DENSE);
      if (isPair) spelled.push(before - DENSE);
      if (isPair || isAlone) {
        spelled.push(letter - DENSE);
        take();
      }
    }
    take();
  },

  readAscii(memory, count, toLower) {
    const { letters, word } = memory;
    for (let at = 0; at < count; at++) {
      const byte = word[at];
      const small = byte | 0x20;
      const isLetter = small >= 0x61 && small <= 0x7a;
      const isDigit = byte >= 0x30 && byte <= 0x39;
      letters[at] = isDigit || (isLetter && !toLower) ? byte : isLetter ? small : 0;
    }
    this.readWords(memory, count);
  },

  readShingles(memory, width) {
    memory.reserve(memory.memberCount + Math.max(0, memory.hashCount - width + 1));
    const { hashes, hashCount } = memory;
    for (let first = 0; first + width <= hashCount; first++) {
      const { low, high } = shingleNumber(hashes.subarray(2 * first, 2 * (first + width)));
      memory.addMember(low, high);
    }
  },

  codeInto({ bits, seed }, { members, memberCount, draws }, code) {
    code.fill(0);
    if (memberCount === 0) return;
    const seeds = seedHalves(seed);
    const first = new Int32Array(memberCount);
    const second = new Int32Array(memberCount);
    for (let i = 0; i < memberCount; i++) {
      const low = mixed(members[2 * i] ^ seeds.low);
      second[i] = mixed((members[2 * i + 1] ^ seeds.high) + low);
      first[i] = mixed(low ^ second[i]);
    }
    // For each bit the round in which it was first drawn, from 1, or 0; and the least value then.
    const rounds = new Uint32Array(bits);
    const values = new Uint32Array(bits);
    let missing = bits;
    // From round `bits` on, all members draw bit `round - bits`, so that the loop ends.
    for (let round = 0; missing > 0; round++) {
      for (let i = 0; i < memberCount; i++) {
        const draw = mixed(second[i] + Math.imul(round, GOLDEN));
        // Exact: the product has at most 48 bits.
        const drawn = Math.floor(((draw >>> 0) * bits) / 2 ** 32);
        const bit = round < bits ? drawn : round - bits;
        if (rounds[bit] !== 0 && rounds[bit] !== round + 1) continue;
        const value = mixed(first[i] ^ draw) >>> 0;
        if (rounds[bit] === 0) missing--;
        if (rounds[bit] === 0 || value < values[bit]) values[bit] = value;
        rounds[bit] = round + 1;
      }
    }
    for (let bit = 0; bit < bits; bit++) {
      code[bit >> 3] |= (values[bit] & 1) << (bit & 7);
      draws[2 * bit] = rounds[bit];
      draws[2 * bit + 1] = values[bit];
    }
  },
};

/** UTF-8 of letters: code points below 0x10000 that are no surrogates. */
function utf8Of(letters: readonly number[]): Uint8Array {
  const bytes: number[] = [];
  for (const letter of letters) {
    if (letter < 0x80) bytes.push(letter);
    else if (letter < 0x800) bytes.push(0xc0 | (letter >> 6), 0x80 | (letter & 0x3f));
    else bytes.push(0xe0 | (letter >> 12), 0x80 | ((letter >> 6) & 0x3f), 0x80 | (letter & 0x3f));
  }
  return Uint8Array.from(bytes);
}
