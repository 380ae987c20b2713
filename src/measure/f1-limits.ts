/**
 * Confidence limits of F1, and of the difference of two F1 on the same pairs. Pairs come in units,
 * such as all pairs of one row, within which they may depend on each other. F1 is computed again
 * under random weights of the units (the Bayesian bootstrap, Rubin 1981). As in mean-limits.ts, one
 * more unit that contradicts the limit has a weight too (Gaffke 2005): without it, no doubt
 * would be left where all pairs seen are right. For units of one pair, and two settings that differ
 * in d pairs, all in favour of one, the chance that it is not better is 2^-d, as in the sign test.
 */
import { gamma, unitWeight } from '../base/mean-limits';
import { alea } from '../base/random';

/** What was found of the pairs of one unit. */
export interface UnitCounts {
  /** Pairs that are the same. */
  readonly same: number;
  /** Found pairs that are the same, and found pairs that are not. */
  right: number;
  wrong: number;
}

/** What two settings found of one unit. */
interface Both {
  readonly one: UnitCounts;
  readonly other: UnitCounts;
}

/** Random weights drawn for one limit. */
const DRAWS = 2000;
/** Probability that one limit is wrong. */
const TAIL = 0.025;
/** Units added against a limit: nothing found, and everything found. */
const NONE: UnitCounts = { same: 0, right: 0, wrong: 0 };
const MISSED: UnitCounts = { same: 1, right: 0, wrong: 0 };
const FOUND: UnitCounts = { same: 1, right: 1, wrong: 0 };

/** An interval that holds the F1 of further units in 95 of 100 cases. */
export function f1Interval(units: readonly UnitCounts[]): [low: number, high: number] {
  const both = units.map((one) => ({ one, other: NONE }));
  return [
    quantile(differences(both, { one: MISSED, other: NONE }), TAIL),
    quantile(differences(both, { one: FOUND, other: NONE }), 1 - TAIL),
  ];
}

/** Lower limit (97.5 %) of how much the first setting's F1 exceeds the other's. */
export function leastGain(units: readonly UnitCounts[], others: readonly UnitCounts[]): number {
  const both = units.map((one, i) => ({ one, other: others[i] }));
  return quantile(differences(both, { one: MISSED, other: FOUND }), TAIL);
}

/**
 * The difference of F1 for each draw of weights, ascending. Equal units share one draw: the sum of
 * n unit weights is a gamma variable of shape n.
 */
function differences(both: readonly Both[], extra: Both): Float64Array {
  const groups = new Map<string, Both & { count: number }>();
  for (const { one, other } of both) {
    const counts = [one.same, one.right, one.wrong, other.right, other.wrong];
    if (counts.every((count) => count === 0)) continue;
    const group = groups.get(counts.join()) ?? { one, other, count: 0 };
    group.count++;
    groups.set(counts.join(), group);
  }
  const random = alea('f1 limits');
  const found = new Float64Array(DRAWS);
  for (let draw = 0; draw < DRAWS; draw++) {
    const sums = new Float64Array(5);
    add(sums, extra, unitWeight(random));
    for (const group of groups.values()) add(sums, group, gamma(group.count, random));
    const [same, right, wrong, otherRight, otherWrong] = sums;
    found[draw] = f1Of(same, right, wrong) - f1Of(same, otherRight, otherWrong);
  }
  return found.sort();
}

function add(sums: Float64Array, { one, other }: Both, weight: number): void {
  sums[0] += weight * one.same;
  sums[1] += weight * one.right;
  sums[2] += weight * one.wrong;
  sums[3] += weight * other.right;
  sums[4] += weight * other.wrong;
}

/** The harmonic mean of precision and recall; 0 if nothing right was found. */
export function f1Of(same: number, right: number, wrong: number): number {
  return right === 0 ? 0 : (2 * right) / (same + right + wrong);
}

/** A quantile, rounded since engines differ in the last digit of logarithms. */
function quantile(sorted: Float64Array, share: number): number {
  const at = Math.min(sorted.length - 1, Math.floor(share * sorted.length));
  return Math.round(sorted[at] * 1e9) / 1e9;
}
