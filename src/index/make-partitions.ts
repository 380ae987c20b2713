/**
 * Puts the distinct codes of an index into partitions: centroids are trained on a sample, each code
 * goes to the nearest and, where codes lie far from all centroids, into a second partition too.
 */

import { drawn } from '../base/draw';
import { alea } from '../base/random';
import type { Steps } from '../base/steps';
import { allocateIntegers } from '../k-means/points';
import { SECONDS_IN_TREE, secondsStateOf } from '../k-means/second-centroid';
import { type CentroidTree, NEAREST_IN_TREE, trainTree } from '../k-means/two-level';
import { inParallel } from '../threads/parallel';
import type { DistinctCodes } from './distinct/distinct-codes';
import type { HeldOut } from './evaluation';
import type { CodeOrder, IndexParts } from './index-parts';
import { Centroids } from './partitions/centroids';
import { groupedByPartition } from './partitions/grouped';
import { meanNearness, Partitions } from './partitions/partitions';
import { residualBytesOf } from './partitions/residual-codes';
import { type Space, spaceOf } from './partitions/space';

/** What the making of partitions needs of the options of `optimize`. */
interface PartitionOptions {
  readonly partitions: number | undefined;
  readonly copies: boolean | undefined;
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
/**
 * Copies pay where the mean cosine of vectors with their centroids is less, and where there are so
 * many codes that scoring them is most of a search: measured .48 on sentences, where a search
 * scores 2.8 times fewer entries, .57 on GloVe (1.2 times, which its fixed cost hides) and .94 on
 * images (none fewer).
 */
const MAX_NEARNESS_COPIED = 0.52;
const MIN_COPIED = 2 ** 16;

/** The distinct codes in partitions; in their present order where they are too few. */
export function* inPartitions(
  parts: IndexParts,
  wanted: PartitionOptions,
  heldOut: HeldOut,
): Steps<CodeOrder> {
  const { distinctCodes } = parts;
  const used = distinctCodes.nonEmpty();
  if (wanted.partitions === undefined && used.length < MIN_CODES) {
    return { distinctCodes: yield* distinctCodes.rearranged(used), partitions: null };
  }
  const others = used.filter((distinct) => !heldOut.has(distinctCodes.rowOf(distinct)));
  const trained = others.length > 0 ? others : used;
  const usual = usualPartitions(used.length);
  const count = Math.min(wanted.partitions ?? usual, trained.length);
  const space = spaceOf(parts, distinctCodes);
  const drawnCodes = yield* drawn(trained, sampleSize(count), alea(wanted.seed));
  const sample = allocateIntegers(drawnCodes.length, space.width); // threads read it in place
  for (let i = 0; i < drawnCodes.length; i++) {
    space.vectorInto(drawnCodes[i], sample, i * space.width);
    if (i % STEP_ROWS === STEP_ROWS - 1) yield undefined;
  }
  const training = { count, seed: wanted.seed, kernel: parts.kernel };
  const tree = yield* trainTree(sample, space.width, training);
  const nearest = yield* nearestCentroids(space, tree, distinctCodes);
  const { centroids } = tree;
  const grouped = yield* groupedByPartition(distinctCodes, nearest, count);
  yield undefined;
  const { distinctCodes: ordered, starts } = grouped;
  const grouping = {
    centroids,
    starts,
    ...(yield* copiesFor(parts, ordered, starts, { tree, wanted })),
  };
  const partitions = yield* Partitions.of(parts, ordered, grouping);
  return { distinctCodes: ordered, partitions };
}

/** The second partition of each code, where copies are wanted or pay; needs residual codes. */
function* copiesFor(
  parts: IndexParts,
  distinctCodes: DistinctCodes,
  starts: Uint32Array,
  { tree, wanted }: { tree: CentroidTree; wanted: PartitionOptions },
): Steps<{ nearness?: number; seconds?: Uint32Array }> {
  const { dense } = parts;
  if (dense === null || residualBytesOf(parts) === 0 || starts.length < 3) return {};
  const routing = new Centroids(tree.centroids, tree.state.width, parts.kernel);
  const nearness = meanNearness(dense, distinctCodes, { starts, routing });
  if (!(wanted.copies ?? copiesPay(distinctCodes.count, nearness))) return { nearness };
  return { nearness, seconds: yield* secondCentroids(parts, distinctCodes, starts, tree) };
}

/** Whether a search gains by copies more than they cost: see the constants. */
export function copiesPay(distinctCodes: number, nearness: number): boolean {
  return distinctCodes >= MIN_COPIED && nearness < MAX_NEARNESS_COPIED;
}

function* secondCentroids(
  parts: IndexParts,
  distinctCodes: DistinctCodes,
  starts: Uint32Array,
  tree: CentroidTree,
): Steps<Uint32Array> {
  const space = spaceOf(parts, distinctCodes);
  const { width } = space;
  const total = starts[starts.length - 1];
  const seconds = new Uint32Array(total);
  const own = new Uint32Array(total);
  for (let p = 0; p + 1 < starts.length; p++) own.fill(p, starts[p], starts[p + 1]);
  yield* inParallel({
    task: SECONDS_IN_TREE,
    state: secondsStateOf(tree),
    count: Math.ceil(total / STEP_ROWS),
    part(i) {
      const first = i * STEP_ROWS;
      const some = own.slice(first, first + STEP_ROWS);
      const points = new Int16Array(some.length * width);
      for (let j = 0; j < some.length; j++) space.vectorInto(first + j, points, j * width);
      return { points, own: some };
    },
    take(found, i) {
      seconds.set(found, i * STEP_ROWS);
      return [i * STEP_ROWS + found.length, total];
    },
  });
  return seconds;
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
