/**
 * Whole runs of k-means, for `cluster`. `kMeans` starts several times on samples, whose first
 * iterations use few rows, and continues the start of the best objective over all rows; the result
 * lists every iteration. Starts are drawn by k-means++ (Arthur & Vassilvitskii 2007). Products are
 * exact integers and every draw is seeded, so that the same rows and seed give the same centroids
 * on every machine. The partitions of an index are trained in two-level.ts.
 */

import { drawn } from '../base/draw';
import type { LongWork } from '../base/long-work';
import { alea } from '../base/random';
import { KMeans, Progress } from '../k-means/k-means';
import { allocateIntegers, integerPoints, PointBlock, type Points } from '../k-means/points';
import { NO_ROW } from '../kernels/hits';
import { integerWidth, productsKernel, UNIT } from '../kernels/products';
import { runJob } from '../threads/parallel';

/** Settings of a run. Rows, and rows of the sample, must be at least as many as clusters. */
export interface KMeansSettings {
  readonly clusters: number;
  readonly starts: number;
  /** Most iterations of a start, and over all rows. */
  readonly iterations: number;
  /** Rows of the sample of a start. */
  readonly sample: number;
  readonly seed: string;
}

/** The result of one iteration. */
export interface Iteration {
  /** The start and its iteration, from 0; those over all rows continue the best start's numbers. */
  readonly start: number;
  readonly iteration: number;
  /** Number of rows that were compared with the centroids. */
  readonly rows: number;
  /** Mean cosine of these rows to their centroids, right to 1e-6. */
  readonly objective: number;
  /** Rows that changed their cluster, or were assigned for the first time. */
  readonly moved: number;
  /** Clusters without rows, which were given one each. */
  readonly repaired: number;
}

/** Shares of the sample that the first iterations use, and the fewest rows that one uses. */
const SHARES = [1 / 8, 1 / 8, 1 / 4, 1 / 4, 1 / 2];
const MIN_PER_CLUSTER = 32;
const MIN_ROWS = 2 ** 12;
/** Rows from which the first centroids are drawn, and the memory that these may take at most. */
const STARTING_PER_CLUSTER = 16;
const MAX_STARTING_BYTES = 2 ** 28;
/** Gains of the objective below which a start ends, and below which the whole run ends. */
const MIN_GAIN = 3e-4;
const MIN_LAST_GAIN = 1e-5;
/**
 * Moves of the centroids over all rows, at most, where the sample is a part of the rows. On GloVe
 * the first move raises the objective by 1 %, the third by .2 %.
 */
const MAX_PASSES = 3;

/** The nearest centroid of each of the points' rows, in their order, and the unit centroids. */
export async function kMeans(
  points: Points,
  settings: KMeansSettings,
  work: LongWork,
): Promise<{ nearest: Uint32Array; centroids: Float64Array; history: Iteration[] }> {
  const run = new Run(points, settings, work);
  const found = await run.overAll(await run.best());
  return { ...found, history: run.history };
}

/** One run: draws samples, runs starts, keeps the history. */
class Run {
  readonly history: Iteration[] = [];
  readonly #points: Points;
  readonly #settings: KMeansSettings;
  readonly #work: LongWork;
  readonly #progress: Progress;
  readonly #random: () => number;
  readonly #sampleCount: number;
  /** Rows of the sample that each iteration of a start uses: the first ones. */
  readonly #seen: number[];
  /** Number and iterations of the best start. */
  #start = 0;
  #iterations = 0;

  constructor(points: Points, settings: KMeansSettings, work: LongWork) {
    this.#points = points;
    this.#work = work;
    this.#settings = settings;
    this.#random = alea(settings.seed);
    const { clusters, iterations, starts } = settings;
    this.#sampleCount = Math.min(points.rows.length, settings.sample);
    const least = Math.max(MIN_PER_CLUSTER * clusters, MIN_ROWS);
    this.#seen = Array.from({ length: iterations }, (_, i) => {
      const share = Math.round((SHARES[i] ?? 1) * this.#sampleCount);
      return Math.min(this.#sampleCount, Math.max(least, share));
    });
    const ofStart = this.#seen.reduce((sum, some) => sum + some, 0);
    this.#progress = new Progress(starts * ofStart + (1 + this.#passes) * points.rows.length);
  }

  /** Largest number of moves over all rows. */
  get #passes(): number {
    const { iterations } = this.#settings;
    return this.#sampleCount < this.#points.rows.length
      ? Math.min(MAX_PASSES, iterations)
      : iterations;
  }

  /** Runs all starts; returns the one of the best objective, the first of equal ones. */
  async best(): Promise<KMeans> {
    let best: KMeans | null = null;
    let most = Number.NEGATIVE_INFINITY;
    let spare: KMeans | null = null;
    for (let start = 0; start < this.#settings.starts; start++) {
      const means: KMeans = await this.#started(start, spare?.rounded);
      const { objective, iteration } = this.history[this.history.length - 1];
      spare = best === null || objective > most ? best : means; // its memory serves the next start
      if (spare === means) continue;
      [best, most] = [means, objective];
      [this.#start, this.#iterations] = [start, iteration + 1];
    }
    return best as KMeans;
  }

  /** Runs one start on its own sample until the gain is small. `rounded` is memory to use again. */
  async #started(start: number, rounded?: Int16Array): Promise<KMeans> {
    const { clusters } = this.#settings;
    const drawnRows = drawn(this.#points.rows, this.#sampleCount, this.#random);
    const points = await pointsAt(this.#points, drawnRows, this.#work);
    const sample = points.rows;
    const mostRows = Math.floor(MAX_STARTING_BYTES / (2 * this.#points.dimensions));
    const some = Math.min(mostRows, Math.max(STARTING_PER_CLUSTER * clusters, MIN_ROWS));
    const among = sample.subarray(0, Math.max(clusters, some));
    const means = new KMeans(points, clusters, { rounded });
    const draw = { count: clusters, random: this.#random };
    means.begin(await startingRows(points, among, draw, this.#work));
    const nearest = new Uint32Array(sample.length).fill(NO_ROW);
    let last = Number.NEGATIVE_INFINITY;
    for (const [iteration, count] of this.#seen.entries()) {
      const seen = { rows: sample.subarray(0, count), nearest: nearest.subarray(0, count) };
      const objective = await this.#iterate(means, seen, start, iteration);
      means.move();
      if (count === sample.length && objective - last < MIN_GAIN) {
        for (const left of this.#seen.slice(iteration + 1)) this.#progress.add(left);
        break;
      }
      // Objectives are comparable only between iterations over the same rows.
      last = count === this.#seen[iteration + 1] ? objective : Number.NEGATIVE_INFINITY;
    }
    return means;
  }

  /** Assigns all rows, and moves the centroids while that raises the objective. */
  async overAll(best: KMeans): Promise<{ nearest: Uint32Array; centroids: Float64Array }> {
    const points = await pointsAt(this.#points, this.#points.rows, this.#work);
    const means = new KMeans(points, best.count);
    means.continue(best);
    const { rows } = points;
    const nearest = new Uint32Array(rows.length).fill(NO_ROW);
    let last = Number.NEGATIVE_INFINITY;
    for (let pass = 0; ; pass++) {
      const seen = { rows, nearest };
      const objective = await this.#iterate(means, seen, this.#start, this.#iterations + pass);
      if (objective - last < MIN_LAST_GAIN || pass === this.#passes) break;
      means.move();
      last = objective;
    }
    await this.#work.step(...this.#progress.add(Number.POSITIVE_INFINITY));
    return { nearest, centroids: means.centroids };
  }

  /** One iteration without the move of the centroids; returns its objective. */
  async #iterate(
    means: KMeans,
    { rows, nearest }: { rows: Uint32Array; nearest: Uint32Array },
    start: number,
    iteration: number,
  ): Promise<number> {
    const { job, result } = means.assignment(rows, nearest, this.#progress);
    await runJob(job, this.#work);
    const { objective, moved } = result();
    const repaired = await means.repair(rows, nearest, this.#work);
    this.history.push({ start, iteration, rows: rows.length, objective, moved, repaired });
    return objective;
  }
}

/** Points that are rounded between two steps. */
const PACKED_POINTS = 1024;
/** Points that take more bytes as integers are rounded again each time that they are read. */
const MAX_PACKED_BYTES = 2 ** 28;
/** Fewer bytes are copied when kernels read them: a separate memory takes 12 pages or more. */
const MIN_OWN_BYTES = 2 ** 16;

/** The points of some rows only: if they fit, as integers that all threads read in place. */
async function pointsAt(points: Points, rows: Uint32Array, work: LongWork): Promise<Points> {
  const byteLength = 2 * integerWidth(points.dimensions) * rows.length;
  if (byteLength > MAX_PACKED_BYTES) return { ...points, rows };
  const packed = await packedAt(points, rows, work);
  // The length of the rounded points: exact for codes, whose values are all rounded to the same
  // magnitude; vectors of length 1 keep it up to 1e-9.
  const length = points.length * Math.floor(UNIT / points.length + 0.5);
  return integerPoints(packed, points.dimensions, length);
}

/** The points of some rows as integers. `rows` of integer points must be the first: a view. */
async function packedAt(points: Points, rows: Uint32Array, work: LongWork): Promise<Int16Array> {
  const width = integerWidth(points.dimensions);
  const { integers } = points;
  if (integers !== undefined) return integers.subarray(0, width * rows.length);
  const isSmall = 2 * width * rows.length < MIN_OWN_BYTES;
  const packed = isSmall
    ? new Int16Array(width * rows.length)
    : allocateIntegers(rows.length, width);
  const block = new PointBlock(points, PACKED_POINTS);
  for (let first = 0; first < rows.length; first += block.capacity) {
    packed.set(block.rounded(block.take(rows, first)), first * width);
    await work.step();
  }
  return packed;
}

/**
 * Draws `count` different entries of `rows`, which are the first rows of the points, as the first
 * centroids (k-means++). Each is drawn with a probability in proportion to 1 - cosine to the
 * nearest one before, half the squared distance of unit vectors. Time grows with `count *
 * rows.length`.
 */
async function startingRows(
  points: Points,
  rows: Uint32Array,
  draw: { count: number; random: () => number },
  work: LongWork,
): Promise<Uint32Array> {
  const { count, random } = draw;
  const width = integerWidth(points.dimensions);
  const packed = await packedAt(points, rows, work);
  const products = new Int32Array(rows.length);
  const weights = new Float64Array(rows.length).fill(Number.POSITIVE_INFINITY);
  const isTaken = new Uint8Array(rows.length);
  const chosen = new Uint32Array(count);
  let next = Math.floor(random() * rows.length);
  for (let i = 0; ; i++) {
    chosen[i] = rows[next];
    isTaken[next] = 1;
    if (i === count - 1) return chosen;
    const centroid = packed.slice(next * width, (next + 1) * width);
    productsKernel.productsInto({ values: packed, width }, centroid, products);
    let total = 0;
    for (let row = 0; row < rows.length; row++) {
      const weight = isTaken[row] === 1 ? 0 : Math.max(0, UNIT * UNIT - products[row]);
      if (weight < weights[row]) weights[row] = weight;
      total += weights[row];
    }
    next = indexAtSum(weights, isTaken, random() * total);
    await work.step();
  }
}

/** The index at which the sum of the weights passes `target`; the first untaken if all are 0. */
function indexAtSum(weights: Float64Array, isTaken: Uint8Array, target: number): number {
  let left = target;
  let last = isTaken.indexOf(0);
  for (let i = 0; i < weights.length; i++) {
    if (weights[i] === 0) continue;
    last = i;
    left -= weights[i];
    if (left < 0) break;
  }
  return last;
}
