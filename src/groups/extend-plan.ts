/**
 * A plan for a collection that has grown. What was decided stays as it is, names included; a new
 * row joins a group that it is near to, and new rows that are near to none are grouped among
 * themselves. So a crawl is planned day by day, and no row that was kept is dropped later.
 */

import { checkOneOf, checkOptions, wrongType, wrongValue } from '../base/check';
import { eachItem, type Steps } from '../base/steps';
import { reachesCosine } from '../hashing/angle';
import { NONE } from '../join/distinct';
import { pairSteps } from '../join/pairs';
import {
  checkComparable,
  cosinesOfPairs,
  type Nearness,
  presentRows,
  type RowSource,
  type Rows,
  reordered,
  rowsOf,
} from '../join/source';
import { checkPlan, checksOf, type DedupPlan, measureDropped } from './dedup-plan';
import { GROUPINGS, headsOf } from './grouping';
import { keepName, orderBy } from './keep';
import { GROUP_DEFAULTS, type GroupOptions, nearnessOf } from './row-groups';

/** A plan that was made before, and the rows that it was made for. */
export interface Extension {
  readonly plan: DedupPlan;
  readonly source: RowSource;
}

/** A plan that is extended: the rows it was made for, those behind them, and what these join. */
interface Growth {
  readonly plan: DedupPlan;
  readonly before: Rows;
  readonly after: Rows;
  readonly near: Nearness;
  /** By new row the name of the group that it joins; NONE for none. */
  readonly joined: Uint32Array;
  /** By new row the kept row that it duplicates; known only in stars, where it is the nearest. */
  readonly keepers: Uint32Array;
}

/** The plan for the rows that `extend` was made for, and of `after` behind them. */
export function* extending(
  extend: Extension,
  after: Rows,
  given: GroupOptions,
  checks: Uint32Array | undefined,
): Steps<DedupPlan> {
  const { plan, source } = checkOptions('extend', extend, ['plan', 'source']);
  if (!(plan?.groups instanceof Uint32Array)) throw wrongType('extend.plan', 'a plan', plan);
  const grouping = checkOneOf('grouping', given.grouping ?? GROUP_DEFAULTS.grouping, GROUPINGS);
  const before = rowsOf('extend.source', source);
  checkComparable(before, after);
  const { count } = after.codes;
  const keep = given.keep ?? GROUP_DEFAULTS.keep;
  keepName(keep, count);
  if (keep === 'medoid') {
    throw wrongValue('keep', 'another choice: what is kept stays', 'medoid');
  }
  const order = orderBy(keep, presentRows(after));
  if (checks !== undefined && checks.length !== plan.count + count) {
    throw wrongValue('checks', `one for each of ${plan.count + count} rows`, checks.length);
  }
  checkPlan(plan, checks?.subarray(0, plan.count) ?? checksOf(before.codes));
  const growth: Growth = {
    ...{ plan, before, after, near: nearnessOf(given) },
    joined: new Uint32Array(count).fill(NONE),
    keepers: new Uint32Array(count).fill(NONE),
  };
  if (grouping === 'star') yield* joinStars(growth);
  else if (grouping === 'components') yield* joinComponents(growth, order);
  else yield* joinCliques(growth, order);
  const left = order.filter((row) => growth.joined[row] === NONE);
  const heads = yield* headsOf(grouping, after, left, growth.near);
  return extended(growth, left, heads, checksOf(after.codes, checks?.subarray(plan.count)));
}

/** Calls `take` with each new row and known row that are near; `rows` are the known ones. */
function* nearKnown(
  { before, after, near }: Growth,
  rows: Uint32Array,
  equal: 'all' | 'first',
  take: (added: number, known: number, distance: number) => void,
): Steps<void> {
  const known = reordered(before, rows);
  yield* eachItem(pairSteps(after, known, { ...near, equal }), ({ a, b, distances }) => {
    for (let i = 0; i < a.length; i++) take(a[i], rows[b[i]], distances[i]);
  });
}

function knownRows({ before }: Growth, isWanted: (row: number) => boolean): Uint32Array {
  return presentRows(before).filter(isWanted);
}

/** Each new row joins the group of the nearest kept row. */
function* joinStars(growth: Growth): Steps<void> {
  const { plan, joined, keepers } = growth;
  const nearest = new Float64Array(joined.length).fill(Number.POSITIVE_INFINITY);
  const kept = knownRows(growth, (row) => plan.kept[row] === 1);
  yield* nearKnown(growth, kept, 'all', (row, other, apart) => {
    if (apart >= nearest[row]) return; // known rows come in order, so of equals the first stays
    nearest[row] = apart;
    joined[row] = plan.groups[other];
    keepers[row] = other;
  });
}

/** Each new row joins the group of the least name that a chain of near rows leads to. */
function* joinComponents(growth: Growth, order: Uint32Array): Steps<void> {
  const { plan, after, near, joined } = growth;
  const heads = yield* headsOf('components', after, order, near);
  const headOf = new Uint32Array(joined.length);
  for (let place = 0; place < order.length; place++) headOf[order[place]] = heads[place];
  const names = new Uint32Array(order.length).fill(NONE);
  const equal = near.minCosine === undefined ? 'first' : 'all';
  const all = knownRows(growth, () => true);
  yield* nearKnown(growth, all, equal, (row, other) => {
    names[headOf[row]] = Math.min(names[headOf[row]], plan.groups[other]);
  });
  for (const row of order) joined[row] = names[headOf[row]];
}

/** Each new row joins the group of the least name all of whose rows are near. */
function* joinCliques(growth: Growth, order: Uint32Array): Steps<void> {
  const { plan, after, near, joined } = growth;
  const sizes = new Map<number, number>();
  for (const name of plan.groups) sizes.set(name, (sizes.get(name) ?? 0) + 1);
  const met = new Map<number, Map<number, number>>();
  const all = knownRows(growth, () => true);
  yield* nearKnown(growth, all, 'all', (row, other) => {
    const groups = met.get(row) ?? new Map<number, number>();
    if (groups.size === 0) met.set(row, groups);
    const name = plan.groups[other];
    groups.set(name, (groups.get(name) ?? 0) + 1);
  });
  const members = new Map<number, number[]>();
  for (const row of order) {
    const full = [...(met.get(row) ?? [])].filter(([name, count]) => count === sizes.get(name));
    for (const [name] of full.sort(([a], [b]) => a - b)) {
      const others = members.get(name) ?? [];
      if (!isNearAll(after, near, row, others)) continue;
      if (others.length === 0) members.set(name, others);
      others.push(row);
      joined[row] = name;
      break;
    }
  }
}

/** Whether a new row is near all of some others. */
function isNearAll(rows: Rows, near: Nearness, row: number, others: readonly number[]): boolean {
  const { maxDistance, minCosine } = near;
  const { codes } = rows;
  const isClose = others.every(
    (other) => maxDistance === undefined || codes.distance(row, other) <= maxDistance,
  );
  if (!isClose || minCosine === undefined || others.length === 0) return isClose;
  const all = Uint32Array.from(others);
  const cosines = cosinesOfPairs(
    rows,
    rows,
    all.map(() => row),
    all,
  );
  return cosines.every((cosine) => reachesCosine(cosine, minCosine));
}

/**
 * The old plan with the new rows behind it. `heads` has for each row of `left`, new rows that join
 * no known group, the place in `left` of the row that its group is built around.
 */
function extended(
  growth: Growth,
  left: Uint32Array,
  heads: Uint32Array,
  checks: Uint32Array,
): DedupPlan {
  const { plan, before, after } = growth;
  const first = plan.count;
  const count = first + after.codes.count;
  const isMeasured = plan.cosines !== null && before.vectors !== null && after.vectors !== null;
  const grown = {
    count,
    groups: Uint32Array.from({ length: count }, (_, row) => row),
    kept: new Uint8Array(count),
    keepers: Uint32Array.from({ length: count }, (_, row) => row),
    distances: new Uint16Array(count),
    cosines: isMeasured ? new Float64Array(count).fill(1) : null,
    checks: new Uint32Array(count),
  };
  grown.groups.set(plan.groups);
  grown.kept.set(plan.kept);
  grown.keepers.set(plan.keepers);
  grown.distances.set(plan.distances);
  if (plan.cosines !== null) grown.cosines?.set(plan.cosines);
  grown.checks.set(plan.checks);
  grown.checks.set(checks, first);
  enterNewGroups(grown, first, left, heads);
  enterJoined(grown, growth);
  for (let row = first; row < count; row++) grown.kept[row] = Number(grown.keepers[row] === row);
  const dropped = grown.keepers
    .map((_, row) => row)
    .filter((row) => row >= first && grown.kept[row] === 0);
  const [known, added] = [
    { rows: before, first: 0 },
    { rows: after, first },
  ];
  const isAmongAdded = (row: number) => grown.keepers[row] >= first;
  measureDropped(grown, dropped.filter(isAmongAdded), added, added);
  measureDropped(
    grown,
    dropped.filter((row) => !isAmongAdded(row)),
    added,
    known,
  );
  return grown;
}

type Entries = Pick<DedupPlan, 'groups' | 'keepers'>;

/** Enters the groups of new rows among themselves; each is named by its least row. */
function enterNewGroups(
  { groups, keepers }: Entries,
  first: number,
  left: Uint32Array,
  heads: Uint32Array,
): void {
  const nameOf = new Map<number, number>(); // by head
  left.forEach((row, place) => {
    nameOf.set(heads[place], Math.min(nameOf.get(heads[place]) ?? NONE, first + row));
  });
  left.forEach((row, place) => {
    groups[first + row] = nameOf.get(heads[place]) as number;
    keepers[first + row] = first + left[heads[place]];
  });
}

/** Enters the new rows that join known groups, in order. */
function enterJoined(
  { groups, keepers }: Entries,
  { plan, joined, keepers: nearest }: Growth,
): void {
  const first = plan.count;
  const keeperOf = new Map<number, number>(); // by group, its first kept row
  for (let row = first - 1; row >= 0; row--) {
    if (plan.kept[row] === 1) keeperOf.set(plan.groups[row], row);
  }
  joined.forEach((group, row) => {
    if (group === NONE) return;
    groups[first + row] = group;
    const keeper = nearest[row] === NONE ? keeperOf.get(group) : nearest[row];
    // A group that was dropped as a whole is kept by the first row that joins it again.
    if (keeper === undefined) keeperOf.set(group, first + row);
    keepers[first + row] = keeper ?? first + row;
  });
}
