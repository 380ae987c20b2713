/**
 * What share of its true neighbours a search has probably missed. Its own signs say how hard the
 * query was: the worst cosine found, how far the best is above it, and how far the last candidate
 * falls short of it (of estimates, how far the middle one leads), in standard errors of residual
 * codes. A logistic model, fitted to evaluation queries, makes them a share; it has seven weights,
 * so that some hundred queries are enough. The rows to be expected in unvisited partitions are no
 * sign: next to the worst cosine they told nothing more (log loss of 2,000 new queries of GloVe
 * .2754 with and without).
 */

import { mean } from '../base/mean-limits';
import type { Setting } from './candidates';
import type { DoubtModel, Rank } from './index-options';
import type { Candidates, SearchParts } from './index-parts';
import type { Ranked } from './re-rank';

/** Signs of a search, the first of which is 1. */
export type Signs = Float64Array;

/** A search that ended. */
export interface Done {
  readonly candidates: Candidates;
  readonly best: Ranked;
  readonly want: number;
  readonly rank: Rank;
}

/** How many signs a search has, and weights a model; saved reports have as many. */
export const SIGNS = 7;
/** Standard errors within which candidates fall short, and the best lead. */
const SHORT = [-2, 6] as const;
const LEAD = [0, 10] as const;
/** Steps of Newton. */
const STEPS = 25;
/**
 * How much of each weight is taken back. Worst cosines differ by tenths, so their weights are large
 * and little of them may be: log loss of 3,000 new queries of GloVe .4204, with .1 for all .4212;
 * of models of 30 evaluation queries .442 and .451.
 */
const RIDGE = [0, 0.1, 0.1, 0.001, 0.001, 0.1, 0.1] as const;
/** Logarithms of odds; beyond, a share is 0 or 1. */
const MAX_LOG_ODDS = 30;
const SQUARINGS = 12;
/** Of a weight, and of a mean cosine, in a report. */
const DIGITS = 6;

/** The signs of a search that found something. */
export function signsOf(
  { bits }: Pick<SearchParts, 'bits'>,
  { candidates, best, want, rank }: Done,
): Signs {
  const { count, estimateOf } = candidates;
  const { cosines } = best;
  const kth = cosines[cosines.length - 1] ?? 0;
  // Of estimates by codes the error is not known; this is near it, and the weights do the rest.
  const error = Number.isFinite(candidates.error) ? candidates.error : 1 / Math.sqrt(bits);
  // Estimates end with the k-th: in place of the last candidate, how far the middle one leads.
  const last = rank === 'exact' ? kth - estimateOf(count - 1) : middleOf(cosines) - kth;
  // Fewer candidates than were asked for are all there are.
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

/** The mean of these. */
export function kthCosine(all: readonly Signs[]): number {
  return Number(mean(kthCosines(all)).toFixed(DIGITS));
}

/** The share that a search with these signs has probably missed. */
export function missingShare(weights: ArrayLike<number>, signs: Signs): number {
  let sum = 0;
  for (let i = 0; i < signs.length; i++) sum += weights[i] * signs[i];
  return 1 / (1 + power(-clamped(sum, [-MAX_LOG_ODDS, MAX_LOG_ODDS])));
}

/** Nearly e to the power x, by multiplications alone, which every engine rounds alike. */
function power(x: number): number {
  let value = 1 + x / 2 ** SQUARINGS;
  for (let i = 0; i < SQUARINGS; i++) value *= value;
  return value;
}

/** The model of a setting, of the greatest likelihood for the shares that searches missed. */
export function fittedDoubt(
  { probes, want }: Setting,
  k: number,
  all: readonly Signs[],
  missing: ArrayLike<number>,
): DoubtModel {
  const weights = new Float64Array(SIGNS);
  // A query of usual signs that misses half, counted half: none that missed is no certainty.
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

/** Adds what a search says to a step of Newton. */
function addTo(
  system: readonly Float64Array[],
  weights: Float64Array,
  signs: Signs,
  missing: number,
  times: number,
): void {
  const share = missingShare(weights, signs);
  const spread = times * Math.max(1e-6, share * (1 - share));
  for (let a = 0; a < SIGNS; a++) {
    for (let b = 0; b < SIGNS; b++) system[a][b] += spread * signs[a] * signs[b];
    system[a][SIGNS] += times * (missing - share) * signs[a];
  }
}

/** Solves linear equations, the right side in the last column, by elimination. */
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
