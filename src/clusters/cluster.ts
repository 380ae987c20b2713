/**
 * Clusters by direction: spherical k-means on the vectors of an index, on accumulators or other
 * vectors, or on codes with each bit as +1 or -1. Centroids are real-valued for codes too, since
 * centroids that are codes lose most of a centroid. Some starts run on samples, and their first
 * iterations use few rows; the one of the best objective goes on over all rows. Starts are drawn by
 * k-means++ (Arthur & Vassilvitskii 2007). Products are equal on all engines and every draw is
 * seeded, so that the same rows, options and seed give the same clusters on every machine.
 */

import { ascending, isValid } from '../base/arrays';
import { checkInteger, checkOptions, checkSeed, wrongType, wrongValue } from '../base/check';
import { LONG_CALL, type LongCall, LongWork } from '../base/long-work';
import { alea, drawn } from '../base/random';
import { Codes } from '../codes/codes';
import type { DenseVectors } from '../index/vectors/dense-vectors';
import {
  allocatePoints,
  KMeans,
  type Points,
  Progress,
  roundedOnes,
  roundedPoints,
} from '../k-means/k-means';
import { NO_ROW } from '../kernels/hits';
import { type PointRows, pointWidth, productsKernel } from '../kernels/products';
import { isIndex, type RowSource, type Rows, rowsOf } from '../near/rows';
import { checkDenseMatrix, type DenseMatrix, isDenseMatrix, lengthsOf } from '../vectors/vectors';
import { type Cluster, labelsOf, summaries } from './describe';

export interface ClusterOptions extends LongCall {
  /** Number of clusters; each gets at least one row. */
  clusters: number;
  /** Seed of the samples and of the starts. */
  seed?: number | bigint;
}

const CLUSTER_DEFAULTS = { seed: 0 } as const;

export interface Clusters {
  /**
   * For each row the cluster of its nearest centroid; -1 for rows that are null, removed or
   * all-zero. A cluster that would be empty, as where many rows are equal, gets a row that is far
   * from its own centroid.
   */
  readonly labels: Int32Array;
  readonly clusters: Cluster[];
  /** Unit vectors, one after another; of codes with a value for each bit. */
  readonly centroids: Float64Array;
  /** Mean cosine of the rows to their own centroids. */
  readonly objective: number;
}

const OPTIONS = {
  clusters: { min: 1, max: 2 ** 24 },
  seed: null,
  ...LONG_CALL,
} as const;

/**
 * Groups rows into a given number of clusters by direction (spherical k-means).
 *
 * @example
 * const codes = await new SimHasher({ bits: 64 }).hashAll([[1, 0], [0.9, 0.1], [0, 1]]);
 * const { labels, clusters } = await cluster(codes, { clusters: 2, seed: 1 });
 * console.log(labels, clusters[0]?.size); // Int32Array(3) [ 0, 0, 1 ] 2
 */
export async function cluster(source: ClusterSource, options: ClusterOptions): Promise<Clusters> {
  const given = { ...CLUSTER_DEFAULTS, ...checkOptions(options, OPTIONS) };
  const count = checkInteger('clusters', given.clusters, 1, 2 ** 24);
  const seed = String(checkSeed(given.seed));
  const work = new LongWork(given);
  const points = await pointsOf(source, work);
  const { rows } = points;
  if (rows.length === 0) throw new Error('cluster() needs rows, the source has none');
  if (count > rows.length) {
    throw wrongValue('clusters', `at most ${rows.length}, a row for each cluster`, count);
  }
  const { nearest, centroids } = await kMeans(points, { clusters: count, seed }, work);
  const clusters = await summaries(points, nearest, { count, centroids }, work.quiet());
  const total = clusters.reduce((sum, { cohesion, size }) => sum + cohesion * size, 0);
  const objective = total / rows.length;
  return { labels: labelsOf(points, nearest), clusters, centroids, objective };
}

/** Starts, and most iterations of each; and of the moves over all rows where a start has all. */
const STARTS = 3;
const ITERATIONS = 25;
/**
 * Moves of the centroids over all rows, at most, where the sample is a part of the rows. On GloVe
 * the first move raises the objective by 1 %, the third by .2 %.
 */
const MAX_PASSES = 3;
/** Rows of the sample of a start for each cluster, and in all at least; and its bytes at most. */
const SAMPLE_PER_CLUSTER = 64;
const MIN_SAMPLE = 2 ** 14;
const MAX_SAMPLE_BYTES = 2 ** 28;
/** Shares of the sample that the first iterations use, and the fewest rows that one uses. */
const SHARES = [1 / 8, 1 / 8, 1 / 4, 1 / 4, 1 / 2];
const MIN_PER_CLUSTER = 32;
const MIN_ROWS = 2 ** 12;
/** Rows from which the first centroids are drawn, for each cluster. */
const STARTING_PER_CLUSTER = 16;
/** Gains of the objective below which a start ends, and below which the whole run ends. */
const MIN_GAIN = 3e-4;
const MIN_LAST_GAIN = 1e-5;

/** What all parts of a run share. */
interface Run {
  readonly points: Points;
  readonly clusters: number;
  readonly random: () => number;
  /** Rows of the sample that each iteration of a start uses: the first ones. */
  readonly seen: readonly number[];
  readonly progress: Progress;
  readonly work: LongWork;
}

/**
 * The nearest centroid of each of the points' rows, in their order, and the unit centroids. There
 * must be as many rows as clusters.
 */
async function kMeans(
  points: Points,
  { clusters, seed }: { readonly clusters: number; readonly seed: string },
  work: LongWork,
): Promise<{ nearest: Uint32Array; centroids: Float64Array }> {
  const { length } = points.rows;
  const most = Math.max(clusters, Math.floor(MAX_SAMPLE_BYTES / pointWidth(points.dimensions)));
  const sample = Math.min(length, most, Math.max(SAMPLE_PER_CLUSTER * clusters, MIN_SAMPLE));
  const fewest = Math.max(MIN_PER_CLUSTER * clusters, MIN_ROWS);
  const seen = Array.from({ length: ITERATIONS }, (_, i) =>
    Math.min(sample, Math.max(fewest, Math.round((SHARES[i] ?? 1) * sample))),
  );
  const passes = sample < length ? MAX_PASSES : ITERATIONS;
  const ofStart = seen.reduce((sum, some) => sum + some, 0);
  const progress = new Progress(STARTS * ofStart + (1 + passes) * length);
  const run = { points, clusters, random: alea(seed), seen, progress, work };
  let best = await started(run);
  for (let start = 1; start < STARTS; start++) {
    const other = await started(run);
    if (other.objective > best.objective) best = other;
  }
  return overAll(run, best.means, passes);
}

/** Runs one start on its own sample until the gain is small. */
async function started(run: Run) {
  const { points, clusters, random, seen, progress, work } = run;
  const rounded = await roundedAt(points, drawn(points.rows, seen[seen.length - 1], random), work);
  const sample = roundedOnes(rounded, points.dimensions);
  const width = pointWidth(points.dimensions);
  const some = Math.max(STARTING_PER_CLUSTER * clusters, MIN_ROWS);
  const first = { values: rounded.subarray(0, some * width), width };
  const means = new KMeans(sample, clusters);
  means.begin(await startingRows(first, { count: clusters, random }, work));
  const nearest = new Uint32Array(sample.rows.length).fill(NO_ROW);
  let [objective, last] = [0, Number.NEGATIVE_INFINITY];
  for (const [iteration, count] of seen.entries()) {
    const rows = sample.rows.subarray(0, count);
    objective = await assigned(means, rows, nearest.subarray(0, count), run);
    means.move();
    if (count === sample.rows.length && objective - last < MIN_GAIN) {
      for (const left of seen.slice(iteration + 1)) progress.add(left);
      break;
    }
    // Objectives are comparable only between iterations over the same rows.
    last = count === seen[iteration + 1] ? objective : Number.NEGATIVE_INFINITY;
  }
  return { means, objective };
}

/** Assigns all rows, and moves the centroids while that raises the objective. */
async function overAll(run: Run, best: KMeans, passes: number) {
  const { points, progress, work } = run;
  const { rows } = points;
  const means = new KMeans(points, best.count); // not rounded ones, so that centroids are exact
  means.continue(best);
  const nearest = new Uint32Array(rows.length).fill(NO_ROW);
  let last = Number.NEGATIVE_INFINITY;
  for (let pass = 0; ; pass++) {
    const objective = await assigned(means, rows, nearest, run);
    if (objective - last < MIN_LAST_GAIN || pass === passes) break;
    means.move();
    last = objective;
  }
  await means.settle(rows, nearest, work.quiet());
  await work.step(...progress.add(Number.POSITIVE_INFINITY));
  return { nearest, centroids: means.centroids };
}

/** Assigns rows to centroids, each of which gets one at least; returns the objective before. */
async function assigned(
  means: KMeans,
  rows: Uint32Array,
  nearest: Uint32Array,
  run: Pick<Run, 'progress' | 'work'>,
): Promise<number> {
  const objective = await means.assign(rows, nearest, run);
  await means.repair(rows, nearest, run.work);
  return objective;
}

/** Points that are rounded between two steps. */
const ROUNDED_POINTS = 1024;

/** The points of some rows, rounded, where all threads read them in place. */
async function roundedAt(points: Points, rows: Uint32Array, work: LongWork): Promise<Int8Array> {
  const width = pointWidth(points.dimensions);
  const rounded = allocatePoints(rows.length, width);
  for (let first = 0; first < rows.length; first += ROUNDED_POINTS) {
    const end = Math.min(rows.length, first + ROUNDED_POINTS);
    rounded.set(roundedPoints(points, rows, { first, end }), first * width);
    await work.step();
  }
  return rounded;
}

/**
 * Draws `count` different rows of rounded points as the first centroids (k-means++). Each is drawn
 * with a probability in proportion to 1 - cosine to the nearest one before, half the squared
 * distance of unit vectors. Time grows with `count` times the rows.
 */
async function startingRows(
  points: PointRows,
  { count, random }: { count: number; random: () => number },
  work: LongWork,
): Promise<Uint32Array> {
  const { values, width } = points;
  const products = new Float32Array(values.length / width);
  const rows = products.length;
  const weights = new Float64Array(rows).fill(Number.POSITIVE_INFINITY);
  const isTaken = new Uint8Array(rows);
  const chosen = new Uint32Array(count);
  let next = Math.floor(random() * rows);
  for (let i = 0; ; i++) {
    chosen[i] = next;
    isTaken[next] = 1;
    if (i === count - 1) return chosen;
    const centroid = values.slice(next * width, (next + 1) * width);
    productsKernel.productsInto(points, centroid, products);
    let total = 0;
    for (let row = 0; row < rows; row++) {
      const weight = isTaken[row] === 1 ? 0 : Math.max(0, 1 - products[row]);
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

// A random projection keeps angles, so that vectors, accumulators and codes can all be grouped by
// direction.

/** Codes, the rows of an index, or vectors one after another. */
export type ClusterSource = RowSource | DenseMatrix;

/** The points of a source: of its dense vectors where it has any, else of its codes. */
async function pointsOf(source: ClusterSource, work: LongWork): Promise<Points> {
  if (source instanceof Codes || isIndex(source)) return pointsOfRows(rowsOf('source', source));
  if (!isDenseMatrix(source)) {
    throw wrongType('source', 'Codes, a SimHashIndex or { values, dimensions }', source);
  }
  const rowCount = checkDenseMatrix(source, 'source');
  return matrixPoints(source, rowCount, work);
}

/** `pointsOf` for the rows of codes or of an index. */
export function pointsOfRows({ codes, vectors }: Rows): Points {
  if (vectors === null || vectors.kind === 'sparse') return codePoints(codes);
  // Of rows that the index has now: the vector of one that is removed later stays readable.
  const { count: rowCount, validity } = codes;
  const held = vectors as DenseVectors;
  const { dimensions } = held;
  const normOf = (row: number) => held.normOf(row);
  const rows = ascending(rowCount).filter((row) => isValid(validity, row) && normOf(row) > 0);
  const valuesAt = (row: number) => held.valuesAt(row);
  return unitPoints({ rowCount, dimensions, rows }, valuesAt, normOf);
}

/** Rows of a step. */
const STEP_ROWS = 2 ** 14;

/** Rows of a matrix, scaled to length 1 when they are read; the matrix must not change. */
async function matrixPoints(
  matrix: DenseMatrix,
  rowCount: number,
  work: LongWork,
): Promise<Points> {
  const { values, dimensions } = matrix;
  const norms = new Float64Array(rowCount);
  for (let first = 0; first < rowCount; first += STEP_ROWS) {
    norms.set(lengthsOf(matrix, first, Math.min(STEP_ROWS, rowCount - first)), first);
    await work.step();
  }
  const valuesAt = (row: number) => values.subarray(row * dimensions, (row + 1) * dimensions);
  const rows = ascending(rowCount).filter((row) => norms[row] > 0);
  return unitPoints({ rowCount, dimensions, rows }, valuesAt, (row) => norms[row]);
}

/** Vectors as points of length 1, scaled when they are read. */
function unitPoints(
  rows: Pick<Points, 'rowCount' | 'dimensions' | 'rows'>,
  valuesAt: (row: number) => ArrayLike<number>,
  normOf: (row: number) => number,
): Points {
  const into: Points['into'] = (row, out, at) => {
    const [values, norm] = [valuesAt(row), normOf(row)];
    for (let i = 0; i < rows.dimensions; i++) out[at + i] = values[i] / norm;
  };
  return { ...rows, length: 1, into };
}

/** Codes as vectors of one value a bit, +1 or -1: their length is the root of the bits. */
function codePoints({ bits, bytes, bytesPerCode, count, validity }: Codes): Points {
  return {
    rowCount: count,
    dimensions: bits,
    length: Math.sqrt(bits),
    rows: ascending(count).filter((row) => isValid(validity, row)),
    into(row, out, at) {
      const from = row * bytesPerCode;
      for (let bit = 0; bit < bits; bit++) {
        out[at + bit] = 2 * ((bytes[from + (bit >> 3)] >> (bit & 7)) & 1) - 1;
      }
    },
  };
}
