/**
 * Pairs for `calibrate --judge`: near rows of the user's own, as a plan whose groups are pairs. The
 * review of `explore` shows them; where a person keeps both rows, they are not the same. A row is
 * in one pair at most, and pairs are drawn evenly over the similarities, since each threshold must
 * be judged.
 */

import { Reservoir } from '../../base/draw';
import type { LongWork } from '../../base/long-work';
import { eachPairs, type PairBatch } from '../../near/pairs';
import { checkPlan, checksOf, planOfKept } from '../../near/plan';
import type { Nearness, Rows } from '../../near/rows';
import { type DedupPlan, type KnownPairs, readPlan } from '../../node';
import type { Call } from '../call';

/** Levels of similarity, and pairs of each, at most: a person judges a hundred in ten minutes. */
const LEVELS = 20;
const PER_LEVEL = 5;
/** Pairs that are drawn of a level, of which some share a row with others. */
const DRAWN = 4 * PER_LEVEL;

interface ComparedPair {
  readonly a: number;
  readonly b: number;
  readonly distance: number;
  readonly similarity: number;
}

/** Of the pairs of rows that are as near as `near` says, and not equal, those to judge. */
export async function pairsToJudge(
  rows: Rows,
  near: Pick<Nearness, 'minCosine' | 'minJaccard' | 'maxDistance'>,
  work: LongWork,
): Promise<DedupPlan> {
  const least = near.minJaccard ?? near.minCosine ?? 0;
  const levels = Array.from({ length: LEVELS }, (_, i) => new Reservoir<ComparedPair>(DRAWN, i));
  const take = ({ a, b, distances, cosines, jaccards }: PairBatch) => {
    const similarities = cosines ?? jaccards;
    for (let i = 0; similarities !== null && i < a.length; i++) {
      const similarity = similarities[i];
      const level = Math.floor((LEVELS * (similarity - least)) / (1 - least));
      // Equal rows, at level LEVELS, need no judgement.
      levels[Math.max(0, level)]?.offer(() => {
        return { a: a[i], b: b[i], distance: distances[i], similarity };
      });
    }
  };
  await eachPairs(rows, null, near, take, work);
  const plan = planOfKept(rows.codes);
  const similarities = new Float64Array(plan.count).fill(1);
  const used = new Set<number>();
  for (const level of levels.reverse()) {
    const free = level.result().filter(({ a, b }) => !used.has(a) && !used.has(b));
    for (const { a, b, distance, similarity } of free.slice(0, PER_LEVEL)) {
      if (used.has(a) || used.has(b)) continue;
      used.add(a).add(b);
      for (const row of [a, b]) plan.groups[row] = a;
      plan.kept[b] = 0;
      plan.duplicateOf[b] = a;
      plan.distances[b] = distance;
      similarities[b] = similarity;
    }
  }
  const isOfSets = near.minJaccard !== undefined;
  const reviewed = new Uint8Array(plan.count);
  return { ...plan, reviewed, [isOfSets ? 'jaccards' : 'cosines']: similarities };
}

/** The pairs that a person has judged, of a plan of these rows. Fails where there are none. */
export async function judgedPairs(call: Call, path: string, { codes }: Rows): Promise<KnownPairs> {
  const plan = await readPlan(path, { maxRows: codes.count });
  checkPlan(plan, checksOf(codes));
  const sizes = new Uint32Array(plan.count);
  for (const group of plan.groups) sizes[group]++;
  const large = sizes.findIndex((size) => size > 2);
  if (large >= 0) {
    const has = `the group of row ${large} has ${sizes[large]} rows`;
    call.fail(`${path}: ${has}: --judge takes a plan of pairs, as it writes one`);
  }
  const seconds = Array.from(plan.groups.keys()).filter(
    (row) => plan.groups[row] !== row && plan.reviewed?.[row] === 1,
  );
  if (seconds.length === 0) call.fail(`${path}: no pair is judged yet`);
  return {
    a: Uint32Array.from(seconds, (row) => plan.groups[row]),
    b: Uint32Array.from(seconds),
    same: seconds.map((row) => plan.kept[row] + plan.kept[plan.groups[row]] < 2),
  };
}
