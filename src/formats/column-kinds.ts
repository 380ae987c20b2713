/**
 * Chooses the types of columns from their first values, for formats without types. Integers become
 * Int64 if they look like names of rows: all different, too large for float64, or in a column with
 * a name that is usual for ids. Others become Float64, so that 3 may be followed by 3.5. Mixed and
 * nested values are carried as JSON. A later value that does not fit its column is an error that
 * says what to do.
 */

import { describe } from '../base/check';
import type { ColumnKind } from '../table/columns/types';
import type { ColumnPlan } from './records';
import type { ColumnType } from './row-reader';

/** The kind for each type that a caller can state. */
const ASKED: Record<ColumnType, ColumnKind> = {
  text: 'text',
  number: 'float64',
  integer: 'int64',
  vector: { list: 'float64' },
};

const MIN_INT64 = -(2n ** 63n);
const MAX_INT64 = 2n ** 63n - 1n;

/** Names of columns that usually have ids. */
const CALLED_ID = /^(id|key|row)$|(_|-|\.)id$|[a-z]I[dD]$/i;

/**
 * The kind of a column: that of the rows before it, in `known`, where there are any. In a shard of
 * few rows whole numbers are all different, and look like names; a text may be digits.
 */
export function kindOf(
  name: string,
  values: readonly unknown[],
  type: ColumnType | undefined,
  known: Map<string, ColumnKind>,
): ColumnKind {
  const kind = known.get(name) ?? ownKindOf(name, values, type);
  // Nulls alone show no kind.
  if (values.some((one) => (one ?? null) !== null)) known.set(name, kind);
  return kind;
}

/** The kind that the first values have, unless the caller states a type. */
function ownKindOf(
  name: string,
  values: readonly unknown[],
  type: ColumnType | undefined,
): ColumnKind {
  if (type !== undefined) return ASKED[type];
  const there = values.filter((value) => value !== null && value !== undefined);
  const all = (test: (value: unknown) => boolean) => there.length > 0 && there.every(test);
  if (all((value) => typeof value === 'string')) return 'text';
  if (all((value) => typeof value === 'boolean')) return 'bool';
  if (all((value) => typeof value === 'number' || typeof value === 'bigint')) {
    return kindOfNumbers(name, there as (number | bigint)[]);
  }
  // As integers, whole numbers can be the dimensions of sparse rows.
  if (all((value) => Array.isArray(value) && value.every((item) => typeof item === 'number'))) {
    const isWhole = (there as number[][]).every((list) => list.every(Number.isSafeInteger));
    return { list: isWhole ? 'int64' : 'float64' };
  }
  return 'json';
}

/** The kind of a column of numbers; JSON where no type of numbers holds all of them. */
function kindOfNumbers(name: string, values: readonly (number | bigint)[]): ColumnKind {
  if (!values.every((value) => typeof value === 'bigint' || Number.isInteger(value))) {
    return values.every((value) => typeof value === 'number' || isFloat(value))
      ? 'float64'
      : 'json';
  }
  const least = values.reduce((a, b) => (b < a ? b : a));
  const most = values.reduce((a, b) => (b > a ? b : a));
  if (least < MIN_INT64 || most > MAX_INT64) return 'json';
  // Integers that float64 does not hold come as bigints.
  const isLarge = values.some((value) => typeof value === 'bigint');
  const isName = isLarge || CALLED_ID.test(name) || new Set(values).size === values.length;
  return isName && values.every((value) => typeof value === 'bigint' || Number.isSafeInteger(value))
    ? 'int64'
    : 'float64';
}

/**
 * Whether a large integer is a number of float64: its value, or the digits with which it is
 * written, the fewest that tell it from others.
 */
function isFloat(value: bigint): boolean {
  const number = Number(value);
  if (!Number.isFinite(number)) return false;
  return BigInt(number) === value || String(number) === String(value);
}

/** Returns a value in the form that its column takes; throws an Error for one that does not fit. */
export type Fitter = (value: unknown) => unknown;

/**
 * A function that turns JSON values into values of a column. With `isAsked` the caller named the
 * type, so other values become text in a column of text.
 */
export function fitter({ name, kind }: ColumnPlan, isAsked: boolean): Fitter {
  const orNull =
    (turn: Fitter): Fitter =>
    (value) =>
      value === null ? null : turn(value);
  if (kind === 'json') return orNull(exactJson);
  if (kind === 'text' || kind === 'bool') {
    const [type, expected] = kind === 'text' ? ['string', 'a text'] : ['boolean', 'true or false'];
    return orNull((value) => {
      if (typeof value === type) return value;
      if (isAsked && kind === 'text') return exactJson(value);
      throw misfit(name, expected, value);
    });
  }
  if (typeof kind === 'string') return orNull(numberFitter(name, kind));
  const item = numberFitter(name, kind.list);
  return orNull((value) => {
    if (!Array.isArray(value)) throw misfit(name, 'a list of numbers', value);
    for (let i = 0; i < value.length; i++) item(value[i]);
    return value;
  });
}

/** Checks values of a column of numbers; integers come as numbers or as bigints. */
function numberFitter(name: string, kind: ColumnKind): Fitter {
  if (kind === 'float64') {
    return (value) => {
      if (typeof value === 'number') return value;
      if (typeof value === 'bigint' && isFloat(value)) return Number(value);
      throw misfit(name, 'a number that float64 holds', value);
    };
  }
  return (value) => {
    if (Number.isSafeInteger(value)) return value;
    if (typeof value === 'bigint' && value >= MIN_INT64 && value <= MAX_INT64) return value;
    const type = typeof value === 'number' ? 'number' : 'text';
    throw misfit(name, 'an integer of 64 bits', value, type);
  };
}

/** The error for a value that its column cannot take; it names a type that can. */
export function misfit(
  column: string,
  expected: string,
  value: unknown,
  type: ColumnType = 'text',
): Error {
  const got = `column "${column}" expected ${expected}, got ${describe(value)}`;
  return new Error(`${got}; ${advice(column, type)}`);
}

/** The message for a column that none of the first lines has. */
export function lateColumn(column: string): string {
  return `column "${column}" is not in the lines before; ${advice(column, 'text')}`;
}

function advice(column: string, type: ColumnType): string {
  return `say types: { ${JSON.stringify(column)}: '${type}' } (--types ${column}=${type})`;
}

/** A value as JSON: bigints as integers, NaN and infinity as null. */
export function exactJson(value: unknown): string {
  switch (typeof value) {
    case 'number':
      return Number.isFinite(value) ? String(value) : 'null';
    case 'bigint':
    case 'boolean':
      return String(value);
    case 'object':
      break;
    default:
      return JSON.stringify(value) ?? 'null';
  }
  if (value === null) return 'null';
  // Arrays of numbers, as vectors are, are left to the engine, which is faster.
  const mayHaveBigInts = (one: unknown) => typeof one === 'bigint' || typeof one === 'object';
  if (Array.isArray(value)) {
    return value.some(mayHaveBigInts)
      ? `[${value.map(exactJson).join(',')}]`
      : JSON.stringify(value);
  }
  if (ArrayBuffer.isView(value)) return JSON.stringify(value);
  const entries = Object.entries(value).filter(([, one]) => one !== undefined);
  return `{${entries.map(([key, one]) => `${JSON.stringify(key)}:${exactJson(one)}`).join(',')}}`;
}

/** Bytes as hexadecimal digits, as JSON and CSV have them. */
export function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('hex');
}
