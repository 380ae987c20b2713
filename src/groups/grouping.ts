/**
 * Groups rows by near pairs. 'components': all rows that a chain of pairs connects, whose ends may
 * be far apart. 'star': each row with the first row in order that is near to it and in no other
 * star. Both go through the rows in a given order, so the result does not depend on how pairs were
 * found. Pairs come from a join, or from elsewhere: a file, another program, an earlier join.
 */

import { ascending, keyOfBytes, toStarts } from '../base/arrays';
import { checkAttached, wrongType, wrongValue } from '../base/check';
import { eachItem, Item, type Steps, type Stream } from '../base/steps';
import { UnionFind } from '../base/union-find';
import type { Codes } from '../codes/codes';
import { type PairBatch, pairSteps } from '../join/pairs';
import { isVerified, type Nearness, NONE, type Rows, reorderedInSteps } from '../join/source';
import type { Keep } from './keep';

/** How near pairs become groups. */
export const GROUPINGS = ['star', 'components'] as const;
export type Grouping = (typeof GROUPINGS)[number];

/** Pair i is row `a[i]` with row `b[i]`. */
export interface RowPairs {
  readonly a: Uint32Array;
  readonly b: Uint32Array;
}

/** Checked options of a grouping. */
export interface GroupRequest {
  readonly grouping: Grouping;
  readonly keep: Keep;
  readonly near: GroupNearness;
}

/** Which rows are near, and the value of each row within which it is grouped; or the near pairs. */
type GroupNearness = Nearness & {
  readonly group?: Int32Array | undefined;
  readonly pairs?: RowPairs | undefined;
};

/** The rows of a group, ascending, and the one that is kept. */
interface GatheredRows {
  readonly rows: Uint32Array;
  readonly kept: number;
}

/** Rows between two steps; fewer where each is looked up by a key. */
const STEP_ROWS = 2 ** 15;
const KEYED_ROWS = 2 ** 12;
/** Given pairs of a batch, unless one row has more; and such pairs between two steps. */
const GIVEN_PAIRS = 2 ** 16;

/** The groups of two or more rows of `order`. The first row of a group in order is kept. */
export function* gather(
  rows: Rows,
  order: Uint32Array,
  { grouping, near }: Omit<GroupRequest, 'keep'>,
): Steps<GatheredRows[]> {
  const heads = yield* headsOf(grouping, rows, order, near);
  const { starts, members } = yield* sortedByHead(order, heads);
  const groups: GatheredRows[] = [];
  for (let i = 0; i < order.length; i++) {
    if (i % STEP_ROWS === STEP_ROWS - 1) yield undefined;
    const [from, to] = [starts[heads[i]], starts[heads[i] + 1]];
    if (to - from < 2 || members[from] !== order[i]) continue;
    groups.push({ rows: members.slice(from, to).sort(), kept: order[i] });
  }
  return groups;
}

/** Rows by head, in order: those of head h are `members[starts[h]]` up to `starts[h + 1] - 1`. */
function* sortedByHead(
  order: Uint32Array,
  heads: Uint32Array,
): Steps<{ starts: Uint32Array; members: Uint32Array }> {
  const starts = new Uint32Array(order.length + 1);
  for (let i = 0; i < heads.length; i++) {
    starts[heads[i]]++;
    if (i % STEP_ROWS === STEP_ROWS - 1) yield undefined;
  }
  toStarts(starts);
  const next = starts.slice();
  const members = new Uint32Array(order.length);
  for (let i = 0; i < order.length; i++) {
    members[next[heads[i]]++] = order[i];
    if (i % STEP_ROWS === STEP_ROWS - 1) yield undefined;
  }
  return { starts, members };
}

/** For each position of `order` the position of the head of its group. */
function* headsOf(
  grouping: Grouping,
  rows: Rows,
  order: Uint32Array,
  near: GroupNearness,
): Steps<Uint32Array> {
  const isExact = isEach(rows, near);
  if (isExact && near.pairs === undefined) {
    // Rows of equal code and vector join the group of the first of them, and are not compared.
    const first = yield* firstAlike(rows, order, near.group);
    const places = first.filter((place, i) => place === i);
    if (places.length < order.length) {
      const different = places.map((place) => order[place]);
      const heads = yield* headsOf(grouping, rows, different, near);
      const headOf = new Uint32Array(order.length);
      for (const [i, place] of places.entries()) headOf[place] = places[heads[i]];
      return first.map((place) => headOf[place]);
    }
  }
  const found = pairsOf(rows, order, near);
  return grouping === 'components'
    ? yield* components(found, order.length)
    : yield* stars(found, order.length, isExact);
}

/** True if pairs of equal codes come like all others; else only the first of these is paired. */
function isEach(rows: Rows, near: GroupNearness): boolean {
  return near.pairs !== undefined || isVerified(rows, near);
}

/** The near pairs as positions in the order, a < b, ascending. */
function* pairsOf(rows: Rows, order: Uint32Array, near: GroupNearness): Stream<PairBatch> {
  const { pairs, ...options } = near;
  if (pairs !== undefined) return yield* givenPairs(pairs, order);
  const group = near.group && Int32Array.from(order, (row) => (near.group as Int32Array)[row]);
  const wanted = { ...options, ...(group && { group }) };
  const inOrder = yield* reorderedInSteps(rows, order);
  yield* pairSteps(inOrder, null, wanted, isEach(rows, near) ? 'all' : 'first');
}

/** For each position the first position whose row has the same code, vector and group. */
export function* firstAlike(
  rows: Rows,
  order: Uint32Array,
  group?: Int32Array,
): Steps<Uint32Array> {
  const { codes, vectors } = rows;
  const first = ascending(order.length);
  const known = new Map<string, number[]>();
  for (let i = 0; i < order.length; i++) {
    if (i % KEYED_ROWS === KEYED_ROWS - 1) yield undefined;
    if (group !== undefined && group[order[i]] < 0) continue;
    const key = keyOfBytes(codes.at(order[i])) + (group?.[order[i]] ?? '');
    const alike = known.get(key);
    const same = alike?.find((place) => vectors?.areEqual(order[place], order[i]));
    if (same !== undefined) first[i] = same;
    else if (alike === undefined) known.set(key, [i]);
    else alike.push(i);
  }
  return first;
}

/** Heads by union-find over all pairs. */
function* components(found: Stream<PairBatch>, count: number): Steps<Uint32Array> {
  const sets = new UnionFind(count);
  yield* eachItem(found, ({ a, b }) => {
    for (let i = 0; i < a.length; i++) sets.union(a[i], b[i]);
  });
  return yield* sets.all();
}

/** Heads of stars. Pairs ascend, so when those of a row come, it is known whether it is a head. */
function* stars(found: Stream<PairBatch>, count: number, isExact: boolean): Steps<Uint32Array> {
  const heads = new Uint32Array(count).fill(NONE);
  yield* eachItem(found, ({ a: firsts, b: seconds, distances }) => {
    for (let i = 0; i < firsts.length; i++) {
      const [a, b] = [firsts[i], seconds[i]];
      if (heads[a] === NONE) heads[a] = a;
      if (heads[b] !== NONE) continue;
      // Equal rows are paired only with the first of them, so they join what it joined.
      if (heads[a] === a) heads[b] = a;
      else if (distances[i] === 0 && !isExact) heads[b] = heads[a];
    }
  });
  for (let i = 0; i < count; i++) {
    if (heads[i] === NONE) heads[i] = i;
    if (i % STEP_ROWS === STEP_ROWS - 1) yield undefined;
  }
  return heads;
}

/** Throws unless each is a pair of two different rows that have codes. */
export function checkPairs(pairs: RowPairs, codes: Codes): void {
  for (const field of ['a', 'b'] as const) {
    const rows: unknown = pairs?.[field];
    if (!(rows instanceof Uint32Array)) throw wrongType(`pairs.${field}`, 'a Uint32Array', rows);
    checkAttached(`pairs.${field}`, rows);
    const isOther = (row: number) => row >= codes.count || codes.isNull(row);
    const at = rows.findIndex(isOther);
    if (at < 0) continue;
    throw wrongValue(`pairs.${field}[${at}]`, `a row of ${codes.count} with a code`, rows[at]);
  }
  const { a, b } = pairs;
  if (a.length !== b.length) throw wrongValue('pairs.b', `${a.length} rows, as "a"`, b.length);
  const same = a.findIndex((row, i) => row === b[i]);
  if (same >= 0) throw wrongValue(`pairs.b[${same}]`, 'another row than that of "a"', b[same]);
}

/**
 * Given pairs, in any order, with either row first and repeated, as positions in `order`, which
 * must contain all of their rows: each pair once, lower position first, ascending. Distances are
 * unknown, and 0.
 */
function* givenPairs({ a, b }: RowPairs, order: Uint32Array): Stream<PairBatch> {
  const places = new Uint32Array(order.reduce((most, row) => Math.max(most, row), 0) + 1);
  order.forEach((row, place) => {
    places[row] = place;
  });
  const starts = new Uint32Array(order.length + 1);
  for (let i = 0; i < a.length; i++) starts[Math.min(places[a[i]], places[b[i]])]++;
  yield undefined;
  toStarts(starts);
  const next = starts.slice();
  const seconds = new Uint32Array(a.length);
  for (let i = 0; i < a.length; i++) {
    if (i % GIVEN_PAIRS === 0) yield undefined;
    const [one, other] = [places[a[i]], places[b[i]]];
    seconds[next[Math.min(one, other)]++] = Math.max(one, other);
  }
  for (let place = 0, end = 0; place < order.length; place = end) {
    const from = starts[place];
    // A batch ends between two rows, since a row's pairs are sorted together.
    for (end = place + 1; end < order.length && starts[end + 1] - from <= GIVEN_PAIRS; ) end++;
    const found = seconds.subarray(from, starts[end]);
    const firsts = new Uint32Array(found.length);
    for (let first = place; first < end; first++) {
      seconds.subarray(starts[first], starts[first + 1]).sort();
      firsts.fill(first, starts[first] - from, starts[first + 1] - from);
    }
    const isNew = (_: number, i: number) =>
      found[i] !== found[i - 1] || firsts[i] !== firsts[i - 1];
    const [own, others] = [firsts.filter(isNew), found.filter(isNew)];
    const distances = new Uint16Array(own.length);
    yield new Item({ a: own, b: others, distances, cosines: null, jaccards: null });
  }
}
