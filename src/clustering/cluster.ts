/**
 * Clusters by direction: spherical k-means on kept vectors, on accumulators or other vectors, or on
 * codes with a bit as +1 or -1. Centres stay real-valued also for codes: a majority of bits throws
 * most of a centre away, and is there to compare. Starts learn on a sample, the best goes over all
 * rows. The same rows, options and seed give the same clusters everywhere.
 */

import { checkInteger, checkOneOf, checkOptions, wrongType, wrongValue } from '../base/check';
import {
  checkLongCall,
  LONG_CALL,
  type LongCall,
  runInTurns,
  runSteps,
  type Steps,
} from '../base/steps';
import { NONE } from '../join/distinct';
import { type KernelName, resolveKernel } from '../kernels/kernels';
import { type ClusterSource, hasVectors, pointsOf } from './cluster-space';
import { type Cluster, summaries } from './cluster-summary';
import { type Iteration, kMeans, type Plan } from './k-means-run';

/** 'vectors': unit vectors. 'bits': codes as ±1. 'majority': the same, and centres are codes. */
export type ClusterBy = 'vectors' | 'bits' | 'majority';

export interface ClusterOptions extends LongCall {
  /** How many clusters: each gets a row at least. */
  clusters: number;
  /** 'vectors' where there are any, else 'bits'. */
  by?: ClusterBy;
  /** Times that k-means begins anew on the sample; the best objective goes on. */
  starts?: number;
  /** Most iterations of a start, and of the best one over all rows. */
  iterations?: number;
  /** Rows on which starts learn; by default 64 a cluster, and no fewer than 16,384. */
  sample?: number;
  seed?: number | string;
  /** Rows named as the label of a cluster. */
  labels?: number;
  kernel?: KernelName;
}

export const CLUSTER_DEFAULTS = { starts: 3, iterations: 25, seed: 0, labels: 5 } as const;

export interface Clusters {
  readonly count: number;
  readonly by: ClusterBy;
  /**
   * By row, the cluster of its nearest centre; 0xffffffff for rows that are null, removed or
   * all-zero. A cluster that is without rows in the end, as of equal ones, gets the farthest.
   */
  readonly assignments: Uint32Array;
  readonly clusters: Cluster[];
  /** Unit vectors, one after another; with 'bits' of a value a bit. */
  readonly centres: Float64Array;
  /** Mean cosine of the rows to their own centres. */
  readonly objective: number;
  readonly history: Iteration[];
}

const OPTIONS = [
  ...['clusters', 'by', 'starts', 'iterations', 'sample', 'seed', 'labels', 'kernel'],
  ...LONG_CALL,
];

/** Rows of the sample, by cluster and at least. */
const SAMPLE_PER_CLUSTER = 64;
const LEAST_SAMPLE = 2 ** 14;

/** Rows in clusters by direction. */
export function cluster(source: ClusterSource, options: ClusterOptions): Clusters {
  const request = requestOf(source, options);
  return runSteps(clustered(source, request), request.call);
}

/** The same in turns with the event loop. */
export async function clusterAsync(
  source: ClusterSource,
  options: ClusterOptions,
): Promise<Clusters> {
  const request = requestOf(source, options);
  return runInTurns(clustered(source, request), request.call);
}

interface Request extends Plan {
  readonly by: ClusterBy;
  readonly labels: number;
  readonly call: LongCall;
}

function requestOf(source: ClusterSource, options: ClusterOptions): Request {
  const known = checkOptions('options', options, OPTIONS);
  const given = { ...CLUSTER_DEFAULTS, ...known };
  const { seed, kernel } = given;
  if (typeof seed !== 'number' && typeof seed !== 'string') {
    throw wrongType('seed', 'a number or a string', seed);
  }
  if (kernel !== undefined) resolveKernel(kernel);
  const clusters = checkInteger('clusters', given.clusters, 1, 2 ** 24);
  const usual = Math.max(SAMPLE_PER_CLUSTER * clusters, LEAST_SAMPLE);
  const usualBy = hasVectors(source) ? 'vectors' : 'bits';
  const by = checkOneOf('by', given.by ?? usualBy, ['vectors', 'bits', 'majority']);
  return {
    ...{ clusters, by, isMajority: by === 'majority', kernel, seed: String(seed) },
    starts: checkInteger('starts', given.starts, 1, 1000),
    iterations: checkInteger('iterations', given.iterations, 1, 10_000),
    sample: checkInteger('sample', given.sample ?? usual, clusters, Number.MAX_SAFE_INTEGER),
    labels: checkInteger('labels', given.labels, 0, 10_000),
    call: checkLongCall(known),
  };
}

function* clustered(source: ClusterSource, request: Request): Steps<Clusters> {
  const { clusters, by, labels } = request;
  const isByVectors = by === 'vectors';
  const { points, ...made } = yield* pointsOf(source, isByVectors ? 'vectors' : 'bits');
  const { rows } = points;
  if (rows.length === 0) throw new Error('cluster() needs rows, the source has none');
  if (clusters > rows.length) {
    throw wrongValue('clusters', `at most ${rows.length}, a row for each cluster`, clusters);
  }
  const kernel = request.kernel ?? made.kernel;
  const { nearest, centres, history } = yield* kMeans(points, { ...request, kernel });
  const found = yield* summaries(points, rows, nearest, { centres, labels });
  const assignments = new Uint32Array(points.rowCount).fill(NONE);
  rows.forEach((row, i) => {
    assignments[row] = nearest[i];
  });
  const total = found.reduce((sum, { cohesion, size }) => sum + cohesion * size, 0);
  return {
    ...{ count: clusters, by, assignments, clusters: found, centres },
    ...{ objective: total / rows.length, history },
  };
}
