/**
 * The second centroid of a vector, in whose partition a search finds it too. It is near the vector,
 * and what it differs by from the vector is not along the difference from the first: a query that
 * visits the one partition late then visits the other early (SOAR; Sun et al., NeurIPS 2023). Of
 * the centroids nearest to a vector the one of the least
 *
 *     |r'|^2 + ALONG (r.r' / |r|)^2
 *
 * where r and r' are the differences of the vector from the first and from this centroid, both
 * shortened. Products are of integers, and float64 operations in this order, so every machine
 * chooses alike.
 */

import type { Steps } from '../base/steps';
import { sharedValues } from '../kernels/memory';
import { product, productsKernel, UNIT } from '../kernels/products';
import type { Task } from '../threads/job';
import { CentroidTree, LEAST_PRODUCT, NearestLists, type TreeState } from './two-level';

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
/** Products of pairs of centroids are made beforehand for so many: they take a byte each. */
const MAX_PAIRS = 8192;
/** Centroids whose products with all are made in one step: some milliseconds. */
const PAIRED = 64;
/** A product of 1 in these bytes. */
const PAIR_UNIT = 127;

/** A tree of centroids, and the products of all pairs of them; null where there are too many. */
export interface SecondsState extends TreeState {
  readonly pairs: Int8Array | null;
}

/** Some vectors, and the first centroid of each. */
interface SecondsPart {
  readonly points: Int16Array;
  readonly own: Uint32Array;
}

export const SECONDS_IN_TREE: Task<SecondsState, SecondsPart, Uint32Array> = {
  name: 'seconds in tree',
  open(state) {
    const seconds = new SecondCentroids(state);
    return ({ points, own }) => seconds.of(points, own);
  },
};

/** The state of a task that finds the second centroids of many vectors. */
export function* secondsStateOf({ state }: CentroidTree): Steps<SecondsState> {
  const { centroids, width } = state;
  const count = centroids.length / width;
  if (count > MAX_PAIRS) return { ...state, pairs: null };
  const pairs = sharedValues(Int8Array, count * count);
  const all = { values: centroids, width };
  for (let from = 0; from < count; from += PAIRED) {
    const queries = centroids.slice(from * width, (from + PAIRED) * width);
    const least = new Int32Array(queries.length / width).fill(LEAST_PRODUCT);
    productsKernel.productsOfMany(
      all,
      ...([0, count, queries, least] as const),
      (first, some, query, found, at) => {
        const to = (from + query) * count + first;
        for (let i = 0; i < some; i++) pairs[to + i] = asPair(found[at + i]);
      },
    );
    yield undefined;
  }
  return { ...state, pairs };
}

/** The state for a few vectors: compares all centroids, and makes nothing beforehand. */
export function flatSecondsState(centroids: Int16Array, width: number): SecondsState {
  const starts = Uint32Array.of(0, centroids.length / width);
  return { centroids, coarse: new Int16Array(width), starts, width, pairs: null };
}

function asPair(product: number): number {
  return Math.round((PAIR_UNIT * product) / (UNIT * UNIT));
}

export class SecondCentroids {
  readonly #state: SecondsState;
  readonly #tree: CentroidTree;
  readonly #count: number;

  constructor(state: SecondsState) {
    this.#state = state;
    this.#tree = new CentroidTree(state);
    this.#count = state.centroids.length / state.width;
  }

  /** For each vector its second centroid; with one centroid, that one. */
  of(vectors: Int16Array, own: Uint32Array): Uint32Array {
    const lists = new NearestLists(own.length, Math.min(CANDIDATES, this.#count));
    this.#tree.compare(vectors, GROUPS, lists.least, (vector, first, count, found, at) => {
      lists.take(vector, first, count, found, at);
    });
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
    const { pairs, centroids, width } = this.#state;
    if (pairs !== null) return pairs[a * this.#count + b];
    return asPair(product(centroids, a * width, centroids, b * width, width));
  }

  #ownProducts(vectors: Int16Array, own: Uint32Array): Int32Array {
    const { centroids, width } = this.#state;
    return Int32Array.from(own, (c, i) => product(vectors, i * width, centroids, c * width, width));
  }
}
