/**
 * Deduplication: groups near rows and plans which of them to keep. A plan names for each row its
 * group, the row that it duplicates and how far it is from it, so that a person can read and edit
 * it before anything is dropped; checksums prevent that it is applied to other rows.
 * With `extend` a plan grows with its collection: earlier decisions and names stay; a new row joins
 * the group of the kept row that it is nearest to, and new rows near to none are grouped among
 * themselves. So a crawl is planned day by day, and no row that was kept is dropped later.
 */

import { ascending, byGroup } from '../base/arrays';
import { checkInteger, checkOptions, wrongType, wrongValue } from '../base/check';
import { LONG_CALL, type LongCall, LongWork } from '../base/long-work';
import { Codes } from '../codes/codes';
import { checkLeast, type Measure } from '../codes/measure';
import { distance } from '../kernels/hamming';
import { CommonText, countsOfMembers, type EachText, templatesIn } from './common-text';
import {
  checkKeep,
  GROUPINGS,
  type Grouped,
  type Grouping,
  headsOf,
  type Keep,
  orderBy,
} from './groups';
import { NONE } from './pair-order';
import { eachPairs, type PairBatch } from './pairs';
import { checkPlan, checkPlanShape, checksOf, type DedupPlan, keptAlone } from './plan';
import {
  checkGroup,
  exactMeasure,
  exactSimilarities,
  isVerified,
  maxDistanceOf,
  NEARNESS,
  type Nearness,
  presentRows,
  type RowSource,
  type Rows,
  reordered,
  rowsOf,
  withVectors,
} from './rows';

/** Options of `dedup`. */
export interface DedupOptions extends Nearness, LongCall {
  /** Rows near to one that is kept, or all that chains of pairs connect. */
  grouping?: Grouping;
  /**
   * The row that is kept: 'first', 'last', or an object with `lowest` or `highest` (values, as the
   * lengths of texts).
   */
  keep?: Keep;
  /** A value for each row: only rows of one value are grouped; -1 is in no group. */
  group?: Int32Array;
  /** Most rows of a group that are kept. */
  keepAtMost?: number;
  /**
   * Drops the nearest duplicates first, until so many rows are left. Where more stay, all
   * duplicates are dropped.
   */
  targetRows?: number;
  /**
   * Text that does not make rows near: the members that are common; or a function that passes the
   * members of some rows in the order of their texts (`TextHasher.members`) to its second argument,
   * by which the text of templates is found. Needs `minJaccard`, and the sets of the rows.
   */
  common?: BigUint64Array | EachText;
  /** An earlier plan, of the first rows of `source`; those behind them are new. */
  extend?: DedupPlan;
}

const DEDUP_DEFAULTS = { grouping: 'star', keep: 'first', keepAtMost: 1 } as const;

const OPTIONS = {
  ...NEARNESS,
  grouping: GROUPINGS,
  keep: null,
  group: null,
  keepAtMost: { min: 1 },
  targetRows: null,
  common: null,
  extend: null,
  ...LONG_CALL,
} as const;

/**
 * Plans which rows to keep and which to drop as duplicates; changes nothing. Null rows are kept.
 * With `extend` an earlier plan of the first rows stays, and goes on with the others.
 *
 * @example
 * const hasher = new SimHasher({ bits: 64 });
 * const codes = await hasher.hashAll([[1, 0], [0.9, 0.1], [0, 1]]);
 * const plan = await dedup(codes, { maxDistance: 10, keep: 'first' });
 * console.log(plan.kept); // Uint8Array(3) [ 1, 0, 1 ]
 */
export async function dedup(source: RowSource, options: DedupOptions): Promise<DedupPlan> {
  const all = { ...DEDUP_DEFAULTS, ...checkOptions(options, OPTIONS) };
  const work = new LongWork(all);
  const { extend, keepAtMost, targetRows, common: _, vectors, grouping, keep, ...near } = all;
  // From here on the vectors are part of `rows`.
  const rows = withVectors(rowsOf('source', source), vectors);
  // Counted at once, as the codes are copied: the index may change while the call runs.
  const gone = source instanceof Codes ? 0 : rows.codes.count - source.count;
  if (extend !== undefined) checkGrowth(extend, rows, all);
  if (near.group !== undefined) checkGroup(near.group, rows.codes.count);
  checkKeep(keep, rows.codes.count);
  const { text, stars } = await findCommon(rows, all, near, work);
  const request = { grouping, keep, near: text === null ? near : { ...near, common: text } };
  const asked = { rows, known: extend ?? null, request, keepAtMost, stars };
  const measured = (plan: DedupPlan) =>
    text === null ? plan : { ...plan, ...text.measured(plan) };
  if (targetRows === undefined) return measured(await planOf(asked, work));
  checkInteger('targetRows', targetRows, 1, Number.MAX_SAFE_INTEGER);
  const planAt = async (narrowed: Nearness, part: LongWork) => {
    const nearer = { ...near, ...narrowed };
    // Rows of versions of one text stay that.
    const own = stars && { ...stars, heads: await starsOf(rows, keep, nearer, part) };
    const wanted = { ...request, near: { ...request.near, ...narrowed } };
    return planOf({ ...asked, stars: own, request: wanted }, part);
  };
  // The plan lists rows that the index has removed as kept, but they count for nothing.
  return measured(await planOfSize(targetRows + gone, [rows, near], planAt, work));
}

/** Checked options of a plan, and the rows that they are for. */
interface PlanRequest {
  readonly rows: Rows;
  /** A plan of the first rows. */
  readonly known: DedupPlan | null;
  readonly request: Grouped & { readonly keep: Keep };
  readonly keepAtMost: number;
  readonly stars: Stars | null;
}

/** Rows of a plan between two steps. */
const STEP_ROWS = 2 ** 15;

/** Joins new rows to known groups, groups the others, and measures what is dropped. */
async function planOf(
  { rows, known, request, keepAtMost, stars }: PlanRequest,
  work: LongWork,
): Promise<DedupPlan> {
  const { count } = rows.codes;
  const first = known?.count ?? 0;
  const checks = await checksOf(rows.codes, work);
  if (known !== null) checkPlan(known, checks.subarray(0, first));
  const plan = begunPlan(count, exactMeasure(rows), known);
  plan.checks.set(checks);
  const present = presentRows(rows).filter((row) => row >= first);
  const joined = known && (await joinKnown(plan, present, rows, request, work));
  const order = await orderBy(request.keep, joined ?? present, work);
  const heads = await headsApart(rows, order, request, stars, work);
  const names = lowestOf(heads);
  const keptOf = new Uint32Array(count); // by head the rows of its group that are kept so far
  const { groups, duplicateOf, kept } = plan;
  for (let from = 0; from < order.length; from += STEP_ROWS) {
    for (const row of order.subarray(from, from + STEP_ROWS)) {
      const head = heads[row];
      groups[row] = names[head];
      if (keptOf[head]++ >= keepAtMost) duplicateOf[row] = head;
    }
    await work.step();
  }
  const dropped: number[] = [];
  for (let row = first; row < count; row++) {
    kept[row] = Number(duplicateOf[row] === row);
    if (kept[row] === 0) dropped.push(row);
    if (row % STEP_ROWS === STEP_ROWS - 1) await work.step();
  }
  await measureDropped(plan, Uint32Array.from(dropped), rows, work);
  return plan;
}

/** By head the lowest row of its group. */
function lowestOf(heads: Uint32Array): Uint32Array {
  const lowest = new Uint32Array(heads.length).fill(NONE);
  for (let row = 0; row < heads.length; row++) {
    if (lowest[heads[row]] === NONE) lowest[heads[row]] = row;
  }
  return lowest;
}

/** Throws for a plan of other rows, and for options that a growing plan does not record. */
function checkGrowth(plan: DedupPlan, { codes }: Rows, given: DedupOptions): void {
  checkPlanShape('extend', plan);
  if (plan.count > codes.count) {
    throw wrongValue('extend', `a plan of at most ${codes.count} rows`, plan.count);
  }
  const { keepAtMost = 1, targetRows, group, grouping = 'star' } = given;
  const isPlain = keepAtMost === 1 && targetRows === undefined && group === undefined;
  if (isPlain && grouping === 'star') return;
  throw new Error(
    '"extend" goes by stars, without "group", "keepAtMost" and "targetRows": a plan does not ' +
      'record them',
  );
}

/** The known plan, and behind it each other row alone; with similarities where both have them. */
function begunPlan(count: number, measure: Measure | null, known: DedupPlan | null) {
  const isKnown = known === null || known.measure === measure?.name;
  const plan = keptAlone(count, measure !== null && isKnown ? measure.name : null);
  if (known === null) return plan;
  for (const field of ['groups', 'kept', 'duplicateOf', 'distances', 'checks'] as const) {
    plan[field].set(known[field]);
  }
  if (known.similarities !== null) plan.similarities?.set(known.similarities);
  return plan;
}

/** Joins new rows to the group of the kept row that is nearest; returns those near to none. */
async function joinKnown(
  plan: DedupPlan,
  added: Uint32Array,
  rows: Rows,
  { near }: Grouped,
  work: LongWork,
): Promise<Uint32Array> {
  const nearest = new Float64Array(added.length).fill(Number.POSITIVE_INFINITY);
  const [first = plan.count] = added;
  const kept = presentRows(rows).filter((row) => row < first && plan.kept[row] === 1);
  const take = ({ a, b, distances, similarities }: PairBatch) => {
    const found = similarities?.map((similarity) => -similarity) ?? distances;
    for (let i = 0; i < a.length; i++) {
      // Rows ascend, so of equally near ones the first stays.
      if (found[i] >= nearest[a[i]]) continue;
      nearest[a[i]] = found[i];
      plan.duplicateOf[added[a[i]]] = kept[b[i]];
    }
  };
  const [ours, theirs] = [await reordered(rows, added, work), await reordered(rows, kept, work)];
  await eachPairs(ours, theirs, near, take, work);
  for (const row of added) plan.groups[row] = plan.groups[plan.duplicateOf[row]];
  return added.filter((row) => plan.duplicateOf[row] === row);
}

/** The columns of a plan that measure dropped rows. */
type Measured = Pick<DedupPlan, 'duplicateOf' | 'distances' | 'similarities'>;

/** Writes the distances and similarities of the `dropped` rows to the rows that they duplicate. */
export async function measureDropped(
  { duplicateOf, distances, similarities }: Measured,
  dropped: Uint32Array,
  rows: Rows,
  work: LongWork,
): Promise<void> {
  const { bytes, bytesPerCode } = rows.codes;
  for (let i = 0; i < dropped.length; i++) {
    const row = dropped[i];
    const code = bytes.subarray(row * bytesPerCode, (row + 1) * bytesPerCode);
    distances[row] = distance(code, bytes, duplicateOf[row] * bytesPerCode);
    if (i % STEP_ROWS === STEP_ROWS - 1) await work.step();
  }
  const measure = exactMeasure(rows);
  if (similarities === null || measure === null) return;
  // Cosines are fastest where the duplicates of one row follow each other.
  const others = dropped.map((row) => duplicateOf[row]);
  const { members } = byGroup(others, duplicateOf.length);
  const [a, b] = [others, dropped].map((rows) => members.map((i) => rows[i]));
  const found = await exactSimilarities(measure, [rows, rows], { a, b }, work);
  found.forEach((similarity, i) => {
    similarities[b[i]] = similarity;
  });
}

/** Steps for a similarity of 1. */
const PER_ONE = 100;
/** Subtracted before rounding up, so that .6 is 60 hundredths whatever the rounding. */
const ROUNDING = 1e-9;

/**
 * The plan of `near`, or one that keeps `wanted` rows if that keeps fewer. A bisection
 * narrows the nearness, by bits of distance or, where pairs are checked by vectors, by hundredths
 * of similarity, to the last step that drops too few rows and the next one, which drops too many.
 * Of the rows that only the latter drops, the least near ones stay, so the number is met exactly.
 */
async function planOfSize(
  wanted: number,
  [rows, near]: readonly [Rows, Nearness],
  planAt: (near: Nearness, work: LongWork) => Promise<DedupPlan>,
  work: LongWork,
): Promise<DedupPlan> {
  const missingIn = ({ kept }: DedupPlan) => wanted - kept.reduce((sum, one) => sum + one, 0);
  let wider = await planAt(near, work);
  if (missingIn(wider) <= 0) return wider;
  let narrower: DedupPlan | null = null;
  const steps = stepsTo(rows, near);
  // Invariant: the plan at `from` leaves enough rows (-1: no plan), the one at `to` too few.
  for (let [from, to] = [-1, steps.count - 1]; to - from > 1; ) {
    const middle = (from + to) >> 1;
    const plan = await planAt(steps.at(middle), work.quiet());
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
  const { groups, kept, duplicateOf, distances, similarities: exact } = wider;
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
  const closer = narrower.similarities;
  for (let row = 0; row < wider.count; row++) {
    const other = narrower.duplicateOf[row];
    if (kept[row] === 1 || kept[other] === 0 || groups[other] !== groups[row]) continue;
    duplicateOf[row] = other;
    distances[row] = narrower.distances[row];
    if (exact !== null && closer !== null) exact[row] = closer[row];
  }
  return wider;
}

/** Stars of rows as a whole: by row its head, and 1 for rows that are versions of one text. */
interface Stars {
  readonly heads: Uint32Array;
  readonly areVersions: Uint8Array;
}

/**
 * Text that does not make rows near, by the option `common`: what many rows share. Needs rows that
 * are compared as sets. The text of templates is found among the groups that rows as a whole make,
 * `stars`, which are then taken apart; groups of versions of one text stay whole, whatever they
 * share. There are no stars where these are not what the plan begins with.
 */
async function findCommon(
  rows: Rows,
  { common, minJaccard, extend, grouping, keep = 'first' }: Omit<DedupOptions, 'vectors'>,
  near: Grouped['near'],
  work: LongWork,
): Promise<{ text: CommonText | null; stars: Stars | null }> {
  if (common === undefined) return { text: null, stars: null };
  const areGiven = common instanceof BigUint64Array;
  if (!areGiven && typeof common !== 'function') {
    throw wrongType('common', 'a BigUint64Array or a function', common);
  }
  if (minJaccard === undefined || rows.vectors?.kind !== 'sparse') {
    throw new Error('"common" needs "minJaccard", and the sets of the rows as vectors');
  }
  if (extend !== undefined) throw new Error('"common" goes without "extend"');
  if (areGiven) {
    const members = countsOfMembers(common);
    return { text: await CommonText.of(rows, () => members, work), stars: null };
  }
  const heads = await starsOf(rows, keep, near, work);
  const { all, templates, areVersions } = await templatesIn(heads, rows, common, work);
  const stars = grouping === 'star' ? { heads, areVersions } : null;
  if (templates.size === 0) return { text: null, stars };
  // Rows of a template have its text alone, since what fills its gaps may be text of another one.
  const commonOf = (row: number) => templates.get(heads[row]) ?? all;
  return { text: await CommonText.of(rows, commonOf, work), stars };
}

/** By row the head of its star, where rows are compared as a whole. */
async function starsOf(rows: Rows, keep: Keep, near: Grouped['near'], work: LongWork) {
  const order = await orderBy(keep, presentRows(rows), work);
  return headsOf(rows, order, { grouping: 'star', near }, work);
}

/**
 * Which pairs of rows that are similar as a whole a plan takes as near, by the text that is common
 * at this nearness; null for all of them.
 */
export async function nearApart(
  rows: Rows,
  near: Grouped['near'],
  common: DedupOptions['common'],
  work: LongWork,
): Promise<((a: number, b: number) => boolean) | null> {
  const found = await findCommon(rows, { ...near, common, grouping: 'star' }, near, work);
  const { text, stars } = found;
  if (text === null) return null;
  const areApart = new Uint8Array(rows.codes.count);
  for (const row of rowsApart(presentRows(rows), text, stars)) areApart[row] = 1;
  return (a, b) => {
    if (areApart[a] + areApart[b] === 0) return true;
    const isBare = text.isBare(a);
    return isBare === text.isBare(b) && (isBare || text.areNear(a, b));
  };
}

/**
 * The rows whose groups are made by what they have besides common text: all, but for the stars of
 * rows with little of it, and for those of versions of one text, which stay as they are.
 */
function rowsApart(order: Uint32Array, common: CommonText, stars: Stars | null): Uint32Array {
  if (stars === null) return order;
  const { heads, areVersions } = stars;
  // By head.
  const [sizes, templated] = [new Uint32Array(heads.length), new Uint8Array(heads.length)];
  for (const row of order) {
    sizes[heads[row]]++;
    if (common.isTemplated(row)) templated[heads[row]] = 1;
  }
  const lowest = lowestOf(heads);
  const isOfVersions = (head: number) => sizes[head] > 1 && areVersions[lowest[head]] === 1;
  return order.filter((row) => templated[heads[row]] === 1 && !isOfVersions(heads[row]));
}

/**
 * By row of `order` the head of its group. With common text, rows that are nothing else are grouped
 * among themselves as a whole.
 */
async function headsApart(
  rows: Rows,
  order: Uint32Array,
  request: Grouped,
  stars: Stars | null,
  work: LongWork,
): Promise<Uint32Array> {
  const { common, ...near } = request.near;
  if (common === undefined) return stars?.heads ?? headsOf(rows, order, request, work);
  const heads = stars?.heads.slice() ?? ascending(rows.codes.count);
  const again = rowsApart(order, common, stars);
  for (const isBare of [true, false]) {
    const own = again.filter((row) => common.isBare(row) === isBare);
    const found = await headsOf(rows, own, isBare ? { ...request, near } : request, work);
    for (const row of own) heads[row] = found[row];
  }
  return heads;
}
