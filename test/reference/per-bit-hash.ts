/**
 * A way that this library replaces, kept to compare with: one hash for each bit of each dimension,
 * xxHash64 with the bit's number as seed, whose lowest bit is the sign. No memory, but `bits` hashes
 * an entry where a pattern word of 64 bits takes one.
 */

import xxhash from 'xxhash-wasm';
import { signs } from './stored-gaussian';

const { h64Raw } = await xxhash();

export class PerBitHash {
  readonly bits: number;
  readonly #seeds: readonly bigint[];
  readonly #dimension = new Uint8Array(8);
  readonly #view = new DataView(this.#dimension.buffer);

  /** Bit j hashes with seed + j. */
  constructor(options: { bits: number; seed?: number }) {
    this.bits = options.bits;
    const first = options.seed ?? 0;
    this.#seeds = Array.from({ length: this.bits }, (_, j) => BigInt(first + j));
  }

  hash(vector: Iterable<number>): Uint8Array {
    const sums = new Float64Array(this.bits);
    let dimension = 0;
    for (const value of vector) this.#add(dimension++, value, sums);
    return signs(sums);
  }

  /** The same of a sparse vector. */
  hashSparse(indices: ArrayLike<number>, values: ArrayLike<number>): Uint8Array {
    const sums = new Float64Array(this.bits);
    for (let i = 0; i < indices.length; i++) this.#add(indices[i], values[i], sums);
    return signs(sums);
  }

  #add(dimension: number, value: number, sums: Float64Array): void {
    this.#view.setBigUint64(0, BigInt(dimension), true);
    for (let j = 0; j < sums.length; j++) {
      const hash = h64Raw(this.#dimension, this.#seeds[j]);
      sums[j] += (hash & 1n) === 1n ? value : -value;
    }
  }
}
