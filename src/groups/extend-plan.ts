/**
 * A plan for a collection that has grown. What was decided stays as it is, names included; a new
 * row joins a group that it is near to, and new rows that are near to none are grouped among
 * themselves. So a crawl is planned day by day, and no row that was kept is dropped later.
 */

import { checkOneOf, checkOptions, wrongValue } from '../base/check';
import { checkLongCall, eachItem, runSteps, runStepsAsync, type Steps } from '../base/steps';
import { NONE } from '../join/distinct';
import { pairSteps } from '../join/pairs';
import {
  checkComparable,
  cosinesOfPairs,
  presentRows,
  type RowSource,
  type Rows,
  reordered,
  rowsOf,
} from '../join/source';
import { distance } from '../kernels/hamming/hamming.scalar';
import { checkPlan, checksOf, DEDUP_OPTIONS, type DedupOptions, type DedupPlan } from './dedup';
import { GROUPINGS, headsOf, type Nearness } from './grouping';
import { keeperName, orderBy } from './keeper';
import { GROUP_DEFAULTS, nearnessOf } from './row-groups';

/** The plan for the rows of `known`, for which `plan` was made, and of `added` behind them. */
export function extendPlan(
  plan: DedupPlan,
  known: RowSource,
  added: RowSource,
  options: DedupOptions,
): DedupPlan {
  return runSteps(extending(plan, known, added, options), checkLongCall({ ...options }));
}

/** The same in turns with the event loop. */
export async function extendPlanAsync(
  plan: DedupPlan,
  known: RowSource,
  added: RowSource,
  options: DedupOptions,
): Promise<DedupPlan> {
  return runStepsAsync(extending(plan, known, added, options), checkLongCall({ ...options }));
}

/** The plan, the rows it was made for, those behind them, and by new row the group it joins. */
interface Growth {
  readonly plan: DedupPlan;
  readonly before: Rows;
  readonly after: Rows;
  readonly near: Nearness;
  readonly joined: Uint32Array;
  /** By new row the kept one that it duplicates; of stars, where it is the nearest. */
  readonly keepers: Uint32Array;
}

function* extending(
  plan: DedupPlan,
  known: RowSource,
  added: RowSource,
  options: DedupOptions,
): Steps<DedupPlan> {
  const { checks, ...given } = checkOptions('options', options, DEDUP_OPTIONS);
  const grouping = checkOneOf('grouping', given.grouping ?? GROUP_DEFAULTS.grouping, GROUPINGS);
  const [before, after] = [rowsOf('known', known), rowsOf('added', added)];
  checkComparable(before, after);
  const { count } = after.codes;
  const keep = given.keep ?? GROUP_DEFAULTS.keep;
  if (keeperName(keep, count) === 'medoid') {
    throw wrongValue('keep', 'another policy: what is kept stays', 'medoid');
  }
  const order = orderBy(keep as Exclude<typeof keep, 'medoid'>, presentRows(after));
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

/** Calls with each new row and known row that are near; `rows` are the known ones to look at. */
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

/** To the nearest kept row. */
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

/** To the group of the least name that a chain of near rows leads to. */
function* joinComponents(growth: Growth, order: Uint32Array): Steps<void> {
  const { plan, after, near, joined } = growth;
  const heads = yield* headsOf('components', after, order, near);
  const headOf = new Uint32Array(joined.length);
  for (let place = 0; place < order.length; place++) headOf[order[place]] = heads[place];
  const least = new Uint32Array(order.length).fill(NONE);
  const equal = near.minCosine === undefined ? 'first' : 'all';
  const all = knownRows(growth, () => true);
  yield* nearKnown(growth, all, equal, (row, other) => {
    least[headOf[row]] = Math.min(least[headOf[row]], plan.groups[other]);
  });
  for (const row of order) joined[row] = least[headOf[row]];
}

/** To the group of the least name all of whose rows are near. */
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
  return cosines.every((cosine) => cosine >= minCosine);
}

/** The old plan, and behind it what became of the new rows. */
function extended(
  { plan, before, after, joined, keepers }: Growth,
  left: Uint32Array,
  heads: Uint32Array,
  checks: Uint32Array,
): DedupPlan {
  const first = plan.count;
  const { count } = after.codes;
  const groups = new Uint32Array(first + count);
  const kept = new Uint8Array(first + count).fill(1, first);
  const allKeepers = Uint32Array.from({ length: first + count }, (_, row) => row);
  groups.set(plan.groups);
  kept.set(plan.kept);
  allKeepers.set(plan.keepers);
  const keeperOf = new Map<number, number>();
  for (let row = first - 1; row >= 0; row--) {
    if (plan.kept[row] === 1) keeperOf.set(plan.groups[row], row);
  }
  const leastOf = new Map<number, number>();
  for (let place = 0; place < left.length; place++) {
    const head = heads[place];
    leastOf.set(head, Math.min(leastOf.get(head) ?? NONE, left[place]));
  }
  const placeOf = new Map(Array.from(left, (row, place) => [row, place]));
  for (let row = 0; row < count; row++) {
    const place = placeOf.get(row);
    if (place !== undefined) {
      groups[first + row] = first + (leastOf.get(heads[place]) as number);
      allKeepers[first + row] = first + left[heads[place]];
    } else if (joined[row] === NONE) groups[first + row] = first + row;
    else {
      groups[first + row] = joined[row];
      const keeper = keepers[row] === NONE ? keeperOf.get(joined[row]) : keepers[row];
      // A group that was dropped as a whole is kept by the first row that comes back.
      if (keeper === undefined) keeperOf.set(joined[row], first + row);
      allKeepers[first + row] = keeper ?? first + row;
    }
    kept[first + row] = Number(allKeepers[first + row] === first + row);
  }
  const dropped = Uint32Array.from({ length: count }, (_, row) => row).filter(
    (row) => kept[first + row] === 0,
  );
  const distances = new Uint16Array(first + count);
  distances.set(plan.distances);
  const hasCosines = plan.cosines !== null && before.vectors !== null && after.vectors !== null;
  const cosines = hasCosines ? new Float64Array(first + count).fill(1) : null;
  cosines?.set(plan.cosines as Float64Array);
  for (const source of [before, after]) {
    const start = source === before ? 0 : first;
    const rows = dropped.filter((row) => allKeepers[first + row] >= first === (source === after));
    const keepers = rows.map((row) => allKeepers[first + row] - start);
    rows.forEach((row, i) => {
      distances[first + row] = distance(after.codes.at(row), source.codes.at(keepers[i]));
    });
    if (cosines === null) continue;
    cosinesOfPairs(source, after, keepers, rows).forEach((cosine, i) => {
      cosines[first + rows[i]] = cosine;
    });
  }
  const allChecks = new Uint32Array(first + count);
  allChecks.set(plan.checks);
  allChecks.set(checks, first);
  return {
    ...{ count: first + count, groups, kept, keepers: allKeepers },
    ...{ distances, cosines, checks: allChecks },
  };
}
