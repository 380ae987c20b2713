/** Values as their column has them. One that does not fit is an error that says what to do. */

import { describe } from '../base/check';
import type { ColumnKind } from '../table/columns/builder';
import type { ColumnPlan } from '../table/row-assembler';
import { exactJson } from './jsonl/exact-json';
import type { ColumnType } from './row-reader';

export type Fitter = (value: unknown) => unknown;

/** What turns JSON values into those of a column; all text when the caller said that it is text. */
export function fitter({ name, kind }: ColumnPlan, isAsked: boolean): Fitter {
  const orNull =
    (turn: Fitter): Fitter =>
    (value) =>
      value === null ? null : turn(value);
  if (kind === 'json') return orNull(exactJson);
  if (kind === 'text') {
    return orNull((value) => {
      if (typeof value === 'string') return value;
      if (isAsked) return exactJson(value);
      throw misfit(name, 'a text', { value, type: 'text' });
    });
  }
  if (kind === 'bool') {
    return orNull((value) => {
      if (typeof value === 'boolean') return value;
      throw misfit(name, 'true or false', { value, type: 'text' });
    });
  }
  if (typeof kind === 'string') return orNull(numberFitter(name, kind));
  const item = numberFitter(name, (kind as { list: ColumnKind }).list);
  return orNull((value) => {
    if (!Array.isArray(value)) throw misfit(name, 'a list of numbers', { value, type: 'text' });
    for (let i = 0; i < value.length; i++) item(value[i]);
    return value;
  });
}

function numberFitter(name: string, kind: ColumnKind): Fitter {
  if (kind === 'float64') {
    return (value) => {
      if (typeof value === 'number') return value;
      if (typeof value === 'bigint' && BigInt(Number(value)) === value) return Number(value);
      throw misfit(name, 'a number that float64 holds', { value, type: 'text' });
    };
  }
  const least = kind === 'uint64' ? 0n : -(2n ** 63n);
  const most = kind === 'uint64' ? 2n ** 64n - 1n : 2n ** 63n - 1n;
  return (value) => {
    if (Number.isSafeInteger(value) && (value as number) >= least) return value;
    if (typeof value === 'bigint' && value >= least && value <= most) return value;
    const type = typeof value === 'number' ? 'number' : 'text';
    throw misfit(name, 'an integer of 64 bits', { value, type });
  };
}

export function misfit(
  column: string,
  expected: string,
  given: { value: unknown; type: ColumnType },
): Error {
  const got = `column "${column}" expected ${expected}, got ${describe(given.value)}`;
  return new Error(`${got}; ${advice(column, given.type)}`);
}

/** The error for a column that no line had when the types were looked at. */
export function lateColumn(column: string): string {
  return `column "${column}" is not in the lines before; ${advice(column, 'text')}`;
}

function advice(column: string, type: ColumnType): string {
  return `say types: { ${JSON.stringify(column)}: '${type}' } (--types ${column}=${type})`;
}
