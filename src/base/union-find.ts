/**
 * Disjoint sets of rows under unions (Galler & Fischer 1964). A set is named by its least row, so
 * names do not depend on the order of unions.
 */

import { ascending } from './arrays';

/** At first each of `count` rows is a set of its own. */
export class UnionFind {
  readonly #parents: Uint32Array;

  constructor(count: number) {
    this.#parents = ascending(count);
  }

  /** The least row of the set that a row is in; shortens the path to it. */
  find(row: number): number {
    const parents = this.#parents;
    let at = row;
    while (parents[at] !== at) {
      parents[at] = parents[parents[at]];
      at = parents[at];
    }
    return at;
  }

  /** Makes the sets of two rows one. */
  union(a: number, b: number): void {
    const [one, other] = [this.find(a), this.find(b)];
    this.#parents[Math.max(one, other)] = Math.min(one, other);
  }
}
