/**
 * Pairs of near codes in plain loops: the scalar kernel, and the contract of all. A pass of a join
 * gives each distinct code a bucket by some of its bits, sorts entries (code, bucket) by bucket,
 * and compares codes of equal bucket in pairs. Every kernel finds the same pairs in the
 * same order.
 */

import { type Secret, scrambled } from '../../base/secret';
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

  /** Writes entries `first` to `end - 1`, and counts the higher digits of their buckets. */
  keysInto(memory: JoinMemory, first: number, end: number, key: JoinKey, counts: Uint32Array): void;

  /**
   * The same with hashes of whole codes as buckets, 32 bits each, of which the higher digit lies
   * above `shift`.
   */
  hashesInto(
    memory: JoinMemory,
    first: number,
    end: number,
    hash: { secret: Secret; shift: number },
    counts: Uint32Array,
  ): void;

  /** Copies entries to the positions of `sorted` that `offsets` has for the bits above `shift`. */
  scatter(
    memory: JoinMemory,
    first: number,
    end: number,
    shift: number,
    offsets: Uint32Array,
  ): void;

  /**
   * Copies `sorted` from `first` to `end - 1`, whole values of the higher digit in order, to the
   * entries, those of each value in the order of the lower digit: `bits` bits above `shift`.
   */
  sortLow(
    memory: JoinMemory,
    first: number,
    end: number,
    digit: { shift: number; bits: number },
  ): void;

  /**
   * Finds equal codes among entries whose buckets agree above `shift`: writes `firsts` of those
   * that have an equal code before them, and returns how many they are.
   */
  equalsInto(memory: JoinMemory, first: number, end: number, shift: number): number;

  /**
   * Numbers codes `first` to `end - 1` by their `firsts`, which become numbers; new ones are moved
   * to their place from `found` on. Returns how many there are with those before.
   */
  numberInto(memory: JoinMemory, first: number, end: number, found: number): number;

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
    if ((differing === 0) !== (mask === 0)) return 0;
  }
  hits.set([code, other, distance], HIT * found);
  return 1;
}

function isEqual(codes: Uint32Array, a: number, b: number, words: number): boolean {
  for (let w = 0; w < words; w++) if (codes[a + w] !== codes[b + w]) return false;
  return true;
}
