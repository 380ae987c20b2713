/**
 * Trains a space on a sample of points, and says which rows a sample may have: a row whose vector's
 * hash falls into one class of 32 never trains a space, so that searches for it show what searches
 * for new vectors find. Equal vectors are on one side.
 */

import { ascending } from '../base/arrays';
import type { LongWork } from '../base/long-work';
import { mixed, shareAt } from '../base/random';
import { centroidBits } from '../k-means/centroid-tree';
import { allocatePoints, reorder, trainTree } from '../k-means/k-means';
import { NO_ROW } from '../kernels/hits';
import { endPoint, MOST, type PointRows, product } from '../kernels/products';
import { bytesPerEntryOf, type RowsToPlace, Space } from './space';

/** Of so many classes of hashes one is held out. */
export const HELD_OUT_CLASSES = 32;
/** With fewer rows that have codes, a scan takes no longer than finding their partitions. */
export const MIN_PARTITIONED_ROWS = 4096;
/**
 * With 32,768 partitions of 10,000,000 sentences a folder answers 66 queries a second from the page
 * cache in place of 60, after many others 110 in place of 119; building takes 1.4 times as long.
 */
const MAX_PARTITIONS = 8192;
/**
 * Partitions per square root of the rows. With fewer, partitions are large; with more, finding the
 * nearest centroids takes long. Twice as many look at a third fewer rows for the same recall: a
 * fifth faster on sentences, no faster on GloVe, and optimizing takes a third longer.
 */
const PARTITIONS_PER_ROOT = 3.5;
/**
 * Rows of a partition: with more, rows about as near as each other share it with others, and a
 * search reads all of them. Counts where a root of millions of rows makes large partitions.
 */
const ROWS_PER_PARTITION = 150;
/**
 * Rows that train one centroid, as far as memory has room for them, and the fewest. Searches score
 * .85 of the entries that they score with 40 a centroid (GloVe; sentences .87), and optimizing
 * takes as long or a tenth longer.
 */
const SAMPLE_PER_CENTROID = 160;
const LEAST_PER_CENTROID = 40;
const MIN_SAMPLE = 2 ** 14;
/** Points whose cosines with their centroids are averaged. */
const NEARNESS_POINTS = 8192;
/**
 * Mixed into the seed, so that a sample is not drawn by the hashes that order evaluation queries.
 */
const SAMPLING = 0x5a4d_504c;

/**
 * For each row a hash of its `width` values as they are held, or of its code where none are. Rows
 * that keep a single value as int8 may differ by what they lost: of these it is a hash of the row.
 */
export function keysOf(
  values: Float32Array | Int8Array | Uint8Array,
  width: number,
  rows: Uint32Array,
): Int32Array {
  const { buffer, byteOffset, length } = values;
  const words =
    values instanceof Float32Array ? new Int32Array(buffer, byteOffset, length) : values;
  const keys = new Int32Array(length / width);
  for (let row = 0, at = 0; row < keys.length; row++) {
    let [hash, kept] = [width, 0];
    for (const end = at + width; at < end; at++) {
      hash = Math.imul(hash ^ words[at], 0x9e37_79b1);
      hash ^= hash >>> 15;
      kept += Number(words[at] !== 0);
    }
    keys[row] = mixed(kept <= 1 && values instanceof Int8Array ? rows[row] : hash);
  }
  return keys;
}

/** True if rows of a key are held out. */
export function isHeldOut(key: number): boolean {
  return (key & (HELD_OUT_CLASSES - 1)) === 0;
}

/** What a space of an index is, before it is trained. */
interface SpaceOrigin {
  readonly bits: number;
  /** Dimensions of held dense vectors; null where there are none. */
  readonly dimensions: number | null;
  /** Of the rotation. */
  readonly seed: bigint;
}

/** A space that only makes points, to be trained. */
export function untrainedSpace({ bits, dimensions, seed }: SpaceOrigin): Space {
  const isDense = dimensions !== null && bytesPerEntryOf(dimensions) > 0;
  const none = { coarse: new Int8Array(), starts: new Uint32Array(), width: 0 };
  const tree = { ...none, centroids: new Int8Array() };
  const own = isDense
    ? { kind: 'dense' as const, dimensions }
    : { kind: 'codes' as const, dimensions: bits };
  return new Space({ ...own, seed, nearness: 1, tree, hasCopies: false });
}

/** How many rows are drawn to train so many centroids, where memory has room for `most` points. */
export function sampleSize(centroids: number, most: number): number {
  const wanted = Math.min(SAMPLE_PER_CENTROID * centroids, Math.floor(most));
  return Math.max(MIN_SAMPLE, LEAST_PER_CENTROID * centroids, wanted);
}

/** A power of two near the number that PARTITIONS_PER_ROOT or ROWS_PER_PARTITION ask for. */
export function usualPartitions(rows: number): number {
  const wanted = Math.max(PARTITIONS_PER_ROOT * Math.sqrt(rows), rows / ROWS_PER_PARTITION);
  let count = 1;
  while (count < MAX_PARTITIONS && count * Math.SQRT2 < wanted) count *= 2;
  return count;
}

/** What a sample is drawn from, and how many points of which space it has. */
interface Sampled {
  readonly space: Space;
  /** About how many points the sample has. */
  readonly most: number;
  readonly rows: number;
  readonly seed: number;
}

/**
 * Points of rows whose hashes are low enough that about `most` of `rows` are: the same rows, in the
 * same random order, wherever they lie and in whatever order they come.
 */
export class TrainingSample {
  readonly #space: Space;
  readonly #seed: number;
  /** Rows with hashes below this are in the sample. */
  readonly #below: number;
  readonly #points: Int8Array;
  readonly #hashes: Float64Array;
  count = 0;

  constructor({ space, most, rows, seed }: Sampled) {
    this.#space = space;
    this.#seed = seed;
    this.#below = most / rows;
    // Six standard deviations more than expected: no sample is larger.
    const room = Math.min(rows, Math.ceil(most + 6 * Math.sqrt(most)));
    this.#points = allocatePoints(room, space.width);
    this.#hashes = new Float64Array(room);
  }

  /** Takes some of the rows, none of those that are held out where keys are given. */
  offer({ rows, vectors, codes }: RowsToPlace, keys: Int32Array | null): void {
    const { width } = this.#space;
    const own = rows.slice();
    const hashes = new Float64Array(rows.length);
    for (let i = 0; i < own.length; i++) {
      if (own[i] === NO_ROW || (keys !== null && isHeldOut(keys[i]))) own[i] = NO_ROW;
      else hashes[i] = shareAt(this.#seed ^ SAMPLING, own[i]);
      if (hashes[i] >= this.#below) own[i] = NO_ROW;
    }
    const lengths = vectors?.lengths.map((length, i) => (own[i] === NO_ROW ? 0 : length));
    const some = vectors && { ...vectors, lengths: lengths as Float64Array };
    const points = this.#space.pointsOf({ rows: own, vectors: some, codes });
    for (const [i, row] of own.entries()) {
      if (row === NO_ROW || this.count === this.#hashes.length) continue;
      this.#points.set(points.subarray(i * width, (i + 1) * width), this.count * width);
      this.#hashes[this.count++] = hashes[i];
    }
  }

  /** The points in the order of their hashes. To be called once: it moves them. */
  async points(work: LongWork): Promise<Int8Array> {
    const { width } = this.#space;
    const points = this.#points.subarray(0, this.count * width);
    const hashes = this.#hashes;
    const order = ascending(this.count).sort((a, b) => hashes[a] - hashes[b]);
    await reorder(points, width, order, work);
    return points;
  }
}

/**
 * Trains so many centroids, at most one a point, on points of rows that are not held out, in random
 * order: they are reordered in place, in memory of `allocatePoints`.
 */
export async function trainSpace(
  untrained: Space,
  points: Int8Array,
  partitions: number,
  work: LongWork,
): Promise<Space> {
  const { width, parts } = untrained;
  const count = Math.min(partitions, points.length / width);
  const tree = await trainTree(points, width, count, work);
  for (const values of [tree.centroids, tree.coarse]) coarsen({ values, width }, parts.dimensions);
  const space = new Space({ ...parts, tree });
  if (parts.kind === 'codes') return space;
  return new Space({ ...parts, nearness: nearnessOf(space, points), tree });
}

/** Rounds points to the bits that centroids have in files. */
function coarsen({ values, width }: PointRows, dimensions: number): void {
  const share = (2 ** (centroidBits(dimensions) - 1) - 1) / MOST;
  for (let at = 0; at < values.length; at += width) {
    for (let i = at; i < at + dimensions; i++) values[i] = Math.round(values[i] * share);
    endPoint({ values, width }, at);
  }
}

/** The mean cosine of points with their centroids, over some of them: evenly spaced. */
function nearnessOf(space: Space, points: Int8Array): number {
  const { width } = space;
  const every = width * Math.max(1, Math.floor(points.length / width / NEARNESS_POINTS));
  const some = new Int8Array(width * Math.ceil(points.length / every));
  for (let from = 0, at = 0; from < points.length; from += every, at += width) {
    some.set(points.subarray(from, from + width), at);
  }
  const nearest = space.nearestTo(some);
  const { centroids } = space.parts.tree;
  let sum = 0;
  for (const [i, p] of nearest.entries()) {
    sum += product(centroids, p * width, some, i * width, width);
  }
  return Math.max(1e-3, Math.min(1, sum / Math.max(1, nearest.length)));
}
