/**
 * Predicts which share of its true neighbours a search has missed. Its own signs say how hard the
 * query was: the worst cosine found, how far the best is above it, and how far the last candidate
 * falls short of it (with rank 'estimate': how far the middle result leads), the last two in
 * standard errors of residual codes. A logistic model, fitted to evaluation queries, makes a share
 * of them; it has seven weights, so that some hundred queries are enough. Rows expected in
 * unvisited partitions are no sign: they added nothing (log loss of 2,000 new queries of GloVe
 * .2754 with and without).
 */

import { mean } from '../base/mean-limits';
import type { Setting } from './candidates';
import type { DoubtModel, Rank } from './index-options';
import type { Candidates, SearchParts } from './index-parts';
import type { Ranked } from './re-rank';

/** The signs of one search, the first of which is 1: the intercept of the model. */
export type Signs = Float64Array;

/** A finished search. */
export interface Done {
  readonly candidates: Candidates;
  readonly best: Ranked;
  readonly want: number;
  readonly rank: Rank;
}

/** Number of signs of a search and of weights of a model, in saved reports too. */
export const SIGNS = 7;
/** Bounds, in standard errors, of how far candidates fall short and of how far the best leads. */
const SHORT = [-2, 6] as const;
const LEAD = [0, 10] as const;
/** Iterations of Newton's method. */
const STEPS = 25;
/**
 * L2 penalty of each weight. Worst cosines differ by tenths, so their weights are large and must be
 * penalized little: log loss of 3,000 new queries of GloVe .4204, with .1 for all weights .4212; of
 * models of 30 evaluation queries .442 and .451.
 */
const RIDGE = [0, 0.1, 0.1, 0.001, 0.001, 0.1, 0.1] as const;
/** Largest logarithm of odds: beyond it, a share counts as 0 or 1. */
const MAX_LOG_ODDS = 30;
/** Squarings in `power`. */
const SQUARINGS = 12;
/** Decimal digits of weights and mean cosines in a report. */
const DIGITS = 6;

/** The signs of a search that found at least one row. */
export function signsOf(
  { bits }: Pick<SearchParts, 'bits'>,
  { candidates, best, want, rank }: Done,
): Signs {
  const { count, estimateOf } = candidates;
  const { cosines } = best;
  const kth = cosines[cosines.length - 1] ?? 0;
  // Estimates by codes have no known error. This is near it, and the weights absorb the factor.
  const error = Number.isFinite(candidates.error) ? candidates.error : 1 / Math.sqrt(bits);
  // Rank 'estimate' has no candidate beyond the k-th: the middle result takes its place.
  const last = rank === 'exact' ? kth - estimateOf(count - 1) : middleOf(cosines) - kth;
  // If fewer candidates came than were wanted, there are no others: none was missed for the limit.
  const short = count < want ? SHORT[1] : clamped(last / error, SHORT);
  const lead = clamped(((cosines[0] ?? 0) - kth) / error, LEAD);
  return Float64Array.of(1, short, short * short, kth, kth * kth, lead, lead * lead);
}

function middleOf(values: Float64Array): number {
  return values[values.length >> 1] ?? 0;
}

/** The worst cosine that each search found. */
export function kthCosines(all: readonly Signs[]): Float64Array {
  return Float64Array.from(all, (signs) => signs[3]);
}

/** The mean of the worst cosines, rounded to DIGITS. */
export function kthCosine(all: readonly Signs[]): number {
  return Number(mean(kthCosines(all)).toFixed(DIGITS));
}

/** The share, 0 to 1, that a search with these signs has probably missed. */
export function missingShare(weights: ArrayLike<number>, signs: Signs): number {
  let sum = 0;
  for (let i = 0; i < signs.length; i++) sum += weights[i] * signs[i];
  return 1 / (1 + power(-clamped(sum, [-MAX_LOG_ODDS, MAX_LOG_ODDS])));
}

/** Nearly e^x, as (1 + x / 2^12)^(2^12): multiplications alone, which all engines round alike. */
function power(x: number): number {
  let value = 1 + x / 2 ** SQUARINGS;
  for (let i = 0; i < SQUARINGS; i++) value *= value;
  return value;
}

/** The model of a setting by penalized maximum likelihood, from the shares that searches missed. */
export function fittedDoubt(
  { probes, want }: Setting,
  k: number,
  all: readonly Signs[],
  missing: ArrayLike<number>,
): DoubtModel {
  const weights = new Float64Array(SIGNS);
  // A pseudo-query of mean signs that misses half, with weight one half: without it, evaluation
  // queries that missed nothing would make the model certain.
  const usual = new Float64Array(SIGNS);
  for (const signs of all) for (let a = 0; a < SIGNS; a++) usual[a] += signs[a] / all.length;
  for (let step = 0; step < STEPS && all.length > 0; step++) {
    const system = Array.from({ length: SIGNS }, (_, a) => {
      const row = new Float64Array(SIGNS + 1);
      row[a] = RIDGE[a];
      row[SIGNS] = -RIDGE[a] * weights[a];
      return row;
    });
    addTo(system, weights, usual, 0.5, 0.5);
    all.forEach((signs, i) => {
      addTo(system, weights, signs, missing[i], 1);
    });
    const change = solved(system);
    for (let a = 0; a < SIGNS; a++) weights[a] += change[a];
  }
  const rounded = Array.from(weights, (weight) => Number(weight.toFixed(DIGITS)) + 0); // no -0
  return { probes: probes ?? 0, oversample: Math.ceil(want / k), weights: rounded };
}

/** Adds one search to the equations of a Newton step: Hessian, and gradient in the last column. */
function addTo(
  system: readonly Float64Array[],
  weights: Float64Array,
  signs: Signs,
  missing: number,
  times: number,
): void {
  const share = missingShare(weights, signs);
  // A lower bound keeps the equations solvable where shares are nearly 0 or 1.
  const spread = times * Math.max(1e-6, share * (1 - share));
  for (let a = 0; a < SIGNS; a++) {
    for (let b = 0; b < SIGNS; b++) system[a][b] += spread * signs[a] * signs[b];
    system[a][SIGNS] += times * (missing - share) * signs[a];
  }
}

/**
 * Solves linear equations, right side in the last column, by Gauss-Jordan elimination with partial
 * pivoting. Unknowns that no equation determines are 0.
 */
function solved(rows: Float64Array[]): Float64Array {
  const count = rows.length;
  for (let i = 0; i < count; i++) {
    let pivot = i;
    for (let j = i + 1; j < count; j++) {
      if (Math.abs(rows[j][i]) > Math.abs(rows[pivot][i])) pivot = j;
    }
    [rows[i], rows[pivot]] = [rows[pivot], rows[i]];
    for (let j = 0; j < count; j++) {
      if (j === i || rows[i][i] === 0) continue;
      const times = rows[j][i] / rows[i][i];
      for (let c = i; c <= count; c++) rows[j][c] -= times * rows[i][c];
    }
  }
  return Float64Array.from(rows, (row, i) => (row[i] === 0 ? 0 : row[count] / row[i]));
}

function clamped(value: number, [low, high]: readonly [number, number]): number {
  return Math.max(low, Math.min(high, value));
}
