/** Sparse vectors of texts one behind the other, to be hashed together. */

import type { SparseMatrix, SparseVector } from '../codes/vectors';

/** Texts, and entries, of a batch. */
const MOST_TEXTS = 1024;
const MOST_ENTRIES = 2 ** 17;

export class TextBatch {
  #indices = new BigUint64Array(1024);
  #values = new Float64Array(1024);
  #offsets = [0];

  get count(): number {
    return this.#offsets.length - 1;
  }

  get isFull(): boolean {
    return this.count === MOST_TEXTS || this.#offsets[this.count] >= MOST_ENTRIES;
  }

  add({ indices, values }: SparseVector): void {
    const from = this.#offsets[this.count];
    const to = from + values.length;
    if (to > this.#values.length) {
      const room = Math.max(to, 2 * this.#values.length);
      const grown = [new BigUint64Array(room), new Float64Array(room)] as const;
      grown[0].set(this.#indices);
      grown[1].set(this.#values);
      [this.#indices, this.#values] = grown;
    }
    this.#indices.set(indices as BigUint64Array, from);
    this.#values.set(values, from);
    this.#offsets.push(to);
  }

  /** The batch, and begins anew. */
  taken(): SparseMatrix {
    const end = this.#offsets[this.count];
    const taken = {
      offsets: Uint32Array.from(this.#offsets),
      indices: this.#indices.slice(0, end),
      values: this.#values.slice(0, end),
    };
    this.#offsets = [0];
    return taken;
  }
}
