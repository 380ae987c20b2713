/**
 * Centroids in two levels, so that the nearest of a vector are found at a fraction of the cost:
 * centroids are in groups, each with a coarse centroid, and a vector is compared with the centroids
 * of the groups nearest to it. They nearly always include its nearest centroid, and else one about
 * as near. A search finds a vector in the partition of its second centroid too.
 */

import { type Range, toStarts } from '../base/arrays';
import { checkInteger, wrongType } from '../base/check';
import { type GroupLists, PairedRows, productsKernel, vectorsAtOnce } from '../kernels/products';
import type { Task } from '../threads/job';

/** Number of groups whose centroids a vector is compared with. */
const GROUPS = 4;
/**
 * Measured on 352,575 sentences with 2,048 partitions: until a search has seen .95 of the true
 * neighbours it scores 65,000 entries without second centroids, 29,000 with them. When only the 16
 * nearest centroids of these groups were compared, 8 groups took 15 % more entries than 16, all
 * groups 3 % less. A factor of 1 or 2 in place of 1.5 in the loss of `PairedRows` changed them by
 * less than a tenth. With 8 groups, 97 probes find .954 of the true neighbours, with 16 .957.
 */
const SECOND_GROUPS = 16;
/**
 * A query that wants the nearest centroids is compared with so many times as many, those of the
 * groups nearest to it: they hold nearly all that it wants.
 */
const NEAR_TIMES = 32;
/**
 * Centroids of length UNIT in groups: group g has the coarse centroid g and the centroids
 * `starts[g]` to `starts[g + 1] - 1`.
 */
export interface TreeState {
  readonly centroids: Int16Array;
  readonly coarse: Int16Array;
  readonly starts: Uint32Array;
  readonly width: number;
}

/** Finds the nearest centroid of each rounded point as `CentroidTree` does. */
export const NEAREST_CENTROIDS: Task<TreeState, Int16Array, Uint32Array> = {
  name: 'nearest centroids',
  open(state) {
    const tree = new CentroidTree(state);
    return (points) => {
      const out = new Uint32Array(points.length / state.width);
      tree.nearestInto(points, out);
      return out;
    };
  },
};

/** The tree of a file, whose numbers are not known to fit each other. */
export function checkedTree(
  tree: Omit<TreeState, 'starts'> & { readonly starts: unknown },
): TreeState {
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

/** Finds a centroid that is nearly always the nearest one of a vector. */
export class CentroidTree {
  /** Its arrays are in WebAssembly memories, which the kernels of all threads read in place. */
  readonly state: TreeState;
  #pairs: PairedRows | null = null;

  constructor(state: TreeState) {
    this.state = state;
  }

  /** Writes for each vector the nearest of the centroids of the GROUPS groups nearest to it. */
  nearestInto(vectors: Int16Array, out: Uint32Array): void {
    const { centroids, width } = this.state;
    const all = { values: centroids, width };
    this.#eachBlock(vectors, [GROUPS], (some, first, [lists]) => {
      const end = first + some.length / width;
      productsKernel.nearestInto(all, some, out.subarray(first, end), lists);
    });
  }

  /**
   * For each vector its centroid, as `nearestInto` finds it, and its second one; with one centroid,
   * that one. The second is near the vector, in another direction than the first: a query from
   * whose side the first centroid is far, so that its partition is visited late, then visits the
   * second one early (SOAR; Sun et al., NeurIPS 2023). Of the centroids of the groups nearest to a
   * vector the one of the least loss, as `PairedRows` states it.
   */
  nearestTwo(vectors: Int16Array): { own: Uint32Array; seconds: Uint32Array } {
    const { centroids, width } = this.state;
    const all = { values: centroids, width };
    this.#pairs ??= new PairedRows(all);
    const pairs = this.#pairs;
    const own = new Uint32Array(vectors.length / width);
    const seconds = new Uint32Array(own.length);
    this.#eachBlock(vectors, [GROUPS, SECOND_GROUPS], (some, first, [near, wider]) => {
      const firsts = own.subarray(first, first + some.length / width);
      const products = new Int32Array(firsts.length);
      productsKernel.nearestInto(all, some, firsts, near, products);
      seconds.set(pairs.secondsOf(some, firsts, products, wider), first);
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
  orderInto(query: Int16Array, order: Uint32Array, products: Int32Array): void {
    const { centroids, width } = this.state;
    const ranges = this.#near(query, NEAR_TIMES * order.length);
    productsKernel.orderInto({ values: centroids, width }, ranges, query, order, products);
  }

  /** At least so many centroids: those of the groups nearest to a query, or all. */
  #near(query: Int16Array, wanted: number): Range[] {
    const { centroids, coarse, starts, width } = this.state;
    const count = centroids.length / width;
    const groupCount = starts.length - 1;
    if (wanted >= count || groupCount < 2) return [{ first: 0, end: count }];
    const groups = new Uint32Array(groupCount);
    const ranges = [{ first: 0, end: groupCount }];
    const rows = { values: coarse, width };
    productsKernel.orderInto(rows, ranges, query, groups, new Int32Array(groupCount));
    const near: Range[] = [];
    for (let i = 0, found = 0; found < wanted; i++) {
      const [first, end] = [starts[groups[i]], starts[groups[i] + 1]];
      near.push({ first, end });
      found += end - first;
    }
    return near;
  }

  /**
   * Calls `take` for blocks of vectors, with the first one, and for each number of `groups` which
   * vectors are compared with which group of centroids, so many of the nearest ones: null where all
   * are with all.
   */
  #eachBlock(
    vectors: Int16Array,
    groups: readonly number[],
    take: (some: Int16Array, first: number, lists: readonly (GroupLists | null)[]) => void,
  ): void {
    const { starts, width } = this.state;
    const most = vectorsAtOnce(width);
    for (let first = 0; first * width < vectors.length; first += most) {
      const some = vectors.subarray(first * width, (first + most) * width);
      take(some, first, starts.length <= 2 ? groups.map(() => null) : this.#listsOf(some, groups));
    }
  }

  #listsOf(vectors: Int16Array, groups: readonly number[]): GroupLists[] {
    const { coarse, starts, width } = this.state;
    const count = starts.length - 1;
    const most = Math.min(Math.max(...groups), count);
    const near = productsKernel.nearestLists({ values: coarse, width }, vectors, most);
    return groups.map((some) => {
      const each = Math.min(some, most);
      const ends = new Uint32Array(count);
      for (let at = 0; at < near.length; at += most) {
        for (let i = 0; i < each; i++) ends[near[at + i]]++;
      }
      const members = new Uint32Array(toStarts(ends));
      for (let at = 0, vector = 0; at < near.length; at += most, vector++) {
        for (let i = 0; i < each; i++) members[ends[near[at + i]]++] = vector;
      }
      return { starts, members, ends };
    });
  }
}
