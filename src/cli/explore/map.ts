/**
 * Where rows lie on the map: clusters by k-means, a start on the plane of their centroids, and a
 * layout by the exact lists of nearest codes. Of many rows a sample is laid out, and the others lie
 * among the nearest rows of the sample. The same index and seed give the same map.
 */

import { shareAt } from '../../base/random';
import { runStepsAsync } from '../../base/steps';
import { clusterAsync } from '../../clustering/cluster';
import { pointsOf } from '../../clustering/cluster-source';
import { layoutSteps } from '../../clustering/layout';
import { heldOf, sampleOf } from '../../measure/rows';
import {
  type DenseMatrix,
  type NeighborLists,
  neighborListsAsync,
  type SimHashIndex,
  scanAll,
} from '../../node';
import type { Call } from '../call';
import { mainAxes } from './axes';

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
const LAID_OUT = 20_000;
const NEIGHBORS = 15;
/** Nearest by distance that are re-ranked by exact cosine, for each neighbour. */
const RE_RANKED = 3;
/** Passes over the neighbours: for few rows, and for many. */
const EPOCHS = { few: 150, many: 80, manyRows: 10_000 } as const;
/** The start is as wide as UMAP's. */
const START_WIDTH = 10;
/** Clusters of a map: a third of the root of the rows, within what a legend can list. */
const CLUSTERS = { min: 4, max: 24 } as const;
const EXEMPLARS = 5;
/** Nearest rows of the sample that place another row, and how far it lies from their mean. */
const PLACED_BY = 3;
const JITTER = 0.15;
const BLOCK_ROWS = 2048;

/** Places all rows that have a code. */
export async function placeRows(
  call: Call,
  index: SimHashIndex,
  live: Uint32Array,
  { seed, clusters: given }: MapOptions,
): Promise<PlacedRows> {
  const sample = sampleOf(index, live, { count: LAID_OUT, seed });
  const count = sample.rows.length;
  if (count === 0) return emptyMap();
  const by = index.dimensions !== undefined && index.vectors !== 'none' ? 'vectors' : 'bits';
  const usual = Math.round(Math.sqrt(live.length) / 3);
  const wanted = given ?? Math.max(CLUSTERS.min, Math.min(CLUSTERS.max, usual));
  const clusters = Math.min(count, wanted);
  const found = await call.long('finding clusters', (work) =>
    clusterAsync(index, { clusters, by, seed, exemplars: EXEMPLARS, ...work }),
  );
  const places = await startPlaces(index, { by, rows: sample.rows, centroids: found.centroids });
  const wider = sample.vectors !== null && 'dimensions' in sample.vectors ? RE_RANKED : 1;
  const near = await call.long('finding neighbours', (work) =>
    neighborListsAsync(sample.codes, { k: wider * NEIGHBORS, ...work }),
  );
  const lists = wider === 1 ? near : reRanked(near, sample.vectors as DenseMatrix);
  const epochs = count > EPOCHS.manyRows ? EPOCHS.many : EPOCHS.few;
  await call.long('drawing the map', (work) =>
    runStepsAsync(layoutSteps(lists, places, { seed, epochs }), work),
  );
  const isWhole = count === live.length;
  const placed = isWhole
    ? { rows: sample.rows, places }
    : await call.long('placing all rows', (work) => placeOthers(index, live, sample, places, work));
  const ranks = new Map<number, number>();
  for (const { exemplars } of found.clusters) {
    exemplars.forEach((row, i) => {
      ranks.set(row, i + 1);
    });
  }
  const { rows } = placed;
  return {
    rows,
    x: Float32Array.from(rows, (_, i) => placed.places[2 * i]),
    y: Float32Array.from(rows, (_, i) => placed.places[2 * i + 1]),
    labels: Uint8Array.from(rows, (row) => found.labels[row]),
    exemplars: Uint8Array.from(rows, (row) => ranks.get(row) ?? 0),
  };
}

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
  const axes = mainAxes(centroids, dimensions, 2);
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

/** Where all rows lie: those of the sample as laid out, others near the nearest of the sample. */
async function placeOthers(
  index: SimHashIndex,
  live: Uint32Array,
  sample: { readonly rows: Uint32Array; readonly codes: Parameters<typeof scanAll>[0] },
  laidOut: Float32Array,
  {
    onProgress,
    signal,
  }: { onProgress: (done: number, total: number) => void; signal: AbortSignal },
): Promise<{ rows: Uint32Array; places: Float32Array }> {
  const at = new Map(Array.from(sample.rows, (row, i) => [row, i]));
  const rows: number[] = [];
  const places: number[] = [];
  for (let first = 0; first < live.length; first += BLOCK_ROWS) {
    await new Promise((resolve) => setImmediate(resolve));
    signal.throwIfAborted();
    const held = heldOf(index, live.subarray(first, first + BLOCK_ROWS));
    const nearest = scanAll(sample.codes, held.codes, { k: PLACED_BY });
    held.rows.forEach((row, i) => {
      const own = at.get(row);
      rows.push(row);
      for (const axis of [0, 1]) {
        if (own !== undefined) {
          places.push(laidOut[2 * own + axis]);
          continue;
        }
        let sum = 0;
        for (const near of nearest[i].rows) sum += laidOut[2 * near + axis];
        const jitter = JITTER * (shareAt(2, 2 * row + axis) - 0.5);
        places.push(sum / nearest[i].rows.length + jitter);
      }
    });
    onProgress(Math.min(live.length, first + BLOCK_ROWS), live.length);
  }
  return { rows: Uint32Array.from(rows), places: Float32Array.from(places) };
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
