/**
 * Describes clusters by size, by how close their rows are to their centroid, and by exemplars: the
 * rows of the largest mean cosine to all rows of their cluster. This mean is the product with the
 * mean of the rows, so exemplars are exact, and no pairs are compared.
 */

import { clampedCosine, lengthOf } from '../base/length';
import type { LongWork } from '../base/long-work';
import { Highest } from '../base/top-k';
import { dot, PointBlock, type Points } from '../k-means/points';

/** Points between two steps. */
const STEP_POINTS = 1024;

export interface Cluster {
  /** Number of rows. */
  readonly size: number;
  /** Mean cosine of its rows to its centroid. */
  readonly cohesion: number;
  /**
   * The rows of the largest mean cosine to all rows of the cluster, the largest first, of equal
   * ones the first row: those most like the others.
   */
  readonly exemplars: Uint32Array;
}

/**
 * Describes `count` clusters, none of them empty. Row `points.rows[i]` is in cluster
 * `clusterOf[i]`, or in none if that is below 0. `centroids` are unit vectors; null for the
 * directions of the sums of the clusters' rows. `exemplars` is the largest number of exemplars of a
 * cluster.
 */
export async function summaries(
  points: Points,
  clusterOf: ArrayLike<number>,
  { count, centroids, exemplars }: Described,
  work: LongWork,
): Promise<Cluster[]> {
  const { dimensions, length } = points;
  const sums = new Float64Array(count * dimensions);
  const sizes = new Uint32Array(count);
  await eachPoint(points, clusterOf, work, (block, i, _, cluster) => {
    sizes[cluster]++;
    block.addTo(sums, cluster, i);
  });
  const best = Array.from({ length: count }, () => new Highest(exemplars));
  await eachPoint(points, clusterOf, work, (block, i, row, cluster) => {
    best[cluster].take(block.dot(i, sums, cluster * dimensions), row);
  });
  return best.map((one, cluster) => {
    const [at, size] = [cluster * dimensions, sizes[cluster]];
    const toCentroid =
      centroids === null
        ? lengthOf(sums, at, at + dimensions)
        : dot(sums, at, centroids, at, dimensions);
    const cohesion = clampedCosine(toCentroid / (length * size));
    return { size, cohesion, exemplars: one.result().rows };
  });
}

interface Described {
  readonly count: number;
  readonly centroids: Float64Array | null;
  readonly exemplars: number;
}

/** Calls `take` with each row that is in a cluster, which is point number `i` of a block. */
async function eachPoint(
  points: Points,
  clusterOf: ArrayLike<number>,
  work: LongWork,
  take: (block: PointBlock, i: number, row: number, cluster: number) => void,
): Promise<void> {
  const { rows } = points;
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
