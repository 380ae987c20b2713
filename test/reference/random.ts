/**
 * Seeded draws for tests: every one comes from a seed that stands in the test, so that a failure can
 * be run again. Nothing here is part of the library.
 */

import seedrandom from 'seedrandom';

export class Draws {
  readonly #source: seedrandom.PRNG;
  #spare: number | undefined;

  constructor(seed: number | string) {
    this.#source = seedrandom.alea(String(seed));
  }

  /** From 0 to 1, 1 excluded. */
  uniform(): number {
    return this.#source.quick();
  }

  /** An integer from 0 to `below` - 1. */
  integer(below: number): number {
    return Math.floor(this.#source.quick() * below);
  }

  /** Standard normal, by Box and Muller. */
  gaussian(): number {
    if (this.#spare !== undefined) {
      const spare = this.#spare;
      this.#spare = undefined;
      return spare;
    }
    const radius = Math.sqrt(-2 * Math.log(1 - this.uniform()));
    const angle = 2 * Math.PI * this.uniform();
    this.#spare = radius * Math.sin(angle);
    return radius * Math.cos(angle);
  }

  gaussians(count: number): Float64Array {
    return Float64Array.from({ length: count }, () => this.gaussian());
  }

  bytes(count: number): Uint8Array<ArrayBuffer> {
    const bytes = new Uint8Array(count);
    for (let i = 0; i < count; i++) bytes[i] = this.#source.int32();
    return bytes;
  }

  /** Any 64-bit unsigned integer. */
  word(): bigint {
    const high = BigInt(this.#source.int32() >>> 0);
    return (high << 32n) | BigInt(this.#source.int32() >>> 0);
  }

  pick<T>(choices: readonly T[]): T {
    return choices[this.integer(choices.length)];
  }

  /** The same items in another order. */
  shuffled<T>(items: Iterable<T>): T[] {
    const all = [...items];
    for (let i = all.length - 1; i > 0; i--) {
      const j = this.integer(i + 1);
      [all[i], all[j]] = [all[j], all[i]];
    }
    return all;
  }

  /** Two vectors at a given cosine, in a random plane of `dimensions` dimensions. */
  pairAt(cosine: number, dimensions: number): [Float64Array, Float64Array] {
    const a = unit(this.gaussians(dimensions));
    const other = this.gaussians(dimensions);
    const along = dot(a, other);
    const across = unit(other.map((value, i) => value - along * a[i]));
    const sine = Math.sqrt(1 - cosine * cosine);
    return [a, a.map((value, i) => cosine * value + sine * across[i])];
  }
}

export function dot(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
}

/** The angle between two vectors. */
export function angleBetween(a: ArrayLike<number>, b: ArrayLike<number>): number {
  return Math.acos(dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b)));
}

function unit(vector: Float64Array): Float64Array {
  const length = Math.sqrt(dot(vector, vector));
  return vector.map((value) => value / length);
}
