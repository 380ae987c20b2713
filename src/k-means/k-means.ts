/**
 * One iteration of spherical k-means (Dhillon & Modha 2001): assigns each row to the centroid of
 * the largest cosine, and moves each centroid to the direction of its rows' sum, which never lowers
 * the mean cosine. Integer products, exact for vectors rounded to 16 bits, choose the centroid; all
 * else is float64. `cluster` and the training of partitions run the same iteration.
 */

import { toStarts } from '../base/arrays';
import type { LongWork } from '../base/long-work';
import { Highest } from '../base/top-k';
import { productsKernel } from '../kernels/products';
import type { Job, Task } from '../threads/job';
import { lengthOf } from '../vectors/vectors';
import { allocateIntegers, dot, PointBlock, type Points, roundInto } from './points';

/** Limits of the rows of a step, which has about STEP_PRODUCTS within them. */
const MAX_ROWS = 512;
const MIN_ROWS = 8;
/**
 * Products of two values in a step: about 10 ms. Large blocks of rows are faster, since each block
 * reads all centroids, which do not fit the caches.
 */
const STEP_PRODUCTS = 2 ** 28;

/** Assigns rows to centroids: a job, whose result is there when it is done. */
interface Assignment {
  readonly job: Job<object, Int16Array, Uint32Array>;
  /** The mean cosine of the rows to their centroids. */
  objective(): number;
}

/** Counts the rows that were assigned, of `total` in all iterations. */
export class Progress {
  done = 0;
  constructor(readonly total: number) {}

  add(rows: number): [number, number] {
    this.done = Math.min(this.total, this.done + rows);
    return [this.done, this.total];
  }
}

/** Centroids of length UNIT, one after another. */
interface RoundedCentroids {
  readonly values: Int16Array;
  readonly width: number;
}

/** Compares rounded points with every centroid. */
export const NEAREST_CENTROIDS: Task<RoundedCentroids, Int16Array, Uint32Array> = {
  name: 'nearest centroids',
  open:
    ({ values, width }) =>
    (points) => {
      const out = new Uint32Array(points.length / width);
      productsKernel.nearestInto({ values, width }, points, out);
      return out;
    },
};

/** Centroids of some points, and the sums of their rows, to whose directions they move. */
export class KMeans {
  readonly count: number;
  /** Unit vectors, one after another. */
  readonly centroids: Float64Array;
  /** The same as integers of length UNIT, padded; rows are compared with these. */
  readonly rounded: Int16Array;
  readonly #points: Points;
  readonly #block: PointBlock;
  /** Sum and number of the rows that were last assigned to each centroid. */
  readonly #sums: Float64Array;
  readonly #sizes: Uint32Array;

  /** `rounded` is where the rounded centroids are, in a memory that kernels read in place. */
  constructor(points: Points, count: number, rounded?: Int16Array) {
    this.count = count;
    this.#points = points;
    const { dimensions } = points;
    const rows = Math.floor(STEP_PRODUCTS / (count * dimensions));
    this.#block = new PointBlock(points, Math.max(MIN_ROWS, Math.min(MAX_ROWS, rows)));
    this.centroids = new Float64Array(count * dimensions);
    this.rounded = rounded ?? allocateIntegers(count, this.#block.width);
    this.#sums = new Float64Array(count * dimensions);
    this.#sizes = new Uint32Array(count);
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
   * Work that writes the nearest centroid of `rows[i]`, the first of equal ones, to `nearest[i]`.
   * `finder` replaces the comparison with every centroid.
   */
  assignment<S extends object>(
    rows: Uint32Array,
    nearest: Uint32Array,
    progress: Progress,
    finder?: { readonly task: Task<S, Int16Array, Uint32Array>; readonly state: S },
  ): Assignment {
    const { length, integers } = this.#points;
    const block = this.#block;
    const { capacity, width } = block;
    const all = { values: this.rounded, width };
    const { task, state } = finder ?? { task: NEAREST_CENTROIDS, state: all };
    this.#sums.fill(0);
    this.#sizes.fill(0);
    const job: Assignment['job'] = {
      task,
      // A part is a view of integer points if their memory is in the state, and else a copy.
      state: { ...state, integers },
      count: Math.ceil(rows.length / capacity),
      part: (i) => block.rounded(block.take(rows, i * capacity)),
      take: (found, i) => {
        const first = i * capacity;
        const count = block.take(rows, first);
        nearest.set(found, first);
        if (integers === undefined) this.#add(found, count);
        else if (first + count === rows.length) this.#sumUp(integers, rows, nearest);
        return progress.add(count);
      },
    };
    const objective = () => {
      const total = dot(this.#sums, 0, this.centroids, 0, this.centroids.length);
      return total / (length * rows.length);
    };
    return { job, objective };
  }

  /** Adds the points of the block to the sums of their centroids. */
  #add(found: Uint32Array, count: number): void {
    for (let i = 0; i < count; i++) {
      this.#sizes[found[i]]++;
      this.#block.addTo(this.#sums, found[i], i);
    }
  }

  /** Sums the integer points of each centroid. */
  #sumUp(integers: Int16Array, rows: Uint32Array, nearest: Uint32Array): void {
    const { dimensions } = this.#points;
    for (const centroid of nearest) this.#sizes[centroid]++;
    const ends = this.#sizes.slice();
    const members = new Uint32Array(toStarts(ends));
    for (let i = 0; i < rows.length; i++) members[ends[nearest[i]]++] = rows[i];
    for (let centroid = 0; centroid < this.count; centroid++) {
      const own = members.subarray(ends[centroid] - this.#sizes[centroid], ends[centroid]);
      const sum = this.#sums.subarray(centroid * dimensions, (centroid + 1) * dimensions);
      productsKernel.addRows({ values: integers, width: this.#block.width }, own, sum);
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
    const block = this.#block;
    // `count` candidates suffice: at most one of them is skipped for each centroid that has rows.
    const farthest = new Highest(this.count);
    for (let first = 0; first < rows.length; first += block.capacity) {
      const count = block.take(rows, first);
      for (let i = 0; i < count; i++) {
        const at = nearest[first + i] * dimensions;
        farthest.take(-block.dot(i, this.centroids, at), first + i);
      }
      await work.step();
    }
    let next = 0;
    const point = new Float64Array(dimensions);
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
   * Moves each centroid to the direction of its rows' sum. One that has no rows, or whose rows
   * cancel out, stays or, with `rowForEmpty`, moves to the row that this returns.
   */
  move(rowForEmpty?: (centroid: number) => number): void {
    const { dimensions } = this.#points;
    const { width } = this.#block;
    for (let centroid = 0; centroid < this.count; centroid++) {
      const at = centroid * dimensions;
      const sum = this.#sums.subarray(at, at + dimensions);
      const length = lengthOf(sum);
      if (length > 0) {
        for (let i = 0; i < dimensions; i++) this.centroids[at + i] = sum[i] / length;
        roundInto(sum, length, this.rounded, centroid * width);
      } else if (rowForEmpty !== undefined) this.#moveTo(centroid, rowForEmpty(centroid));
    }
  }

  /** Sets a centroid to the direction of a row. */
  #moveTo(centroid: number, row: number): void {
    const { dimensions, integers } = this.#points;
    const { width } = this.#block;
    const own = this.centroids.subarray(centroid * dimensions, (centroid + 1) * dimensions);
    this.#points.into(row, own, 0);
    const length = lengthOf(own);
    if (integers === undefined) roundInto(own, length, this.rounded, centroid * width);
    else this.rounded.set(integers.subarray(row * width, (row + 1) * width), centroid * width);
    for (let i = 0; length > 0 && i < dimensions; i++) own[i] /= length;
  }
}
