/**
 * The clusters of an index, and a sample of its rows on a plane: the first two principal components
 * by power iteration. Signs are fixed, so the same points always lie the same way.
 */

import { shareAt } from '../../base/random';
import { type LongCall, runStepsAsync } from '../../base/steps';
import { clusterAsync } from '../../clustering/cluster';
import { pointsOf } from '../../clustering/cluster-source';
import type { Cluster } from '../../clustering/cluster-summary';
import type { SimHashIndex } from '../../index/simhash-index';
import type { IndexSample } from '../../measure/rows';

/** A row on the plane. */
export interface MapPoint {
  readonly row: number;
  readonly cluster: number;
  readonly x: number;
  readonly y: number;
  readonly isMedoid: boolean;
}

/** Clusters, and where some of their rows lie. */
export interface ClusterMap {
  readonly by: 'vectors' | 'bits';
  readonly clusters: readonly Cluster[];
  readonly objective: number;
  readonly points: readonly MapPoint[];
  /** Share of the variance along x, and along y. */
  readonly shares: readonly [x: number, y: number];
}

/** `sample` has the rows that are shown; there are at most half as many clusters. */
export interface MapOptions extends LongCall {
  readonly clusters: number;
  readonly seed: number;
  readonly sample: IndexSample;
}

/**
 * Clusters of all rows by vectors, or by the bits of codes where the index holds no dense ones, and
 * where their medoids and the rows of the sample lie. Null where there are no rows with codes.
 */
export async function clusterMap(
  index: SimHashIndex,
  { clusters: wanted, seed, sample, ...call }: MapOptions,
): Promise<ClusterMap | null> {
  if (sample.rows.length === 0) return null;
  const count = Math.max(1, Math.min(wanted, Math.floor(sample.rows.length / 2)));
  const isDense = sample.vectors !== null && 'dimensions' in sample.vectors;
  const by = isDense ? ('vectors' as const) : ('bits' as const);
  const { clusters, objective, labels } = await clusterAsync(index, {
    ...{ clusters: count, by, seed, ...call },
  });
  const medoids = new Set(clusters.map(({ medoid }) => medoid));
  const rows = Uint32Array.from(new Set([...medoids, ...sample.rows])).sort();
  const { points } = await runStepsAsync(pointsOf(index, by), {});
  const { dimensions } = points;
  const values = new Float64Array(rows.length * dimensions);
  rows.forEach((row, i) => {
    points.into(row, values, i * dimensions);
  });
  const { places, shares } = planeOf(values, dimensions);
  return {
    ...{ by, clusters, objective, shares },
    points: places.map(([x, y], i) => {
      return { row: rows[i], cluster: labels[rows[i]], x, y, isMedoid: medoids.has(rows[i]) };
    }),
  };
}

/** Points on a plane: their first two principal components. */
export interface Plane {
  /** x and y of each point. */
  readonly places: readonly (readonly [x: number, y: number])[];
  /** Share of the variance along x, and along y. */
  readonly shares: readonly [x: number, y: number];
}

/** Rounds of an iteration at most, and how little a direction turns when it has settled. */
const MAX_ROUNDS = 100;
const CLOSE = 1e-9;

/** The plane of points of `dimensions` values, one after another. */
export function planeOf(values: Float64Array, dimensions: number): Plane {
  const count = values.length / dimensions;
  const mean = new Float64Array(dimensions);
  for (let i = 0; i < values.length; i++) mean[i % dimensions] += values[i] / count;
  const left = values.map((value, i) => value - mean[i % dimensions]);
  const all = dot(left, left);
  const [x, y] = [1, 2].map((seed) => takeMainPart(left, dimensions, seed));
  return {
    places: Array.from(x, (value, i) => [value, y[i]] as const),
    shares: all === 0 ? [0, 0] : [dot(x, x) / all, dot(y, y) / all],
  };
}

/**
 * Takes from the points, in place, what lies along the direction in which they differ most, found
 * by power iteration; returns how far along it each lies.
 */
function takeMainPart(points: Float64Array, dimensions: number, seed: number): Float64Array {
  let axis = unit(Float64Array.from({ length: dimensions }, (_, i) => shareAt(seed, i) - 0.5));
  const along = new Float64Array(points.length / dimensions);
  for (let round = 0, turned = 1; round <= MAX_ROUNDS && turned > CLOSE; round++) {
    const next = new Float64Array(dimensions);
    for (let i = 0, at = 0; i < along.length; i++, at += dimensions) {
      along[i] = 0;
      for (let j = 0; j < dimensions; j++) along[i] += points[at + j] * axis[j];
      for (let j = 0; j < dimensions; j++) next[j] += points[at + j] * along[i];
    }
    unit(next);
    turned = 1 - dot(axis, next);
    if (turned > CLOSE && round < MAX_ROUNDS) axis = next;
  }
  const largest = axis.reduce((most, one) => (Math.abs(one) > Math.abs(most) ? one : most), 0);
  for (let i = 0, at = 0; i < along.length; i++, at += dimensions) {
    for (let j = 0; j < dimensions; j++) points[at + j] -= along[i] * axis[j];
  }
  return largest < 0 ? along.map((value) => -value) : along;
}

/** Makes a vector as long as 1, in place; one without a length becomes zeros. */
function unit(vector: Float64Array): Float64Array {
  const length = Math.sqrt(dot(vector, vector));
  for (let i = 0; i < vector.length; i++) vector[i] *= length > 1e-12 ? 1 / length : 0;
  return vector;
}

function dot(a: Float64Array, b: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
}
