/**
 * Centroids in two levels, so that the nearest of a vector are found at a fraction of the cost:
 * centroids are in groups, each with a coarse centroid, and a vector is compared with the centroids
 * of the groups nearest to it. They nearly always include its nearest centroid, and else one about
 * as near. A search finds a vector in the partition of its second centroid too.
 */

import type { Range } from '../base/arrays';
import { checkInteger, wrongType } from '../base/check';
import { type PairedRows, productsKernel, vectorsAtOnce } from '../kernels/products';
import type { Task } from '../threads/job';

/** Number of groups whose centroids a vector is compared with. */
const GROUPS = 4;
/**
 * The same for a second centroid. On 300,000 rows like sentences with 2,048 centroids, .95 of the
 * true neighbours take 47 probes with 16 groups, 48 with 8 and 53 with 4, which take 5.8, 3.5 and
 * 2.5 s to find; GloVe takes as many probes with 16 and 8.
 */
const SECOND_GROUPS = 8;
/**
 * A query that wants the nearest centroids is compared with so many times as many as it wants, or
 * as the fewest, those of the groups nearest to it: they hold nearly all that it wants.
 */
const NEAR_TIMES = 16;
const FEWEST_WANTED = 24;

/**
 * Centroids, as points, in groups: group g has the coarse centroid g and the centroids
 * `starts[g]` to `starts[g + 1] - 1`. The arrays are in WebAssembly memories, which the kernels of
 * all threads read in place.
 */
export interface CentroidTree {
  readonly centroids: Int8Array;
  readonly coarse: Int8Array;
  readonly starts: Uint32Array;
  readonly width: number;
}

/** Fewer dimensions than this have all bits of a point, since 5 would leave few directions. */
const MIN_COARSE_DIMENSIONS = 64;

/**
 * Bits of a value of a centroid of a space, which are most of what opens an index on a web host.
 * Optimized for .95, searches score 1.02 times the entries of 7 bits on GloVe and 1.01 on images,
 * and find .957 and .955 in place of .956 and .956.
 */
export function centroidBits(dimensions: number): number {
  return dimensions < MIN_COARSE_DIMENSIONS ? 7 : 5;
}

/** Finds the nearest centroid of each rounded point by `nearestIn`. */
export const NEAREST_CENTROIDS: Task<CentroidTree, Int8Array, Uint32Array> = {
  name: 'nearest centroids',
  open: (tree) => (points) => nearestIn(tree, points),
};

/** The tree of a file, whose numbers are not known to fit each other. */
export function checkedTree(
  tree: Omit<CentroidTree, 'starts'> & { readonly starts: unknown },
): CentroidTree {
  const { centroids, coarse, starts, width } = tree;
  const count = centroids.length / width;
  if (!Array.isArray(starts)) throw wrongType('starts', 'an array of numbers', starts);
  for (const [i, start] of starts.entries()) {
    checkInteger(`starts[${i}]`, start, i === 0 ? 0 : starts[i - 1], i === 0 ? 0 : count);
  }
  if (starts.length !== coarse.length / width + 1 || starts[starts.length - 1] !== count) {
    throw new Error('the groups of the centroids do not fit these');
  }
  return { centroids, coarse, starts: Uint32Array.from(starts), width };
}

/**
 * For each vector the nearest of the centroids of the GROUPS groups nearest to it, which is nearly
 * always the nearest of all.
 */
export function nearestIn(tree: CentroidTree, vectors: Int8Array): Uint32Array {
  const { centroids, starts, width } = tree;
  const nearest = new Uint32Array(vectors.length / width);
  eachBlock(tree, vectors, GROUPS, (some, first, near) => {
    const rows = { values: centroids, width };
    nearest.set(productsKernel.nearest(rows, some, { starts, near }), first);
  });
  return nearest;
}

/**
 * For each vector its centroid, as `nearestIn` finds it, and its second one; with one centroid,
 * that one. The second is near the vector, in another direction than the first: a query
 * from whose side the first centroid is far, so that its partition is visited late, then visits the
 * second one early (SOAR; Sun et al., NeurIPS 2023). Of the centroids of the groups nearest to a
 * vector the one of the least loss, as `pairs` of the centroids state it.
 */
export function nearestTwo(
  tree: CentroidTree,
  pairs: PairedRows,
  vectors: Int8Array,
): { own: Uint32Array; seconds: Uint32Array } {
  const { centroids, width } = tree;
  const own = new Uint32Array(vectors.length / width);
  const seconds = new Uint32Array(own.length);
  eachBlock(tree, vectors, SECOND_GROUPS, (some, first, near) => {
    const two = pairs.nearestTwo(some, near, GROUPS);
    own.set(two.own, first);
    seconds.set(two.seconds, first);
  });
  // Groups without other centroids leave none: then any other, so that the two differ.
  const count = centroids.length / width;
  for (let i = 0; i < own.length; i++) {
    if (seconds[i] === own[i]) seconds[i] = (own[i] + 1) % count;
  }
  return { own, seconds };
}

/**
 * Writes the centroids nearest to a query to `order`, as many as it has room for, and their
 * products to `products`; of those few that are wanted of many, one may be missed for another
 * that is nearly as near.
 */
export function orderInto(
  tree: CentroidTree,
  query: Int8Array,
  order: Uint32Array,
  products: Float32Array,
): void {
  const { centroids, width } = tree;
  const ranges = rangesNear(tree, query, NEAR_TIMES * Math.max(FEWEST_WANTED, order.length));
  productsKernel.orderInto({ values: centroids, width }, ranges, query, order, products);
}

/** At least so many centroids: those of the groups nearest to a query, or all. */
function rangesNear(
  { centroids, coarse, starts, width }: CentroidTree,
  query: Int8Array,
  wanted: number,
): Range[] {
  const count = centroids.length / width;
  const groupCount = starts.length - 1;
  if (wanted >= count || groupCount < 2) return [{ first: 0, end: count }];
  const groups = new Uint32Array(groupCount);
  const ranges = [{ first: 0, end: groupCount }];
  const products = new Float32Array(groupCount);
  productsKernel.orderInto({ values: coarse, width }, ranges, query, groups, products);
  const near: Range[] = [];
  for (let i = 0, found = 0; found < wanted; i++) {
    const [first, end] = [starts[groups[i]], starts[groups[i] + 1]];
    near.push({ first, end });
    found += end - first;
  }
  return near;
}

/**
 * Calls `take` for blocks of vectors, with the first one, and the `most` groups of centroids
 * nearest to each, or all.
 */
function eachBlock(
  { coarse, starts, width }: CentroidTree,
  vectors: Int8Array,
  most: number,
  take: (some: Int8Array, first: number, near: Uint32Array) => void,
): void {
  const groups = starts.length - 1;
  const atOnce = vectorsAtOnce(width);
  for (let first = 0; first * width < vectors.length; first += atOnce) {
    const some = vectors.subarray(first * width, (first + atOnce) * width);
    const near =
      groups < 2
        ? new Uint32Array(some.length / width)
        : productsKernel.nearestLists({ values: coarse, width }, some, Math.min(most, groups));
    take(some, first, near);
  }
}
