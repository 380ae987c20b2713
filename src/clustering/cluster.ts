/**
 * Clusters by direction: spherical k-means on the vectors of an index, on accumulators or other
 * vectors, or on codes with each bit as +1 or -1. Centroids are real-valued for codes too; by
 * 'majority' they are codes, which loses most of a centroid and is there for comparison. Starts run
 * on a sample, and the best one continues over all rows. The same rows, options and seed give the
 * same clusters on every machine.
 */

import { checkInteger, checkOneOf, checkOptions, checkSeed, wrongValue } from '../base/check';
import { asyncForm, LONG_CALL, type LongCall, type Steps, syncForm } from '../base/steps';
import { type Iteration, type KMeansSettings, kMeans } from '../k-means/run';
import { type ClusterSource, hasVectors, pointsOf } from './cluster-source';
import { type Cluster, labelsOf, summaries } from './cluster-summary';

/** 'vectors': unit vectors. 'bits': codes as ±1. 'majority': codes as ±1, centroids are codes. */
export type ClusterBy = 'vectors' | 'bits' | 'majority';

export interface ClusterOptions extends LongCall {
  /** Number of clusters; each gets at least one row. */
  clusters: number;
  /** 'vectors' where there are any, else 'bits'. */
  by?: ClusterBy;
  /** Starts of k-means, each on a sample; the one with the best objective continues. */
  starts?: number;
  /** Largest number of iterations of a start, and of the best one over all rows. */
  iterations?: number;
  /** Rows of the sample of a start; by default 64 for each cluster, and at least 16,384. */
  sample?: number;
  /** Seed of the samples and of the starts. */
  seed?: number | bigint;
  /** Largest number of exemplars of a cluster: the rows nearest to its centroid. */
  exemplars?: number;
}

const CLUSTER_DEFAULTS = { starts: 3, iterations: 25, seed: 0, exemplars: 5 } as const;

export interface Clusters {
  readonly count: number;
  readonly by: ClusterBy;
  /**
   * For each row the cluster of its nearest centroid; -1 for rows that are null, removed or
   * all-zero. A cluster that would be empty, as where many rows are equal, gets a row that is far
   * from its own centroid.
   */
  readonly labels: Int32Array;
  readonly clusters: Cluster[];
  /** Unit vectors, one after another; by 'bits' and 'majority' with a value for each bit. */
  readonly centroids: Float64Array;
  /** Mean cosine of the rows to their own centroids. */
  readonly objective: number;
  /** Every iteration, in the order in which they ran. */
  readonly history: Iteration[];
}

const OPTIONS = [
  ...['clusters', 'by', 'starts', 'iterations', 'sample', 'seed', 'exemplars'],
  ...LONG_CALL,
];

/** Rows of the default sample for each cluster, and in all at least. */
const SAMPLE_PER_CLUSTER = 64;
const MIN_SAMPLE = 2 ** 14;

/**
 * Groups rows into a given number of clusters by direction (spherical k-means).
 *
 * @example
 * const codes = new SimHasher({ bits: 64 }).hashAll([[1, 0], [0.9, 0.1], [0, 1]]);
 * console.log(cluster(codes, { clusters: 2, seed: 1 }).labels); // Int32Array(3) [ 0, 0, 1 ]
 */
export const cluster = /* @__PURE__ */ syncForm(clustering);
/**
 * `cluster` with pauses for the event loop.
 *
 * @example
 * const matrix = { values: new Float32Array([1, 0, 0.8, 0.6, 0, 1]), dimensions: 2 };
 * const { clusters } = await clusterAsync(matrix, { clusters: 2 });
 * console.log(clusters.map(({ size }) => size)); // [ 2, 1 ]
 */
export const clusterAsync = /* @__PURE__ */ asyncForm(clustering);

/** The checked options. */
interface Request extends KMeansSettings {
  readonly by: ClusterBy;
  readonly exemplars: number;
}

function requestOf(source: ClusterSource, options: ClusterOptions): Request {
  const given = { ...CLUSTER_DEFAULTS, ...checkOptions('options', options, OPTIONS) };
  const clusters = checkInteger('clusters', given.clusters, 1, 2 ** 24);
  const usual = Math.max(SAMPLE_PER_CLUSTER * clusters, MIN_SAMPLE);
  const usualBy = hasVectors(source) ? 'vectors' : 'bits';
  const by = checkOneOf('by', given.by ?? usualBy, ['vectors', 'bits', 'majority']);
  return {
    ...{ clusters, by, isMajority: by === 'majority', seed: String(checkSeed(given.seed)) },
    starts: checkInteger('starts', given.starts, 1, 1000),
    iterations: checkInteger('iterations', given.iterations, 1, 10_000),
    sample: checkInteger('sample', given.sample ?? usual, clusters, Number.MAX_SAFE_INTEGER),
    exemplars: checkInteger('exemplars', given.exemplars, 0, 10_000),
  };
}

function* clustering(source: ClusterSource, options: ClusterOptions): Steps<Clusters> {
  const request = requestOf(source, options);
  const { clusters, by, exemplars } = request;
  const points = yield* pointsOf(source, by === 'vectors' ? 'vectors' : 'bits');
  const { rows } = points;
  if (rows.length === 0) throw new Error('cluster() needs rows, the source has none');
  if (clusters > rows.length) {
    throw wrongValue('clusters', `at most ${rows.length}, a row for each cluster`, clusters);
  }
  const { nearest, centroids, history } = yield* kMeans(points, request);
  const found = yield* summaries(points, rows, nearest, { centroids, exemplars });
  const labels = labelsOf(points, nearest);
  const total = found.reduce((sum, { cohesion, size }) => sum + cohesion * size, 0);
  return {
    ...{ count: clusters, by, labels, clusters: found, centroids },
    ...{ objective: total / rows.length, history },
  };
}
