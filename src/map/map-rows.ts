/**
 * Where rows lie on the map: clusters by k-means, a start on the plane of their centroids, and a
 * layout by the exact lists of nearest codes. Of many rows a sample is laid out, and the others lie
 * among the nearest rows of the sample. The same index and seed give the same map.
 */

import { drawnNumbers } from '../base/draw';
import { shareAt } from '../base/random';
import { type InStages, runStepsAsync, type Steps } from '../base/steps';
import { clusterAsync } from '../clustering/cluster';
import { pointsOf } from '../clustering/cluster-source';
import type { Codes } from '../codes/codes';
import { scanAll } from '../codes/scan';
import type { SimHashIndex } from '../index/simhash-index';
import { type NeighborLists, neighborListsAsync } from '../join/neighbor-lists';
import { presentRows, type Rows, reordered, rowsOf } from '../join/source';
import { sampleOf } from '../measure/rows';
import type { DenseMatrix } from '../vectors/vectors';
import { layoutSteps } from './layout';
import { mainAxes } from './main-axes';

/** Rows on the plane. */
export interface PlacedRows {
  /** Rows that have codes, ascending. */
  readonly rows: Uint32Array;
  readonly x: Float32Array;
  readonly y: Float32Array;
  /** By position in `rows` its cluster. */
  readonly labels: Uint8Array;
  /** By position in `rows` 1 to 5 for the rows nearest to the centroid of their cluster, else 0. */
  readonly exemplars: Uint8Array;
}

export interface MapOptions {
  readonly seed: number;
  /** Undefined for as many as suit the rows. */
  readonly clusters: number | undefined;
}

/** Rows that are laid out; the others are placed among them. */
const LAID_OUT = 10_000;
const NEIGHBORS = 15;
/** Nearest by distance that are re-ranked by exact cosine, for each neighbour. */
const RE_RANKED = 3;
/** Passes over the neighbours: for few rows, and for many. */
const EPOCHS = { few: 150, many: 40, manyRows: 5000 } as const;
/** The start is as wide as UMAP's. */
const START_WIDTH = 10;
/** Clusters of a map: a third of the root of the rows, within what a legend can list. */
const CLUSTERS = { min: 4, max: 24 } as const;
const EXEMPLARS = 5;
/** Nearest rows of the sample that place another row, and how far it lies from their median. */
const PLACED_BY = 3;
const JITTER = 0.15;
const BLOCK_ROWS = 2048;
/** Codes whose main directions a draft is drawn by, and rounds in which these are found. */
const DRAFT = { rows: 500, rounds: 15 } as const;

/** The rows of a map, ascending: all that have a code. */
export const mappedRows = (index: SimHashIndex) => presentRows(rowsOf('index', index));

/** Places all rows that have a code. */
export async function mapRows(
  index: SimHashIndex,
  { seed, clusters: given }: MapOptions,
  inStage: InStages,
): Promise<PlacedRows> {
  const all = rowsOf('index', index);
  const rows = presentRows(all);
  if (rows.length === 0) return emptyMap();
  const sample = sampleOf(index, rows, { count: LAID_OUT, seed });
  const by = index.dimensions !== undefined && index.vectors !== 'none' ? 'vectors' : 'bits';
  const usual = Math.round(Math.sqrt(rows.length) / 3);
  const wanted = given ?? Math.max(CLUSTERS.min, Math.min(CLUSTERS.max, usual));
  const clusters = Math.min(sample.rows.length, wanted);
  const found = await inStage('finding clusters', (work) =>
    clusterAsync(index, { clusters, by, seed, exemplars: EXEMPLARS, ...work }),
  );
  const laidOut = await startPlaces(index, { by, rows: sample.rows, centroids: found.centroids });
  const wider = sample.vectors !== null && 'dimensions' in sample.vectors ? RE_RANKED : 1;
  const near = await inStage('finding neighbours', (work) =>
    neighborListsAsync(sample.codes, { k: wider * NEIGHBORS, ...work }),
  );
  const lists = wider === 1 ? near : reRanked(near, sample.vectors as DenseMatrix);
  const epochs = sample.rows.length > EPOCHS.manyRows ? EPOCHS.many : EPOCHS.few;
  await inStage('drawing the map', (work) =>
    runStepsAsync(layoutSteps(lists, laidOut, { seed, epochs }), work),
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
    ...{ rows, ...sidesOf(places) },
    labels: Uint8Array.from(rows, (row) => found.labels[row]),
    exemplars: Uint8Array.from(rows, (row) => ranks.get(row) ?? 0),
  };
}

/**
 * All rows that have a code, along the two directions in which some of the codes differ most, as
 * one cluster: what there is to see before `mapRows` has found neighbours.
 */
export async function draftMap(index: SimHashIndex): Promise<PlacedRows> {
  const rows = mappedRows(index);
  const { codes } = rowsOf('index', index);
  const { points } = await runStepsAsync(pointsOf(codes, 'bits'), {});
  const some = drawnNumbers(rows.length, DRAFT.rows, 0);
  const values = new Float64Array(some.length * codes.bits);
  some.forEach((at, i) => {
    points.into(rows[at], values, i * codes.bits);
  });
  const axes = mainAxes(values, codes.bits, DRAFT.rounds);
  const places = await runStepsAsync(placesAlong(codes, rows, axes), {});
  const none = new Uint8Array(rows.length);
  return { rows, ...sidesOf(places), labels: none, exemplars: none };
}

/** Codes, their bits as +1 and -1, along two axes: each byte has its part of a sum in a table. */
function* placesAlong(
  { bytes, bytesPerCode }: Codes,
  rows: Uint32Array,
  axes: readonly Float64Array[],
): Steps<Float32Array> {
  const [across, up] = axes.map((axis) =>
    Float64Array.from({ length: 256 * bytesPerCode }, (_, at) => {
      const own = axis.subarray((at >> 8) * 8, (at >> 8) * 8 + 8);
      return own.reduce((sum, value, bit) => sum + ((at >> bit) & 1 ? value : -value), 0);
    }),
  );
  const places = new Float32Array(2 * rows.length);
  for (let i = 0; i < rows.length; i++) {
    const from = rows[i] * bytesPerCode;
    let [x, y] = [0, 0];
    for (let byte = 0; byte < bytesPerCode; byte++) {
      const at = 256 * byte + bytes[from + byte];
      x += across[at];
      y += up[at];
    }
    places[2 * i] = x;
    places[2 * i + 1] = y;
    if (i % BLOCK_ROWS === BLOCK_ROWS - 1) yield undefined;
  }
  return places;
}

const sidesOf = (places: Float32Array) => {
  const side = (axis: number) =>
    Float32Array.from({ length: places.length / 2 }, (_, i) => places[2 * i + axis]);
  return { x: side(0), y: side(1) };
};

function emptyMap(): PlacedRows {
  const [none, nothing] = [new Float32Array(), new Uint8Array()];
  return { rows: new Uint32Array(), x: none, y: none, labels: nothing, exemplars: nothing };
}

interface StartRequest {
  readonly by: 'vectors' | 'bits';
  readonly rows: Uint32Array;
  readonly centroids: Float64Array;
}

/** Rows on the plane in which the centroids of the clusters differ most. */
async function startPlaces(
  index: SimHashIndex,
  { by, rows, centroids }: StartRequest,
): Promise<Float32Array> {
  const { points } = await runStepsAsync(pointsOf(index, by), {});
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
  // Rows that begin in one place would stay there.
  return places.map(
    (value, i) => (widest === 0 ? 0 : (START_WIDTH * value) / widest) + shareAt(1, i) - 0.5,
  );
}

/** Some rows, where they lie: x and y of each. */
interface LaidOut {
  readonly rows: Uint32Array;
  readonly codes: Codes;
  readonly laidOut: Float32Array;
}

/** Where `rows` lie: those of the sample as laid out, others near the nearest of the sample. */
function* placeOthers(all: Rows, rows: Uint32Array, sample: LaidOut): Steps<Float32Array> {
  const { codes, laidOut } = sample;
  const at = new Map(Array.from(sample.rows, (row, i) => [row, i]));
  const places = new Float32Array(2 * rows.length);
  for (let first = 0; first < rows.length; first += BLOCK_ROWS) {
    yield [first, rows.length];
    const block = rows.subarray(first, first + BLOCK_ROWS);
    const others = block.filter((row) => !at.has(row));
    const nearest = scanAll(codes, reordered(all, others).codes, { k: PLACED_BY });
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

/** Of each list of nearest codes the rows of the highest cosines, then the least row. */
function reRanked(lists: NeighborLists, { values, dimensions }: DenseMatrix): NeighborLists {
  const { count, offsets, rows, distances } = lists;
  const lengths = new Float64Array(count);
  const product = (a: number, b: number) => {
    let sum = 0;
    const [first, second] = [a * dimensions, b * dimensions];
    for (let i = 0; i < dimensions; i++) sum += values[first + i] * values[second + i];
    return sum;
  };
  for (let row = 0; row < count; row++) lengths[row] = Math.sqrt(product(row, row)) || 1;
  const kept = new Uint32Array(count * NEIGHBORS);
  const ends = new Uint32Array(count + 1);
  for (let row = 0; row < count; row++) {
    const near = Array.from(rows.subarray(offsets[row], offsets[row + 1]), (other) => {
      return { other, cosine: product(row, other) / lengths[other] };
    }).sort((a, b) => b.cosine - a.cosine || a.other - b.other);
    const best = near.slice(0, NEIGHBORS);
    kept.set(
      best.map(({ other }) => other),
      ends[row],
    );
    ends[row + 1] = ends[row] + best.length;
  }
  return { k: NEIGHBORS, count, offsets: ends, rows: kept, distances };
}
