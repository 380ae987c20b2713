/**
 * A plan that leaves a given number of rows. If the plan of the given nearness leaves fewer, a
 * bisection narrows it, by bits of distance or, where pairs are checked by vectors, by hundredths
 * of similarity, to the last step that drops too few rows and the next one, which drops too many.
 * Of the rows that only the latter drops, the least near ones stay, so the number is met exactly.
 */

import { type Steps, withProgress } from '../base/steps';
import { checkLeast } from '../codes/measure';
import { isVerified, maxDistanceOf, type Nearness, type Rows } from '../join/source';
import type { DedupPlan } from './plan';

/** Steps for a similarity of 1. */
const PER_ONE = 100;
/** Subtracted before rounding up, so that .6 is 60 hundredths whatever the rounding. */
const ROUNDING = 1e-9;

/** How many rows must stay, and of which rows. */
interface Target {
  readonly targetRows: number;
  /** Rows of the plan that an index has removed: they count as kept, and do not count as rows. */
  readonly gone: number;
  readonly rows: Rows;
  readonly near: Nearness;
}

/** The plan of `near`, or one that leaves `targetRows` rows if that leaves fewer. */
export function* planOfSize(
  { targetRows, gone, rows, near }: Target,
  planAt: (near: Nearness) => Steps<DedupPlan>,
): Steps<DedupPlan> {
  const missingIn = ({ kept }: DedupPlan) =>
    targetRows + gone - kept.reduce((sum, one) => sum + one, 0);
  let wider = yield* planAt(near);
  if (missingIn(wider) <= 0) return wider;
  let narrower: DedupPlan | null = null;
  const steps = stepsTo(rows, near);
  // Invariant: the plan at `from` leaves enough rows (-1: no plan), the one at `to` too few.
  for (let [from, to] = [-1, steps.count - 1]; to - from > 1; ) {
    const middle = (from + to) >> 1;
    const plan = yield* withProgress(planAt(steps.at(middle)), null);
    if (missingIn(plan) > 0) [wider, to] = [plan, middle];
    else [narrower, from] = [plan, middle];
  }
  return between(wider, narrower, missingIn(wider));
}

/** Nearness by step, from the narrowest to the given one. */
function stepsTo(rows: Rows, near: Nearness): { count: number; at: (step: number) => Nearness } {
  const asked = checkLeast(near, rows.codes.origin?.projection);
  if (asked === undefined || !isVerified(rows, near)) {
    const all = { ...near, minCosine: undefined, minJaccard: undefined };
    const maxDistance = maxDistanceOf(rows, near) as number; // the first plan needed one
    return { count: maxDistance + 1, at: (step) => ({ ...all, maxDistance: step }) };
  }
  const field = asked.measure.name === 'cosine' ? 'minCosine' : 'minJaccard';
  return {
    count: Math.ceil(PER_ONE * (1 - asked.least) - ROUNDING) + 1,
    at: (step) => ({ ...near, [field]: Math.max(asked.least, (PER_ONE - step) / PER_ONE) }),
  };
}

/** The wider plan with `missing` more rows, which the narrower plan keeps: the least near ones. */
function between(wider: DedupPlan, narrower: DedupPlan | null, missing: number): DedupPlan {
  const { groups, kept, duplicateOf, distances, cosines, jaccards } = wider;
  const exact = cosines ?? jaccards;
  const nearest = (a: number, b: number) =>
    (exact === null ? 0 : exact[b] - exact[a]) || distances[a] - distances[b] || a - b;
  const only: number[] = [];
  for (let row = 0; row < wider.count; row++) {
    if (kept[row] === 0 && narrower?.kept[row] !== 0) only.push(row);
  }
  for (const row of only.sort(nearest).slice(-missing)) {
    kept[row] = 1;
    duplicateOf[row] = row;
    distances[row] = 0;
    if (exact !== null) exact[row] = 1;
  }
  if (narrower === null) return wider;
  // Rows that the narrower plan drops for a row that now stays are duplicates of that row.
  const closer = narrower.cosines ?? narrower.jaccards;
  for (let row = 0; row < wider.count; row++) {
    const other = narrower.duplicateOf[row];
    if (kept[row] === 1 || kept[other] === 0 || groups[other] !== groups[row]) continue;
    duplicateOf[row] = other;
    distances[row] = narrower.distances[row];
    if (exact !== null && closer !== null) exact[row] = closer[row];
  }
  return wider;
}
