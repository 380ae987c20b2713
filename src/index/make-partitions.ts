/**
 * Puts the distinct codes of an index into partitions: centroids are trained on a sample, each code
 * goes to the nearest and, where codes lie far from all centroids, into a second partition too.
 */

import { lowerBound } from '../base/arrays';
import { drawn } from '../base/draw';
import { alea } from '../base/random';
import type { Steps } from '../base/steps';
import { allocateIntegers } from '../k-means/points';
import { secondsOf, secondsStateOf } from '../k-means/second-centroid';
import { type CentroidTree, NEAREST_IN_TREE, trainTree } from '../k-means/two-level';
import { inParallel } from '../threads/parallel';
import { COPY_NEIGHBORS, copiesPay } from './copies-pay';
import type { DistinctCodes } from './distinct/distinct-codes';
import type { HeldOut } from './evaluation';
import type { CodeOrder, IndexParts } from './index-parts';
import { groupedByPartition } from './partitions/grouped';
import { Partitions } from './partitions/partitions';
import { residualBytesOf } from './partitions/residual-codes';
import { type Space, spaceOf } from './partitions/space';
import type { Evaluated } from './recall';

/** What the making of partitions needs of the options of `optimize`. */
interface PartitionOptions {
  readonly partitions: number | undefined;
  readonly seed: string;
}

/** With fewer distinct codes, a scan takes no longer than finding their partitions. */
export const MIN_CODES = 4096;
const MAX_PARTITIONS = 8192;
/**
 * Partitions per square root of the distinct codes. With fewer, partitions are large; with more,
 * finding the nearest centroids takes long. Twice as many look at a third fewer rows for the same
 * recall: a fifth faster on sentences, no faster on GloVe, and optimizing takes a third longer.
 */
const PARTITIONS_PER_ROOT = 3.5;
/**
 * Distinct codes of a partition: with more, rows about as near as each other share it with others,
 * and a search reads all of them. Counts where a root of millions of codes makes large partitions.
 */
const CODES_PER_PARTITION = 150;
/** Rows that train one centroid. */
const SAMPLE_PER_CENTROID = 40;
/** Fewest rows that are drawn for training. */
const MIN_DRAWN = 2 ** 14;
/** Rows between two steps. */
const STEP_ROWS = 4096;

/** The distinct codes in the order of their partitions, whose residual codes are not made yet. */
interface GroupedCodes {
  readonly distinctCodes: DistinctCodes;
  /** Null where there are too few codes for partitions; they are in their present order then. */
  readonly tree: CentroidTree | null;
  /** The first distinct code of each partition, and at last their number. */
  readonly starts: Uint32Array;
}

/** Trains centroids, and puts the distinct codes in the order of their partitions. */
export function* groupedCodes(
  parts: IndexParts,
  wanted: PartitionOptions,
  heldOut: HeldOut,
): Steps<GroupedCodes> {
  const { distinctCodes } = parts;
  const used = distinctCodes.nonEmpty();
  if (wanted.partitions === undefined && used.length < MIN_CODES) {
    const starts = Uint32Array.of(0, used.length);
    return { distinctCodes: yield* distinctCodes.rearranged(used), tree: null, starts };
  }
  const others = used.filter((distinct) => !heldOut.has(distinctCodes.rowOf(distinct)));
  const trained = others.length > 0 ? others : used;
  const usual = usualPartitions(used.length);
  const count = Math.min(wanted.partitions ?? usual, trained.length);
  const space = spaceOf(parts, distinctCodes);
  const drawnCodes = drawn(trained, sampleSize(count), alea(wanted.seed));
  const sample = allocateIntegers(drawnCodes.length, space.width); // threads read it in place
  for (let i = 0; i < drawnCodes.length; i++) {
    space.vectorInto(drawnCodes[i], sample, i * space.width);
    if (i % STEP_ROWS === STEP_ROWS - 1) yield undefined;
  }
  const training = { count, seed: wanted.seed };
  const tree = yield* trainTree(sample, space.width, training);
  const nearest = yield* nearestCentroids(space, tree, distinctCodes);
  const grouped = yield* groupedByPartition(distinctCodes, nearest, count);
  yield undefined;
  return { ...grouped, tree };
}

/** The partitions of grouped codes, with their residual codes. */
export function* partitionsOf(
  parts: IndexParts,
  { distinctCodes, tree, starts }: GroupedCodes,
  copies: boolean,
): Steps<CodeOrder> {
  if (tree === null) return { distinctCodes, partitions: null };
  const hasCopies = copies && residualBytesOf(parts) > 0 && starts.length > 2;
  const seconds = hasCopies ? yield* secondCentroids(parts, distinctCodes, starts, tree) : null;
  const grouping = { centroids: tree.centroids, starts, seconds };
  return { distinctCodes, partitions: yield* Partitions.of(parts, distinctCodes, grouping) };
}

/** Whether searches of grouped codes gain by copies, by the neighbours of evaluation queries. */
export function copiesPayFor(
  parts: IndexParts,
  { distinctCodes, tree, starts }: GroupedCodes,
  asked: readonly Evaluated[],
  recall: number,
): boolean {
  const { dense } = parts;
  if (tree === null || dense === null || residualBytesOf(parts) === 0) return false;
  const space = spaceOf(parts, distinctCodes);
  const { width } = space;
  const near = asked.map(({ neighbors }) => {
    const coded = neighbors.filter((row) => distinctCodes.hasCode(row));
    return Array.from(coded.subarray(0, COPY_NEIGHBORS), (row) => distinctCodes.distinctOf(row));
  });
  const distinct = near.flat();
  const neighbors = new Int16Array(distinct.length * width);
  for (const [i, one] of distinct.entries()) space.vectorInto(one, neighbors, i * width);
  const queries = new Int16Array(asked.length * width);
  for (const [i, { query }] of asked.entries()) {
    queries.set(space.queryOf(query.sums ?? [], query.unit), i * width);
  }
  const spread = {
    ...{ queries, neighbors, counts: near.map(({ length }) => length) },
    own: Uint32Array.from(distinct, (one) => lowerBound(starts, one + 1) - 1),
    sizes: Uint32Array.from({ length: starts.length - 1 }, (_, p) => starts[p + 1] - starts[p]),
    codes: distinctCodes.count,
  };
  return copiesPay(tree, spread, recall);
}

/** The second partition of each distinct code. */
function* secondCentroids(
  parts: IndexParts,
  distinctCodes: DistinctCodes,
  starts: Uint32Array,
  tree: CentroidTree,
): Steps<Uint32Array> {
  const space = spaceOf(parts, distinctCodes);
  const { width } = space;
  const own = new Uint32Array(starts[starts.length - 1]);
  for (let p = 0; p + 1 < starts.length; p++) own.fill(p, starts[p], starts[p + 1]);
  return yield* secondsOf(yield* secondsStateOf(tree), own, (first, end) => {
    const points = new Int16Array((end - first) * width);
    for (let i = first; i < end; i++) space.vectorInto(i, points, (i - first) * width);
    return points;
  });
}

/** The nearest centroid of each distinct code; 0 of empty codes, which are left out later. */
function* nearestCentroids(
  space: Space,
  tree: CentroidTree,
  distinctCodes: IndexParts['distinctCodes'],
): Steps<Uint32Array> {
  const { width } = space;
  const nearest = new Uint32Array(distinctCodes.count);
  const used = distinctCodes.nonEmpty();
  const block = new Int16Array(STEP_ROWS * width);
  yield* inParallel({
    task: NEAREST_IN_TREE,
    state: tree.state,
    count: Math.ceil(used.length / STEP_ROWS),
    part(i) {
      const first = i * STEP_ROWS;
      const some = used.subarray(first, first + STEP_ROWS);
      for (let j = 0; j < some.length; j++) space.vectorInto(some[j], block, j * width);
      return { points: block.subarray(0, some.length * width), first };
    },
    take(found, i) {
      const first = i * STEP_ROWS;
      for (let j = 0; j < found.length; j++) nearest[used[first + j]] = found[j];
      return [first + found.length, used.length];
    },
  });
  return nearest;
}

/** How many rows are drawn to train so many centroids, in memory with room for so many. */
export function sampleSize(centroids: number, room = Number.POSITIVE_INFINITY): number {
  const wanted = SAMPLE_PER_CENTROID * centroids;
  return room < wanted ? room : Math.max(MIN_DRAWN, wanted);
}

/** A power of two near the number that PARTITIONS_PER_ROOT or CODES_PER_PARTITION ask for. */
export function usualPartitions(distinctCodes: number): number {
  const byRoot = PARTITIONS_PER_ROOT * Math.sqrt(distinctCodes);
  const wanted = Math.max(byRoot, distinctCodes / CODES_PER_PARTITION);
  let count = 1;
  while (count < MAX_PARTITIONS && count * Math.SQRT2 < wanted) count *= 2;
  return count;
}
