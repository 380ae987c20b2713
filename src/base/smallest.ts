/**
 * The k smallest of pairs (distance or weight, row), in that order, from hits in any order. A pair
 * is one float64, `weight * 2^32 + row`: exact up to 2^21 in weight, and compared in one step.
 */

const ROWS = 2 ** 32;
/** Held before thinning, beside k, and twice k. */
const SPARE = 16;
const LEAST_ROOM = 128;

export const keyOf = (weight: number, row: number): number => weight * ROWS + row;
export const weightOf = (key: number): number => Math.floor(key / ROWS);
export const rowOf = (key: number): number => key % ROWS;

export class Smallest {
  readonly #k: number;
  #keys: Float64Array<ArrayBuffer>;
  #held = 0;
  #bound = Number.POSITIVE_INFINITY;

  constructor(k: number) {
    this.#k = k;
    this.#keys = new Float64Array(2 * Math.min(k, LEAST_ROOM) + SPARE);
  }

  /** Only keys below it are of use. */
  get bound(): number {
    return this.#k === 0 ? Number.NEGATIVE_INFINITY : this.#bound;
  }

  take(weight: number, row: number): void {
    const key = keyOf(weight, row);
    if (key >= this.bound) return;
    if (this.#held === this.#keys.length) this.#makeRoom();
    this.#keys[this.#held++] = key;
    // The first bound as soon as there is one: who asks for it saves by it.
    if (this.#held === this.#k && this.#bound === Number.POSITIVE_INFINITY) {
      this.#bound = 0;
      for (let i = 0; i < this.#k; i++) this.#bound = Math.max(this.#bound, this.#keys[i] + 1);
    }
  }

  #makeRoom(): void {
    const most = 2 * this.#k + SPARE;
    if (this.#keys.length >= most) {
      this.#thin();
      return;
    }
    const grown = new Float64Array(Math.min(2 * this.#keys.length, most));
    grown.set(this.#keys);
    this.#keys = grown;
  }

  #thin(): void {
    this.#bound = selected(this.#keys, this.#held, this.#k);
    this.#held = this.#k;
  }

  /** Keys, smallest first. */
  result(): Float64Array {
    return this.unordered().sort();
  }

  /** The same keys in no order. */
  unordered(): Float64Array {
    if (this.#held > this.#k) this.#thin();
    return this.#keys.slice(0, this.#held);
  }
}

/** Moves the k smallest of `count` keys to the front; returns the largest of them. Hoare's way. */
export function selected(keys: Float64Array, count: number, k: number): number {
  let low = 0;
  let high = count - 1;
  while (low < high) {
    const pivot = keys[(low + high) >> 1];
    let i = low;
    let j = high;
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
  return keys[k - 1];
}
