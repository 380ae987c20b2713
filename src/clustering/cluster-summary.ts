/**
 * What describes a cluster: its size, how close its rows are to its centroid, its medoid and its
 * exemplars. The medoid, the row of the largest mean cosine to all rows of its cluster, is exact:
 * that mean is the product with the mean of the rows, so no pairs are compared.
 */

import { clampedCosine, lengthOf } from '../base/length';
import type { Steps } from '../base/steps';
import { Highest } from '../base/top-k';
import { PointBlock, type Points } from '../k-means/points';

export interface Cluster {
  /** Rows. */
  readonly size: number;
  /** The row of the largest mean cosine to all rows of the cluster, the first of equals. */
  readonly medoid: number;
  /** Mean cosine of its rows to its centroid. */
  readonly cohesion: number;
  /** The rows nearest to the centroid, nearest first. */
  readonly exemplars: Uint32Array;
}

const BLOCK_ROWS = 512;

/**
 * Describes each cluster, row `rows[i]` being in cluster `clusterOf[i]`, or in none below 0. No
 * cluster may be empty. `exemplars` is how many of them each gets at most.
 */
export function* summaries(
  points: Points,
  rows: Uint32Array,
  clusterOf: ArrayLike<number>,
  { centroids, exemplars }: { centroids: Float64Array; exemplars: number },
): Steps<Cluster[]> {
  const { dimensions, length } = points;
  const sums = yield* sumsOf(points, rows, clusterOf, centroids.length);
  const found = Array.from({ length: centroids.length / dimensions }, () => new Found(exemplars));
  const block = new PointBlock(points, BLOCK_ROWS);
  for (let first = 0; first < rows.length; first += BLOCK_ROWS) {
    const count = block.take(rows, first);
    for (let i = 0; i < count; i++) {
      const cluster = clusterOf[first + i];
      if (cluster < 0) continue;
      const to = cluster * dimensions;
      const cosine = block.dot(i, centroids, to) / length;
      const toSum = block.dot(i, sums, to);
      found[cluster].take(rows[first + i], clampedCosine(cosine), toSum);
    }
    yield undefined;
  }
  return found.map((one) => one.result());
}

/** By row of a source the cluster of point `i`, which is row `rows[i]`; -1 for the others. */
export function labelsOf(points: Points, clusterOf: ArrayLike<number>): Int32Array {
  const labels = new Int32Array(points.rowCount).fill(-1);
  points.rows.forEach((row, i) => {
    labels[row] = clusterOf[i];
  });
  return labels;
}

/** The directions of the clusters' sums; a cluster whose rows cancel out has zeros. */
export function* directionsOf(
  points: Points,
  rows: Uint32Array,
  clusterOf: ArrayLike<number>,
  count: number,
): Steps<Float64Array> {
  const { dimensions } = points;
  const centroids = yield* sumsOf(points, rows, clusterOf, count * dimensions);
  for (let at = 0; at < centroids.length; at += dimensions) {
    const length = lengthOf(centroids, at, at + dimensions);
    for (let i = 0; length > 0 && i < dimensions; i++) centroids[at + i] /= length;
  }
  return centroids;
}

function* sumsOf(
  points: Points,
  rows: Uint32Array,
  clusterOf: ArrayLike<number>,
  values: number,
): Steps<Float64Array> {
  const sums = new Float64Array(values);
  const block = new PointBlock(points, BLOCK_ROWS);
  for (let first = 0; first < rows.length; first += BLOCK_ROWS) {
    const count = block.take(rows, first);
    for (let i = 0; i < count; i++) {
      const cluster = clusterOf[first + i];
      if (cluster >= 0) block.addTo(sums, cluster, i);
    }
    yield undefined;
  }
  return sums;
}

/** Collects one cluster; rows come in ascending order. */
class Found {
  #size = 0;
  #medoid = 0;
  #highest = Number.NEGATIVE_INFINITY;
  #total = 0;
  readonly #exemplars: Highest;

  constructor(exemplars: number) {
    this.#exemplars = new Highest(exemplars);
  }

  /** `toSum` is the product with the sum of the cluster's rows. */
  take(row: number, cosine: number, toSum: number): void {
    this.#size++;
    this.#total += cosine;
    if (toSum > this.#highest) {
      this.#highest = toSum;
      this.#medoid = row;
    }
    this.#exemplars.take(cosine, row);
  }

  result(): Cluster {
    return {
      size: this.#size,
      medoid: this.#medoid,
      cohesion: this.#total / this.#size,
      exemplars: this.#exemplars.result().rows,
    };
  }
}
