/**
 * Rounds vectors to int8 with a scale, and models the digits lost by that: the largest value of a
 * row is exact, others are uniform within half a step. Zeros may be exact (the black of images) or
 * stand for values that are small next to the largest, so an index counts what its zeros lost. In
 * this file a step is one unit of int8.
 */

import { normal } from '../../base/mean-limits';
import { alea, shareAt } from '../../base/random';

export const MAX_INT8 = 127;
/** Added before digits are cut off, so that this rounds to the nearest integer. */
const ABOVE = MAX_INT8 + 0.5;
/** Variance of a digit that is uniform within half a step. */
const MEAN_SQUARE = 1 / 12;
/**
 * The smallest float32; and the largest value below which a scale is subnormal, with few digits.
 */
const LEAST_SCALE = 2 ** -149;
const FEW_DIGITS = MAX_INT8 * 2 ** -126;

/** How many values became 0, and the sum of the squares of what they were, in steps. */
export class Zeros {
  constructor(
    public count = 0,
    public squares = 0,
  ) {}

  /** Mean square of what became 0; 0 if nothing did. */
  get meanSquare(): number {
    return this.count === 0 ? 0 : this.squares / this.count;
  }

  /** Adds counts of other rows. */
  add({ count, squares }: Zeros): void {
    this.count += count;
    this.squares += squares;
  }
}

/**
 * Rounds to -127..127, so that the largest value becomes 127 or -127, and counts zeros. Returns the
 * scale: value = int8 * scale, and 0 for an all-zero vector.
 */
export function roundToBytes(
  vector: Float32Array | Float64Array,
  out: Int8Array,
  zeros: Zeros,
): number {
  let most = 0;
  for (let i = 0; i < vector.length; i++) {
    const size = Math.abs(vector[i]);
    if (size > most) most = size;
  }
  if (most === 0) {
    out.fill(0);
    return 0;
  }
  // A subnormal scale is rounded up to a float32 first, so that values are divided by what is held.
  const few = most < FEW_DIGITS ? Math.ceil(most / MAX_INT8 / LEAST_SCALE) * LEAST_SCALE : 0;
  const largest = few === 0 ? most : few * MAX_INT8;
  const factor = MAX_INT8 / largest;
  for (let i = 0; i < vector.length; i++) {
    const value = vector[i] * factor;
    const rounded = ((value + ABOVE) | 0) - MAX_INT8; // a third of the time of `Math.round`
    out[i] = rounded;
    if (rounded !== 0) continue;
    zeros.count++;
    zeros.squares += value * value;
  }
  return largest / MAX_INT8;
}

/** Values of int8 with random digits in place of the lost ones, in steps; equal for equal rows. */
export function withDigits(values: ArrayLike<number>, zeros: Zeros, row: number): Float64Array {
  const random = alea(`digits of row ${row}`);
  const ofZero = Math.sqrt(zeros.meanSquare / MEAN_SQUARE);
  return Float64Array.from(values, (value) => {
    if (Math.abs(value) === MAX_INT8) return value;
    return value + (value === 0 ? ofZero : 1) * (random() - 0.5);
  });
}

/** Standard deviations of an error beyond which none is expected. */
const MOST_DEVIATIONS = 5;

/** More than lost digits change the cosine of a row of this length, in steps. */
export function mostLost(norm: number): number {
  return (MOST_DEVIATIONS * Math.sqrt(MEAN_SQUARE)) / norm;
}

/** Rows that have so many digits in common were equal as they were given too. */
const TELLING_DIGITS = 4;

/** A row as int8, and its length in steps. */
interface RoundedRow {
  readonly values: Int8Array;
  readonly norm: number;
  readonly row: number;
}

/**
 * A random error of a row's cosine with a query of length 1, as lost digits may have caused it:
 * alike for equal rows. It is the sum of digits weighted by the query's component across the row,
 * so nearly normal.
 */
export function lostDigits(
  { values, norm, row }: RoundedRow,
  zeros: Zeros,
  unit: Float64Array,
  cosine: number,
): number {
  if (norm === 0) return 0;
  const along = cosine / norm;
  const ofZero = zeros.meanSquare;
  let squares = 0;
  let digits = 0;
  let hash = 0;
  for (let i = 0; i < values.length; i++) {
    const value = values[i];
    hash = Math.imul(hash ^ value, 0x9e37_79b1) ^ (hash >>> 15);
    if (Math.abs(value) === MAX_INT8) continue;
    const across = unit[i] - value * along;
    if (value !== 0) digits++;
    squares += across * across * (value === 0 ? ofZero : MEAN_SQUARE);
  }
  // A generator would take longer to seed than the few numbers that are drawn.
  const seed = digits < TELLING_DIGITS ? row : hash;
  let place = Math.floor(Math.abs(unit[0]) * 2 ** 52);
  return (normal(() => shareAt(seed, place++)) * Math.sqrt(squares)) / norm;
}
