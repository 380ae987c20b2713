/**
 * Spherical k-means (Dhillon & Modha 2001). Its input are rows as vectors of one common length in
 * float64, read in blocks that kernels can compare; only the function that makes the vectors knows
 * their source. An iteration assigns each row to the centroid of the largest cosine, and moves each
 * centroid to the direction of its rows' sum. Products of rounded points, which are off by some
 * thousandths, choose the centroid; all else is float64. `cluster` and the training of partitions
 * run the same iteration.
 */

import { ascending, byGroup, type Range } from '../base/arrays';
import type { LongWork } from '../base/long-work';
import { Highest } from '../base/top-k';
import { Arena } from '../kernels/memory';
import {
  errorOf,
  type PointRows,
  pointsOf,
  pointWidth,
  productsKernel,
  roundInto,
  scaleOf,
  valuesIn,
} from '../kernels/products';
import type { Job } from '../threads/job';
import { runJob } from '../threads/parallel';
import { lengthOf } from '../vectors/vectors';
import { type CentroidTree, NEAREST_CENTROIDS } from './centroid-tree';

export interface Points {
  /** Rows that have a direction, ascending. Null, removed and all-zero rows have none. */
  readonly rows: Uint32Array;
  /** Number of all rows, with or without a direction. */
  readonly rowCount: number;
  readonly dimensions: number;
  /** Length of every point: 1, or the root of the bits for codes of ±1. */
  readonly length: number;
  /** The points of all rows where they are rounded already: read in place, not copied. */
  readonly rounded?: Int8Array;
  /** Writes the point of a row to `out[at]..`. */
  into(row: number, out: Float64Array, at: number): void;
}

/** Points that are rounded already, one after another, and are not copied. */
export function roundedOnes(rounded: Int8Array, dimensions: number): Points {
  const width = pointWidth(dimensions);
  const rowCount = rounded.length / width;
  return {
    rowCount,
    dimensions,
    length: 1,
    rounded,
    rows: ascending(rowCount),
    into(row, out, at) {
      const from = row * width;
      const scale = scaleOf(rounded, from, width);
      for (let i = 0; i < dimensions; i++) out[at + i] = rounded[from + i] * scale;
    },
  };
}

/** Space for points, all 0, in a new WebAssembly memory that kernels read in place. */
export function allocatePoints(count: number, width: number): Int8Array {
  const arena = new Arena((count + 3) * width, true); // the kernel reads up to three more
  return new Int8Array(arena.bytes.buffer, arena.bytes.byteOffset, count * width);
}

/**
 * The points of `rows[first]` to `rows[end - 1]`. Rounded ones are a view, so their rows must be
 * consecutive.
 */
export function roundedPoints(points: Points, rows: Uint32Array, { first, end }: Range): Int8Array {
  const { dimensions, rounded } = points;
  const count = end - first;
  if (rounded !== undefined) {
    const width = pointWidth(dimensions);
    return rounded.subarray(rows[first] * width, (rows[first] + count) * width);
  }
  const values = new Float64Array(count * dimensions);
  for (let i = 0; i < count; i++) points.into(rows[first + i], values, i * dimensions);
  return pointsOf({ values, lengths: new Float64Array(count).fill(1), dimensions });
}

/** The dot product of `dimensions` values from `a[aAt]` and `b[bAt]` on, added in order. */
export function dot(
  a: ArrayLike<number>,
  aAt: number,
  b: ArrayLike<number>,
  bAt: number,
  dimensions: number,
): number {
  let sum = 0;
  for (let i = 0; i < dimensions; i++) sum += a[aAt + i] * b[bAt + i];
  return sum;
}

/** Adds a vector to the sum that begins at `sums[at]`. */
export function addTo(sums: Float64Array, at: number, vector: Float64Array): void {
  for (let i = 0; i < vector.length; i++) sums[at + i] += vector[i];
}

/** Limits of the rows of a step, which has about STEP_PRODUCTS within them. */
const MAX_ROWS = 512;
const MIN_ROWS = 8;
/**
 * Products of two values in a step: about 10 ms. Large blocks of rows are faster, since each block
 * reads all centroids, which do not fit the caches.
 */
const STEP_PRODUCTS = 2 ** 28;

/** Counts the rows that were assigned, of `total` in all iterations. */
export class Progress {
  done = 0;
  constructor(readonly total: number) {}

  add(rows: number): [number, number] {
    this.done = Math.min(this.total, this.done + rows);
    return [this.done, this.total];
  }
}

/** Centroids of some points, and the sums of their rows, to whose directions they move. */
export class KMeans {
  readonly count: number;
  /** Unit vectors, one after another. */
  readonly centroids: Float64Array;
  /** The same as points; rows are compared with these. */
  readonly rounded: Int8Array;
  readonly #points: Points;
  readonly #width: number;
  /** Most rows of a step. */
  readonly #stepRows: number;
  /** Sum and number of the rows that were last assigned to each centroid. */
  readonly #sums: Float64Array;
  readonly #sizes: Uint32Array;

  /** `rounded` is where the rounded centroids are, in a memory that kernels read in place. */
  constructor(points: Points, count: number, rounded?: Int8Array) {
    this.count = count;
    this.#points = points;
    const { dimensions } = points;
    const rows = Math.floor(STEP_PRODUCTS / (count * dimensions));
    this.#stepRows = Math.max(MIN_ROWS, Math.min(MAX_ROWS, rows));
    this.#width = pointWidth(dimensions);
    this.centroids = new Float64Array(count * dimensions);
    this.rounded = rounded ?? allocatePoints(count, this.#width);
    this.#sums = new Float64Array(count * dimensions);
    this.#sizes = new Uint32Array(count);
  }

  get #rows(): PointRows {
    return { values: this.rounded, width: this.#width };
  }

  /** Copies the centroids of `from`: it must have the same number, and may have other points. */
  continue(from: KMeans): void {
    this.centroids.set(from.centroids);
    this.rounded.set(from.rounded);
  }

  /** Sets centroid i to the direction of `rows[i]`. */
  begin(rows: Uint32Array): void {
    rows.forEach((row, centroid) => {
      this.#moveTo(centroid, row);
    });
  }

  /**
   * Writes the nearest centroid of `rows[i]`, the first of equal ones, to `nearest[i]`; returns the
   * mean cosine of the rows to these. `tree` has the same centroids; without it points are compared
   * with every one.
   */
  async assign(
    rows: Uint32Array,
    nearest: Uint32Array,
    { progress, work }: { readonly progress: Progress; readonly work: LongWork },
    tree?: CentroidTree,
  ): Promise<number> {
    const { length, rounded } = this.#points;
    const [step, width] = [this.#stepRows, this.#width];
    const starts = Uint32Array.of(0, this.count);
    const all = { centroids: this.rounded, coarse: new Int8Array(), starts, width };
    const rangeOf = (i: number) => ({
      first: i * step,
      end: Math.min(rows.length, (i + 1) * step),
    });
    this.#sums.fill(0);
    this.#sizes.fill(0);
    const job: Job<CentroidTree & Pick<Points, 'rounded'>, Int8Array, Uint32Array> = {
      task: NEAREST_CENTROIDS,
      // A part is a view of rounded points if their memory is in the state, and else a copy.
      state: { ...(tree ?? all), rounded },
      count: Math.ceil(rows.length / step),
      part: (i) => roundedPoints(this.#points, rows, rangeOf(i)),
      take: (found, i) => {
        const { first, end } = rangeOf(i);
        nearest.set(found, first);
        if (rounded === undefined) this.#add(rows.subarray(first, end), found);
        else if (end === rows.length) this.#sumUp(rounded, rows, nearest);
        return progress.add(end - first);
      },
    };
    await runJob(job, work);
    const total = dot(this.#sums, 0, this.centroids, 0, this.centroids.length);
    return total / (length * rows.length);
  }

  /** Adds the points of some rows to the sums of their centroids. */
  #add(rows: Uint32Array, found: Uint32Array): void {
    const { dimensions } = this.#points;
    const point = new Float64Array(dimensions);
    for (let i = 0; i < rows.length; i++) {
      this.#points.into(rows[i], point, 0);
      addTo(this.#sums, found[i] * dimensions, point);
      this.#sizes[found[i]]++;
    }
  }

  /** Sums the rounded points of each centroid. */
  #sumUp(values: Int8Array, rows: Uint32Array, nearest: Uint32Array): void {
    const { dimensions } = this.#points;
    const { starts, members } = byGroup(nearest, this.count);
    for (let centroid = 0; centroid < this.count; centroid++) {
      const own = members.subarray(starts[centroid], starts[centroid + 1]).map((i) => rows[i]);
      this.#sizes[centroid] = own.length;
      const sum = this.#sums.subarray(centroid * dimensions, (centroid + 1) * dimensions);
      productsKernel.addRows({ values, width: this.#width }, own, sum);
    }
  }

  /**
   * Gives each centroid without rows one row: of the rows that are not the last of their centroid,
   * those farthest from it. There must be as many rows as centroids.
   */
  async repair(rows: Uint32Array, nearest: Uint32Array, work: LongWork): Promise<void> {
    const empty = [...this.#sizes.keys()].filter((centroid) => this.#sizes[centroid] === 0);
    if (empty.length === 0) return;
    const { dimensions } = this.#points;
    const point = new Float64Array(dimensions);
    // `count` candidates suffice: at most one of them is skipped for each centroid that has rows.
    const farthest = new Highest(this.count);
    for (let i = 0; i < rows.length; i++) {
      this.#points.into(rows[i], point, 0);
      farthest.take(-dot(point, 0, this.centroids, nearest[i] * dimensions, dimensions), i);
      if (i % MAX_ROWS === MAX_ROWS - 1) await work.step();
    }
    let next = 0;
    for (const i of farthest.result().rows) {
      const from = nearest[i];
      if (this.#sizes[from] === 1) continue;
      const to = empty[next++];
      nearest[i] = to;
      this.#points.into(rows[i], point, 0);
      for (let d = 0; d < dimensions; d++) this.#sums[from * dimensions + d] -= point[d];
      this.#sums.set(point, to * dimensions);
      this.#sizes[from]--;
      this.#sizes[to] = 1;
      this.#moveTo(to, rows[i]);
      if (next === empty.length) break;
    }
  }

  /**
   * Replaces the nearest centroids that `assign` found by those of the largest exact product, which
   * rounded ones cannot tell: but for the only row of a centroid.
   */
  async settle(rows: Uint32Array, nearest: Uint32Array, work: LongWork): Promise<void> {
    const { dimensions, length } = this.#points;
    const width = this.#width;
    const point = new Float64Array(dimensions);
    const cosineTo = (centroid: number) =>
      dot(point, 0, this.centroids, centroid * dimensions, dimensions) / length;
    for (let first = 0; first < rows.length; first += MAX_ROWS) {
      const end = Math.min(rows.length, first + MAX_ROWS);
      const own = roundedPoints(this.#points, rows, { first, end });
      const least = Float32Array.from({ length: end - first }, (_, i) => {
        this.#points.into(rows[first + i], point, 0);
        return cosineTo(nearest[first + i]) - errorOf(own, i * width, width);
      });
      const { ends, places } = productsKernel.highRows(this.#rows, own, least);
      for (let i = first, at = 0; i < end; i++) {
        if (ends[i - first] - at > 1 && this.#sizes[nearest[i]] > 1) {
          this.#points.into(rows[i], point, 0);
          const before = nearest[i];
          let best = cosineTo(before);
          for (const centroid of places.subarray(at, ends[i - first])) {
            const cosine = cosineTo(centroid);
            if (cosine <= best) continue;
            best = cosine;
            nearest[i] = centroid;
          }
          this.#sizes[before]--;
          this.#sizes[nearest[i]]++;
        }
        at = ends[i - first];
      }
      await work.step();
    }
  }

  /**
   * Moves each centroid to the direction of its rows' sum. One that has no rows, or whose rows
   * cancel out, stays.
   */
  move(): void {
    const { dimensions } = this.#points;
    const points = this.#rows;
    for (let centroid = 0; centroid < this.count; centroid++) {
      const at = centroid * dimensions;
      const sum = this.#sums.subarray(at, at + dimensions);
      const length = lengthOf(sum);
      if (length === 0) continue;
      for (let i = 0; i < dimensions; i++) this.centroids[at + i] = sum[i] / length;
      roundInto(sum, points, centroid * this.#width);
    }
  }

  /** Sets a centroid to the direction of a row. */
  #moveTo(centroid: number, row: number): void {
    const { dimensions } = this.#points;
    const own = this.centroids.subarray(centroid * dimensions, (centroid + 1) * dimensions);
    this.#points.into(row, own, 0);
    roundInto(own, this.#rows, centroid * this.#width);
    const length = lengthOf(own);
    for (let i = 0; length > 0 && i < dimensions; i++) own[i] /= length;
  }
}

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
 * Trains `count` centroids, at most one a point, on `sample`: points in random order, which are
 * reordered in place.
 */
export async function trainTree(
  sample: Int8Array,
  width: number,
  count: number,
  work: LongWork,
): Promise<CentroidTree> {
  const points = roundedOnes(sample, valuesIn(width));
  const { rows } = points;
  const groupCount = count < MIN_CENTROIDS ? 1 : Math.round(Math.sqrt(count));
  const few = rows.subarray(0, SAMPLE_PER_GROUP * groupCount);
  const progress = new Progress(COARSE_ROUNDS * few.length + (2 + GROUP_ROUNDS) * rows.length);
  const run = { progress, work };
  const coarse = new KMeans(points, groupCount);
  coarse.begin(rows.subarray(0, groupCount));
  const nearest = new Uint32Array(rows.length);
  for (let round = 0; groupCount > 1 && round < COARSE_ROUNDS; round++) {
    await coarse.assign(few, nearest.subarray(0, few.length), run);
    coarse.move();
  }
  await coarse.assign(rows, nearest, run);
  const { starts: groups, members } = byGroup(nearest, groupCount);
  await reorder(sample, width, members, work);
  // In proportion to the vectors of each group.
  const starts = groups.map((before) => Math.round((before / rows.length) * count));
  const centroids = allocatePoints(count, width);
  const rounds = groupCount > 1 ? GROUP_ROUNDS : GROUP_ROUNDS + 1;
  for (let group = 0; group < groupCount; group++) {
    const own = roundedOnes(
      sample.subarray(groups[group] * width, groups[group + 1] * width),
      valuesIn(width),
    );
    const some = centroids.subarray(starts[group] * width, starts[group + 1] * width);
    if (some.length === 0) continue;
    const means = new KMeans(own, some.length / width, some);
    means.begin(own.rows.subarray(0, means.count));
    for (let round = 0; round < rounds; round++) {
      const nearestOwn = nearest.subarray(0, own.rowCount);
      await means.assign(own.rows, nearestOwn, run);
      await means.repair(own.rows, nearestOwn, work);
      means.move();
    }
  }
  const tree = { centroids, coarse: coarse.rounded, starts, width };
  if (groupCount > 1) {
    const means = new KMeans(points, count, centroids);
    await means.assign(rows, nearest, run, tree);
    means.move();
  }
  return inLine(tree, work);
}

/**
 * Numbers groups, and the centroids of each, so that each is near the one before: of 8,192, the 76
 * that a query visits are 46 runs of numbers in place of 64, and partitions lie in files in the
 * order of their numbers.
 */
async function inLine(
  { centroids, coarse, starts, width }: CentroidTree,
  work: LongWork,
): Promise<CentroidTree> {
  const groups = chainOf(coarse, width, coarse);
  const order: number[] = [];
  const newStarts = [0];
  let last = coarse;
  for (const group of groups) {
    const own = centroids.subarray(starts[group] * width, starts[group + 1] * width);
    for (const i of chainOf(own, width, last)) order.push(starts[group] + i);
    newStarts.push(order.length);
    if (own.length > 0) last = centroids.subarray((order.at(-1) as number) * width);
  }
  await reorder(coarse, width, groups, work);
  await reorder(centroids, width, Uint32Array.from(order), work);
  return { centroids, coarse, starts: Uint32Array.from(newStarts), width };
}

/** The order of rows in which the nearest that is left follows each, the first one `from`. */
function chainOf(values: Int8Array, width: number, from: Int8Array): Uint32Array {
  const order = new Uint32Array(values.length / width);
  const products = new Float32Array(order.length);
  const isTaken = new Uint8Array(order.length);
  let last = from.subarray(0, width);
  for (let at = 0; at < order.length; at++) {
    productsKernel.productsInto({ values, width }, last, products);
    let best = -1;
    for (let i = 0; i < products.length; i++) {
      if (isTaken[i] === 0 && (best < 0 || products[i] > products[best])) best = i;
    }
    order[at] = best;
    isTaken[best] = 1;
    last = values.subarray(best * width, (best + 1) * width);
  }
  return order;
}

/**
 * Makes point `from[i]` of `width` bytes the i-th one, for all i, in place: along each cycle, with
 * one spare point. Overwrites `from`.
 */
export async function reorder(
  vectors: Int8Array,
  width: number,
  from: Uint32Array,
  work: LongWork,
): Promise<void> {
  const spare = new Int8Array(width);
  let moves = 0;
  for (let first = 0; first < from.length; first++) {
    if (from[first] === first) continue;
    spare.set(vectors.subarray(first * width, (first + 1) * width));
    let at = first;
    for (let next = from[at]; next !== first; next = from[at]) {
      vectors.copyWithin(at * width, next * width, (next + 1) * width);
      from[at] = at;
      at = next;
      if (++moves % 4096 === 0) await work.step(); // here, since one cycle may include all vectors
    }
    vectors.set(spare, at * width);
    from[at] = at;
  }
}
