/**
 * The second centroid of a vector, in whose partition a search finds it too. It is near the vector,
 * in another direction than the first: a query from whose side the first centroid is far, so that
 * its partition is visited late, then visits the second one early (SOAR; Sun et al., NeurIPS 2023).
 * Of the centroids nearest to a vector the one of the least
 *
 *     |r'|^2 + ALONG (r.r' / |r|)^2
 *
 * where r and r' are the differences of the vector from the first and from this centroid, both
 * shortened. Products are of integers, and float64 operations in this order, so every machine
 * chooses alike.
 */

import { product, UNIT } from '../kernels/products';
import { CentroidTree, LEAST_PRODUCT, type NearestLists, type TreeState } from './two-level';

/**
 * Measured on 352,575 sentences with 2,048 partitions: entries that a search scores until it has
 * seen .95 of the true neighbours are 63,000 without second centroids, 27,500 where 8 groups are
 * compared, 24,000 with 16, and 23,300 where all are, with lists of 32. Those of 16 lose 2 %, as
 * measured with 4 groups, and take half of the time. ALONG of 1 or 2 changes them by less than a
 * tenth.
 */
const GROUPS = 16;
const CANDIDATES = 16;
const ALONG = 1.5;
/** The length of centroids in these differences: the mean cosine with them where copies pay. */
const LENGTH = 0.5;
/** A product of 1, to integers of which products of two centroids are rounded. */
const PAIR_UNIT = 127;

export class SecondCentroids {
  readonly #state: TreeState;
  readonly #tree: CentroidTree;
  readonly #count: number;

  constructor(state: TreeState) {
    this.#state = state;
    this.#tree = new CentroidTree(state);
    this.#count = state.centroids.length / state.width;
  }

  /** For each vector its second centroid; with one centroid, that one. */
  of(vectors: Int16Array, own: Uint32Array): Uint32Array {
    const lists = this.#tree.nearest(vectors, GROUPS, Math.min(CANDIDATES, this.#count));
    const products = this.#ownProducts(vectors, own);
    return own.map((first, vector) => this.#best(first, products[vector], lists, vector));
  }

  #best(own: number, ownProduct: number, lists: NearestLists, vector: number): number {
    const first = (LENGTH * ownProduct) / (UNIT * UNIT);
    const square = 1 + LENGTH * LENGTH - 2 * first;
    let [best, least] = [own, Number.POSITIVE_INFINITY];
    const start = vector * lists.length;
    for (let at = start; at < start + lists.length; at++) {
      const centroid = lists.centroids[at];
      if (lists.products[at] === LEAST_PRODUCT) break;
      if (centroid === own) continue;
      const other = (LENGTH * lists.products[at]) / (UNIT * UNIT);
      const distance = 1 + LENGTH * LENGTH - 2 * other;
      if (distance >= least) break; // of those that follow too
      const both = 1 - first - other + (LENGTH * LENGTH * this.#pair(own, centroid)) / PAIR_UNIT;
      const loss = distance + (ALONG * both * both) / square;
      if (loss < least) [best, least] = [centroid, loss];
    }
    // Groups without other centroids leave none: then any other, so that the two differ.
    return best === own ? (own + 1) % this.#count : best;
  }

  /** The product of two centroids, in units of 1 / PAIR_UNIT. */
  #pair(a: number, b: number): number {
    const { centroids, width } = this.#state;
    const found = product(centroids, a * width, centroids, b * width, width);
    return Math.round((PAIR_UNIT * found) / (UNIT * UNIT));
  }

  #ownProducts(vectors: Int16Array, own: Uint32Array): Int32Array {
    const { centroids, width } = this.#state;
    return Int32Array.from(own, (c, i) => product(vectors, i * width, centroids, c * width, width));
  }
}
