/** The passes of a join in plain loops: what the kernel must equal. */

import { scrambled } from '../../../src/base/secret';
import {
  bucketOf,
  ENTRY,
  HIT,
  type JoinMemory,
  type joinKernel,
  type Runs,
} from '../../../src/kernels/joins';

export const scalarJoins: typeof joinKernel = {
  keysInto(memory, first, end, key, counts) {
    const { codes, entries } = memory.arrays;
    for (let code = first; code < end; code++) {
      const bucket = bucketOf(codes, code * memory.words, key);
      entries[ENTRY * code] = code;
      entries[ENTRY * code + 1] = bucket;
      counts[bucket >>> key.lowBits]++;
    }
  },

  hashesInto({ arrays, words }, first, end, { secret, shift }, counts) {
    const { codes, entries } = arrays;
    for (let code = first; code < end; code++) {
      let hash = 0;
      for (let w = 0; w < words; w++) hash = scrambled(hash ^ codes[code * words + w], secret);
      entries[ENTRY * code] = code;
      entries[ENTRY * code + 1] = hash;
      counts[hash >>> shift]++;
    }
  },

  scatter({ arrays: { entries, sorted } }, first, end, shift, offsets) {
    for (let i = first; i < end; i++) {
      const at = offsets[entries[ENTRY * i + 1] >>> shift]++;
      sorted[ENTRY * at] = entries[ENTRY * i];
      sorted[ENTRY * at + 1] = entries[ENTRY * i + 1];
    }
  },

  sortLow({ arrays: { entries, sorted }, lows }, first, end, { shift, bits }) {
    const mask = 2 ** bits - 1;
    for (let from = first, to = first; from < end; from = to) {
      const high = sorted[ENTRY * from + 1] >>> (shift + bits);
      lows.fill(0, 0, mask + 1);
      for (; to < end && sorted[ENTRY * to + 1] >>> (shift + bits) === high; to++) {
        lows[(sorted[ENTRY * to + 1] >>> shift) & mask]++;
      }
      for (let low = 0, sum = from; low <= mask; low++) {
        const before = sum;
        sum += lows[low];
        lows[low] = before;
      }
      for (let i = from; i < to; i++) {
        const at = lows[(sorted[ENTRY * i + 1] >>> shift) & mask]++;
        entries[ENTRY * at] = sorted[ENTRY * i];
        entries[ENTRY * at + 1] = sorted[ENTRY * i + 1];
      }
    }
  },

  equalsInto({ arrays: { codes, entries, firsts }, words }, first, end, shift) {
    let found = 0;
    for (let start = first, i = first; i < end; i++) {
      const [code, hash] = [entries[ENTRY * i], entries[ENTRY * i + 1]];
      if (entries[ENTRY * start + 1] >>> shift !== hash >>> shift) start = i;
      for (let j = start; j < i; j++) {
        const other = entries[ENTRY * j];
        if (entries[ENTRY * j + 1] !== hash) continue;
        if (!isEqual(codes, other * words, code * words, words)) continue;
        firsts[code] = other + 1;
        found++;
        break;
      }
    }
    return found;
  },

  numberInto({ arrays: { codes, firsts }, words }, first, end, found) {
    let count = found;
    for (let code = first; code < end; code++) {
      const before = firsts[code];
      firsts[code] = before === 0 ? count : firsts[before - 1];
      if (before > 0) continue;
      codes.copyWithin(count * words, code * words, (code + 1) * words);
      count++;
    }
    return count;
  },

  runs(memory, end, state) {
    const { longestRun } = memory;
    const { entries } = memory.arrays;
    state.longEnd = 0;
    let found = 0;
    while (state.next < end && state.budget > 0) {
      const first = state.next;
      let stop = first + 1;
      while (stop < end && entries[ENTRY * stop + 1] === entries[ENTRY * first + 1]) stop++;
      if (stop - first > longestRun) {
        state.longEnd = stop;
        return found;
      }
      for (; state.place < stop - first - 1; state.place++) {
        const i = first + state.place;
        const code = entries[ENTRY * i];
        // Codes of a run ascend. Stops unless all pairs of this code can be stored.
        if (code < state.fromCode) continue;
        if (code >= state.toCode) break;
        if (HIT * (found + stop - i) > memory.hits.length) return found;
        for (let j = i + 1; j < stop; j++) {
          found += hitInto(memory, code, entries[ENTRY * j], state, found);
        }
      }
      const count = stop - first;
      state.budget -= 1 + (count * (count - 1)) / 2;
      state.place = 0;
      state.next = stop;
    }
    return found;
  },
};

/** Writes hit number `found` if two codes are near and the masks allow it; returns 1, or else 0. */
function hitInto(
  { arrays: { codes, masks }, words, hits }: JoinMemory,
  code: number,
  other: number,
  { maxDistance, rejects }: Runs,
  found: number,
): number {
  const [a, b] = [code * words, other * words];
  let distance = 0;
  for (let w = 0; w < words; w++) distance += bitCount(codes[a + w] ^ codes[b + w]);
  if (distance > maxDistance) return 0;
  for (let mask = 0; mask <= rejects; mask++) {
    let differing = 0;
    for (let w = 0; w < words; w++) {
      differing |= (codes[a + w] ^ codes[b + w]) & masks[mask * words + w];
    }
    // The codes must agree in the first mask, and in no other.
    if ((differing === 0) !== (mask === 0)) return 0;
  }
  hits.set([code, other, distance], HIT * found);
  return 1;
}

function isEqual(codes: Uint32Array, a: number, b: number, words: number): boolean {
  for (let w = 0; w < words; w++) if (codes[a + w] !== codes[b + w]) return false;
  return true;
}

/** Number of set bits of a 32-bit word, by sums of neighbouring fields of 1, 2 and 4 bits. */
function bitCount(word: number): number {
  let a = word - ((word >>> 1) & 0x55555555);
  a = (a & 0x33333333) + ((a >>> 2) & 0x33333333);
  return Math.imul((a + (a >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}
