/** Short lists of the centroids nearest to each of many vectors, sorted by insertion. */

/** No product is less. */
export const LEAST_PRODUCT = -(2 ** 31);

export class NearestLists {
  /** By vector: the least product that a centroid must exceed to enter its list. */
  readonly least: Int32Array;
  /** For each vector `length` centroids, nearest first; of equally near ones the first taken. */
  readonly centroids: Uint32Array;
  /** Their products with the vector; LEAST_PRODUCT where a list has fewer. */
  readonly products: Int32Array;

  constructor(
    vectors: number,
    readonly length: number,
  ) {
    this.least = new Int32Array(vectors).fill(LEAST_PRODUCT);
    this.centroids = new Uint32Array(vectors * length);
    this.products = new Int32Array(vectors * length).fill(LEAST_PRODUCT);
  }

  /** Takes the products of a vector with `count` centroids from `first` on: `found[at]`, ... */
  take(vector: number, first: number, count: number, found: Int32Array, at: number): void {
    const { products, centroids } = this;
    const start = vector * this.length;
    const last = start + this.length - 1;
    for (let i = 0; i < count; i++) {
      const value = found[at + i];
      if (value <= products[last]) continue;
      let to = last;
      for (; to > start && products[to - 1] < value; to--) {
        products[to] = products[to - 1];
        centroids[to] = centroids[to - 1];
      }
      products[to] = value;
      centroids[to] = first + i;
    }
    this.least[vector] = products[last];
  }
}
