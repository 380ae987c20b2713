/**
 * The clusters of an index, and a sample of its rows on a plane: the first two principal components
 * by orthogonal iteration. Signs are fixed, so the same points always lie the same way.
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

/** Rounds of the iteration at most, and how little an axis turns when it has settled. */
const MAX_ROUNDS = 100;
const CLOSE = 1e-9;

/** The plane of points of `dimensions` values, one after another. */
export function planeOf(values: Float64Array, dimensions: number): Plane {
  const count = values.length / dimensions;
  const shifted = lessMean(values, dimensions);
  const all = shifted.reduce((sum, value) => sum + value * value, 0);
  if (count === 0 || all === 0) {
    return { places: Array.from({ length: count }, () => [0, 0] as const), shares: [0, 0] };
  }
  let axes: Float64Array[] = [0, 1].map((axis) =>
    Float64Array.from({ length: dimensions }, (_, i) => shareAt(axis + 1, i) - 0.5),
  );
  orthonormal(axes);
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const turned = axes.map((axis) => timesCovariance(shifted, axis));
    orthonormal(turned);
    const isSettled = turned.every((axis, i) => 1 - Math.abs(dot(axis, axes[i])) < CLOSE);
    axes = turned;
    if (isSettled) break;
  }
  for (const axis of axes) {
    const largest = axis.reduce((most, one) => (Math.abs(one) > Math.abs(most) ? one : most), 0);
    if (largest < 0) for (let i = 0; i < dimensions; i++) axis[i] = -axis[i];
  }
  const along = axes.map((axis) => products(shifted, axis));
  const [x, y] = along;
  return {
    places: Array.from(x, (value, i) => [value, y[i]] as const),
    shares: [dot(x, x) / all, dot(y, y) / all],
  };
}

/** The points less their mean. */
function lessMean(values: Float64Array, dimensions: number): Float64Array {
  const count = values.length / dimensions;
  const mean = new Float64Array(dimensions);
  for (let i = 0; i < values.length; i++) mean[i % dimensions] += values[i] / count;
  return values.map((value, i) => value - mean[i % dimensions]);
}

/** The product of each point with an axis. */
function products(values: Float64Array, axis: Float64Array): Float64Array {
  const out = new Float64Array(values.length / axis.length);
  for (let i = 0, at = 0; i < out.length; i++) {
    for (let j = 0; j < axis.length; j++) out[i] += values[at++] * axis[j];
  }
  return out;
}

/** The axis times the covariance of the points, but for a factor. */
function timesCovariance(values: Float64Array, axis: Float64Array) {
  const weights = products(values, axis);
  const out = new Float64Array(axis.length);
  for (let i = 0, at = 0; i < weights.length; i++) {
    for (let j = 0; j < axis.length; j++) out[j] += values[at++] * weights[i];
  }
  return out;
}

/** Gram and Schmidt, in place; an axis without a length becomes zeros. */
function orthonormal(axes: Float64Array[]): void {
  axes.forEach((axis, i) => {
    for (const before of axes.slice(0, i)) {
      const along = dot(axis, before);
      for (let j = 0; j < axis.length; j++) axis[j] -= along * before[j];
    }
    const length = Math.sqrt(dot(axis, axis));
    const scale = length > 1e-12 ? 1 / length : 0;
    for (let j = 0; j < axis.length; j++) axis[j] *= scale;
  });
}

function dot(a: Float64Array, b: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
}
