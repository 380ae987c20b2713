/**
 * Ids, the user's names of rows: strings, or integers that one integer column of Arrow can hold.
 * They are checked without apache-arrow, so that a bundle that reads no files does not contain it.
 */

import { wrongType, wrongValue } from './check';

/** One id for each row. Integers that fit 32 bits are held in an array of 32 bits. */
export type Ids = readonly string[] | Int32Array | Uint32Array | BigInt64Array | BigUint64Array;

/**
 * Checks the `count` ids that a caller gave. Strings and typed arrays are returned as they are; an
 * array of numbers is copied to an Int32Array, or to a BigInt64Array if one of them does not fit.
 */
export function checkIds(ids: unknown, count: number): Ids {
  const checked = Array.isArray(ids) ? checkIdArray(ids) : (ids as Ids);
  const isTyped =
    checked instanceof Int32Array ||
    checked instanceof Uint32Array ||
    checked instanceof BigInt64Array ||
    checked instanceof BigUint64Array;
  if (!isTyped && !Array.isArray(checked)) {
    throw wrongType('ids', 'an array of strings or integers, or an integer array', ids);
  }
  if (checked.length !== count) throw wrongValue('ids', `${count}, one a row`, checked.length);
  return checked;
}

/** The first id decides whether all must be strings or all safe integers. */
function checkIdArray(ids: readonly unknown[]): Ids {
  const isText = typeof ids[0] === 'string';
  for (let row = 0; row < ids.length; row++) {
    if (isText ? typeof ids[row] !== 'string' : !Number.isSafeInteger(ids[row])) {
      throw wrongType(`ids[${row}]`, 'all strings or all integers', ids[row]);
    }
    // Half of a surrogate pair has no UTF-8, so a file would give back another string.
    if (isText && /\p{Surrogate}/u.test(ids[row] as string)) {
      throw wrongValue(`ids[${row}]`, 'well-formed Unicode', ids[row]);
    }
  }
  if (isText || ids.length === 0) return ids as string[];
  const integers = ids as readonly number[];
  const isNarrow = integers.every((id) => id === (id | 0));
  return isNarrow ? Int32Array.from(integers) : BigInt64Array.from(integers, BigInt);
}

/** Copies the ids of some rows, in the order of `rows`, to an array of the type of `ids`. */
export function idsAt(ids: Ids, rows: Uint32Array): Ids {
  if (Array.isArray(ids)) return Array.from(rows, (row) => ids[row]);
  const numbers = ids as Int32Array;
  const some = new (numbers.constructor as Int32ArrayConstructor)(rows.length);
  for (let i = 0; i < rows.length; i++) some[i] = numbers[rows[i]];
  return some;
}
