/**
 * Where rows lie on the map of `explore`: clusters by k-means, a start on the plane in which their
 * centroids vary most, and a layout by the nearest codes of each. Of many rows a sample is
 * laid out, and others are placed by their nearest rows in it. Equal index and seed, equal map.
 */

import { shareAt } from '../../base/random';
import { type InStages, runStepsAsync, type Steps } from '../../base/steps';
import { clusterAsync } from '../../clustering/cluster';
import { pointsOf } from '../../clustering/cluster-source';
import { Codes } from '../../codes/codes';
import { scanAll } from '../../codes/scan';
import type { SimHashIndex } from '../../index/simhash-index';
import { presentRows, type Rows, reorderedInSteps, rowsOf } from '../../join/source';
import { sampleOf } from '../../measure/measured-rows';
import type { DenseMatrix } from '../../vectors/vectors';
import { layoutSteps } from './forces';
import { mainAxes } from './main-axes';

/** Rows with codes on the plane; all arrays are by position in `rows`. */
export interface PlacedRows {
  /** Rows that have codes, ascending. */
  readonly rows: Uint32Array;
  readonly x: Float32Array;
  readonly y: Float32Array;
  /** The cluster of a row, from 0. */
  readonly labels: Uint8Array;
  /** 1 to 5 for the rows nearest to the centroid of their cluster, nearest first; else 0. */
  readonly exemplars: Uint8Array;
}

/** Seed of what is drawn at random: a map has no other. */
const SEED = 0;
/** Rows that are laid out, at most; the others are placed among them. */
const LAID_OUT = 10_000;
/** Neighbours that attract a row. */
const NEIGHBORS = 15;
/** Nearest rows by distance that are re-ranked by exact cosine, in units of NEIGHBORS. */
const RE_RANKED = 3;
/** Passes over the neighbours: for up to `manyRows` rows, and for more. */
const EPOCHS = { few: 150, many: 40, manyRows: 5000 } as const;
/** The start reaches this far from the origin, as that of UMAP does. */
const START_WIDTH = 10;
/** Clusters of a map: a third of the root of the rows, within limits that a legend can list. */
const CLUSTERS = { min: 4, max: 24 } as const;
const EXEMPLARS = 5;
/** Rows of the sample by which another row is placed, and how far it may lie from their median. */
const PLACED_BY = 3;
const JITTER = 0.15;
/** Rows between two steps. */
const BLOCK_ROWS = 2048;
/** The same where each is compared with all codes of the sample. */
const SCANNED_ROWS = 256;

/** The rows of a map, ascending: all that have a code. */
export const mappedRows = (index: SimHashIndex) => presentRows(rowsOf('index', index));

/**
 * Places all rows that have codes, in a given number of clusters or as many as suit the number of
 * rows; stages report their progress by `inStage`.
 */
export async function mapRows(
  index: SimHashIndex,
  given: number | undefined,
  inStage: InStages,
): Promise<PlacedRows> {
  const all = rowsOf('index', index);
  const rows = presentRows(all);
  if (rows.length === 0) {
    const none = new Uint8Array();
    return { rows, ...sidesOf(new Float32Array()), labels: none, exemplars: none };
  }
  const sample = sampleOf(index, rows, { count: LAID_OUT, seed: SEED });
  const by = index.dimensions !== undefined && index.vectors !== 'none' ? 'vectors' : 'bits';
  const usual = Math.round(Math.sqrt(rows.length) / 3);
  const wanted = given ?? Math.max(CLUSTERS.min, Math.min(CLUSTERS.max, usual));
  const clusters = Math.min(sample.rows.length, wanted);
  const found = await inStage('finding clusters', (work) =>
    clusterAsync(index, { clusters, by, seed: SEED, exemplars: EXEMPLARS, ...work }),
  );
  const laidOut = await startPlaces(index, { by, rows: sample.rows, centroids: found.centroids });
  const wider = sample.vectors !== null && 'dimensions' in sample.vectors ? RE_RANKED : 1;
  const near = await inStage('finding neighbours', (work) =>
    runStepsAsync(nearestRows(sample.codes, wider * NEIGHBORS), work),
  );
  const lists = wider === 1 ? near : reRanked(near, sample.vectors as DenseMatrix);
  const epochs = sample.rows.length > EPOCHS.manyRows ? EPOCHS.many : EPOCHS.few;
  await inStage('drawing the map', (work) =>
    runStepsAsync(layoutSteps(lists, laidOut, { seed: SEED, epochs }), work),
  );
  const isWhole = sample.rows.length === rows.length;
  const places = isWhole
    ? laidOut
    : await inStage('placing all rows', (work) =>
        runStepsAsync(placeOthers(all, rows, { ...sample, laidOut }), work),
      );
  const ranks = new Map<number, number>();
  for (const { exemplars } of found.clusters) {
    exemplars.forEach((row, i) => {
      ranks.set(row, i + 1);
    });
  }
  return {
    rows,
    ...sidesOf(places),
    labels: Uint8Array.from(rows, (row) => found.labels[row]),
    exemplars: Uint8Array.from(rows, (row) => ranks.get(row) ?? 0),
  };
}

/** Coordinates of alternating x and y, as two arrays. */
const sidesOf = (places: Float32Array) => {
  const side = (axis: number) =>
    Float32Array.from({ length: places.length / 2 }, (_, i) => places[2 * i + axis]);
  return { x: side(0), y: side(1) };
};

/** The rows to start, and the centroids of the clusters by the same points. */
interface StartRequest {
  readonly by: 'vectors' | 'bits';
  readonly rows: Uint32Array;
  readonly centroids: Float64Array;
}

/** Rows on the plane in which the centroids of the clusters vary most: where the layout starts. */
async function startPlaces(
  index: SimHashIndex,
  { by, rows, centroids }: StartRequest,
): Promise<Float32Array> {
  const points = await runStepsAsync(pointsOf(index, by), {});
  const { dimensions } = points;
  const axes = mainAxes(centroids, dimensions);
  const places = new Float32Array(2 * rows.length);
  const values = new Float64Array(dimensions);
  let widest = 0;
  rows.forEach((row, i) => {
    points.into(row, values, 0);
    axes.forEach((axis, a) => {
      let along = 0;
      for (let j = 0; j < dimensions; j++) along += values[j] * axis[j];
      places[2 * i + a] = along;
      widest = Math.max(widest, Math.abs(along));
    });
  });
  // Random offsets, since rows that start in the same place would stay together.
  return places.map(
    (value, i) => (widest === 0 ? 0 : (START_WIDTH * value) / widest) + shareAt(1, i) - 0.5,
  );
}

/** The rows of a sample, their codes, and their places: x and y of each. */
interface LaidOut {
  readonly rows: Uint32Array;
  readonly codes: Codes;
  readonly laidOut: Float32Array;
}

/** Places of `rows`: those of the sample as laid out, others at the median of the nearest ones. */
function* placeOthers(all: Rows, rows: Uint32Array, sample: LaidOut): Steps<Float32Array> {
  const { codes, laidOut } = sample;
  const at = new Map(Array.from(sample.rows, (row, i) => [row, i]));
  const places = new Float32Array(2 * rows.length);
  for (let first = 0; first < rows.length; first += BLOCK_ROWS) {
    yield [first, rows.length];
    const block = rows.subarray(first, first + BLOCK_ROWS);
    const others = block.filter((row) => !at.has(row));
    const placed = yield* reorderedInSteps(all, others);
    const nearest = scanAll(codes, placed.codes, { k: PLACED_BY });
    let next = 0;
    block.forEach((row, i) => {
      const own = at.get(row);
      const near = own === undefined ? [...nearest[next++].rows] : [own];
      for (const axis of [0, 1]) {
        const sides = near.map((one) => laidOut[2 * one + axis]).sort((a, b) => a - b);
        const jitter = own === undefined ? JITTER * (shareAt(2, 2 * row + axis) - 0.5) : 0;
        places[2 * (first + i) + axis] = sides[sides.length >> 1] + jitter;
      }
    });
  }
  return places;
}

/** For each code the rows of the `k` nearest others, nearest first. */
function* nearestRows(codes: Codes, k: number): Steps<Uint32Array[]> {
  const { bits, bytes, bytesPerCode, count } = codes;
  const lists: Uint32Array[] = [];
  while (lists.length < count) {
    const first = lists.length;
    const end = Math.min(count, first + SCANNED_ROWS);
    const some = Codes.from(bytes.subarray(first * bytesPerCode, end * bytesPerCode), { bits });
    scanAll(codes, some, { k: k + 1 }).forEach(({ rows }, i) => {
      lists.push(rows.filter((row) => row !== first + i).subarray(0, k));
    });
    yield [end, count];
  }
  return lists;
}

/** Of each list the rows of the highest cosines, then by row. */
function reRanked(
  lists: readonly Uint32Array[],
  { values, dimensions }: DenseMatrix,
): Uint32Array[] {
  const product = (a: number, b: number) => {
    let sum = 0;
    const [first, second] = [a * dimensions, b * dimensions];
    for (let i = 0; i < dimensions; i++) sum += values[first + i] * values[second + i];
    return sum;
  };
  const lengths = Float64Array.from(lists, (_, row) => Math.sqrt(product(row, row)) || 1);
  return lists.map((rows, row) => {
    const near = Array.from(rows, (other) => {
      return { other, cosine: product(row, other) / lengths[other] };
    }).sort((a, b) => b.cosine - a.cosine || a.other - b.other);
    return Uint32Array.from(near.slice(0, NEIGHBORS), ({ other }) => other);
  });
}
