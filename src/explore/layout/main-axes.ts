/**
 * The directions in which points vary most: principal axes by power iteration. Their signs are
 * fixed, so that equal points have equal axes.
 */

import { shareAt } from '../../base/random';

/** Most rounds of an iteration, and the change of direction (1 - cosine) at which it ends. */
const MAX_ROUNDS = 100;
const CLOSE = 1e-9;

/**
 * The first two principal axes of points of `dimensions` values each, of length 1; zeros where the
 * points do not vary.
 */
export function mainAxes(values: Float64Array, dimensions: number): Float64Array[] {
  const points = values.length / dimensions;
  const mean = new Float64Array(dimensions);
  for (let i = 0; i < values.length; i++) mean[i % dimensions] += values[i] / points;
  const left = values.map((value, i) => value - mean[i % dimensions]);
  return [takeMainAxis(left, dimensions, 1), takeMainAxis(left, dimensions, 2)];
}

/**
 * Finds the axis of the largest variance, and subtracts from the points, in place, their parts
 * along it, so that the next call finds the next axis.
 */
function takeMainAxis(points: Float64Array, dimensions: number, seed: number): Float64Array {
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
  for (let i = 0, at = 0; i < along.length; i++, at += dimensions) {
    for (let j = 0; j < dimensions; j++) points[at + j] -= along[i] * axis[j];
  }
  // The component of the largest magnitude is made positive.
  const largest = axis.reduce((most, one) => (Math.abs(one) > Math.abs(most) ? one : most), 0);
  return largest < 0 ? axis.map((value) => -value) : axis;
}

/** Scales a vector to length 1 in place; one of length 0 becomes zeros. */
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
