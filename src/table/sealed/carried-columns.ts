/**
 * The columns that an index folder carries next to its rows, in and out of Arrow files. Batches of
 * one file have the same columns; each may be null, and dictionaries become plain columns.
 */

import { concatenated } from '../arrow/bytes';
import { asArrow } from '../arrow/source';
import { ArrowWriter } from '../arrow/writer';
import { RowBatch } from '../row-batch';
import { headerText } from './seal';
import { batchRanges, openTable } from './sealed-table';

const KIND = 'columns';

/** The bytes of an Arrow file. Throws where batches differ in names or types of columns. */
export function columnsToArrow(batches: readonly RowBatch[]): Uint8Array {
  const writer = new ArrowWriter('file', headerText({ kind: KIND }));
  const parts = batches.flatMap((batch) => {
    const ranges = Array.from(batchRanges(batch.count));
    return ranges.flatMap(([first, end]) => writer.write(batch.slice(first, end)));
  });
  return concatenated([...parts, ...writer.finish()]);
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
  return asArrow(file, () => {
    let firstRow = 0;
    return batches.map((batch) => {
      const at = { firstRow, file };
      firstRow += batch.numRows;
      // The header is the file's, not the columns'.
      const columns = batch.schema.fields.map((field, i) => ({
        field,
        data: batch.data.children[i],
      }));
      const whole = RowBatch.ofColumns(columns, batch.numRows, at);
      if (names === undefined) return whole;
      const others = whole.columns.filter(({ name }) => !names.includes(name));
      return whole.without(others.map(({ name }) => name));
    });
  });
}
