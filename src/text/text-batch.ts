/** Sparse vectors of texts one behind the other, to be hashed together. */

import type { SparseMatrix } from '../vectors/vectors';

/** Texts, and entries, of a batch. */
const MOST_TEXTS = 1024;
const MOST_ENTRIES = 2 ** 17;

export class TextBatch {
  /** The dimensions of all entries in halves, and their values. */
  halves = new Uint32Array(2048);
  values = new Float64Array(1024);
  #offsets = [0];

  get count(): number {
    return this.#offsets.length - 1;
  }

  get isFull(): boolean {
    return this.count === MOST_TEXTS || this.#offsets[this.count] >= MOST_ENTRIES;
  }

  /** Makes room for a text of so many entries; returns where they begin. */
  append(entries: number): number {
    const from = this.#offsets[this.count];
    const to = from + entries;
    if (to > this.values.length) {
      const room = Math.max(to, 2 * this.values.length);
      const [halves, values] = [new Uint32Array(2 * room), new Float64Array(room)];
      halves.set(this.halves);
      values.set(this.values);
      [this.halves, this.values] = [halves, values];
    }
    this.#offsets.push(to);
    return from;
  }

  /** The batch, and begins anew. */
  taken(): SparseMatrix {
    const end = this.#offsets[this.count];
    const taken = {
      offsets: Uint32Array.from(this.#offsets),
      indices: new BigUint64Array(this.halves.slice(0, 2 * end).buffer),
      values: this.values.slice(0, end),
    };
    this.#offsets = [0];
    return taken;
  }
}
