/** Rows as JSON: an object a line, or one array of all. */

import { isJsonColumn, type RowBatch } from '../../table/row-batch';
import { exactJson } from './exact-json';

/** Plain values as JSON values: bytes are hexadecimal. */
function jsonOf(value: unknown): string {
  return value instanceof Uint8Array ? `"${hex(value)}"` : exactJson(value);
}

/** Bytes as hexadecimal digits, as JSON and CSV have them. */
export function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('hex');
}

/** The objects of a batch's rows, keys in the order of the columns. */
export function jsonRows(batch: RowBatch): string[] {
  const columns = batch.columns.map((column) => {
    const values = batch.values(column.name);
    const isJson = isJsonColumn(column);
    const key = `${JSON.stringify(column.name)}:`;
    return {
      key,
      text: (row: number) => (isJson ? ((values[row] as string) ?? 'null') : jsonOf(values[row])),
    };
  });
  return Array.from({ length: batch.count }, (_, row) => {
    return `{${columns.map(({ key, text }) => key + text(row)).join(',')}}`;
  });
}
