/**
 * Points of many dimensions on a plane: their first two principal components, by orthogonal
 * iteration. Signs are set so that the same points always lie the same way.
 */

import { shareAt } from './draw';

export interface Plane {
  /** x and y of each point. */
  readonly places: readonly (readonly [x: number, y: number])[];
  /** Share of the variance along x, and along y. */
  readonly shares: readonly [x: number, y: number];
}

const MOST_ROUNDS = 100;
const CLOSE = 1e-9;

/** `values` holds points of `dimensions` values, one after another. */
export function planeOf(values: Float64Array, dimensions: number): Plane {
  const count = values.length / dimensions;
  const centred = lessMean(values, dimensions);
  const all = centred.reduce((sum, value) => sum + value * value, 0);
  if (count === 0 || all === 0) {
    return { places: Array.from({ length: count }, () => [0, 0] as const), shares: [0, 0] };
  }
  let axes: Float64Array[] = [0, 1].map((axis) =>
    Float64Array.from({ length: dimensions }, (_, i) => shareAt(axis + 1, i) - 0.5),
  );
  orthonormal(axes);
  for (let round = 0; round < MOST_ROUNDS; round++) {
    const turned = axes.map((axis) => timesCovariance(centred, axis));
    orthonormal(turned);
    const isSettled = turned.every((axis, i) => 1 - Math.abs(dot(axis, axes[i])) < CLOSE);
    axes = turned;
    if (isSettled) break;
  }
  for (const axis of axes) {
    const largest = axis.reduce((most, one) => (Math.abs(one) > Math.abs(most) ? one : most), 0);
    if (largest < 0) for (let i = 0; i < dimensions; i++) axis[i] = -axis[i];
  }
  const along = axes.map((axis) => products(centred, axis));
  const [x, y] = along;
  return {
    places: Array.from(x, (value, i) => [value, y[i]] as const),
    shares: [dot(x, x) / all, dot(y, y) / all],
  };
}

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
