/**
 * Pairs of near codes in plain loops: the scalar kernel, and the contract of all. A pass of a join
 * gives each distinct code a bucket by some of its bits, sorts entries (code, bucket) by bucket,
 * and compares codes of equal bucket in pairs. Every kernel finds the same pairs in the
 * same order.
 */

import { scrambled } from '../../base/secret';
import { bitCount } from '../hamming/hamming.scalar';
import { ENTRY, HIT, type JoinMemory } from './join-memory';

/** How the bucket of a code is made: runs of its bits, hashed where they are too many. */
export interface JoinKey {
  /** Each run within a 32-bit word: the word, and shifts left, then right, that isolate it. */
  readonly parts: readonly { word: number; left: number; right: number }[];
  /** Right shift of the hash that leaves the bucket's bits; 0 where the runs are the bucket. */
  readonly hashShift: number;
  /** Bits of the lower and the higher digit by which buckets are sorted. */
  readonly lowBits: number;
  readonly highBits: number;
}

/** What `runs` looks for, and where it continues. */
export interface Runs {
  readonly maxDistance: number;
  /** Masks behind the first in which codes may not agree: other passes report those pairs. */
  readonly rejects: number;
  /** The first code of a pair, the lower one, is in `fromCode` to `toCode - 1`. */
  fromCode: number;
  toCode: number;
  /** The entry where the current run begins, and the position in the run to continue from. */
  next: number;
  place: number;
  /** The end of a run of more than `longestRun` entries that begins at `next`; 0 if none does. */
  longEnd: number;
  /** Comparisons left before `runs` pauses. */
  budget: number;
}

export interface JoinKernel {
  readonly name: string;

  /**
   * Removes duplicates from codes `first` to `end - 1`, `found` being the number of distinct codes
   * before them: moves each new one to position `found`, `found + 1`, ..., and writes the position
   * of each code's equal to `distinct`. Returns the number of distinct codes. `mask` + 1 is a power
   * of two above the number of codes. The entries serve as a hash table from the first call to the
   * last; they must be 0 before the first.
   */
  distinctInto(
    memory: JoinMemory,
    first: number,
    end: number,
    found: number,
    mask: number,
    distinct: Uint32Array,
  ): number;

  /** Writes entries `first` to `end - 1`, and counts the digits of their buckets. */
  keysInto(memory: JoinMemory, first: number, end: number, key: JoinKey): void;

  /** Copies entries to the positions that `offsets` has for their digit, and advances these. */
  scatter(
    from: Uint32Array,
    first: number,
    end: number,
    to: Uint32Array,
    digit: { shift: number; mask: number },
    offsets: Uint32Array,
  ): void;

  /**
   * Goes through `memory.entries` up to `end` and writes to `memory.hits` the pairs of equal bucket
   * that are within the distance and agree in the first mask and in none of the rejects. Returns
   * how many. Pauses when the budget is used up, hits are full, or a run is too long; `state` then
   * says where the next call continues.
   */
  runs(memory: JoinMemory, end: number, state: Runs): number;
}

/** The bucket of a code. */
export function bucketOf(codes: Uint32Array, at: number, { parts, hashShift }: JoinKey): number {
  let bucket = 0;
  for (const { word, left, right } of parts) {
    const length = 32 - right;
    const value = (codes[at + word] << left) >>> right;
    const turned = length === 32 ? bucket : (bucket << length) | (bucket >>> right);
    bucket = (turned ^ value) >>> 0;
  }
  if (hashShift === 0) return bucket;
  return Math.imul(bucket ^ (bucket >>> 15), 0x9e37_79b1) >>> hashShift;
}

export const scalarJoins: JoinKernel = {
  name: 'scalar',

  distinctInto({ codes, words, entries, sorted, secret }, first, end, found, mask, distinct) {
    const half = entries.length;
    const table = (at: number) => (at < half ? entries[at] : sorted[at - half]);
    let count = found;
    for (let row = first; row < end; row++) {
      const from = row * words;
      let hash = 0;
      for (let w = 0; w < words; w++) hash = scrambled(hash ^ codes[from + w], secret);
      let at = hash & mask;
      for (; table(at) !== 0; at = (at + 1) & mask) {
        if (isEqual(codes, (table(at) - 1) * words, from, words)) break;
      }
      if (table(at) === 0) {
        codes.copyWithin(count * words, from, from + words);
        count++;
        if (at < half) entries[at] = count;
        else sorted[at - half] = count;
      }
      distinct[row - first] = table(at) - 1;
    }
    return count;
  },

  keysInto({ codes, words, entries, counts }, first, end, key) {
    const { lowBits } = key;
    const low = 2 ** lowBits;
    for (let code = first; code < end; code++) {
      const bucket = bucketOf(codes, code * words, key);
      entries[ENTRY * code] = code;
      entries[ENTRY * code + 1] = bucket;
      counts[bucket & (low - 1)]++;
      counts[low + (bucket >>> lowBits)]++;
    }
  },

  scatter(from, first, end, to, { shift, mask }, offsets) {
    for (let i = first; i < end; i++) {
      const at = offsets[(from[ENTRY * i + 1] >>> shift) & mask]++;
      to[ENTRY * at] = from[ENTRY * i];
      to[ENTRY * at + 1] = from[ENTRY * i + 1];
    }
  },

  runs(memory, end, state) {
    const { entries, longestRun } = memory;
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

/** Writes a hit if two codes are near and the masks allow it; returns 1, or else 0. */
function hitInto(
  { codes, words, masks, hits }: JoinMemory,
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
    if ((differing === 0) !== (mask === 0)) return 0;
  }
  hits.set([code, other, distance], HIT * found);
  return 1;
}

function isEqual(codes: Uint32Array, a: number, b: number, words: number): boolean {
  for (let w = 0; w < words; w++) if (codes[a + w] !== codes[b + w]) return false;
  return true;
}
