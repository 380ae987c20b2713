/**
 * Deduplication: groups near rows and plans which of them to keep. A plan names for each row its
 * group, the row that it duplicates and how far it is from it, so that a person can read and edit
 * it before anything is dropped; checksums prevent that it is applied to other rows.
 * With `extend` a plan grows with its collection: earlier decisions and names stay; a new row joins
 * a group that it is near to, and new rows near to none are grouped among themselves. So a crawl is
 * planned day by day, and no row that was kept is dropped later.
 */

import { ascending } from '../base/arrays';
import { checkInteger, checkOptions, wrongType, wrongValue } from '../base/check';
import { asyncForm, eachItem, type Steps, syncForm } from '../base/steps';
import { reaches } from '../codes/angle';
import { Codes } from '../codes/codes';
import { checkLeast, type Measure } from '../codes/measure';
import { exactMeasure, similaritiesOf, withVectors } from '../join/exact';
import { pairSteps } from '../join/pairs';
import {
  checkComparable,
  isVerified,
  type Nearness,
  NONE,
  presentRows,
  type RowSource,
  type Rows,
  reorderedInSteps,
  rowsOf,
} from '../join/source';
import { type GroupRequest, gather, preferred } from './grouping';
import { measureDropped } from './measure-dropped';
import { checkPlan, checkPlanShape, checksInSteps, type DedupPlan } from './plan';
import { GROUP_OPTIONS, type GroupOptions, groupRequest } from './row-groups';
import { planOfSize } from './target-size';

/** An earlier plan, and the rows that it was made for. */
interface Extension {
  readonly plan: DedupPlan;
  readonly source: RowSource;
  /** The vectors of these rows, where pairs are checked by the option `vectors`; one a row. */
  readonly vectors?: Nearness['vectors'];
}

/** Options of `dedup`. */
export interface DedupOptions extends GroupOptions {
  /** A checksum of each row, for rows that are identified by more than their codes. */
  checks?: Uint32Array;
  /**
   * Most rows of a group that are kept: those that `keep` prefers.
   * @default 1
   */
  keepAtMost?: number;
  /**
   * The number of rows that stay where the nearness would leave fewer: only the duplicates nearest
   * to the rows kept for them are dropped. Where more stay, all duplicates are dropped.
   */
  targetRows?: number;
  /** An earlier plan: `source` then has the rows that follow its rows; `checks` are of all rows. */
  extend?: Extension;
}

const OPTIONS = [...GROUP_OPTIONS, 'checks', 'keepAtMost', 'targetRows', 'extend'];

/**
 * Plans which rows to keep and which to drop as duplicates; changes nothing. Null rows are kept.
 * With `extend` the plan covers the rows of an earlier plan and, behind them, those of `source`.
 *
 * @example
 * const codes = new SimHasher({ bits: 64 }).hashAll([[1, 0], [0.9, 0.1], [0, 1]]);
 * const plan = dedup(codes, { maxDistance: 10, keep: 'first' });
 * console.log(plan.kept); // Uint8Array(3) [ 1, 0, 1 ]
 */
export const dedup = /* @__PURE__ */ syncForm(planning);
/**
 * `dedup` with pauses for the event loop. Here it extends a plan by rows that came later.
 *
 * @example
 * const codes = new SimHasher({ bits: 64 }).hashAll([[1, 0], [0.9, 0.1], [0, 1]]);
 * const plan = dedup(codes, { maxDistance: 10 });
 * const added = new SimHasher({ bits: 64 }).hashAll([[0, 2], [1, 1]]);
 * const options = { maxDistance: 10, extend: { plan, source: codes } };
 * console.log((await dedupAsync(added, options)).kept); // Uint8Array(5) [ 1, 0, 1, 0, 1 ]
 */
export const dedupAsync = /* @__PURE__ */ asyncForm(planning);

function* planning(source: RowSource, options: DedupOptions): Steps<DedupPlan> {
  const all = checkOptions('options', options, OPTIONS);
  const { checks, extend, keepAtMost = 1, targetRows, ...given } = all;
  const added = withVectors(rowsOf('source', source), given.vectors);
  const known = extend === undefined ? null : knownOf(extend, added);
  // From here on the vectors are part of `added`.
  const request = groupRequest(added, { ...given, vectors: undefined });
  checkChecks(checks, (known?.plan.count ?? 0) + added.codes.count);
  checkInteger('keepAtMost', keepAtMost, 1, Number.MAX_SAFE_INTEGER);
  if (known !== null) checkGrowth(request, all);
  const asked = { added, known, request, checks, keepAtMost };
  yield undefined;
  if (targetRows === undefined) return yield* planOf(asked);
  checkInteger('targetRows', targetRows, 1, Number.MAX_SAFE_INTEGER);
  if (given.pairs !== undefined) {
    throw new Error('"targetRows" goes without "pairs": which of them are nearest is not known');
  }
  const { near } = request;
  const gone = source instanceof Codes ? 0 : added.codes.count - source.count;
  return yield* planOfSize({ targetRows, gone, rows: added, near }, (narrowed) =>
    planOf({ ...asked, request: { ...request, near: { ...near, ...narrowed } } }),
  );
}

/** Checked options of a plan, and the rows that they are for. */
interface PlanRequest {
  readonly added: Rows;
  readonly known: Known | null;
  readonly request: GroupRequest;
  readonly checks: Uint32Array | undefined;
  readonly keepAtMost: number;
}

/** Rows of a plan between two steps. */
const STEP_ROWS = 2 ** 16;

/** Joins added rows to known groups, groups the others, and measures what is dropped. */
function* planOf({ added, known, request, checks, keepAtMost }: PlanRequest): Steps<DedupPlan> {
  const first = known?.plan.count ?? 0;
  const count = first + added.codes.count;
  const plan = blankPlan(added, known);
  if (known !== null) {
    const own = checks?.subarray(0, first) ?? (yield* checksInSteps(known.rows.codes));
    checkPlan(known.plan, own);
    plan.checks.set(own);
  }
  yield undefined;
  plan.checks.set(checks?.subarray(first) ?? (yield* checksInSteps(added.codes)), first);
  yield undefined;
  let left = yield* preferred(added, request);
  if (known !== null) {
    const joined = yield* joinKnown({ ...known, added, request, order: left });
    enterJoined(plan, known.plan, joined);
    left = left.filter((row) => joined.groups[row] === NONE);
  }
  const rank = keepAtMost > 1 ? ranksOf(left, added.codes.count) : null;
  let grouped = 0;
  for (const { rows, kept } of yield* gather(added, left, request)) {
    for (const row of rows) {
      plan.groups[first + row] = first + rows[0];
      plan.duplicateOf[first + row] = first + kept;
      if (++grouped % STEP_ROWS === 0) yield undefined;
    }
    if (rank === null) continue;
    const others = rows.filter((row) => row !== kept).sort((a, b) => rank[a] - rank[b]);
    for (const row of others.subarray(0, keepAtMost - 1)) {
      plan.duplicateOf[first + row] = first + row;
    }
  }
  yield undefined;
  const within: number[] = [];
  const across: number[] = [];
  for (let row = first; row < count; row++) {
    const other = plan.duplicateOf[row];
    if (other === row) plan.kept[row] = 1;
    else (other >= first ? within : across).push(row);
    if (row % STEP_ROWS === STEP_ROWS - 1) yield undefined;
  }
  const here = { rows: added, first };
  yield* measureDropped(plan, Uint32Array.from(within), here, here);
  if (known !== null) {
    const there = { rows: known.rows, first: 0 };
    yield* measureDropped(plan, Uint32Array.from(across), here, there);
  }
  return plan;
}

/** Throws for options that a growing plan cannot have, since it does not record them. */
function checkGrowth({ keep }: GroupRequest, given: DedupOptions): void {
  if (keep === 'medoid') {
    throw wrongValue('keep', 'another choice: what is kept stays', 'medoid');
  }
  const { keepAtMost = 1, targetRows, group, pairs } = given;
  if (keepAtMost === 1 && [targetRows, group, pairs].every((one) => one === undefined)) return;
  throw new Error(
    '"extend" goes without "group", "pairs", "keepAtMost" and "targetRows": ' +
      'a plan does not record them',
  );
}

function checkChecks(checks: Uint32Array | undefined, count: number): void {
  if (checks === undefined) return;
  if (!(checks instanceof Uint32Array)) throw wrongType('checks', 'a Uint32Array', checks);
  if (checks.length === count) return;
  throw wrongValue('checks', `one for each of ${count} rows`, checks.length);
}

/** For each row its position in an order. */
function ranksOf(order: Uint32Array, count: number): Uint32Array {
  const ranks = new Uint32Array(count);
  order.forEach((row, rank) => {
    ranks[row] = rank;
  });
  return ranks;
}

/** An earlier plan and its rows. */
interface Known {
  readonly plan: DedupPlan;
  readonly rows: Rows;
}

function knownOf(extend: Extension, added: Rows): Known {
  const { plan, source, vectors } = checkOptions('extend', extend, ['plan', 'source', 'vectors']);
  checkPlanShape('extend.plan', plan);
  const rows = withVectors(rowsOf('extend.source', source), vectors);
  checkComparable(rows, added);
  return { plan, rows };
}

/** The known plan, followed by the added rows, each kept in its own group. */
function blankPlan(added: Rows, known: Known | null): DedupPlan {
  const count = (known?.plan.count ?? 0) + added.codes.count;
  const all = [added, ...(known ? [known.rows] : [])];
  const measure = all.every((rows) => exactMeasure(rows) !== null) ? exactMeasure(added) : null;
  const old = known?.plan;
  const exact = (name: Measure['name'], before: Float64Array | null | undefined) =>
    measure?.name === name && before !== null ? new Float64Array(count).fill(1) : null;
  const plan = {
    count,
    groups: ascending(count),
    kept: new Uint8Array(count),
    duplicateOf: ascending(count),
    distances: new Uint16Array(count),
    cosines: exact('cosine', old?.cosines),
    jaccards: exact('jaccard', old?.jaccards),
    checks: new Uint32Array(count),
  };
  if (known === null) return plan;
  for (const field of ['groups', 'kept', 'duplicateOf', 'distances'] as const) {
    plan[field].set(known.plan[field]);
  }
  plan.cosines?.set(known.plan.cosines as Float64Array);
  plan.jaccards?.set(known.plan.jaccards as Float64Array);
  return plan;
}

/** A plan that grows, the added rows, and the order in which these are preferred. */
interface Growth extends Known {
  readonly added: Rows;
  readonly order: Uint32Array;
  readonly request: GroupRequest;
}

/** For each added row the group of the plan that it joins, and its nearest kept row; or NONE. */
interface Joined {
  readonly groups: Uint32Array;
  /** Set for stars alone: in other groups a row duplicates the first kept row of its group. */
  readonly nearest: Uint32Array;
}

/** Which added rows join which known groups, by the rule of the grouping. */
function* joinKnown(growth: Growth): Steps<Joined> {
  const { count } = growth.added.codes;
  const joined = {
    groups: new Uint32Array(count).fill(NONE),
    nearest: new Uint32Array(count).fill(NONE),
  };
  const { grouping } = growth.request;
  if (grouping === 'star') yield* joinStars(growth, joined);
  else if (grouping === 'components') yield* joinComponents(growth, joined.groups);
  else yield* joinCliques(growth, joined.groups);
  return joined;
}

/** Calls `take` with each near pair of an added row and one of the plan's rows `among`. */
function* nearKnown(
  { rows, added, request }: Growth,
  among: Uint32Array,
  equal: 'all' | 'first',
  take: (row: number, other: number, distance: number) => void,
): Steps<void> {
  const known = yield* reorderedInSteps(rows, among);
  const found = pairSteps(added, known, { ...request.near, equal });
  yield* eachItem(found, ({ a, b, distances }) => {
    for (let i = 0; i < a.length; i++) take(a[i], among[b[i]], distances[i]);
  });
}

/** Each new row joins the group of the kept row that is nearest to it. */
function* joinStars(growth: Growth, { groups, nearest }: Joined): Steps<void> {
  const { plan, rows } = growth;
  const distances = new Float64Array(groups.length).fill(Number.POSITIVE_INFINITY);
  const kept = presentRows(rows).filter((row) => plan.kept[row] === 1);
  yield* nearKnown(growth, kept, 'all', (row, other, distance) => {
    if (distance >= distances[row]) return; // of equally near rows, which ascend, the first stays
    distances[row] = distance;
    groups[row] = plan.groups[other];
    nearest[row] = other;
  });
}

/** Each new row joins the group with the lowest name to which a chain of near rows leads. */
function* joinComponents(growth: Growth, groups: Uint32Array): Steps<void> {
  const { plan, rows, added, order, request } = growth;
  const equal = isVerified(added, request.near) ? 'all' : 'first';
  yield* nearKnown(growth, presentRows(rows), equal, (row, other) => {
    groups[row] = Math.min(groups[row], plan.groups[other]); // NONE is above all
  });
  for (const chain of yield* gather(added, order, request)) {
    const least = chain.rows.reduce((name, row) => Math.min(name, groups[row]), NONE);
    for (const row of chain.rows) groups[row] = least;
  }
}

/** Each new row joins the group with the lowest name all of whose rows are near to it. */
function* joinCliques(growth: Growth, groups: Uint32Array): Steps<void> {
  const { plan, rows, added, order, request } = growth;
  const sizes = new Map<number, number>();
  for (const name of plan.groups) sizes.set(name, (sizes.get(name) ?? 0) + 1);
  const met = new Map<number, Map<number, number>>(); // by new row and group: near rows
  yield* nearKnown(growth, presentRows(rows), 'all', (row, other) => {
    const counts = met.get(row) ?? new Map<number, number>();
    if (counts.size === 0) met.set(row, counts);
    const name = plan.groups[other];
    counts.set(name, (counts.get(name) ?? 0) + 1);
  });
  const members = new Map<number, number[]>(); // by group: the new rows that joined it
  for (const row of order) {
    const full = [...(met.get(row) ?? [])].filter(([name, count]) => count === sizes.get(name));
    for (const [name] of full.sort(([a], [b]) => a - b)) {
      const others = members.get(name) ?? [];
      if (!isNearAll(added, request.near, row, others)) continue;
      if (others.length === 0) members.set(name, others);
      others.push(row);
      groups[row] = name;
      break;
    }
  }
}

/** True if a new row is near all of some other new rows. */
function isNearAll(rows: Rows, near: Nearness, row: number, others: readonly number[]): boolean {
  const { maxDistance } = near;
  const isClose = others.every(
    (other) => maxDistance === undefined || rows.codes.distance(row, other) <= maxDistance,
  );
  const asked = checkLeast(near, rows.codes.origin?.projection);
  if (!isClose || asked === undefined || others.length === 0) return isClose;
  if (!isVerified(rows, near)) {
    const { measure, least } = asked;
    const { codes } = rows;
    return others.every(
      (other) => measure.estimateOf(codes.distance(row, other), codes.bits) >= least,
    );
  }
  const a = new Uint32Array(others.length).fill(row);
  const found = similaritiesOf(asked.measure, [rows, rows], a, Uint32Array.from(others));
  return found.every((one) => reaches(one, asked.least));
}

/** Enters the new rows that join known groups, in the order of rows. */
function enterJoined(plan: DedupPlan, known: DedupPlan, { groups, nearest }: Joined): void {
  const keptOf = new Map<number, number>(); // by group, its first kept row
  for (let row = known.count - 1; row >= 0; row--) {
    if (known.kept[row] === 1) keptOf.set(known.groups[row], row);
  }
  groups.forEach((group, i) => {
    if (group === NONE) return;
    const row = known.count + i;
    const kept = nearest[i] === NONE ? keptOf.get(group) : nearest[i];
    // A group that was dropped as a whole is kept from now on, by the first row that joins it.
    if (kept === undefined) keptOf.set(group, row);
    plan.groups[row] = group;
    plan.duplicateOf[row] = kept ?? row;
  });
}
