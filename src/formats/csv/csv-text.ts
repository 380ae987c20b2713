/**
 * Rows as CSV: RFC 4180 with line feeds. A null is an empty cell, an empty text a quoted one. Lists
 * are JSON, bytes hexadecimal.
 */

import type { RowBatch } from '../../table/row-batch';
import { exactJson, hex } from '../jsonl/json-text';

/** How cells are written. */
export interface CsvLayout {
  readonly delimiter: string;
  /** Whether texts that a spreadsheet would run are kept, or marked as texts. */
  readonly formulas: 'keep' | 'text';
}

/** What a spreadsheet takes for the beginning of a formula, and numbers, which do no harm. */
const FORMULA = /^'*[=+\-@\t\r\uff0b\uff0d\uff1d\uff20]/;
const NUMBER = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i;

/** A text with an apostrophe in front where it, or what apostrophes precede, could be a formula. */
export function formulaAsText(text: string): string {
  return FORMULA.test(text) && !NUMBER.test(text) ? `'${text}` : text;
}

/** The text that `formulaAsText` was given. */
export function textOfFormula(text: string): string {
  return text.startsWith("'") && FORMULA.test(text) ? text.slice(1) : text;
}

/** The line that names the columns. */
export function csvHeader(batch: RowBatch, layout: CsvLayout): string {
  const { delimiter } = layout;
  const cell = cellWriter(layout);
  return `${batch.columns.map(({ name }) => cell(name)).join(delimiter)}\n`;
}

/** A line a row, without the line feed. */
export function csvLines(batch: RowBatch, layout: CsvLayout): string[] {
  const { delimiter } = layout;
  const cell = cellWriter(layout);
  const columns = batch.columns.map(({ name }) => batch.values(name));
  return Array.from({ length: batch.count }, (_, row) => {
    const line = columns.map((values) => cell(values[row])).join(delimiter);
    // A blank line would be no row.
    return line === '' ? '""' : line;
  });
}

function cellWriter({ delimiter, formulas }: CsvLayout): (value: unknown) => string {
  const written = formulas === 'text' ? formulaAsText : (text: string) => text;
  const needsQuotes = new RegExp(`["\\r\\n${delimiter === '\t' ? '\\t' : delimiter}]`);
  return (value) => {
    if (value === null || value === undefined) return '';
    if (value === '') return '""';
    const text =
      typeof value === 'string'
        ? written(value)
        : value instanceof Uint8Array
          ? hex(value)
          : typeof value === 'number'
            ? String(value)
            : exactJson(value);
    return needsQuotes.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
}
