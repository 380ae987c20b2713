/** Which rows hang together, by unions (Galler & Fischer 1964). A set is named by its least row. */

export class UnionFind {
  readonly #parents: Uint32Array;

  constructor(count: number) {
    this.#parents = Uint32Array.from({ length: count }, (_, row) => row);
  }

  /** The least row of a row's set. */
  find(row: number): number {
    const parents = this.#parents;
    let at = row;
    while (parents[at] !== at) {
      parents[at] = parents[parents[at]];
      at = parents[at];
    }
    return at;
  }

  union(a: number, b: number): void {
    const [one, other] = [this.find(a), this.find(b)];
    this.#parents[Math.max(one, other)] = Math.min(one, other);
  }
}
