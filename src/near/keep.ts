/**
 * Which row of a group is kept, as an order of all rows: of each group the first row in that order
 * stays. A new rule goes into the names below, `Keep`, `checkKeep` and `orderBy`.
 */

import { checkSeed, wrongType, wrongValue } from '../base/check';
import type { LongWork } from '../base/long-work';
import { alea } from '../base/random';

/** Values by which rows are ordered, one a row; rows without a value come last. */
export type ColumnValues = ArrayLike<string | number | bigint | boolean | Date | null | undefined>;

/** Rules without a value, and those that are an object with one. */
const PLAIN_RULES = ['first', 'last'] as const;
const KINDS = ['random', 'longest', 'lowest', 'highest'] as const;

/**
 * The row of a group that stays: the first or last, one drawn by a seed, the one with the longest
 * text, or with the lowest or highest value; among equals the first.
 */
export type Keep =
  | (typeof PLAIN_RULES)[number]
  | { readonly random: number | bigint }
  | { readonly longest: ArrayLike<string | null | undefined> }
  | { readonly lowest: ColumnValues }
  | { readonly highest: ColumnValues };

const NAMES = `'${PLAIN_RULES.join("', '")}' or an object with one of ${KINDS.join(', ')}`;

/** Throws unless the rule is known and its column, if it has one, has `count` fitting values. */
export function checkKeep(keep: Keep, count: number): Keep {
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
  const given = (keep as Record<string, unknown>)[kind];
  if (kind === 'random') checkSeed(given);
  else {
    const { length } = (given ?? {}) as ArrayLike<unknown>;
    if (typeof length !== 'number') throw wrongType(`keep.${kind}`, 'a column of values', given);
    if (length !== count) {
      throw wrongValue(`keep.${kind}`, `a value for each of ${count} rows`, length);
    }
    for (let row = 0; row < count; row++) {
      const value = (given as ArrayLike<unknown>)[row];
      if (kind === 'longest' ? isTextOrNone(value) : isOrdered(value)) continue;
      const wanted = kind === 'longest' ? 'a text' : 'a text, a number, a boolean or a date';
      throw wrongType(`keep.${kind}[${row}]`, wanted, value);
    }
  }
  return keep;
}

const isTextOrNone = (value: unknown) =>
  typeof value === 'string' || value === null || value === undefined;

const isOrdered = (value: unknown) =>
  isTextOrNone(value) ||
  ['number', 'bigint', 'boolean'].includes(typeof value) ||
  value instanceof Date;

/** The rows in the order of preference. */
export async function orderBy(keep: Keep, rows: Uint32Array, work: LongWork): Promise<Uint32Array> {
  if (keep === 'first') return rows.slice();
  if (keep === 'last') return rows.slice().reverse();
  if ('random' in keep) {
    // By a hash of each row, so that added or removed rows do not reorder others.
    const start = alea(String(keep.random))() * 2 ** 32;
    return sortedBy(rows, (row) => mixed(row ^ start), 1, work);
  }
  if ('longest' in keep) {
    const texts = keep.longest;
    return sortedBy(rows, (row) => texts[row]?.length ?? null, -1, work);
  }
  const values = 'lowest' in keep ? keep.lowest : keep.highest;
  const valueAt = (row: number) => {
    const value = values[row];
    return value instanceof Date ? value.getTime() : value;
  };
  return sortedBy(rows, valueAt, 'lowest' in keep ? 1 : -1, work);
}

/** A permutation of the 32-bit integers without visible pattern (Wellons 2018). */
function mixed(value: number): number {
  let hash = Math.imul(value ^ (value >>> 16), 0x7feb_352d);
  hash = Math.imul(hash ^ (hash >>> 15), 0x846c_a68b);
  return hash ^ (hash >>> 16);
}

/** Rows ordered by a value of each: missing values last, equal ones by row. */
function sortedBy(
  rows: Uint32Array,
  of: (row: number) => string | number | bigint | boolean | null | undefined,
  direction: 1 | -1,
  work: LongWork,
): Promise<Uint32Array> {
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
