/**
 * One iteration of spherical k-means (Dhillon & Modha 2001): each row to the centre of the largest
 * cosine, each centre to the direction of its rows' sum, which raises the mean cosine or leaves it.
 * Integer products choose the centre, exact for vectors rounded to 16 bits; all else is float64.
 */

import { lengthOf } from '../base/length';
import type { Steps } from '../base/steps';
import { Highest } from '../base/top-k';
import { allocateCentroids } from '../k-means/train-centroids';
import { type KernelName, productsKernel } from '../kernels/kernels';
import { roundInto } from '../vectors/round-vector';
import { dot, PointBlock, type Points } from './cluster-space';

/** Rows between two steps at most, and products: some milliseconds. */
const MOST_ROWS = 512;
const LEAST_ROWS = 8;
const STEP_PRODUCTS = 2 ** 25;
/** Values of centres that move between two steps. */
const STEP_VALUES = 2 ** 18;

export interface Pass {
  /** Mean cosine of the rows to their centres. */
  readonly objective: number;
  /** Rows that were with another centre before. */
  readonly moved: number;
}

/** Work that is told of by the rows it has passed. */
export class Progress {
  done = 0;
  constructor(readonly total: number) {}

  add(rows: number): [number, number] {
    this.done = Math.min(this.total, this.done + rows);
    return [this.done, this.total];
  }
}

/** Centres on their way. */
export class KMeans {
  readonly count: number;
  /** At length 1. */
  readonly centres: Float64Array;
  readonly #points: Points;
  readonly #isMajority: boolean;
  readonly #kernel: KernelName | undefined;
  readonly #rounded: Int16Array;
  readonly #block: PointBlock;
  /** Of the rows that were last assigned, by centre. */
  readonly #sums: Float64Array;
  readonly #sizes: Uint32Array;

  /** With `isMajority` each value of a centre is one of two, by the sign of the sum. */
  constructor(points: Points, count: number, isMajority: boolean, kernel?: KernelName) {
    this.count = count;
    this.#points = points;
    this.#isMajority = isMajority;
    this.#kernel = kernel;
    const { dimensions } = points;
    const rows = Math.floor(STEP_PRODUCTS / (count * dimensions));
    this.#block = new PointBlock(points, Math.max(LEAST_ROWS, Math.min(MOST_ROWS, rows)));
    this.centres = new Float64Array(count * dimensions);
    this.#rounded = allocateCentroids(count, this.#block.width);
    this.#sums = new Float64Array(count * dimensions);
    this.#sizes = new Uint32Array(count);
  }

  /** Puts centres where rows are. */
  *begin(rows: Uint32Array): Steps<void> {
    const { dimensions } = this.#points;
    rows.forEach((row, i) => {
      this.#points.into(row, this.#sums, i * dimensions);
    });
    yield* this.move();
  }

  /** The nearest centre of `rows[i]`, the first of equals, to `nearest[i]`. */
  *assign(rows: Uint32Array, nearest: Uint32Array, progress: Progress): Steps<Pass> {
    const { length } = this.#points;
    const { width, room } = this.#block;
    const centres = { values: this.#rounded, width };
    const found = new Uint32Array(room);
    this.#sums.fill(0);
    this.#sizes.fill(0);
    let moved = 0;
    for (let first = 0; first < rows.length; first += room) {
      const count = this.#block.take(rows, first);
      const rounded = this.#block.rounded(count);
      productsKernel(this.#kernel).nearestInto(centres, rounded, found.subarray(0, count));
      moved += this.#join(found, count, nearest.subarray(first, first + count));
      yield progress.add(count);
    }
    const total = dot(this.#sums, 0, this.centres, 0, this.centres.length);
    return { objective: total / (length * rows.length), moved };
  }

  /** Adds the points of the block to the sums of the centres found; returns how many moved. */
  #join(found: Uint32Array, count: number, nearest: Uint32Array): number {
    let moved = 0;
    for (let i = 0; i < count; i++) {
      const centre = found[i];
      if (nearest[i] !== centre) moved++;
      nearest[i] = centre;
      this.#sizes[centre]++;
      this.#block.addTo(this.#sums, centre, i);
    }
    return moved;
  }

  /**
   * Gives each centre without rows the row that is farthest from its own, of those that are not the
   * last of their centre; returns how many. There must be as many rows as centres.
   */
  *repair(rows: Uint32Array, nearest: Uint32Array): Steps<number> {
    const empty = [...this.#sizes.keys()].filter((centre) => this.#sizes[centre] === 0);
    if (empty.length === 0) return 0;
    const { dimensions } = this.#points;
    const { room, values } = this.#block;
    const products = new Float64Array(rows.length);
    for (let first = 0; first < rows.length; first += room) {
      const count = this.#block.take(rows, first);
      for (let i = 0; i < count; i++) {
        const at = nearest[first + i] * dimensions;
        products[first + i] = dot(values, i * dimensions, this.centres, at, dimensions);
      }
      yield undefined;
    }
    let next = 0;
    const point = new Float64Array(dimensions);
    for (const place of farthest(products, this.count)) {
      const from = nearest[place];
      if (this.#sizes[from] === 1) continue;
      const to = empty[next++];
      nearest[place] = to;
      this.#points.into(rows[place], point, 0);
      for (let i = 0; i < dimensions; i++) this.#sums[from * dimensions + i] -= point[i];
      this.#sums.set(point, to * dimensions);
      this.#sizes[from]--;
      this.#sizes[to] = 1;
      this.#moveOne(to);
      if (next === empty.length) break;
    }
    return empty.length;
  }

  /** Each centre to the direction of its rows; it stays where these cancel out. */
  *move(): Steps<void> {
    const step = Math.ceil(STEP_VALUES / this.#points.dimensions);
    for (let centre = 0; centre < this.count; centre++) {
      this.#moveOne(centre);
      if (centre % step === step - 1) yield undefined;
    }
  }

  #moveOne(centre: number): void {
    const { dimensions, length: ofPoints } = this.#points;
    const at = centre * dimensions;
    const sum = this.#sums.subarray(at, at + dimensions);
    const length = lengthOf(sum);
    if (this.#isMajority) {
      for (let i = 0; i < dimensions; i++) this.centres[at + i] = (sum[i] > 0 ? 1 : -1) / ofPoints;
    } else if (length > 0) {
      for (let i = 0; i < dimensions; i++) this.centres[at + i] = sum[i] / length;
    }
    const own = this.centres.subarray(at, at + dimensions);
    roundInto(own, 1, this.#rounded, centre * this.#block.width);
  }
}

/**
 * Places of the `count` smallest products, smallest first, equal ones in order. One for each
 * centre is enough to fill the empty ones: of the others each keeps at most one of them.
 */
function farthest(products: Float64Array, count: number): Uint32Array {
  const worst = new Highest(count);
  products.forEach((product, place) => {
    worst.take(-product, place);
  });
  return worst.result().rows;
}
