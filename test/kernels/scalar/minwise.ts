/** Minwise codes in plain loops: what the kernel must equal. */

import { mixed } from '../../../src/base/random';
import { DENSE, type minwiseKernel, seedHalves, shingleNumber } from '../../../src/kernels/minwise';
import { hashBytes } from '../../../src/kernels/xxhash';

/** 2^32 divided by the golden ratio: the step between the inputs of two rounds. */
const GOLDEN = 0x9e37_79b9;

export const scalarMinwise: typeof minwiseKernel = {
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
