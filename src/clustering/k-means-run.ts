/**
 * Several starts of k-means on samples, which grow while rough centres are enough; the one of the
 * best objective goes on over all rows. Every iteration is told of.
 */

import seedrandom from 'seedrandom';
import { drawn } from '../base/draw';
import type { Steps } from '../base/steps';
import { NONE } from '../join/distinct';
import type { KernelName } from '../kernels/kernels';
import type { Points } from './cluster-space';
import { KMeans, Progress } from './k-means-pass';
import { startingRows } from './k-means-start';

/** How k-means is to go; there must be as many rows, and as large a sample, as clusters. */
export interface Plan {
  readonly clusters: number;
  readonly isMajority: boolean;
  readonly starts: number;
  readonly iterations: number;
  readonly sample: number;
  readonly seed: string;
  readonly kernel: KernelName | undefined;
}

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

/** The nearest centre of each of the points' rows, and the centres, unit vectors. */
export function* kMeans(
  points: Points,
  plan: Plan,
): Steps<{ nearest: Uint32Array; centres: Float64Array; history: Iteration[] }> {
  const run = new Run(points, plan);
  const means = yield* run.best();
  const nearest = yield* run.overAll(means);
  return { nearest, centres: means.centres, history: run.history };
}

/** Iterations of all starts, and what came of each. */
class Run {
  readonly history: Iteration[] = [];
  readonly #points: Points;
  readonly #plan: Plan;
  readonly #progress: Progress;
  readonly #random: () => number;
  readonly #sampleCount: number;
  /** Rows of the sample that each iteration looks at. */
  readonly #seen: number[];
  /** Of the best start. */
  #start = 0;
  #iterations = 0;

  constructor(points: Points, plan: Plan) {
    this.#points = points;
    this.#plan = plan;
    this.#random = seedrandom.alea(plan.seed);
    const { clusters, iterations, starts } = plan;
    this.#sampleCount = Math.min(points.rows.length, plan.sample);
    const least = Math.max(LEAST_PER_CLUSTER * clusters, LEAST_ROWS);
    this.#seen = Array.from({ length: iterations }, (_, i) => {
      const share = Math.round((SHARES[i] ?? 1) * this.#sampleCount);
      return Math.min(this.#sampleCount, Math.max(least, share));
    });
    const ofStart = this.#seen.reduce((sum, some) => sum + some, 0);
    this.#progress = new Progress(starts * ofStart + (1 + this.#passes) * points.rows.length);
  }

  get #passes(): number {
    const { iterations } = this.#plan;
    return this.#sampleCount < this.#points.rows.length ? Math.min(PASSES, iterations) : iterations;
  }

  /** The centres of the start with the best objective, the first of equals. */
  *best(): Steps<KMeans> {
    let best: KMeans | null = null;
    let most = Number.NEGATIVE_INFINITY;
    for (let start = 0; start < this.#plan.starts; start++) {
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
    const { clusters, isMajority, kernel } = this.#plan;
    const sample = yield* drawn(this.#points.rows, this.#sampleCount, this.#random);
    const room = Math.floor(MOST_STARTING_BYTES / (2 * this.#points.dimensions));
    const some = Math.min(room, Math.max(STARTING_PER_CLUSTER * clusters, LEAST_ROWS));
    const among = sample.subarray(0, Math.max(clusters, some));
    const means = new KMeans(this.#points, clusters, isMajority, kernel);
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
