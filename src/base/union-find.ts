/**
 * Disjoint sets of rows that grow together by unions (Galler & Fischer 1964). A set is named by its
 * least row, so names do not depend on the order of unions.
 */

import { ascending } from './arrays';

/** Sets of the rows 0..`count` - 1. At first each row is a set. */
export class UnionFind {
  /** A row of the same set that is no larger; the row itself where it is the least of its set. */
  readonly #parents: Uint32Array;

  constructor(count: number) {
    this.#parents = ascending(count);
  }

  /** The least row of the set that a row is in. Halves the path to it for later calls. */
  find(row: number): number {
    const parents = this.#parents;
    let at = row;
    while (parents[at] !== at) {
      parents[at] = parents[parents[at]];
      at = parents[at];
    }
    return at;
  }

  /** For each row the least row of its set. */
  all(): Uint32Array {
    return this.#parents.map((_, row) => this.find(row));
  }

  /** Joins the sets of two rows, which may be equal. */
  union(a: number, b: number): void {
    const [one, other] = [this.find(a), this.find(b)];
    this.#parents[Math.max(one, other)] = Math.min(one, other);
  }
}
