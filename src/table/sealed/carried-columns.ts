/**
 * The columns that an index folder carries next to its rows, in and out of Arrow files. Batches of
 * one file have the same columns; each may be null, and dictionaries become plain columns.
 */

import { type Field, RecordBatch, Schema } from 'apache-arrow';
import { arrowBytes } from '../arrow/bytes';
import { asFormatError } from '../arrow/source';
import type { Column } from '../columns/builder';
import { plainOf } from '../columns/pick';
import { RowBatch } from '../row-batch';
import { batchRanges, openTable, sealed } from './sealed-table';

const KIND = 'columns';

/** The bytes of an Arrow file. Throws where batches differ in names or types of columns. */
export function columnsToArrow(batches: readonly RowBatch[]): Uint8Array {
  const parts = batches.flatMap(plainParts);
  const [wanted] = parts.map(listed);
  for (const columns of parts) {
    if (listed(columns) === wanted) continue;
    throw new Error(`columns ${listed(columns)} do not fit to columns ${wanted}`);
  }
  const { schema, batches: records } = sealed({ kind: KIND }, parts);
  return arrowBytes('file', schema, records);
}

/** The columns of at most so many rows, without dictionaries and views, which cannot be cut. */
function plainParts(batch: RowBatch): Column[][] {
  const isPlain = batch.toArrow().schema.fields.every(({ type }) => plainOf(type) === type);
  return Array.from(batchRanges(batch.count), ([first, end]) => {
    const rows = Uint32Array.from({ length: end - first }, (_, i) => first + i);
    const part = isPlain ? batch.slice(first, end) : batch.select(rows);
    const { schema, data } = part.toArrow();
    return schema.fields.map((field, i) => {
      return { field: field.clone({ nullable: true }) as Field, data: data.children[i] };
    });
  });
}

function listed(columns: readonly Column[]): string {
  return columns.map(({ field }) => `${field.name}: ${field.type}`).join(', ');
}

/**
 * The batches of a file of carried columns, or only the columns `names` of them. `isSound` says
 * that the bytes are known to be those that were written.
 */
export function columnsFromArrow(
  bytes: Uint8Array,
  file: string,
  { names, isSound }: { names?: readonly string[] | undefined; isSound?: boolean } = {},
): RowBatch[] {
  const { batches } = openTable(bytes, file, { kind: KIND, isSound });
  return asFormatError(file, () => {
    let firstRow = 0;
    return batches.map((batch) => {
      const at = { firstRow, file };
      firstRow += batch.numRows;
      // The header is the file's, not the columns'.
      const plain = new RecordBatch(new Schema(batch.schema.fields), batch.data);
      const whole = RowBatch.fromArrow(plain, at);
      if (names === undefined) return whole;
      const others = whole.columns.filter(({ name }) => !names.includes(name));
      return whole.without(others.map(({ name }) => name));
    });
  });
}
