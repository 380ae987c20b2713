/**
 * Clusters by direction: spherical k-means on the vectors of an index, on accumulators or other
 * vectors, or on codes with each bit as +1 or -1. Centroids are real-valued for codes too, since
 * centroids that are codes lose most of a centroid. Starts run on a sample, and the best one
 * continues over all rows. The same rows, options and seed give the same clusters on every machine.
 */

import { checkInteger, checkOneOf, checkOptions, checkSeed, wrongValue } from '../base/check';
import { checkLongCall, LONG_CALL, type LongCall, LongWork } from '../base/long-work';
import { type Iteration, type KMeansSettings, kMeans } from './k-means-run';
import { type ClusterSource, type PointKind, pointsOf } from './points-of';
import { type Cluster, labelsOf, summaries } from './summaries';

export interface ClusterOptions extends LongCall {
  /** Number of clusters; each gets at least one row. */
  clusters: number;
  /** What is clustered: vectors where there are any, else codes as vectors of ±1. */
  by?: PointKind;
  /** Starts of k-means on samples; the best continues. */
  starts?: number;
  /** Most iterations of a start, and over all rows. */
  iterations?: number;
  /** Rows of a start; 64 a cluster, at least 16,384, by default. */
  sample?: number;
  /** Seed of the samples and of the starts. */
  seed?: number | bigint;
  /** Most exemplars of a cluster: the rows nearest to its centroid. */
  exemplars?: number;
}

const CLUSTER_DEFAULTS = { starts: 3, iterations: 25, seed: 0, exemplars: 5 } as const;

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
  /** Every iteration, in the order in which they ran. */
  readonly history: Iteration[];
}

const OPTIONS = [
  'clusters',
  'by',
  'starts',
  'iterations',
  'sample',
  'seed',
  'exemplars',
  ...LONG_CALL,
];

/** Rows of the default sample for each cluster, and in all at least. */
const SAMPLE_PER_CLUSTER = 64;
const MIN_SAMPLE = 2 ** 14;

/**
 * Groups rows into a given number of clusters by direction (spherical k-means).
 *
 * @example
 * const codes = await new SimHasher({ bits: 64 }).hashAll([[1, 0], [0.9, 0.1], [0, 1]]);
 * const { labels, clusters } = await cluster(codes, { clusters: 2, seed: 1 });
 * console.log(labels, clusters[0]?.size); // Int32Array(3) [ 0, 0, 1 ] 2
 */
export async function cluster(source: ClusterSource, options: ClusterOptions): Promise<Clusters> {
  const { by: wanted, exemplars, ...settings } = requestOf(options);
  const work = new LongWork(checkLongCall(options));
  const { clusters } = settings;
  const { points, by } = await pointsOf(source, wanted, work);
  const { rows } = points;
  if (rows.length === 0) throw new Error('cluster() needs rows, the source has none');
  if (clusters > rows.length) {
    throw wrongValue('clusters', `at most ${rows.length}, a row for each cluster`, clusters);
  }
  const { nearest, centroids, history } = await kMeans(points, settings, work);
  const quiet = work.quiet();
  const found = await summaries(points, rows, nearest, { centroids, exemplars }, quiet);
  const total = found.reduce((sum, { cohesion, size }) => sum + cohesion * size, 0);
  return {
    count: clusters,
    by,
    labels: labelsOf(points, nearest),
    clusters: found,
    centroids,
    objective: total / rows.length,
    history,
  };
}

/** The checked options. */
interface Request extends KMeansSettings {
  readonly by: PointKind | undefined;
  readonly exemplars: number;
}

function requestOf(options: ClusterOptions): Request {
  const given = { ...CLUSTER_DEFAULTS, ...checkOptions('options', options, OPTIONS) };
  const { by } = given;
  const clusters = checkInteger('clusters', given.clusters, 1, 2 ** 24);
  const usual = Math.max(SAMPLE_PER_CLUSTER * clusters, MIN_SAMPLE);
  return {
    clusters,
    by: by === undefined ? undefined : checkOneOf<PointKind>('by', by, ['vectors', 'bits']),
    seed: String(checkSeed(given.seed)),
    starts: checkInteger('starts', given.starts, 1, 1000),
    iterations: checkInteger('iterations', given.iterations, 1, 10_000),
    sample: checkInteger('sample', given.sample ?? usual, clusters, Number.MAX_SAFE_INTEGER),
    exemplars: checkInteger('exemplars', given.exemplars, 0, 10_000),
  };
}
