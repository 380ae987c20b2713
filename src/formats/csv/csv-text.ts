/**
 * Rows as CSV: RFC 4180 with line feeds. A null is an empty cell, an empty text a quoted one. Lists
 * are JSON, bytes hexadecimal.
 */

import type { RowBatch } from '../../table/row-batch';
import { exactJson, hex } from '../jsonl/json-text';

/** The line that names the columns. */
export function csvHeader(batch: RowBatch, delimiter: string): string {
  const cell = cellWriter(delimiter);
  return `${batch.columns.map(({ name }) => cell(name)).join(delimiter)}\n`;
}

/** A line a row, without the line feed. */
export function csvLines(batch: RowBatch, delimiter: string): string[] {
  const cell = cellWriter(delimiter);
  const columns = batch.columns.map(({ name }) => batch.values(name));
  return Array.from({ length: batch.count }, (_, row) => {
    const line = columns.map((values) => cell(values[row])).join(delimiter);
    // A blank line would be no row.
    return line === '' ? '""' : line;
  });
}

function cellWriter(delimiter: string): (value: unknown) => string {
  const needsQuotes = new RegExp(`["\\r\\n${delimiter === '\t' ? '\\t' : delimiter}]`);
  return (value) => {
    if (value === null || value === undefined) return '';
    if (value === '') return '""';
    const text =
      typeof value === 'string'
        ? value
        : value instanceof Uint8Array
          ? hex(value)
          : typeof value === 'number'
            ? String(value)
            : exactJson(value);
    return needsQuotes.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
}
