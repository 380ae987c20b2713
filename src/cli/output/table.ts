/**
 * Tables for people: columns as wide as their cells need and the terminal allows, numbers to the
 * right. Characters of the data that a terminal would obey are replaced.
 */

import type { RowBatch, RowWriter } from '../../node';
import { columnsOfText, printable } from './figures';

/** Columns of a terminal below which no column of a table is narrowed. */
const MIN_WIDTH = 6;
const GAP = '  ';

/** Cells of numbers, as `1,234`, `−0.5`, `3 of 40` or `–` for none. */
const NUMBER = /^(?:[+\-−]?[\d,]*\.?\d+(?:e[+-]?\d+)?(?: of [\d,]+)?|–?)$/;

/**
 * Returns a function that sets a row of cells as a line, in columns as wide as those of `rows`,
 * which must have one row at least. Columns of numbers below the first row are set to the right.
 * Where the widths exceed `width`, in columns of a terminal, the widest are narrowed, and longer
 * cells are cut.
 */
function lineSetter(
  rows: readonly (readonly string[])[],
  width: number,
): (cells: readonly string[]) => string {
  const areNumbers = rows[0].map((_, i) => rows.slice(1).every((row) => NUMBER.test(row[i])));
  const widths = rows[0].map((_, i) => Math.max(...rows.map((row) => columnsOfText(row[i]))));
  let excess = widths.reduce((sum, one) => sum + one, 0) + GAP.length * (widths.length - 1) - width;
  // Takes from the widest column, one at a time, until the table fits.
  for (; excess > 0; excess--) {
    const widest = widths.indexOf(Math.max(...widths));
    if (widths[widest] <= MIN_WIDTH) break;
    widths[widest]--;
  }
  return (cells) => {
    const fitting = cells.map((cell, i) => fitted(cell, widths[i], areNumbers[i]));
    return fitting.join(GAP).trimEnd();
  };
}

/** Rows as lines, each indented by two blanks, at most `width` columns of a terminal wide. */
export function aligned(
  rows: readonly (readonly string[])[],
  width = Number.POSITIVE_INFINITY,
): string {
  const line = lineSetter(rows, width);
  return rows.map((row) => `  ${line(row)}`).join('\n');
}

/** A cell padded to the width of its column, or cut with a … at its end. */
function fitted(text: string, width: number, isRight: boolean): string {
  const blanks = ' '.repeat(Math.max(0, width - columnsOfText(text)));
  if (columnsOfText(text) <= width) return isRight ? blanks + text : text + blanks;
  let kept = '';
  for (const character of text) {
    if (columnsOfText(kept + character) > width - 1) break;
    kept += character;
  }
  return `${kept}…${' '.repeat(Math.max(0, width - 1 - columnsOfText(kept)))}`;
}

interface TableOptions {
  readonly width: number;
  write(text: string): Promise<void>;
}

/** Rows of the first batch whose cells decide the widths. */
const FIRST_ROWS = 200;

/**
 * Writes batches of the same columns as lines below one heading. The first batch with rows decides
 * widths and alignment, so that nothing waits for later ones; their longer cells are cut.
 */
export class PeopleTable implements RowWriter {
  rowCount = 0;
  #line: ReturnType<typeof lineSetter> | null = null;

  constructor(private readonly options: TableOptions) {}

  async write(batch: RowBatch): Promise<void> {
    if (batch.count === 0) return;
    const { width, write } = this.options;
    const values = batch.columns.map(({ name }) => batch.values(name));
    const rows = Array.from({ length: batch.count }, (_, row) =>
      values.map((column) => cellText(column[row])),
    );
    const lines: string[] = [];
    if (this.#line === null) {
      const names = batch.columns.map(({ name }) => cellText(name));
      this.#line = lineSetter([names, ...rows.slice(0, FIRST_ROWS)], width);
      lines.push(this.#line(names));
    }
    lines.push(...rows.map(this.#line));
    this.rowCount += batch.count;
    await write(`${lines.join('\n')}\n`);
  }

  async close(): Promise<void> {
    if (this.rowCount === 0) await this.options.write('no rows\n');
  }

  async abort(): Promise<void> {}
}

/**
 * A value of any column on one line, at most 2,000 characters before control characters are
 * replaced: bytes as hexadecimal, lists and objects as JSON, fractions with four digits.
 */
export function cellText(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'number') {
    const isPlain = Math.abs(value) >= 1e-4 && Math.abs(value) < 1e9;
    return isPlain && !Number.isInteger(value) ? value.toFixed(4) : String(value);
  }
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex');
  const text = typeof value === 'object' ? JSON.stringify(value, jsonOf) : String(value);
  return printable(text.slice(0, 2000).replaceAll(/\s+/g, ' '));
}

/** A replacer for JSON.stringify: bigints become texts, typed arrays become arrays. */
export function jsonOf(_: string, value: unknown): unknown {
  if (typeof value === 'bigint') return String(value);
  return ArrayBuffer.isView(value) ? Array.from(value as Float32Array) : value;
}
