/**
 * Confidence limits of the mean of numbers between 0 and 1, such as the recalls of single queries.
 * They assume nothing about the distribution: the lower limit is a quantile of randomly weighted
 * means of the numbers seen and one more 0, the upper limit one of means of the numbers seen and
 * one more 1 (Gaffke 2005, "Three test statistics for a nonparametric one-sided hypothesis on the
 * mean of a nonnegative variable"; Learned-Miller & Thomas 2019). For numbers that are 0 or 1 the
 * limits are those of Clopper and Pearson (1934). Limits are rounded, since engines differ in the
 * last digit of logarithms; equal numbers give equal limits.
 */

import { alea } from './random';

/** Random means a limit: its error is then some 5 % of its distance from the mean. */
const DRAWS = 2000;
/** Limits are multiples of 1 / UNITS. */
const UNITS = 1e9;
/** Chance that one limit of a 95 % interval is wrong. */
const TAIL = 0.025;

/** The mean; 0 for no values. A value may count several times. */
export function mean(values: ArrayLike<number>, times?: ArrayLike<number>): number {
  let [sum, all] = [0, 0];
  for (let i = 0; i < values.length; i++) {
    const count = times?.[i] ?? 1;
    sum += count * values[i];
    all += count;
  }
  return sum / Math.max(1, all);
}

/**
 * An interval that contains the true mean in 95 of 100 samples; 0 to 1 for no values. A value that
 * counts several times was drawn once.
 */
export function meanInterval(
  values: ArrayLike<number>,
  times?: ArrayLike<number>,
): [low: number, high: number] {
  const complements = Float64Array.from(values, (value) => 1 - value);
  const high = 1 - meanAtLeast(complements, TAIL, times);
  return [meanAtLeast(values, TAIL, times), Math.round(high * UNITS) / UNITS];
}

/** Values that count equally often, and how many of them are equal. */
interface Drawn {
  readonly value: number;
  readonly times: number;
  readonly count: number;
}

/** In order of value, so that limits do not depend on the order of the values. */
function drawnOf(values: ArrayLike<number>, times?: ArrayLike<number>): Drawn[] {
  const alike = new Map<string, Drawn>();
  for (let i = 0; i < values.length; i++) {
    const own = { value: values[i], times: times?.[i] ?? 1 };
    const name = `${own.value} ${own.times}`;
    alike.set(name, { ...own, count: (alike.get(name)?.count ?? 0) + 1 });
  }
  return [...alike.values()].sort((a, b) => a.value - b.value || a.times - b.times);
}

/** The lower limit: the chance that the true mean is below it is at most `doubt` (below 1). */
export function meanAtLeast(
  values: ArrayLike<number>,
  doubt: number,
  times?: ArrayLike<number>,
): number {
  const drawn = drawnOf(values, times);
  const all = drawn.reduce((sum, { times, count }) => sum + times * count, 0);
  const usual = all / values.length || 1;
  const random = alea('mean limits');
  const means = new Float64Array(DRAWS);
  for (let draw = 0; draw < DRAWS; draw++) {
    // The weight of the additional 0: exponential, of the usual size. `1 - random()` is never 0.
    let total = -usual * Math.log(1 - random());
    let sum = 0;
    for (const { value, times, count } of drawn) {
      const weight = times * gamma(count, random);
      total += weight;
      sum += weight * value;
    }
    means[draw] = sum / total;
  }
  return Math.round(means.sort()[Math.floor(doubt * DRAWS)] * UNITS) / UNITS;
}

/**
 * A gamma variable of a shape of at least 1 (Marsaglia & Tsang 2000): distributed as the sum of
 * `shape` weights, exponential with mean 1, in a time that does not depend on `shape`.
 */
function gamma(shape: number, random: () => number): number {
  const d = shape - 1 / 3;
  const c = 1 / Math.sqrt(9 * d);
  for (;;) {
    const x = normal(random);
    const root = 1 + c * x;
    if (root <= 0) continue;
    const v = root * root * root;
    const u = 1 - random();
    const square = x * x;
    // This test alone accepts nearly all and needs no logarithm.
    if (u < 1 - 0.0331 * square * square) return d * v;
    if (Math.log(u) < square / 2 + d - d * v + d * Math.log(v)) return d * v;
  }
}

/** A normal variable of mean 0 and variance 1, by Marsaglia's polar method. */
export function normal(random: () => number): number {
  for (;;) {
    const u = 2 * random() - 1;
    const v = 2 * random() - 1;
    const square = u * u + v * v;
    if (square > 0 && square < 1) return u * Math.sqrt((-2 * Math.log(square)) / square);
  }
}
