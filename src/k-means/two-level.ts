/**
 * The centroids of an index's partitions, in two levels, so that training them and finding the
 * nearest costs a fraction: vectors are grouped by a few coarse centroids, and each group has its
 * own centroids. A vector is compared with the centroids of the groups nearest to it. They nearly
 * always include its nearest centroid, and else one about as near. Products are of integers and
 * draws are seeded, so that the same vectors and seed give the same centroids on every machine.
 *
 * A search finds a vector in the partition of its second centroid too (`SecondCentroids`).
 */

import { type Range, toStarts } from '../base/arrays';
import { checkInteger, wrongType } from '../base/check';
import type { LongWork } from '../base/long-work';
import { alea } from '../base/random';
import {
  type GroupLists,
  PairedRows,
  productsKernel,
  UNIT,
  vectorsAtOnce,
} from '../kernels/products';
import type { Task } from '../threads/job';
import { runJob } from '../threads/parallel';
import { KMeans, Progress } from './k-means';
import { allocateIntegers, integerPoints, roundToByteRows } from './points';

/** Number of groups whose centroids a vector is compared with. */
const GROUPS = 4;
/**
 * A query that wants the nearest centroids is compared with so many times as many, those of the
 * groups nearest to it: they hold nearly all that it wants.
 */
const NEAR_TIMES = 32;
/** Fewer centroids form one group, so that all are compared. */
const MIN_CENTROIDS = 128;
/** Vectors for each coarse centroid in its training. */
const SAMPLE_PER_GROUP = 256;
/**
 * Rounds of k-means over coarse centroids, and within each group. One more round compares vectors
 * with the centroids of all near groups: without it the recall of the nouns by 16 probes falls from
 * .926 to .915 with 256 centroids, and from .892 to .882 with 600.
 */
const COARSE_ROUNDS = 5;
const GROUP_ROUNDS = 4;

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
export const NEAREST_IN_TREE: Task<TreeState, Int16Array, Uint32Array> = {
  name: 'nearest in tree',
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

  constructor(state: TreeState) {
    this.state = state;
  }

  get centroids(): Int16Array {
    return this.state.centroids;
  }

  /** Writes for each vector the nearest of the centroids of the GROUPS groups nearest to it. */
  nearestInto(vectors: Int16Array, out: Uint32Array): void {
    const { centroids, width } = this.state;
    const all = { values: centroids, width };
    this.eachBlock(vectors, [GROUPS], (some, first, [lists]) => {
      const end = first + some.length / width;
      productsKernel.nearestInto(all, some, out.subarray(first, end), lists);
    });
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
  eachBlock(
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

/** Options of `trainTree`. */
interface TreeTraining {
  /** Centroids wanted; at most as many as there are vectors in the sample. */
  count: number;
  seed: string;
}

/**
 * Trains centroids on `sample`: vectors of `width` integers in random order, which are reordered in
 * place. A centroid without vectors moves to a random vector of its group. The centroids are
 * rounded so that 8 bits a value store them without loss (`roundToByteRows`).
 */
export async function trainTree(
  sample: Int16Array,
  width: number,
  { count, seed }: TreeTraining,
  work: LongWork,
): Promise<CentroidTree> {
  const points = integerPoints(sample, width);
  const { rows } = points;
  const groupCount = count < MIN_CENTROIDS ? 1 : Math.round(Math.sqrt(count));
  const few = rows.subarray(0, SAMPLE_PER_GROUP * groupCount);
  const progress = new Progress(COARSE_ROUNDS * few.length + (2 + GROUP_ROUNDS) * rows.length);
  const coarse = new KMeans(points, groupCount);
  coarse.begin(rows.subarray(0, groupCount));
  const nearest = new Uint32Array(rows.length);
  for (let round = 0; groupCount > 1 && round < COARSE_ROUNDS; round++) {
    await runJob(coarse.assignment(few, nearest.subarray(0, few.length), progress).job, work);
    coarse.move();
  }
  await runJob(coarse.assignment(rows, nearest, progress).job, work);
  const groups = await sortedByGroup(sample, width, { of: nearest, count: groupCount }, work);
  // In proportion to the vectors of each group.
  const starts = groups.map((before) => Math.round((before / rows.length) * count));
  const centroids = allocateIntegers(count, width);
  const random = alea(seed);
  const rounds = groupCount > 1 ? GROUP_ROUNDS : GROUP_ROUNDS + 1;
  for (let group = 0; group < groupCount; group++) {
    const own = integerPoints(
      sample.subarray(groups[group] * width, groups[group + 1] * width),
      width,
    );
    const some = centroids.subarray(starts[group] * width, starts[group + 1] * width);
    if (some.length === 0) continue;
    const means = new KMeans(own, some.length / width, some);
    means.begin(own.rows.subarray(0, means.count));
    for (let round = 0; round < rounds; round++) {
      await runJob(
        means.assignment(own.rows, nearest.subarray(0, own.rowCount), progress).job,
        work,
      );
      means.move(() => Math.floor(random() * own.rowCount));
    }
  }
  const tree = new CentroidTree({ centroids, coarse: coarse.rounded, starts, width });
  if (groupCount > 1) {
    const means = new KMeans(points, count, centroids);
    const routed = { task: NEAREST_IN_TREE, state: tree.state };
    await runJob(means.assignment(rows, nearest, progress, routed).job, work);
    means.move();
  }
  roundToByteRows(centroids, width, UNIT); // they take half of the bytes in a file
  return tree;
}

/**
 * Sorts vectors by group, in place: follows each cycle of the permutation with one spare vector.
 * Returns the first vector of each group, and at last their number.
 */
async function sortedByGroup(
  sample: Int16Array,
  width: number,
  { of: groupOf, count }: { readonly of: Uint32Array; readonly count: number },
  work: LongWork,
): Promise<Uint32Array> {
  const groups = new Uint32Array(count + 1);
  for (const group of groupOf) groups[group + 1]++;
  for (let group = 0; group < count; group++) groups[group + 1] += groups[group];
  const next = groups.slice(0, count);
  const target = groupOf.map((group) => next[group]++);
  const spare = new Int16Array(width);
  let moves = 0;
  for (let row = 0; row < target.length; row++) {
    while (target[row] !== row) {
      if (++moves % 4096 === 0) await work.step(); // here, since one cycle may include all rows
      const to = target[row];
      spare.set(sample.subarray(to * width, (to + 1) * width));
      sample.copyWithin(to * width, row * width, (row + 1) * width);
      sample.set(spare, row * width);
      [target[row], target[to]] = [target[to], to];
    }
  }
  return groups;
}

/**
 * Measured on 352,575 sentences with 2,048 partitions: until a search has seen .95 of the true
 * neighbours it scores 65,000 entries without second centroids, 29,000 with them. When only the 16
 * nearest centroids of these groups were compared, 8 groups took 15 % more entries than 16, all
 * groups 3 % less. A factor of 1 or 2 in place of 1.5 in the loss of `PairedRows` changed them by
 * less than a tenth. With 8 groups, 97 probes find .954 of the true neighbours, with 16 .957.
 */
const SECOND_GROUPS = 16;

/**
 * The second centroid of a vector. It is near the vector, in another direction than the first: a
 * query from whose side the first centroid is far, so that its partition is visited late, then
 * visits the second one early (SOAR; Sun et al., NeurIPS 2023). Of the centroids of the groups
 * nearest to a vector the one of the least loss, as `PairedRows` states it.
 */
export class SecondCentroids {
  readonly #tree: CentroidTree;
  readonly #pairs: PairedRows;

  constructor(state: TreeState) {
    this.#tree = new CentroidTree(state);
    this.#pairs = new PairedRows({ values: state.centroids, width: state.width });
  }

  /**
   * For each vector its centroid, as `nearestInto` of the tree finds it, and its second one; with
   * one centroid, that one.
   */
  nearestTwo(vectors: Int16Array): { own: Uint32Array; seconds: Uint32Array } {
    const { centroids, width } = this.#tree.state;
    const all = { values: centroids, width };
    const own = new Uint32Array(vectors.length / width);
    const seconds = new Uint32Array(own.length);
    this.#tree.eachBlock(vectors, [GROUPS, SECOND_GROUPS], (some, first, [near, wider]) => {
      const firsts = own.subarray(first, first + some.length / width);
      const products = new Int32Array(firsts.length);
      productsKernel.nearestInto(all, some, firsts, near, products);
      seconds.set(this.#pairs.secondsOf(some, firsts, products, wider), first);
    });
    // Groups without other centroids leave none: then any other, so that the two differ.
    const count = centroids.length / width;
    for (let i = 0; i < own.length; i++) {
      if (seconds[i] === own[i]) seconds[i] = (own[i] + 1) % count;
    }
    return { own, seconds };
  }
}
