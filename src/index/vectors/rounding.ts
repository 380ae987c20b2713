/**
 * Vectors rounded to int8 with a scale, and what may be said of the digits that they lost: the
 * largest value of a row is exact, others are uniform within half a step. Zeros may be exact too,
 * as the black of images, or stand for what is small next to the largest: an index counts what its
 * zeros lost.
 */

import { normal } from '../../base/mean-limits';
import { alea } from '../../base/random';

const MAX_INT8 = 127;
/** Of the digits of a value that is uniform within half a step. */
const MEAN_SQUARE = 1 / 12;
/** The smallest number of float32, and below which scales have few digits. */
const LEAST_SCALE = 2 ** -149;
const FEW_DIGITS = MAX_INT8 * 2 ** -126;

/** Values that were rounded to zero, or were zero, and the squares of what they lost, in steps. */
export class Zeros {
  constructor(
    public count = 0,
    public squares = 0,
  ) {}

  /** What one of them lost on average. */
  get meanSquare(): number {
    return this.count === 0 ? 0 : this.squares / this.count;
  }

  add({ count, squares }: Zeros): void {
    this.count += count;
    this.squares += squares;
  }
}

/** Rounds to -127..127, the largest value to the ends; returns the scale. */
export function roundToBytes(
  vector: Float32Array | Float64Array,
  out: Int8Array,
  zeros: Zeros,
): number {
  let most = 0;
  for (let i = 0; i < vector.length; i++) most = Math.max(most, Math.abs(vector[i]));
  if (most === 0) {
    out.fill(0);
    return 0;
  }
  const few = most < FEW_DIGITS ? Math.ceil(most / MAX_INT8 / LEAST_SCALE) * LEAST_SCALE : 0;
  const largest = few === 0 ? most : few * MAX_INT8;
  for (let i = 0; i < vector.length; i++) {
    const value = (vector[i] / largest) * MAX_INT8;
    const rounded = Math.round(value);
    out[i] = rounded;
    if (rounded !== 0) continue;
    zeros.count++;
    zeros.squares += value * value;
  }
  return largest / MAX_INT8;
}

/** Values of int8 as they may have been given: with digits drawn for those that they lost. */
export function withDigits(values: ArrayLike<number>, zeros: Zeros, row: number): Float64Array {
  const random = alea(`digits of row ${row}`);
  const ofZero = Math.sqrt(zeros.meanSquare / MEAN_SQUARE);
  return Float64Array.from(values, (value) => {
    if (Math.abs(value) === MAX_INT8) return value;
    return value + (value === 0 ? ofZero : 1) * (random() - 0.5);
  });
}

/**
 * What the lost digits of a row may add to its cosine with a query: their sum, weighted by what of
 * the query is across the row, is nearly normal.
 */
export function lostDigits(
  { values, norm }: { readonly values: ArrayLike<number>; readonly norm: number },
  zeros: Zeros,
  query: { readonly unit: Float64Array; readonly cosine: number },
  random: () => number,
): number {
  if (norm === 0) return 0;
  const { unit, cosine } = query;
  const along = cosine / norm;
  const ofZero = zeros.meanSquare;
  let squares = 0;
  for (let j = 0; j < values.length; j++) {
    if (Math.abs(values[j]) === MAX_INT8) continue;
    const across = unit[j] - values[j] * along;
    squares += across * across * (values[j] === 0 ? ofZero : MEAN_SQUARE);
  }
  return (normal(random) * Math.sqrt(squares)) / norm;
}
