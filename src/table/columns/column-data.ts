/**
 * Columns from what programs have at hand: typed arrays, arrays of plain values, codes, matrices.
 */

import { Field } from 'apache-arrow';
import { wrongType } from '../../base/check';
import { Codes } from '../../codes/codes';
import { checkDenseMatrix, type DenseMatrix, isDenseMatrix } from '../../vectors/vectors';
import { builderOf, type Column, type ColumnKind, finished } from './builder';
import { bytesData, numberData, vectorData } from './make';
import { type NumberArray, typeOfArray } from './types';

/** The values of a column, one a row. */
export type ColumnData =
  | NumberArray
  | readonly (string | number | boolean | bigint | null)[]
  | Codes
  | DenseMatrix
  | Column;

/** One column, whose rows may be null; nothing is copied but plain arrays. */
export function columnOf(name: string, given: ColumnData): Column {
  if (Array.isArray(given)) return fromValues(name, given);
  const made = dataOf(name, given);
  if (made !== null) return { field: new Field(name, made.type, true), data: made };
  const { field, data } = (given ?? {}) as Column;
  if (!(field instanceof Field)) {
    throw wrongType(name, 'an array, a typed array, Codes or a matrix', given);
  }
  return { field: new Field(name, field.type, true, field.metadata), data };
}

/** Null for what is no typed array, no codes and no matrix. */
function dataOf(name: string, given: ColumnData) {
  if (given instanceof Codes) {
    const { bytes, bytesPerCode: width, count: length, validity } = given;
    return bytesData(bytes, { width, length, validity });
  }
  if (ArrayBuffer.isView(given)) {
    if (typeOfArray(given) !== undefined) return numberData(given as NumberArray);
    throw wrongType(name, 'a typed array of numbers', given);
  }
  if (!isDenseMatrix(given)) return null;
  const length = checkDenseMatrix(given, name);
  const { values, dimensions: width, validity } = given;
  return vectorData(values, { width, length, validity, isNullable: true });
}

/** All numbers are float64, so that the type does not depend on what a batch holds. */
const KINDS: Record<string, ColumnKind> = {
  string: 'text',
  number: 'float64',
  boolean: 'bool',
  bigint: 'int64',
};

function fromValues(name: string, values: readonly unknown[]): Column {
  const known = values.find((value) => value !== null && value !== undefined);
  const type = known === undefined ? 'string' : typeof known;
  const kind = KINDS[type];
  const builder = builderOf(kind ?? 'text');
  values.forEach((value, row) => {
    if (kind === undefined || (value !== null && value !== undefined && typeof value !== type)) {
      const expected = kind === undefined ? 'a string, number, boolean or null' : `a ${type}`;
      throw wrongType(`${name}[${row}]`, expected, value);
    }
    builder.append(value);
  });
  return finished(name, builder, kind);
}
