/**
 * Groups rows by near pairs. 'components': all rows that a chain of pairs connects, whose ends may
 * be far apart. 'star': each row with the first row in order that is near to it and in no other
 * star. Both go through the rows in a given order, so the result does not depend on how pairs were
 * found. Of each group the first row in that order is kept (`orderBy`).
 */

import { ascending, byGroup } from '../base/arrays';
import { checkOneOf, wrongType, wrongValue } from '../base/check';
import { LONG_CALL, type LongCall, type LongWork } from '../base/long-work';
import type { CommonText } from './common-text';
import { type DistinctCodes, distinctOf, NONE, type OrderedPairs } from './pair-order';
import { eachPairs } from './pairs';
import {
  checkGroup,
  groupedCodes,
  isVerified,
  NEARNESS,
  type Nearness,
  type Rows,
  reordered,
  rowsOfCodes,
} from './rows';

/** How near pairs become groups. */
const GROUPINGS = ['star', 'components'] as const;
export type Grouping = (typeof GROUPINGS)[number];

/** Options of `dedup` that say which rows are one group. */
export interface GroupOptions extends Nearness, LongCall {
  /** Rows near to one that is kept, or all that chains of pairs connect. */
  grouping?: Grouping;
  /**
   * The row that is kept: 'first', 'last', or an object with `lowest` or `highest` (values, as the
   * lengths of texts).
   */
  keep?: Keep;
  /** A value for each row: only rows of one value are grouped; -1 is in no group. */
  group?: Int32Array;
}

const GROUP_DEFAULTS = { grouping: 'star', keep: 'first' } as const;

/** The rows of a group of two or more, ascending, and the one that is kept. */
export interface GatheredRows {
  readonly rows: Uint32Array;
  readonly kept: number;
}

export const GROUP_OPTIONS = {
  ...NEARNESS,
  grouping: GROUPINGS,
  keep: null,
  group: null,
  ...LONG_CALL,
} as const;

/** Checked options of a grouping. */
export interface GroupRequest {
  readonly grouping: Grouping;
  readonly keep: Keep;
  readonly near: GroupNearness;
}

/** Which rows are near, and the value of each row within which it is grouped. */
type GroupNearness = Nearness & {
  readonly group?: Int32Array | undefined;
  /** Decides which of the near pairs are near without what many rows share. */
  readonly common?: CommonText;
};

/** Checks the options of a grouping against the rows; distances are checked when they are used. */
export function groupRequest({ codes }: Rows, options: GroupOptions): GroupRequest {
  const { onProgress, signal, threads, ...given } = options;
  const { grouping, keep, ...near } = { ...GROUP_DEFAULTS, ...given };
  if (near.group !== undefined) checkGroup(near.group, codes.count);
  return {
    grouping: checkOneOf('grouping', grouping, GROUPINGS),
    keep: checkKeep(keep, codes.count),
    near,
  };
}

/** Rows between two steps. */
const STEP_ROWS = 2 ** 14;

/** The groups of two or more rows of `order`. The first row of a group in order is kept. */
export async function gather(
  rows: Rows,
  order: Uint32Array,
  { grouping, near }: Omit<GroupRequest, 'keep'>,
  work: LongWork,
): Promise<GatheredRows[]> {
  const heads = await headsOf(grouping, rows, order, near, work);
  const { starts, members } = byGroup(heads, order.length);
  const groups: GatheredRows[] = [];
  for (let i = 0; i < order.length; i++) {
    if (i % STEP_ROWS === STEP_ROWS - 1) await work.step();
    const [from, to] = [starts[heads[i]], starts[heads[i] + 1]];
    if (to - from < 2 || members[from] !== i) continue;
    const rows = members.slice(from, to);
    for (let at = 0; at < rows.length; at++) rows[at] = order[rows[at]];
    groups.push({ rows: rows.sort(), kept: order[i] });
  }
  return groups;
}

/** For each position of `order` the position of the head of its group. */
async function headsOf(
  grouping: Grouping,
  rows: Rows,
  order: Uint32Array,
  near: GroupNearness,
  work: LongWork,
): Promise<Uint32Array> {
  const { common, group: groupOf, ...options } = near;
  const isExact = isVerified(rows, near);
  const own = await reordered(rows, order, work);
  const group = groupOf && Int32Array.from(order, (row) => groupOf[row]);
  // Rows that are alike join the group of the first of them, and are not compared.
  const compared = isExact ? own : rowsOfCodes(own.codes);
  const { first, places, distinct } = await firstAlike(compared, group, work);
  const areAll = places.length === order.length;
  const different = areAll ? own : await reordered(own, places, work);
  const heads =
    grouping === 'components' ? new Components(places.length) : new Stars(places.length);
  const areNear = (a: number, b: number) =>
    common?.areNear(order[places[a]], order[places[b]]) ?? true;
  const wanted = {
    ...options,
    ...(group && { group: Int32Array.from(places, (place) => group[place]) }),
    rests: common?.rests,
    ...(areAll && { distinct }),
    // Exact similarities cost most: not for pairs that change nothing any more.
    ...(isExact && { isOpen: (a: number, b: number) => heads.isOpen(a, b) && areNear(a, b) }),
  };
  await eachPairs(different, null, wanted, (batch) => heads.take(batch), work);
  const found = heads.result();
  if (areAll) return found;
  const headOf = new Uint32Array(order.length);
  for (let i = 0; i < found.length; i++) headOf[places[i]] = places[found[i]];
  return first.map((place) => headOf[place]);
}

/**
 * For each row the first one that is alike: of equal code and group and, where rows have vectors,
 * of equal vector; itself for a row without a group, a direction or members. All of these are
 * `places`.
 */
export async function firstAlike(
  { codes, vectors, vectorOf }: Rows,
  group: Int32Array | undefined,
  work: LongWork,
): Promise<{ first: Uint32Array; places: Uint32Array; distinct: DistinctCodes }> {
  const keys = group === undefined ? codes : groupedCodes(codes, group);
  const distinct = await distinctOf(keys, null, 0, work);
  const { codeOf, starts, rows } = distinct.left;
  const vectorAt = (row: number) => vectorOf?.[row] ?? row;
  const first = ascending(codes.count);
  const places = new Uint32Array(codes.count);
  let count = 0;
  /** By row the next one of equal code and another vector. */
  const next = new Uint32Array(codes.count).fill(NONE);
  for (let row = 0; row < codes.count; row++) {
    if (row % STEP_ROWS === STEP_ROWS - 1) await work.step();
    const isAlone = codeOf[row] === NONE || vectors?.normOf(vectorAt(row)) === 0;
    let alike = isAlone ? row : rows[starts[codeOf[row]]];
    while (alike !== row && vectors && !vectors.areEqual(vectorAt(alike), vectorAt(row))) {
      if (next[alike] === NONE) next[alike] = row;
      alike = next[alike];
    }
    first[row] = alike;
    if (alike === row) places[count++] = row;
  }
  return { first, places: places.subarray(0, count), distinct };
}

/**
 * Disjoint sets of the rows 0..`count` - 1 that grow together by unions (Galler & Fischer 1964). A
 * set is named by its least row, so names do not depend on the order of unions.
 */
export class Components {
  /** A row of the same set that is no larger; the row itself where it is the least of its set. */
  readonly #parents: Uint32Array;

  constructor(count: number) {
    this.#parents = ascending(count);
  }

  /** The least row of the set that a row is in. Halves the path to it for later calls. */
  find(row: number): number {
    const parents = this.#parents;
    let at = row;
    while (parents[at] !== at) {
      parents[at] = parents[parents[at]];
      at = parents[at];
    }
    return at;
  }

  /** Joins the sets of two rows, which may be equal. */
  union(a: number, b: number): void {
    const [one, other] = [this.find(a), this.find(b)];
    this.#parents[Math.max(one, other)] = Math.min(one, other);
  }

  /** False for a pair that changes nothing, since a chain of pairs connects it already. */
  isOpen(a: number, b: number): boolean {
    return this.find(a) !== this.find(b);
  }

  take({ a, b }: OrderedPairs): void {
    for (let i = 0; i < a.length; i++) this.union(a[i], b[i]);
  }

  /** For each row the least row of its set. */
  result(): Uint32Array {
    return this.#parents.map((_, row) => this.find(row));
  }
}

/** Heads of stars. Pairs ascend, so when those of a row come, it is known whether it is a head. */
class Stars {
  readonly #heads: Uint32Array;

  constructor(count: number) {
    this.#heads = new Uint32Array(count).fill(NONE);
  }

  /** False for a pair that changes nothing, since the first is no head or the second has one. */
  isOpen(a: number, b: number): boolean {
    const [one, other] = [this.#heads[a], this.#heads[b]];
    return (one === NONE || one === a) && other === NONE;
  }

  take({ a: firsts, b: seconds }: OrderedPairs): void {
    const heads = this.#heads;
    for (let i = 0; i < firsts.length; i++) {
      const [a, b] = [firsts[i], seconds[i]];
      if (heads[a] === NONE) heads[a] = a;
      if (heads[b] === NONE && heads[a] === a) heads[b] = a;
    }
  }

  result(): Uint32Array {
    return this.#heads.map((head, i) => (head === NONE ? i : head));
  }
}

/** Values by which rows are ordered, one a row; rows without a value come last. */
export type ColumnValues = ArrayLike<string | number | bigint | boolean | Date | null | undefined>;

/** Rules without a value, and those that are an object with one. */
const PLAIN_RULES = ['first', 'last'] as const;
const KINDS = ['lowest', 'highest'] as const;

/**
 * The row of a group that stays: the first or last, or the one with the lowest or highest value, as
 * the length of a text; among equals the first.
 */
export type Keep =
  | (typeof PLAIN_RULES)[number]
  | { readonly lowest: ColumnValues }
  | { readonly highest: ColumnValues };

const NAMES = `'${PLAIN_RULES.join("', '")}' or an object with one of ${KINDS.join(', ')}`;

/** Throws unless the rule is known and its column, if it has one, has `count` fitting values. */
function checkKeep(keep: Keep, count: number): Keep {
  if (typeof keep === 'string') {
    if (PLAIN_RULES.includes(keep)) return keep;
    throw wrongValue('keep', NAMES, keep);
  }
  if (typeof keep !== 'object' || keep === null) throw wrongType('keep', NAMES, keep);
  const kinds = Object.keys(keep);
  const [kind] = kinds;
  if (kinds.length !== 1 || !(KINDS as readonly string[]).includes(kind)) {
    throw wrongValue('keep', NAMES, kinds.length === 0 ? 'none' : `{ ${kinds.join(', ')} }`);
  }
  const given = (keep as Record<string, ArrayLike<unknown> | undefined>)[kind];
  const length: unknown = given?.length;
  if (typeof length !== 'number') throw wrongType(`keep.${kind}`, 'a column of values', given);
  if (length !== count) {
    throw wrongValue(`keep.${kind}`, `a value for each of ${count} rows`, length);
  }
  for (let row = 0; row < count; row++) {
    const value = given?.[row];
    if (isOrdered(value)) continue;
    throw wrongType(`keep.${kind}[${row}]`, 'a text, a number, a boolean or a date', value);
  }
  return keep;
}

const isOrdered = (value: unknown) =>
  ['string', 'number', 'bigint', 'boolean', 'undefined'].includes(typeof value) ||
  value === null ||
  value instanceof Date;

/** The rows in the order of preference: missing values last, equal ones by row. */
export async function orderBy(keep: Keep, rows: Uint32Array, work: LongWork): Promise<Uint32Array> {
  if (keep === 'first') return rows.slice();
  if (keep === 'last') return rows.slice().reverse();
  const [values, direction] = 'lowest' in keep ? [keep.lowest, 1] : [keep.highest, -1];
  const of = (row: number) => {
    const value = values[row];
    return value instanceof Date ? value.getTime() : value;
  };
  const isMissing = (value: unknown) =>
    value === null || value === undefined || Number.isNaN(value);
  const compare = (a: number, b: number) => {
    const [one, other] = [of(a), of(b)];
    if (isMissing(one) || isMissing(other)) {
      return Number(isMissing(one)) - Number(isMissing(other)) || a - b;
    }
    if (one === other) return a - b;
    return (one as number) < (other as number) ? -direction : direction;
  };
  return sorted(rows, compare, work);
}

/** Values of a run, and values merged between two steps: some milliseconds of comparisons. */
const STEP_VALUES = 2 ** 13;

/**
 * A copy of the values in the order of `compare`, which must not call two of them equal: the engine
 * sorts short runs, which are then merged in pairs until one is left.
 */
export async function sorted(
  values: Uint32Array,
  compare: (a: number, b: number) => number,
  work: LongWork,
): Promise<Uint32Array> {
  const { length } = values;
  let runs = new Uint32Array(values);
  for (let start = 0; start < length; start += STEP_VALUES) {
    runs.subarray(start, start + STEP_VALUES).sort(compare);
    await work.step();
  }
  // Each pass merges neighbouring runs of `width` into `merged`, then swaps the two arrays.
  let merged = new Uint32Array(length);
  for (let width = STEP_VALUES; width < length; width *= 2) {
    for (let start = 0; start < length; start += 2 * width) {
      const middle = Math.min(length, start + width);
      const end = Math.min(length, middle + width);
      for (let i = start, [a, b] = [start, middle]; i < end; i++) {
        const isFirst = b === end || (a < middle && compare(runs[a], runs[b]) < 0);
        merged[i] = isFirst ? runs[a++] : runs[b++];
        if (i % STEP_VALUES === 0) await work.step();
      }
    }
    [runs, merged] = [merged, runs];
  }
  return runs;
}
