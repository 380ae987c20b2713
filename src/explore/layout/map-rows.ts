/**
 * Where rows lie on the map of `explore`: clusters by k-means, a start on a grid of clusters, and a
 * layout by the nearest rows of each. Neighbours attract and random rows repel, by the forces of
 * UMAP for a = b = 1 (McInnes, Healy & Melville 2018); all neighbours count alike, since weights
 * change such layouts little (Damrich & Hamprecht 2021). Of many rows a sample is clustered and
 * laid out, and others are placed by their nearest rows in it.
 * Equal rows give equal maps on every engine: only + - * / and square roots touch a float.
 */

import { type InStages, LongWork } from '../../base/long-work';
import { drawnNumbers, mixed, shareAt } from '../../base/random';
import { Highest } from '../../base/top-k';
import { cluster, pointsOfRows } from '../../clusters/cluster';
import { Codes } from '../../codes/codes';
import { scanAll } from '../../codes/scan';
import { dot } from '../../k-means/k-means';
import { dotsInto } from '../../kernels/dots';
import { gatherCodes, rowsOfCodes } from '../../near/rows';
import { type DenseMatrix, lengthsOf } from '../../vectors/vectors';

/** What is laid out: points, each of a row. Points are numbered from 0. */
export interface MapPoints {
  /** By point its row, ascending. */
  readonly rows: Uint32Array;
  /** Vectors of some points, none of which is zero. */
  vectorsOf(points: Uint32Array): DenseMatrix;
  /** Prepares searches in a sample of the points. */
  nearestIn(sample: Uint32Array): NearestIn;
}

/** Others near a point, the nearest first, with the distances by which they were found. */
interface Near {
  readonly ids: number[];
  /** 1 minus the cosine; of codes alone that of their bits as +1 and -1. */
  readonly distances: number[];
}

/**
 * For each of some points its k nearest others of the sample, by their positions in it; fewer where
 * few are near at all.
 */
type NearestIn = (points: Uint32Array, k: number, work: LongWork) => Promise<Near[]>;

/** Rows on the plane; arrays but the exemplars are by point. */
export interface PlacedRows {
  readonly rows: Uint32Array;
  readonly x: Float32Array;
  readonly y: Float32Array;
  readonly labels: Uint8Array;
  /** Points near it: those that placed it, all of the sample. */
  readonly neighbors: readonly Near[];
  /** For each cluster the rows nearest to its centroid, nearest first. */
  readonly exemplars: readonly Uint32Array[];
}

/** Seed of what is drawn at random: a map has no other. */
const SEED = 0;
/** Rows that are laid out, at most; the others are placed among them. */
const LAID_OUT = 10_000;
/** Neighbours that attract a row: of few rows half as many as their root, so that topics part. */
const NEIGHBORS = 15;
/** Passes over the neighbours: for up to `manyRows` rows, and for more. */
const EPOCHS = { few: 150, many: 40, manyRows: 5000 } as const;
/** Clusters of a map: a third of the root of the rows; each has its own colour on the page. */
const CLUSTERS = { min: 4, max: 12 } as const;
const EXEMPLARS = 3;
/** The start reaches this far from the origin, as that of UMAP does. */
const START_WIDTH = 10;
/** Rows of the sample by which another row is placed, and how far it may lie from their median. */
const PLACED_BY = 3;
const JITTER = 0.15;
/** Rows of a step. */
const PLACED_ROWS = 256;
const MOVED_ROWS = 1024;

/** Places all rows; stages report their progress by `inStage`. */
export async function mapRows(points: MapPoints, inStage: InStages): Promise<PlacedRows> {
  const { rows } = points;
  const { length } = rows;
  if (length === 0) {
    const none = new Float32Array();
    return { rows, x: none, y: none, labels: new Uint8Array(), neighbors: [], exemplars: [] };
  }
  const sample = Uint32Array.from(drawnNumbers(length, LAID_OUT, SEED));
  const nearestTo = points.nearestIn(sample);
  const neighbors = Math.min(NEIGHBORS, Math.ceil(Math.sqrt(sample.length) / 2));
  const near = await inStage('finding neighbours', (call) =>
    nearestTo(sample, neighbors, new LongWork(call)),
  );
  const lists = near.map(({ ids }) => ids);
  const vectors = smoothed(points.vectorsOf(sample), lists);
  const usual = Math.round(Math.sqrt(length) / 3);
  const clusters = Math.min(sample.length, Math.max(CLUSTERS.min, Math.min(CLUSTERS.max, usual)));
  const found = await inStage('finding clusters', (call) =>
    cluster(vectors, { clusters, seed: SEED, ...call }),
  );
  const places = startPlaces(found.labels, clusters);
  const epochs = sample.length > EPOCHS.manyRows ? EPOCHS.many : EPOCHS.few;
  await inStage('drawing the map', (call) => layOut(lists, places, epochs, new LongWork(call)));
  const exemplars = found.clusters.map((one) => {
    return Uint32Array.from(one.exemplars.subarray(0, EXEMPLARS), (i) => rows[sample[i]]);
  });
  const laidOut = { sample, near, places, labels: Uint8Array.from(found.labels) };
  const all = await inStage('placing all rows', (call) =>
    placeAll(length, laidOut, nearestTo, new LongWork(call)),
  );
  return { rows, exemplars, ...all };
}

/**
 * The sums of each point's vector and its neighbours', all of length 1: with these, near points
 * come into the same cluster, also where single vectors are noisy as those of short texts.
 */
function smoothed(vectors: DenseMatrix, lists: readonly number[][]): DenseMatrix {
  const { dimensions } = vectors;
  const lengths = lengthsOf(vectors, 0, lists.length);
  const units = Float64Array.from(vectors.values);
  for (let i = 0; i < units.length; i++) units[i] /= lengths[Math.floor(i / dimensions)];
  const sums = units.slice();
  for (const [point, near] of lists.entries()) {
    for (const other of near) {
      const [to, from] = [point * dimensions, other * dimensions];
      for (let i = 0; i < dimensions; i++) sums[to + i] += units[from + i];
    }
    // Opposite vectors have no sum: the point then keeps its own.
    const own = point * dimensions;
    if (dot(sums, own, sums, own, dimensions) > 1e-12) continue;
    sums.set(units.subarray(own, own + dimensions), own);
  }
  return { values: sums, dimensions };
}

/**
 * Places of points, each within the cell of its cluster on a grid: x and y of each in turn. Starts
 * by the axes of the centroids keep no more neighbours (nouns: .148 of 15, these .155).
 */
function startPlaces(labels: Int32Array, clusters: number): Float32Array {
  const side = Math.ceil(Math.sqrt(clusters));
  return Float32Array.from({ length: 2 * labels.length }, (_, i) => {
    const label = labels[i >> 1];
    const line = i % 2 === 0 ? label % side : Math.floor(label / side);
    return (2 * START_WIDTH * (line + shareAt(1, i))) / side - START_WIDTH;
  });
}

/** Random rows that repel a row, for each neighbour that attracts it. */
const REPELLING = 4;
/** Longest step along an axis; steps shrink in proportion to the epochs that are left. */
const MAX_STEP = 4;

/**
 * Moves `places` (x and y of row after row) in place, by the neighbours of each row, in `epochs`
 * passes; a row without neighbours stays.
 */
export async function layOut(
  neighbors: readonly (Uint32Array | number[])[],
  places: Float32Array,
  epochs: number,
  work: LongWork,
): Promise<void> {
  const count = neighbors.length;
  let draws = 0;
  const draw = () => Math.floor(((mixed(draws++) >>> 0) / 2 ** 32) * count);
  for (let epoch = 0; epoch < epochs; epoch++) {
    const rate = 1 - epoch / epochs;
    for (let first = 0; first < count; first += MOVED_ROWS) {
      const end = Math.min(count, first + MOVED_ROWS);
      for (let row = first; row < end; row++) {
        for (const other of neighbors[row]) {
          attract(places, 2 * row, 2 * other, rate);
          for (let i = 0; i < REPELLING; i++) repel(places, 2 * row, 2 * draw(), rate);
        }
      }
      await work.step(epoch * count + end, epochs * count);
    }
  }
}

/** Moves two neighbours towards each other: the list of one of them may lack the other. */
function attract(places: Float32Array, a: number, b: number, rate: number): void {
  const x = places[a] - places[b];
  const y = places[a + 1] - places[b + 1];
  const pull = -2 / (1 + x * x + y * y);
  const stepX = rate * limited(pull * x);
  const stepY = rate * limited(pull * y);
  places[a] += stepX;
  places[a + 1] += stepY;
  places[b] -= stepX;
  places[b + 1] -= stepY;
}

/** Moves row `a` away from row `b`. Rows in the same place are not parted by this. */
function repel(places: Float32Array, a: number, b: number, rate: number): void {
  const x = places[a] - places[b];
  const y = places[a + 1] - places[b + 1];
  const square = x * x + y * y;
  const push = 2 / ((0.001 + square) * (1 + square));
  places[a] += rate * limited(push * x);
  places[a + 1] += rate * limited(push * y);
}

function limited(step: number): number {
  return step > MAX_STEP ? MAX_STEP : step < -MAX_STEP ? -MAX_STEP : step;
}

/** A sample of the points, ascending: neighbours, places and clusters of each. */
interface LaidOut {
  readonly sample: Uint32Array;
  readonly near: readonly Near[];
  readonly places: Float32Array;
  readonly labels: Uint8Array;
}

/**
 * Places and clusters of all points: those of the sample as they are, others at the median of the
 * nearest of the sample, at which more near rows stay near than at their mean. One without any is
 * placed with the point before it.
 */
async function placeAll(
  count: number,
  { sample, near: ofSample, places, labels: sampled }: LaidOut,
  nearestTo: NearestIn,
  work: LongWork,
) {
  const [x, y] = [new Float32Array(count), new Float32Array(count)];
  const labels = new Uint8Array(count);
  const neighbors: Near[] = [];
  const isWhole = sample.length === count;
  let next = 0;
  let before = [0];
  for (let first = 0; first < count; first += PLACED_ROWS) {
    const length = Math.min(PLACED_ROWS, count - first);
    const some = Uint32Array.from({ length }, (_, i) => first + i);
    const nearest = isWhole ? [] : await nearestTo(some, PLACED_BY, work.quiet());
    for (const [i, point] of some.entries()) {
      const isSampled = sample[next] === point;
      const { ids, distances } = isSampled ? ofSample[next] : nearest[i];
      neighbors[point] = { ids: ids.map((at) => sample[at]), distances };
      const near = isSampled ? [next++] : ids.length > 0 ? ids : before;
      before = near;
      labels[point] = sampled[near[0]];
      [x, y].forEach((out, axis) => {
        const sides = near.map((one) => places[2 * one + axis]).sort((a, b) => a - b);
        const jitter = isSampled ? 0 : JITTER * (shareAt(2, 2 * point + axis) - 0.5);
        out[point] = sides[sides.length >> 1] + jitter;
      });
    }
    await work.step(first + length, count);
  }
  return { x, y, labels, neighbors };
}

/** Nearest by distance that are ranked by cosine, in units of those that are wanted. */
const RANKED = 5;

/** Points of rows, ascending, by their codes; and by the vectors of some, null if none are held. */
export function codePoints(
  rows: Uint32Array,
  codes: Codes,
  vectorsOf: (rows: Uint32Array) => DenseMatrix | null,
): MapPoints {
  const heldOf = (points: Uint32Array) => vectorsOf(points.map((point) => rows[point]));
  return {
    rows,
    vectorsOf: (points) => heldOf(points) ?? signsOf(codesAt(codes, points)),
    nearestIn: (sample) => {
      const own = codesAt(codes, sample);
      const held = heldOf(sample);
      const lengths = held && lengthsOf(held, 0, sample.length);
      return async (points, k, work) => {
        const wanted = 1 + (held === null ? k : RANKED * k);
        const found = await scanAll(own, codesAt(codes, points), { k: wanted, ...work.call });
        const vectors = heldOf(points);
        return found.map(({ rows: near, distances }, i) => {
          const isOther = (at: number) => sample[at] !== points[i];
          const others = near.filter(isOther);
          if (held === null || lengths === null || vectors === null) {
            const apart = [...distances].filter((_, n) => isOther(near[n]));
            return {
              ids: [...others.subarray(0, k)],
              distances: apart.slice(0, k).map((distance) => (2 * distance) / codes.bits),
            };
          }
          const { dimensions } = vectors;
          const best = new Highest(k);
          const own = Float64Array.from(
            vectors.values.subarray(i * dimensions, (i + 1) * dimensions),
          );
          const products = new Float64Array(others.length);
          dotsInto(held.values, others, own, products);
          for (const [n, at] of others.entries()) best.take(products[n] / lengths[at], at);
          const { rows: ids, scores } = best.result();
          const length = lengthsOf(vectors, i, i + 1)[0];
          return nearOf(ids, scores, length);
        });
      };
    },
  };
}

/** Neighbours of a point by their inner products with its vector, the others being of length 1. */
export function nearOf(ids: Uint32Array, products: Float64Array, length: number): Near {
  const distances = Array.from(products, (product) => Math.max(0, 1 - product / length));
  return { ids: [...ids], distances };
}

function codesAt(codes: Codes, points: Uint32Array): Codes {
  const some = Codes.allocate(points.length, { bits: codes.bits });
  gatherCodes(codes.bytes, some.bytes, codes.bytesPerCode, points);
  return some;
}

/** Codes as vectors of a value for each bit, +1 or -1. */
function signsOf(codes: Codes): DenseMatrix {
  const { bits, count } = codes;
  const points = pointsOfRows(rowsOfCodes(codes));
  const values = new Float64Array(count * bits);
  for (let row = 0; row < count; row++) points.into(row, values, row * bits);
  return { values, dimensions: bits };
}
