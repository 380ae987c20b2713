/**
 * Clusters by direction: spherical k-means on the vectors of an index, on accumulators or other
 * vectors, or on codes with each bit as +1 or -1. Centroids are real-valued for codes too, since
 * centroids that are codes lose most of a centroid. Starts run on a sample, and the best one
 * continues over all rows. The same rows, options and seed give the same clusters on every machine.
 */

import { checkInteger, checkOneOf, checkOptions, checkSeed, wrongValue } from '../base/check';
import { checkLongCall, LONG_CALL, type LongCall, LongWork } from '../base/long-work';
import { kMeans } from './k-means-run';
import { type ClusterSource, type PointKind, pointsOf } from './points-of';
import { type Cluster, labelsOf, summaries } from './summaries';

export interface ClusterOptions extends LongCall {
  /** Number of clusters; each gets at least one row. */
  clusters: number;
  /** What is clustered: vectors where there are any, else codes as vectors of ±1. */
  by?: PointKind;
  /** Seed of the samples and of the starts. */
  seed?: number | bigint;
  /** Most exemplars of a cluster: the rows most like all of its rows. */
  exemplars?: number;
}

const CLUSTER_DEFAULTS = { seed: 0, exemplars: 5 } as const;

export interface Clusters {
  readonly count: number;
  readonly by: PointKind;
  /**
   * For each row the cluster of its nearest centroid; -1 for rows that are null, removed or
   * all-zero. A cluster that would be empty, as where many rows are equal, gets a row that is far
   * from its own centroid.
   */
  readonly labels: Int32Array;
  readonly clusters: Cluster[];
  /** Unit vectors, one after another; by 'bits' with a value for each bit. */
  readonly centroids: Float64Array;
  /** Mean cosine of the rows to their own centroids. */
  readonly objective: number;
}

const OPTIONS = ['clusters', 'by', 'seed', 'exemplars', ...LONG_CALL];

/**
 * Groups rows into a given number of clusters by direction (spherical k-means).
 *
 * @example
 * const codes = await new SimHasher({ bits: 64 }).hashAll([[1, 0], [0.9, 0.1], [0, 1]]);
 * const { labels, clusters } = await cluster(codes, { clusters: 2, seed: 1 });
 * console.log(labels, clusters[0]?.size); // Int32Array(3) [ 0, 0, 1 ] 2
 */
export async function cluster(source: ClusterSource, options: ClusterOptions): Promise<Clusters> {
  const given = { ...CLUSTER_DEFAULTS, ...checkOptions('options', options, OPTIONS) };
  const count = checkInteger('clusters', given.clusters, 1, 2 ** 24);
  const seed = String(checkSeed(given.seed));
  const exemplars = checkInteger('exemplars', given.exemplars, 0, 10_000);
  if (given.by !== undefined) checkOneOf<PointKind>('by', given.by, ['vectors', 'bits']);
  const work = new LongWork(checkLongCall(given));
  const { points, by } = await pointsOf(source, given.by, work);
  const { rows } = points;
  if (rows.length === 0) throw new Error('cluster() needs rows, the source has none');
  if (count > rows.length) {
    throw wrongValue('clusters', `at most ${rows.length}, a row for each cluster`, count);
  }
  const { nearest, centroids } = await kMeans(points, { clusters: count, seed }, work);
  const described = { count, centroids, exemplars };
  const clusters = await summaries(points, nearest, described, work.quiet());
  const total = clusters.reduce((sum, { cohesion, size }) => sum + cohesion * size, 0);
  const objective = total / rows.length;
  return { count, by, labels: labelsOf(points, nearest), clusters, centroids, objective };
}
