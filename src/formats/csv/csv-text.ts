/**
 * Writes rows as CSV: RFC 4180 with line feeds. A null is an empty cell, an empty text a quoted
 * one. Lists become JSON, bytes hexadecimal digits.
 */

import type { RowBatch } from '../../table/row-batch';
import { exactJson, hex } from '../jsonl/json-text';

/** How cells are written. */
export interface CsvLayout {
  readonly delimiter: string;
  /** Whether texts that a spreadsheet would run are kept, or marked as texts. */
  readonly formulas: 'keep' | 'text';
}

/** Texts that a spreadsheet takes for formulas; and numbers, which begin alike and do no harm. */
const FORMULA = /^'*[=+\-@\t\r\uff0b\uff0d\uff1d\uff20]/;
const NUMBER = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i;

/**
 * Puts an apostrophe in front of a text that a spreadsheet could run as a formula, also if it has
 * apostrophes in front already.
 */
export function formulaAsText(text: string): string {
  return FORMULA.test(text) && !NUMBER.test(text) ? `'${text}` : text;
}

/** Undoes `formulaAsText`. */
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
    // A blank line would not be read as a row.
    return line === '' ? '""' : line;
  });
}

/** A function that makes the text of a cell, in quotes where it needs them. */
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
