/**
 * Pairs of rows that are known to be the same or not, for `calibrate`. With --pairs they are labels
 * of a file; ids are compared as text, since a number in one file may be text in another, and what
 * makes no sense is bad data (exit code 3). With --judge they are near rows of the user's own, as a
 * plan whose groups are pairs: the review of `explore` shows them, and where a person keeps both
 * rows, they are not the same. A row is in one such pair at most, and these are drawn evenly over
 * the similarities, since each threshold must be judged.
 */

import type { LongWork } from '../../base/long-work';
import { Reservoir } from '../../base/random';
import { eachPairs, type PairBatch } from '../../near/pairs';
import { checkPlan, checksOf, planOfKept } from '../../near/plan';
import { type Nearness, type Rows, rowsOf } from '../../near/rows';
import { type DedupPlan, type KnownPairs, readPlan } from '../../node';
import type { Call } from '../call';
import { badData } from '../errors';
import { jsonOf } from '../output/table';
import type { Collection } from './collection';
import { batchesOf, nameOfInput, openInput } from './open-input';

interface Label {
  readonly a: string;
  readonly b: string;
  readonly isSame: boolean;
}

/** Values of the third column, in lower case, and what they say. */
const ANSWERS: Readonly<Record<string, boolean>> = { true: true, 1: true, false: false, 0: false };
const COLUMNS = 'two ids, and whether they are the same (true, false, 1 or 0)';

/**
 * Reads the labels from the first three columns of a file of any format. A pair that is repeated,
 * in either order, counts once. Refuses an id that is missing or nested, two equal ids, an answer
 * that is neither yes nor no, two answers to a pair, and a file in which nothing is the same.
 */
export async function readLabels(call: Call, path: string): Promise<Label[]> {
  const reader = await openInput(call, path, undefined, {});
  const names = reader.columns.map(({ name }) => name).slice(0, 3);
  if (names.length < 3) {
    throw badData(`${path}: expected three columns, ${COLUMNS}; got ${names.join(', ') || 'none'}`);
  }
  const known = new Map<string, Label>();
  for await (const batch of batchesOf(call, reader)) {
    const columns = names.map((name) => batch.values(name));
    for (let i = 0; i < batch.count; i++) {
      const row = `${path}: row ${batch.firstRow + i}`;
      const values = columns.map((column) => column[i]);
      const [a, b, answer] = values.map((value) => String(value));
      const isSame = ANSWERS[answer.toLowerCase()];
      const areIds = values.every((value) => typeof (value ?? null) !== 'object') && a !== b;
      if (!areIds || isSame === undefined) {
        throw badData(`${row}: expected ${COLUMNS}, got ${JSON.stringify(values, jsonOf)}`);
      }
      const key = JSON.stringify([a, b].sort());
      if ((known.get(key)?.isSame ?? isSame) !== isSame) {
        throw badData(`${row}: "${a}" and "${b}" are both the same and not the same in this file`);
      }
      known.set(key, { a, b, isSame });
    }
  }
  const labels = [...known.values()];
  if (labels.some(({ isSame }) => isSame)) return labels;
  throw badData(`${path}: expected one pair or more that is the same, all are false`);
}

/** The labels as pairs of rows. Refuses an id of no row or of several, and rows without a code. */
export function labelledRows(labels: readonly Label[], rows: Collection, file: string): KnownPairs {
  const wanted = new Set(labels.flatMap(({ a, b }) => [a, b]));
  const rowsOfId = new Map<string, number[]>();
  for (const row of rows.rows) {
    const id = String(rows.ids?.[row] ?? row); // rows without ids go by their numbers
    if (wanted.has(id)) rowsOfId.set(id, [...(rowsOfId.get(id) ?? []), row]);
  }
  const { codes } = rowsOf('rows', rows.source);
  const name = nameOfInput(rows.path);
  const rowAt = (id: string): number => {
    const [row, second] = rowsOfId.get(id) ?? [];
    if (row !== undefined && second === undefined && !codes.isNull(row)) return row;
    const what =
      row === undefined
        ? `no row of ${name} has the id "${id}"; --id chooses its column`
        : second === undefined
          ? `the row of the id "${id}" is null or empty`
          : `rows ${row} and ${second} of ${name} have the id "${id}"`;
    throw badData(`${file}: ${what}`);
  };
  return {
    a: Uint32Array.from(labels, ({ a }) => rowAt(a)),
    b: Uint32Array.from(labels, ({ b }) => rowAt(b)),
    same: labels.map(({ isSame }) => isSame),
  };
}

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
