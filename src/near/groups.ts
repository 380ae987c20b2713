/**
 * Groups rows by near pairs. 'components': all rows that a chain of pairs connects, whose ends may
 * be far apart. 'star': each row with the first row in order that is near to it and in no other
 * star. Both go through the rows in a given order, so the result does not depend on how pairs were
 * found. Of each group the first row in that order is kept (`orderBy`).
 */

import { ascending, keyOfBytes, valuesAt } from '../base/arrays';
import { wrongType, wrongValue } from '../base/check';
import type { LongWork } from '../base/long-work';
import type { CommonText } from './common-text';
import { NONE, type OrderedPairs } from './pair-order';
import { eachPairs } from './pairs';
import { isVerified, type Nearness, type Rows, reordered } from './rows';

/** How near pairs become groups. */
export const GROUPINGS = ['star', 'components'] as const;
export type Grouping = (typeof GROUPINGS)[number];

/** Which rows are one group. */
export interface Grouped {
  readonly grouping: Grouping;
  readonly near: GroupNearness;
}

/** Which rows are near, and the value of each row within which it is grouped. */
type GroupNearness = Nearness & {
  readonly group?: Int32Array | undefined;
  /** Decides which of the near pairs are near without what many rows share. */
  readonly common?: CommonText;
};

/** Rows between two steps, where each is looked up by a key. */
const KEYED_ROWS = 2 ** 12;

/**
 * By row the first row of its group in `order`, its head. A row that is near to none, or not in
 * `order`, is its own.
 */
export async function headsOf(
  rows: Rows,
  order: Uint32Array,
  { grouping, near: { common, ...near } }: Grouped,
  work: LongWork,
): Promise<Uint32Array> {
  const isExact = isVerified(rows, near);
  // Rows of equal code and vector join the group of the first of them, and are not compared.
  const first = isExact ? await firstAlike(rows, order, near.group, work) : null;
  const different = first === null ? order : order.filter((_, i) => first[i] === i);
  const { length } = different;
  const found = grouping === 'components' ? new Components(length) : new Stars(length, isExact);
  const { group } = near;
  // The places of rows that pairs are looked for among: all, then those that are left.
  for (let open: Uint32Array | null = ascending(length); open !== null; ) {
    const places: Uint32Array = open;
    const some = valuesAt(different, places);
    const isOpen = (a: number, b: number) =>
      found.isOpen(places[a], places[b]) &&
      (common === undefined || common.areNear(some[a], some[b]));
    const wanted = {
      ...near,
      ...(group && { group: Int32Array.from(some, (row) => group[row]) }),
      // Where distances decide, only the first of equal codes is paired with others.
      equal: isExact ? 'all' : 'first',
      rests: common?.rests,
      isHead: (a: number) => found.isHead(places[a]),
      // Exact similarities cost most: not for pairs that change nothing any more.
      ...(isExact && { isOpen }),
    } as const;
    const take = ({ a, b, distances }: OrderedPairs) =>
      found.take({ a: valuesAt(places, a), b: valuesAt(places, b), distances });
    const part = work.part((done, total) => {
      return [length - places.length + (places.length * done) / total, length];
    });
    const left = await eachPairs(await reordered(rows, some, part), null, wanted, take, part);
    open = left && valuesAt(places, left);
  }
  const heads = ascending(rows.codes.count);
  const result = found.result();
  for (let i = 0; i < length; i++) heads[different[i]] = different[result[i]];
  first?.forEach((place, i) => {
    heads[order[i]] = heads[order[place]];
  });
  return heads;
}

/**
 * For each position the first position whose row has the same code, vector and group; its own for
 * a row without a direction or members, which is near to none.
 */
export async function firstAlike(
  rows: Rows,
  order: Uint32Array,
  group: Int32Array | undefined,
  work: LongWork,
): Promise<Uint32Array> {
  const { codes, vectors } = rows;
  const first = ascending(order.length);
  const known = new Map<string, number[]>();
  for (let i = 0; i < order.length; i++) {
    if (i % KEYED_ROWS === KEYED_ROWS - 1) await work.step();
    if ((group !== undefined && group[order[i]] < 0) || vectors?.normOf(order[i]) === 0) continue;
    const key = keyOfBytes(codes.at(order[i])) + (group?.[order[i]] ?? '');
    const alike = known.get(key);
    const same = alike?.find((place) => vectors?.areEqual(order[place], order[i]));
    if (same !== undefined) first[i] = same;
    else if (alike === undefined) known.set(key, [i]);
    else alike.push(i);
  }
  return first;
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

  /** Every row may still connect others. */
  isHead(_row: number): boolean {
    return true;
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
  /** False if equal rows are paired only with the first of them. */
  readonly #areAll: boolean;

  constructor(count: number, areAll: boolean) {
    this.#heads = new Uint32Array(count).fill(NONE);
    this.#areAll = areAll;
  }

  /** False for a row that is in the star of another one. */
  isHead(row: number): boolean {
    return this.#heads[row] === NONE || this.#heads[row] === row;
  }

  /** False for a pair that changes nothing, since the first is no head or the second has one. */
  isOpen(a: number, b: number): boolean {
    return !this.#areAll || (this.isHead(a) && this.#heads[b] === NONE);
  }

  take({ a: firsts, b: seconds, distances }: OrderedPairs): void {
    const heads = this.#heads;
    for (let i = 0; i < firsts.length; i++) {
      const [a, b] = [firsts[i], seconds[i]];
      if (heads[a] === NONE) heads[a] = a;
      if (heads[b] !== NONE) continue;
      if (heads[a] === a) heads[b] = a;
      // Equal rows join what the first of them joined.
      else if (distances[i] === 0 && !this.#areAll) heads[b] = heads[a];
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

/** Throws unless the rule is known and its column, if it has one, has `count` fitting values. */
export function checkKeep(keep: Keep, count: number): void {
  const rule: unknown = typeof keep === 'object' && keep !== null ? Object.keys(keep).join() : keep;
  if (PLAIN_RULES.includes(rule as never) && rule === keep) return;
  if (rule === keep || !KINDS.includes(rule as never)) {
    throw wrongValue('keep', "'first', 'last', or an object with lowest or highest", rule);
  }
  const values = Object.values(keep)[0] as ArrayLike<unknown> | null | undefined;
  if (values?.length !== count) {
    throw wrongValue(`keep.${rule}`, `a value for each of ${count} rows`, values?.length);
  }
  for (let row = 0; row < count; row++) {
    if (isOrdered(values[row])) continue;
    const expected = 'a text, a number, a boolean or a date';
    throw wrongType(`keep.${rule}[${row}]`, expected, values[row]);
  }
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
async function sorted(
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
