/**
 * Rows drawn at random without repeats: from arrays by the shuffle of Fisher and Yates, in steps;
 * from a stream of unknown length by Vitter's algorithm R (1985), whose draw depends on the seed
 * and the number of rows only, not on how they are batched.
 */

import { shareAt } from './random';
import type { Steps } from './steps';

const STEP_ROWS = 2 ** 18;

/** Moves `count` of the values, drawn at random, to the front; shuffles all if there are fewer. */
export function* drawToFront(
  values: Uint32Array,
  count: number,
  random: () => number,
): Steps<void> {
  const most = Math.min(count, values.length);
  for (let i = 0; i < most; i++) {
    const other = i + Math.floor(random() * (values.length - i));
    [values[i], values[other]] = [values[other], values[i]];
    if (i % STEP_ROWS === STEP_ROWS - 1) yield undefined;
  }
}

/** A copy of `count` of the values in random order; of all of them if there are fewer. */
export function* drawn(from: Uint32Array, count: number, random: () => number): Steps<Uint32Array> {
  const values = from.slice();
  yield* drawToFront(values, count, random);
  return values.slice(0, Math.min(count, values.length));
}

/** Holds at most `capacity` of the items that are offered, a uniform sample of them. */
export class Reservoir<T> {
  readonly #capacity: number;
  readonly #seed: number;
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

  /** Offers the next item; calls `make` only where it is drawn. */
  offer(make: () => T): void {
    const position = this.#offered++;
    if (position < this.#capacity) {
      this.#taken.push({ position, item: make() });
      return;
    }
    const other = Math.floor(shareAt(this.#seed, position) * (position + 1));
    if (other < this.#capacity) this.#taken[other] = { position, item: make() };
  }

  /** What was drawn, in the order in which it was offered. */
  result(): T[] {
    return [...this.#taken].sort((a, b) => a.position - b.position).map(({ item }) => item);
  }
}

/** `count` of the integers in 0..`end` - 1, ascending; all of them where there are no more. */
export function drawnNumbers(end: number, count: number, seed: number): number[] {
  const drawn = new Reservoir<number>(count, seed);
  for (let i = 0; i < end; i++) drawn.offer(() => i);
  return drawn.result();
}
