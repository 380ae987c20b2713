/**
 * Describes a cluster by its size, how close its rows are to its centroid, its medoid and its
 * exemplars. The medoid, the row of the largest mean cosine to all rows of its cluster, is exact:
 * that mean is the product with the mean of the rows, so no pairs are compared.
 */

import { clampedCosine, lengthOf } from '../base/length';
import type { LongWork } from '../base/long-work';
import { Highest } from '../base/top-k';
import { PointBlock, type Points } from '../k-means/points';

/** Points between two steps. */
const STEP_POINTS = 1024;

export interface Cluster {
  /** Number of rows. */
  readonly size: number;
  /** The row of the largest mean cosine to all rows of the cluster, the first of equal ones. */
  readonly medoid: number;
  /** Mean cosine of its rows to its centroid. */
  readonly cohesion: number;
  /** The rows nearest to the centroid, nearest first. */
  readonly exemplars: Uint32Array;
}

/**
 * Describes each cluster. Row `rows[i]` is in cluster `clusterOf[i]`, or in none if that is below
 * 0; no cluster may be empty. `centroids` are unit vectors or 0, `exemplars` is the largest number
 * of exemplars of a cluster.
 */
export async function summaries(
  points: Points,
  rows: Uint32Array,
  clusterOf: ArrayLike<number>,
  { centroids, exemplars }: { centroids: Float64Array; exemplars: number },
  work: LongWork,
): Promise<Cluster[]> {
  const { dimensions, length } = points;
  const count = centroids.length / dimensions;
  const sums = await clusterSums(points, rows, clusterOf, count, work);
  const found = Array.from({ length: count }, () => new Summary(exemplars));
  const take: TakePoint = (block, i, row, cluster) => {
    const toCentroid = block.dot(i, centroids, cluster * dimensions);
    const toSum = block.dot(i, sums, cluster * dimensions);
    found[cluster].take(row, clampedCosine(toCentroid / length), toSum);
  };
  await eachPoint(points, rows, clusterOf, take, work);
  return found.map((one) => one.result());
}

/** The sum of each cluster's points, added in the order of `rows`. */
async function clusterSums(
  points: Points,
  rows: Uint32Array,
  clusterOf: ArrayLike<number>,
  count: number,
  work: LongWork,
): Promise<Float64Array> {
  const sums = new Float64Array(count * points.dimensions);
  const take: TakePoint = (block, i, _, cluster) => block.addTo(sums, cluster, i);
  await eachPoint(points, rows, clusterOf, take, work);
  return sums;
}

/** Takes number `i` of a block of points: a row that is in a cluster. */
type TakePoint = (block: PointBlock, i: number, row: number, cluster: number) => void;

/** Calls `take` with each point that is in a cluster. */
async function eachPoint(
  points: Points,
  rows: Uint32Array,
  clusterOf: ArrayLike<number>,
  take: TakePoint,
  work: LongWork,
): Promise<void> {
  const block = new PointBlock(points, STEP_POINTS);
  for (let first = 0; first < rows.length; first += STEP_POINTS) {
    const count = block.take(rows, first);
    for (let i = 0; i < count; i++) {
      const cluster = clusterOf[first + i];
      if (cluster >= 0) take(block, i, rows[first + i], cluster);
    }
    await work.step();
  }
}

/** The cluster of each row of a source: `clusterOf[i]` for row `points.rows[i]`, else -1. */
export function labelsOf(points: Points, clusterOf: ArrayLike<number>): Int32Array {
  const labels = new Int32Array(points.rowCount).fill(-1);
  points.rows.forEach((row, i) => {
    labels[row] = clusterOf[i];
  });
  return labels;
}

/** Centroids: the directions of the clusters' sums, or zeros where the rows cancel out. */
export async function directionsOf(
  points: Points,
  rows: Uint32Array,
  clusterOf: ArrayLike<number>,
  count: number,
  work: LongWork,
): Promise<Float64Array> {
  const { dimensions } = points;
  const centroids = await clusterSums(points, rows, clusterOf, count, work);
  for (let at = 0; at < centroids.length; at += dimensions) {
    const length = lengthOf(centroids, at, at + dimensions);
    for (let i = 0; length > 0 && i < dimensions; i++) centroids[at + i] /= length;
  }
  return centroids;
}

/** Describes one cluster, whose rows come in ascending order. */
class Summary {
  #size = 0;
  #medoid = 0;
  #highest = Number.NEGATIVE_INFINITY;
  #total = 0;
  readonly #exemplars: Highest;

  constructor(exemplars: number) {
    this.#exemplars = new Highest(exemplars);
  }

  /** `cosine` is to the centroid, `toSum` the dot product with the sum of the cluster's rows. */
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
