/**
 * A sparse query vector at length 1, for dot products with many others: a small hash table from
 * dimensions to values. The terms of a product are added in the order of the other's entries, which
 * is ascending, so that every caller gets the same float64.
 */

import { hashOfPair, newSecret } from '../base/secret';

/** Entries of sparse rows: dimension i in the 32-bit halves 2i (low) and 2i + 1, and its weight. */
export interface Entries {
  readonly halves: Uint32Array;
  readonly weights: Float32Array | Float64Array;
}

/** Immutable. Making one takes time and memory in proportion to its entries. */
export class SparseUnit {
  /**
   * A hash table with linear probing, three values a cell: low and high half of the dimension, and
   * the number of its entry + 1, or 0 in a free cell. More than half of the cells are free, so that
   * every search ends.
   */
  readonly #cells: Uint32Array;
  /** Values by entry, divided by the length. */
  readonly #values: Float64Array;
  /** A hash shifted right by this is the number of a cell. */
  readonly #shift: number;
  readonly #secret = newSecret();

  /** Copies entries `from` to `to - 1`, of distinct dimensions; a `length` of 0 gives zeros. */
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

  /** The dot product with entries `from` to `to - 1` of another vector. */
  dot({ halves, weights }: Entries, from: number, to: number): number {
    let sum = 0;
    for (let i = from; i < to; i++) {
      const entry = this.#cells[this.#cellOf(halves[2 * i], halves[2 * i + 1]) + 2];
      if (entry > 0) sum += weights[i] * this.#values[entry - 1];
    }
    return sum;
  }

  /** Calls `take` with the low and the high half of each dimension, and its value. */
  each(take: (low: number, high: number, value: number) => void): void {
    const cells = this.#cells;
    for (let at = 0; at < cells.length; at += 3) {
      if (cells[at + 2] > 0) take(cells[at], cells[at + 1], this.#values[cells[at + 2] - 1]);
    }
  }

  /** The index in `#cells` of a dimension's cell, or of the free cell where it would be. */
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
