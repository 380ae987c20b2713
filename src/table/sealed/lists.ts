/** Small tables of an index folder, one column each: removed rows, and centroids of partitions. */

import { asFormatError } from '../arrow/source';
import { type ColumnSchema, openTable, readNumbers, writeTable } from './sealed-table';

const REMOVED: ColumnSchema = { name: 'row', type: 'uint32' };

/** Numbers of removed rows, ascending. */
export function removedToArrow(rows: Uint32Array): Uint8Array {
  return writeTable([REMOVED], { kind: 'removed' }, [{ count: rows.length, rows: { row: rows } }]);
}

/** Reads them; a file where they do not ascend throws a FormatError. */
export function removedFromArrow(bytes: Uint8Array, file: string): Uint32Array {
  const table = openTable(bytes, file, { kind: 'removed' });
  return asFormatError(file, () => {
    const rows = readNumbers(table, REMOVED) as Uint32Array;
    for (let i = 1; i < rows.length; i++) {
      if (rows[i] <= rows[i - 1]) throw new Error(`row ${rows[i]} after row ${rows[i - 1]}`);
    }
    return rows;
  });
}

/** The names in files are those of version 1. */
const centroids = (width: number | null): ColumnSchema => {
  return { name: 'centre', type: { vector: 'int16', width } };
};

/** Centroids one after another, `width` integers each. */
export function centroidsToArrow(values: Int16Array, width: number): Uint8Array {
  const batch = { count: values.length / width, rows: { centre: values } };
  return writeTable([centroids(width)], { kind: 'centres' }, [batch]);
}

/** Reads them; the width is known from the index. */
export function centroidsFromArrow(bytes: Uint8Array, file: string): Int16Array {
  const table = openTable(bytes, file, { kind: 'centres' });
  return asFormatError(file, () => readNumbers(table, centroids(null)) as Int16Array);
}
