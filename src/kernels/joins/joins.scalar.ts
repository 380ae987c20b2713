/**
 * Pairs of near codes: the contract, and the scalar kernel in plain loops. A pass of a join gives
 * each distinct code a bucket by some of its bits, sorts entries (code, bucket) by bucket, and
 * compares each two codes of equal bucket. Every kernel finds the same pairs in the same order.
 */

import { type Secret, scrambled } from '../../base/secret';
import { bitCount } from '../hamming/hamming.scalar';
import { ENTRY, HIT, type JoinMemory } from './join-memory';

/** How the bucket of a code is computed: from runs of its bits, hashed where they are too many. */
export interface JoinKey {
  /** A run within a 32-bit word: the word, and the shifts left and then right that isolate it. */
  readonly parts: readonly { word: number; left: number; right: number }[];
  /** Right shift of the hash that leaves the bits of a bucket; 0 where the runs are the bucket. */
  readonly hashShift: number;
  /** Bits of the lower and the higher digit by which buckets are sorted. */
  readonly lowBits: number;
  readonly highBits: number;
}

/** The pairs that `runs` searches for, and the position from which it continues. */
export interface Runs {
  /** Largest distance of a pair, in bits. */
  readonly maxDistance: number;
  /** Number of masks after the first in which a pair must differ; other passes report the rest. */
  readonly rejects: number;
  /** The lower code of a pair must be in `fromCode` to `toCode - 1`. */
  fromCode: number;
  toCode: number;
  /** The entry with which the current run begins, and the position in the run to continue from. */
  next: number;
  place: number;
  /** The end of a run of more than `longestRun` entries that begins at `next`; 0 if none does. */
  longEnd: number;
  /** Comparisons left before `runs` pauses; it is checked between runs. */
  budget: number;
}

export interface JoinKernel {
  readonly name: string;

  /**
   * Writes the entries of codes `first` to `end - 1`, and adds 1 to `counts` for the higher digit
   * of each bucket.
   */
  keysInto(memory: JoinMemory, first: number, end: number, key: JoinKey, counts: Uint32Array): void;

  /**
   * The same with hashes of whole codes as buckets, 32 bits each; the higher digit is the bits from
   * `shift` on. Kernels may have different hashes.
   */
  hashesInto(
    memory: JoinMemory,
    first: number,
    end: number,
    hash: { secret: Secret; shift: number },
    counts: Uint32Array,
  ): void;

  /**
   * Copies entries `first` to `end - 1` to `sorted`, each to the next position that `offsets` has
   * for its bucket's bits from `shift` on; `offsets` then has the positions behind them.
   */
  scatter(
    memory: JoinMemory,
    first: number,
    end: number,
    shift: number,
    offsets: Uint32Array,
  ): void;

  /**
   * Copies `sorted` from `first` to `end - 1` back to the entries, ordered by the lower digit
   * within each value of the higher one: `bits` bits from `shift` on. All entries of each value of
   * the higher digit must be there. Equal buckets stay in order of code.
   */
  sortLow(
    memory: JoinMemory,
    first: number,
    end: number,
    digit: { shift: number; bits: number },
  ): void;

  /**
   * Finds equal codes among entries `first` to `end - 1`, in which buckets that agree from bit
   * `shift` on are neighbours. Writes `firsts` of codes that have an equal one before them, and
   * returns their number.
   */
  equalsInto(memory: JoinMemory, first: number, end: number, shift: number): number;

  /**
   * Numbers the distinct codes among `first` to `end - 1`, in order, from `found` on: moves each to
   * the position of its number, and replaces `firsts` by the numbers. All codes before `first` must
   * be numbered. Returns the number of distinct codes so far.
   */
  numberInto(memory: JoinMemory, first: number, end: number, found: number): number;

  /**
   * Reads entries from `state.next` to `end - 1`, which are sorted by bucket, and writes to
   * `memory.hits` the pairs of equal bucket that are within the distance, agree in the first mask
   * and differ in each of the `rejects` that follow. Returns their number. Pauses when the budget
   * is used up, hits are full, or a run is too long; `state` then says where the next call
   * continues.
   */
  runs(memory: JoinMemory, end: number, state: Runs): number;
}

/**
 * The bucket of the code that begins at word `at`: its runs of bits one after another, or a hash of
 * them. Bits that leave the word at the top come in again at the bottom, by exclusive or.
 */
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
