/**
 * Seeded random numbers: the generator Alea (Baagøe 2010) of the package seedrandom, which the
 * build bundles, since browsers cannot import it; and hashes of positions. Equal seeds give equal
 * numbers on every engine. Rows are drawn without repeats: from arrays by the shuffle of Fisher and
 * Yates, from a stream of unknown length by Vitter's algorithm R (1985), whose draw depends on the
 * seed and the number of rows only, not on how they are batched.
 */

import generatorOf from 'seedrandom/lib/alea.js';

/** Makes a generator of multiples of 2^-32 from 0 to 1, 1 excluded. */
export function alea(seed: string): () => number {
  return generatorOf(seed);
}

/**
 * A hash of a seed (32 bits) and a position (up to 2^53 - 1) as a number from 0 to 1, 1 excluded,
 * with 53 random bits. Unlike a generator's, it does not depend on which positions came before.
 */
export function shareAt(seed: number, position: number): number {
  const high = mixed(mixed(seed ^ 0x9e37_79b9) ^ position);
  const low = mixed(high ^ Math.floor(position / 2 ** 32) ^ 0x85eb_ca6b);
  return ((high >>> 5) * 2 ** 26 + (low >>> 6)) / 2 ** 53;
}

/** The finalizer of MurmurHash3 (Austin Appleby, public domain): signed 32-bit integers. */
export function mixed(value: number): number {
  let bits = value | 0;
  bits = Math.imul(bits ^ (bits >>> 16), 0x85eb_ca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2_ae35);
  return bits ^ (bits >>> 16);
}

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
