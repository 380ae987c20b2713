/**
 * A way that this library replaces, kept to compare with: `bits` stored Gaussian vectors, drawn with
 * seedrandom. Its codes have the statistics of projection 'gaussian'; its memory is dimensions x bits.
 */

import { Draws } from './random';

export class StoredGaussian {
  readonly bits: number;
  readonly dimensions: number;
  /** The numbers of one dimension lie together, so that a sparse vector touches only its own. */
  readonly #planes: Float32Array;

  constructor(options: { bits: number; dimensions: number; seed: number | string }) {
    this.bits = options.bits;
    this.dimensions = options.dimensions;
    const draws = new Draws(options.seed);
    this.#planes = new Float32Array(this.bits * this.dimensions);
    for (let i = 0; i < this.#planes.length; i++) this.#planes[i] = draws.gaussian();
  }

  /** Bytes held for the planes. */
  get byteLength(): number {
    return this.#planes.byteLength;
  }

  /** Bit j of byte j >> 3 is 1 when the vector is above plane j. */
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
    const planes = this.#planes;
    const at = dimension * this.bits;
    for (let j = 0; j < sums.length; j++) sums[j] += value * planes[at + j];
  }
}

export function signs(sums: Float64Array): Uint8Array {
  const code = new Uint8Array(Math.ceil(sums.length / 8));
  for (let j = 0; j < sums.length; j++) if (sums[j] > 0) code[j >> 3] |= 1 << (j & 7);
  return code;
}
