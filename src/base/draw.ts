/**
 * Draws rows at random without repeats: from arrays by the shuffle of Fisher and Yates;
 * from a stream of unknown length by Vitter's algorithm R (1985). The draw from a stream depends on
 * the seed and the number of rows only, not on how they are batched.
 */

import { shareAt } from './random';

/**
 * A copy of `count` of the values in random order; of all of them if there are fewer. `random`
 * returns numbers from 0 to 1, 1 excluded.
 */
export function drawn(from: Uint32Array, count: number, random: () => number): Uint32Array {
  const values = from.slice();
  const most = Math.min(count, values.length);
  for (let i = 0; i < most; i++) {
    const other = i + Math.floor(random() * (values.length - i));
    [values[i], values[other]] = [values[other], values[i]];
  }
  return values.slice(0, most);
}

/** Holds a uniform sample of at most `capacity` of the items offered so far. */
export class Reservoir<T> {
  readonly #capacity: number;
  readonly #seed: number;
  /** The sample, in no order; `position` counts the items offered before. */
  #taken: { position: number; item: T }[] = [];
  #offered = 0;

  constructor(capacity: number, seed: number) {
    this.#capacity = capacity;
    this.#seed = seed;
  }

  /** How many items were offered. */
  get offered(): number {
    return this.#offered;
  }

  /** Offers the next item; calls `make` only if it is drawn. */
  offer(make: () => T): void {
    const position = this.#offered++;
    if (position < this.#capacity) {
      this.#taken.push({ position, item: make() });
      return;
    }
    // A random index in 0..position: the item replaces the one with this index in the full sample.
    const other = Math.floor(shareAt(this.#seed, position) * (position + 1));
    if (other < this.#capacity) this.#taken[other] = { position, item: make() };
  }

  /** The sample so far, in the order in which its items were offered: a new array. */
  result(): T[] {
    return [...this.#taken].sort((a, b) => a.position - b.position).map(({ item }) => item);
  }
}

/** At most `count` of the integers in 0..`end` - 1, drawn without repeats, ascending. */
export function drawnNumbers(end: number, count: number, seed: number): number[] {
  const drawn = new Reservoir<number>(count, seed);
  for (let i = 0; i < end; i++) drawn.offer(() => i);
  return drawn.result();
}
