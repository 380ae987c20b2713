/**
 * Joins in plain loops: the reference twin, and the contract. Codes of equal bucket are compared in
 * pairs; sorting entries by bucket brings them together.
 */

import { bitCount } from '../hamming/hamming.scalar';
import { ENTRY, HIT, type JoinMemory } from './join-memory';

/** How a code comes to its bucket: by runs of its bits, hashed where they are too many. */
export interface JoinKey {
  /** Of each run within a 32-bit word: the word, and the shifts left and right that cut it out. */
  readonly parts: readonly { word: number; left: number; right: number }[];
  /** Shift of the hash down to the bucket's bits; 0 where the runs themselves are the bucket. */
  readonly hashShift: number;
  /** Bits of the lower and the higher digit by which buckets are sorted. */
  readonly lowBits: number;
  readonly highBits: number;
}

/** What is looked for, and how far the look has come. */
export interface Runs {
  readonly maxDistance: number;
  /** Masks behind the first that may not agree: another table tells of those pairs. */
  readonly rejects: number;
  /** The lower slot of a pair lies from here to there. */
  fromCode: number;
  toCode: number;
  /** Entry to go on from, and the place within its run. */
  next: number;
  place: number;
  /** Where a run of more than `longestRun` entries ends, which begins at `next`; else 0. */
  longEnd: number;
  /** Comparisons left before the look pauses. */
  budget: number;
}

export interface JoinKernel {
  readonly name: string;

  /**
   * Moves each code from place `first` on that differs from all before to place `found`, `found +
   * 1`, ... and writes to `slots` at which place the equal one is, for each. Returns how many
   * places are taken. `mask` + 1 is a power of two above the number of codes; the entries are in
   * use for it from the first code to the last, and must be 0 before.
   */
  distinctInto(
    room: JoinMemory,
    first: number,
    end: number,
    found: number,
    mask: number,
    slots: Uint32Array,
  ): number;

  /** Makes entries `first` to `end - 1`, and counts the digits of their buckets. */
  keysInto(room: JoinMemory, first: number, end: number, key: JoinKey): void;

  /** Moves entries between the two halves, `offsets` telling where those of a digit go. */
  scatter(
    from: Uint32Array,
    first: number,
    end: number,
    to: Uint32Array,
    digit: { shift: number; mask: number },
    offsets: Uint32Array,
  ): void;

  /**
   * Goes through `room.entries` up to `end`: pairs of equal bucket within the distance that agree
   * in the first mask and in none of the rejects are written to `room.hits`. Returns how many.
   * Pauses when the budget is spent, hits are full, or a run is too long.
   */
  runs(room: JoinMemory, end: number, state: Runs): number;
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

  distinctInto({ codes, words, entries, sorted }, first, end, found, mask, slots) {
    const half = entries.length;
    const table = (at: number) => (at < half ? entries[at] : sorted[at - half]);
    let count = found;
    for (let row = first; row < end; row++) {
      const from = row * words;
      let hash = 0;
      for (let w = 0; w < words; w++) {
        hash = Math.imul(hash ^ codes[from + w], 0x9e37_79b1);
        hash ^= hash >>> 15;
      }
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
      slots[row - first] = table(at) - 1;
    }
    return count;
  },

  keysInto({ codes, words, entries, counts }, first, end, key) {
    const { lowBits } = key;
    const low = 2 ** lowBits;
    for (let slot = first; slot < end; slot++) {
      const bucket = bucketOf(codes, slot * words, key);
      entries[ENTRY * slot] = slot;
      entries[ENTRY * slot + 1] = bucket;
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

  runs(room, end, state) {
    const { entries, longestRun } = room;
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
        const slot = entries[ENTRY * i];
        if (slot < state.fromCode) continue;
        if (slot >= state.toCode) break;
        if (HIT * (found + stop - i) > room.hits.length) return found;
        for (let j = i + 1; j < stop; j++) {
          found += hitInto(room, slot, entries[ENTRY * j], state, found);
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

/** Writes a hit when two slots are near and the masks let them; returns 1, or 0. */
function hitInto(
  { codes, words, masks, hits }: JoinMemory,
  slot: number,
  other: number,
  { maxDistance, rejects }: Runs,
  found: number,
): number {
  const [a, b] = [slot * words, other * words];
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
  hits.set([slot, other, distance], HIT * found);
  return 1;
}

function isEqual(codes: Uint32Array, a: number, b: number, words: number): boolean {
  for (let w = 0; w < words; w++) if (codes[a + w] !== codes[b + w]) return false;
  return true;
}
