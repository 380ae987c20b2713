/**
 * A sparse vector at length 1 that others are multiplied with: a small hash table from dimensions
 * to values. Products are summed in the order of the other's entries, ascending.
 */

import { hashOfPair, newSecret } from '../base/secret';

/** Entries of sparse rows: dimensions in 32-bit halves, low first, and weights. */
export interface Entries {
  readonly halves: Uint32Array;
  readonly weights: Float32Array | Float64Array;
}

/** Immutable; made once a query, in time and memory of its entries. */
export class SparseUnit {
  /**
   * A hash table with linear probing, three values a cell: low and high half of the dimension, and
   * which entry + 1, 0 where the cell is free. At least half of the cells are.
   */
  readonly #cells: Uint32Array;
  readonly #values: Float64Array;
  readonly #shift: number;
  readonly #secret = newSecret();

  /** Of the entries `from` to `to - 1`, each dimension once, and their length. */
  constructor({ halves, weights }: Entries, from: number, to: number, length: number) {
    this.#shift = Math.min(31, Math.clz32(2 * (to - from)));
    this.#cells = new Uint32Array(3 * 2 ** (32 - this.#shift));
    this.#values = new Float64Array(to - from);
    for (let i = from; i < to; i++) {
      const at = this.#cellOf(halves[2 * i], halves[2 * i + 1]);
      this.#cells[at] = halves[2 * i];
      this.#cells[at + 1] = halves[2 * i + 1];
      this.#cells[at + 2] = i - from + 1;
      this.#values[i - from] = length > 0 ? weights[i] / length : 0;
    }
  }

  /** The product with entries `from` to `to - 1`. */
  dot({ halves, weights }: Entries, from: number, to: number): number {
    let sum = 0;
    for (let i = from; i < to; i++) {
      const entry = this.#cells[this.#cellOf(halves[2 * i], halves[2 * i + 1]) + 2];
      if (entry > 0) sum += weights[i] * this.#values[entry - 1];
    }
    return sum;
  }

  /** Where a dimension is, or would be. */
  #cellOf(low: number, high: number): number {
    const cells = this.#cells;
    let at = 3 * (hashOfPair(low, high, this.#secret) >>> this.#shift);
    while (cells[at + 2] > 0 && (cells[at] !== low || cells[at + 1] !== high)) {
      at += 3;
      if (at === cells.length) at = 0;
    }
    return at;
  }
}
