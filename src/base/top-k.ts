/**
 * Top-k selection in two forms: `Smallest` for integer weights such as distances, and `Highest` for
 * float64 scores such as cosines. Candidates come in any order; ties go to the lower row, so the
 * answer never depends on the order in which rows were seen.
 *
 * `Smallest` packs (weight, row) into one float64 key, `weight * 2^32 + row`, and compares both at
 * once. Rows below 2^32 and integer weights below 2^21 keep a key below 2^53, where it is exact.
 */

import { grown } from './arrays';

/** A row is below this, so it does not reach the weight's part of a key. */
const ROWS = 2 ** 32;
/** Keys beyond 2 * k that a buffer holds, so that a small k is not thinned at every candidate. */
const SPARE = 16;
/** Results that have memory at first, or k if that is less: a large k may never be reached. */
const MIN_CAPACITY = 128;

/** A key: keys compare as (weight, row) do. `weightOf` and `rowOf` give back its parts. */
export const keyOf = (weight: number, row: number): number => weight * ROWS + row;
export const weightOf = (key: number): number => Math.floor(key / ROWS);
// The last 32 bits, as a shift takes them.
export const rowOf = (key: number): number => key >>> 0;

/** The rows of keys, in their order. By a loop, since `from` with a function takes far longer. */
export function rowsOf(keys: Float64Array): Uint32Array<ArrayBuffer> {
  const rows = new Uint32Array(keys.length);
  for (let i = 0; i < keys.length; i++) rows[i] = rowOf(keys[i]);
  return rows;
}

/** Their weights. */
export function weightsOf(keys: Float64Array): Uint32Array<ArrayBuffer> {
  const weights = new Uint32Array(keys.length);
  for (let i = 0; i < keys.length; i++) weights[i] = weightOf(keys[i]);
  return weights;
}

/**
 * The k smallest (weight, row). Keys are appended to a buffer of about 2 * k, which is cut to its k
 * smallest when it is full. That takes time in proportion to k and makes room for k more, so each
 * candidate costs constant time on average. A k of 0 takes nothing.
 */
export class Smallest {
  readonly #k: number;
  /** The first `#held` are keys, in no order. */
  #keys: Float64Array<ArrayBuffer>;
  #held = 0;
  /** At least the k-th smallest key taken; exact only after a thinning. */
  #bound = Number.POSITIVE_INFINITY;

  constructor(k: number) {
    this.#k = k;
    this.#keys = new Float64Array(2 * Math.min(k, MIN_CAPACITY) + SPARE);
  }

  /** Only keys below it can still enter. Infinite until k candidates were taken; never rises. */
  get bound(): number {
    return this.#k === 0 ? Number.NEGATIVE_INFINITY : this.#bound;
  }

  /** Offers a candidate. Callers offer each row at most once, so keys are distinct. */
  take(weight: number, row: number): void {
    const key = keyOf(weight, row);
    if (key >= this.bound) return;
    if (this.#held === this.#keys.length) this.#growOrThin();
    this.#keys[this.#held++] = key;
    // Sets the bound as soon as k keys are held, so that callers skip what cannot enter.
    if (this.#held === this.#k && this.#bound === Number.POSITIVE_INFINITY) {
      this.#bound = 0;
      for (let i = 0; i < this.#k; i++) this.#bound = Math.max(this.#bound, this.#keys[i]);
    }
  }

  /** A copy of the keys, smallest first: k of them, or fewer if fewer were offered. */
  result(): Float64Array {
    return this.unordered().sort();
  }

  /** The keys of `result` in no order; as they were taken where at most k were offered. */
  unordered(): Float64Array {
    if (this.#held > this.#k) this.#thin();
    return this.#keys.slice(0, this.#held);
  }

  /** Makes room for a key: grows the buffer up to 2 * k + SPARE, then keeps only the k smallest. */
  #growOrThin(): void {
    const most = 2 * this.#k + SPARE;
    if (this.#keys.length >= most) {
      this.#thin();
      return;
    }
    this.#keys = grown(this.#keys, Math.min(2 * this.#keys.length, most));
  }

  /** Needs at least k keys. `selectSmallest` leaves the largest of the k at the end of them. */
  #thin(): void {
    selectSmallest(this.#keys, this.#held, this.#k);
    this.#bound = this.#keys[this.#k - 1];
    this.#held = this.#k;
  }
}

/**
 * Moves the k smallest of `count` keys to the front, the k-th smallest to index k - 1 (Hoare's
 * quickselect). The time grows with `count` on average; k is in 1..`count`.
 */
export function selectSmallest(keys: Float64Array, count: number, k: number): void {
  let low = 0;
  let high = count - 1;
  while (low < high) {
    const pivot = keys[(low + high) >>> 1];
    let i = low;
    let j = high;
    // Afterwards keys in low..j are at most the pivot, and those in i..high at least the pivot.
    while (i <= j) {
      while (keys[i] < pivot) i++;
      while (keys[j] > pivot) j--;
      if (i > j) break;
      const key = keys[i];
      keys[i++] = keys[j];
      keys[j--] = key;
    }
    if (k - 1 <= j) high = j;
    else if (k - 1 >= i) low = i;
    else break;
  }
}

/**
 * The k highest (score, row), of equal scores the lower rows: a binary heap whose root ranks last.
 * Scores are any float64 but NaN. A candidate costs O(log k), or O(1) if it does not enter.
 */
export class Highest {
  readonly #k: number;
  /** The heap: its entry i has the children 2i + 1 and 2i + 2. The first `#held` entries count. */
  #rows: Uint32Array<ArrayBuffer>;
  #scores: Float64Array<ArrayBuffer>;
  #held = 0;

  constructor(k: number) {
    this.#k = k;
    this.#rows = new Uint32Array(Math.min(k, MIN_CAPACITY));
    this.#scores = new Float64Array(this.#rows.length);
  }

  /** Lower scores cannot enter any more: the lowest one held, minus infinity until k are held. */
  get bound(): number {
    if (this.#held < this.#k) return Number.NEGATIVE_INFINITY;
    return this.#k === 0 ? Number.POSITIVE_INFINITY : this.#scores[0];
  }

  /** Offers a candidate. Callers offer each row at most once. */
  take(score: number, row: number): void {
    if (this.#held < this.#k) {
      if (this.#held === this.#rows.length) this.#grow();
      this.#rise(this.#held++, score, row);
    } else if (this.#k > 0 && this.#isWorse(0, score, row)) this.#sink(this.#held, score, row);
  }

  /** Rows and scores, highest first, in the arrays of the heap, which takes nothing afterwards. */
  result(): { rows: Uint32Array<ArrayBuffer>; scores: Float64Array<ArrayBuffer> } {
    const [rows, scores] = [this.#rows, this.#scores];
    for (let last = this.#held - 1; last > 0; last--) {
      const [row, score] = [rows[0], scores[0]];
      this.#sink(last, scores[last], rows[last]);
      this.#set(last, score, row);
    }
    const isFull = this.#held === rows.length;
    return isFull
      ? { rows, scores }
      : { rows: rows.slice(0, this.#held), scores: scores.slice(0, this.#held) };
  }

  #grow(): void {
    const capacity = Math.min(2 * this.#held, this.#k);
    this.#rows = grown(this.#rows, capacity);
    this.#scores = grown(this.#scores, capacity);
  }

  /** True where entry `at` ranks after the given one. */
  #isWorse(at: number, score: number, row: number): boolean {
    const other = this.#scores[at];
    return other < score || (other === score && this.#rows[at] > row);
  }

  /** Puts an entry at `at`, or further up: parents that rank before it move down. */
  #rise(at: number, score: number, row: number): void {
    let hole = at;
    while (hole > 0) {
      const parent = (hole - 1) >> 1;
      if (this.#isWorse(parent, score, row)) break;
      this.#set(hole, this.#scores[parent], this.#rows[parent]);
      hole = parent;
    }
    this.#set(hole, score, row);
  }

  /** Replaces the root of a heap of `count`; entries that rank after the new one move up. */
  #sink(count: number, score: number, row: number): void {
    let hole = 0;
    for (let child = 1; child < count; child = 2 * hole + 1) {
      const right = child + 1;
      if (right < count && this.#isWorse(right, this.#scores[child], this.#rows[child])) child++;
      if (!this.#isWorse(child, score, row)) break;
      this.#set(hole, this.#scores[child], this.#rows[child]);
      hole = child;
    }
    this.#set(hole, score, row);
  }

  #set(at: number, score: number, row: number): void {
    this.#scores[at] = score;
    this.#rows[at] = row;
  }
}
