/**
 * Clusters by direction: spherical k-means on kept vectors, on accumulators or other vectors, or on
 * codes with a bit as +1 or -1. Centres stay real-valued also for codes: a majority of bits throws
 * most of a centre away, and is there to compare. Starts learn on a sample, the best goes over all
 * rows. The same rows, options and seed give the same clusters everywhere.
 */

import seedrandom from 'seedrandom';
import { checkInteger, checkOneOf, checkOptions, wrongType, wrongValue } from '../check';
import { type KernelName, resolveKernel } from '../kernels/kernels';
import {
  checkLongCall,
  LONG_CALL,
  type LongCall,
  runInTurns,
  runSteps,
  type Steps,
} from '../long-call';
import { type ClusterSource, hasVectors, type Points, pointsOf } from './cluster-space';
import { type Cluster, summaries } from './cluster-summary';
import { NONE } from './distinct';
import { KMeans, Progress } from './k-means-pass';
import { drawnRows, startingRows } from './k-means-start';

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

/** What an iteration came to: rows to their nearest centres. */
export interface Iteration {
  /** From 0; the iterations over all rows go on where the best start ended. */
  readonly start: number;
  readonly iteration: number;
  /** Rows that were looked at. */
  readonly rows: number;
  /** Mean cosine of these rows to their centres. */
  readonly objective: number;
  /** Rows that changed their cluster, or were new: to a start, and to what goes over all rows. */
  readonly moved: number;
  /** Clusters that were without rows and were given one. */
  readonly repaired: number;
}

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
/** Share of the sample that the first iterations look at, and how few rows that may be. */
const SHARES = [1 / 8, 1 / 8, 1 / 4, 1 / 4, 1 / 2];
const LEAST_PER_CLUSTER = 32;
const LEAST_ROWS = 2 ** 12;
/** Rows from which starting centres are drawn, and the memory that they may take. */
const STARTING_PER_CLUSTER = 16;
const MOST_STARTING_BYTES = 2 ** 28;
/** Gains of the objective below which a start has settled, and the best of them has. */
const LEAST_GAIN = 3e-4;
const LEAST_LAST_GAIN = 1e-5;
/**
 * Most times that centres move after a look at all rows, where the sample is not all of them. On
 * GloVe the first of them raises the objective by 1 %, the third by .2 %.
 */
const PASSES = 3;

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

interface Request {
  readonly clusters: number;
  readonly by: ClusterBy;
  readonly starts: number;
  readonly iterations: number;
  readonly sample: number;
  readonly seed: string;
  readonly labels: number;
  readonly kernel: KernelName | undefined;
  readonly call: LongCall;
}

function requestOf(source: ClusterSource, options: ClusterOptions): Request {
  const known = checkOptions('options', options, OPTIONS);
  const given = { ...CLUSTER_DEFAULTS, ...known };
  const { seed, kernel, signal, onProgress } = given;
  if (typeof seed !== 'number' && typeof seed !== 'string') {
    throw wrongType('seed', 'a number or a string', seed);
  }
  if (kernel !== undefined) resolveKernel(kernel);
  const clusters = checkInteger('clusters', given.clusters, 1, 2 ** 24);
  const usual = Math.max(SAMPLE_PER_CLUSTER * clusters, LEAST_SAMPLE);
  const by = given.by ?? (hasVectors(source) ? 'vectors' : 'bits');
  return {
    ...{ clusters, kernel, seed: String(seed) },
    by: checkOneOf('by', by, ['vectors', 'bits', 'majority']),
    starts: checkInteger('starts', given.starts, 1, 1000),
    iterations: checkInteger('iterations', given.iterations, 1, 10_000),
    sample: checkInteger('sample', given.sample ?? usual, clusters, Number.MAX_SAFE_INTEGER),
    labels: checkInteger('labels', given.labels, 0, 10_000),
    call: checkLongCall({ ...(signal && { signal }), ...(onProgress && { onProgress }) }),
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
  const run = new Run(points, { ...request, kernel: request.kernel ?? made.kernel });
  const means = yield* run.best();
  const nearest = yield* run.overAll(means);
  const { centres } = means;
  const found = yield* summaries(points, rows, nearest, { centres, labels });
  const assignments = new Uint32Array(points.rowCount).fill(NONE);
  rows.forEach((row, i) => {
    assignments[row] = nearest[i];
  });
  const total = found.reduce((sum, { cohesion, size }) => sum + cohesion * size, 0);
  return {
    ...{ count: clusters, by, assignments, clusters: found, centres },
    objective: total / rows.length,
    history: run.history,
  };
}

/** Iterations of all starts, and what came of each. */
class Run {
  readonly history: Iteration[] = [];
  readonly #points: Points;
  readonly #request: Request;
  readonly #progress: Progress;
  readonly #random: () => number;
  readonly #sampleCount: number;
  /** Rows of the sample that each iteration looks at. */
  readonly #seen: number[];
  /** Of the best start. */
  #start = 0;
  #iterations = 0;

  constructor(points: Points, request: Request) {
    this.#points = points;
    this.#request = request;
    this.#random = seedrandom.alea(request.seed);
    const { clusters, iterations, starts } = request;
    this.#sampleCount = Math.min(points.rows.length, request.sample);
    const least = Math.max(LEAST_PER_CLUSTER * clusters, LEAST_ROWS);
    this.#seen = Array.from({ length: iterations }, (_, i) => {
      const share = Math.round((SHARES[i] ?? 1) * this.#sampleCount);
      return Math.min(this.#sampleCount, Math.max(least, share));
    });
    const ofStart = this.#seen.reduce((sum, some) => sum + some, 0);
    this.#progress = new Progress(starts * ofStart + (1 + this.#passes) * points.rows.length);
  }

  get #passes(): number {
    const { iterations } = this.#request;
    return this.#sampleCount < this.#points.rows.length ? Math.min(PASSES, iterations) : iterations;
  }

  /** The centres of the start with the best objective, the first of equals. */
  *best(): Steps<KMeans> {
    let best: KMeans | null = null;
    let most = Number.NEGATIVE_INFINITY;
    for (let start = 0; start < this.#request.starts; start++) {
      const means = yield* this.#started(start);
      const { objective, iteration } = this.history[this.history.length - 1];
      if (best !== null && objective <= most) continue;
      [best, most] = [means, objective];
      [this.#start, this.#iterations] = [start, iteration + 1];
    }
    return best as KMeans;
  }

  /** One start on a sample of its own, until it has settled. */
  *#started(start: number): Steps<KMeans> {
    const { clusters, by, kernel } = this.#request;
    const sample = yield* drawnRows(this.#points.rows, this.#sampleCount, this.#random);
    const room = Math.floor(MOST_STARTING_BYTES / (2 * this.#points.dimensions));
    const some = Math.min(room, Math.max(STARTING_PER_CLUSTER * clusters, LEAST_ROWS));
    const among = sample.subarray(0, Math.max(clusters, some));
    const means = new KMeans(this.#points, clusters, by === 'majority', kernel);
    yield* means.begin(yield* startingRows(this.#points, among, clusters, this.#random, kernel));
    const nearest = new Uint32Array(sample.length).fill(NONE);
    let last = Number.NEGATIVE_INFINITY;
    for (const [iteration, count] of this.#seen.entries()) {
      const seen = { rows: sample.subarray(0, count), nearest: nearest.subarray(0, count) };
      const objective = yield* this.#iterate(means, seen, start, iteration);
      yield* means.move();
      if (count === sample.length && objective - last < LEAST_GAIN) {
        for (const left of this.#seen.slice(iteration + 1)) this.#progress.add(left);
        break;
      }
      last = count === this.#seen[iteration + 1] ? objective : Number.NEGATIVE_INFINITY;
    }
    return means;
  }

  /** All rows to their nearest centres, which move while that is of use. */
  *overAll(means: KMeans): Steps<Uint32Array> {
    const { rows } = this.#points;
    const nearest = new Uint32Array(rows.length).fill(NONE);
    let last = Number.NEGATIVE_INFINITY;
    for (let pass = 0; ; pass++) {
      const seen = { rows, nearest };
      const objective = yield* this.#iterate(means, seen, this.#start, this.#iterations + pass);
      if (objective - last < LEAST_LAST_GAIN || pass === this.#passes) break;
      yield* means.move();
      last = objective;
    }
    yield this.#progress.add(Number.POSITIVE_INFINITY);
    return nearest;
  }

  /** One iteration: its objective. */
  *#iterate(
    means: KMeans,
    { rows, nearest }: { rows: Uint32Array; nearest: Uint32Array },
    start: number,
    iteration: number,
  ): Steps<number> {
    const { objective, moved } = yield* means.assign(rows, nearest, this.#progress);
    const repaired = yield* means.repair(rows, nearest);
    this.history.push({ start, iteration, rows: rows.length, objective, moved, repaired });
    return objective;
  }
}
