/**
 * Rows as a table for people: a heading, columns as wide as their first rows need and as the
 * terminal allows, numbers to the right. Control characters of the data do not reach the terminal.
 */

import type { RowBatch, RowWriter } from '../../node';

/** Where a table goes. */
export interface TableOptions {
  /** Columns of the terminal. */
  readonly width: number;
  readonly isColored: boolean;
  write(text: string): Promise<void>;
}

/** Rows of the first batch that decide the widths. */
const FIRST_ROWS = 200;
const MIN_WIDTH = 6;
const GAP = '  ';

/** How a column of the table is set. */
interface Column {
  readonly name: string;
  readonly isNumeric: boolean;
  /** Columns of the terminal. */
  width: number;
}

/** Writes each batch as lines; the first one decides how wide columns are. */
export class PeopleTable implements RowWriter {
  rowCount = 0;
  readonly #options: TableOptions;
  #columns: Column[] | null = null;

  constructor(options: TableOptions) {
    this.#options = options;
  }

  async write(batch: RowBatch): Promise<void> {
    if (batch.count === 0) return;
    const { width, isColored, write } = this.#options;
    const values = batch.columns.map(({ name }) => batch.values(name));
    const cells = values.map((column) => column.map(cellText));
    const lines: string[] = [];
    if (this.#columns === null) {
      const names = batch.columns.map(({ name }) => name);
      this.#columns = columnsOf(names, values, cells);
      narrow(this.#columns, width);
      const heading = lineOf(this.#columns, names);
      lines.push(isColored ? `\x1b[1m${heading}\x1b[0m` : heading);
    }
    for (let row = 0; row < batch.count; row++) {
      const own = cells.map((column) => column[row]);
      lines.push(lineOf(this.#columns, own));
    }
    this.rowCount += batch.count;
    await write(`${lines.join('\n')}\n`);
  }

  async close(): Promise<void> {
    if (this.rowCount === 0) await this.#options.write('no rows\n');
  }

  async abort(): Promise<void> {}
}

/** Columns as wide as their names and first cells. */
function columnsOf(
  names: readonly string[],
  values: readonly (readonly unknown[])[],
  cells: readonly (readonly string[])[],
): Column[] {
  return names.map((name, i) => ({
    name,
    isNumeric: values[i].every((one) => one === null || /number|bigint/.test(typeof one)),
    width: Math.max(widthOf(name), ...cells[i].slice(0, FIRST_ROWS).map(widthOf)),
  }));
}

/** Takes from the widest column until all fit, or none is wider than the least. */
function narrow(columns: readonly Column[], width: number): void {
  const room = width - GAP.length * (columns.length - 1);
  let excess = columns.reduce((sum, column) => sum + column.width, 0) - room;
  for (; excess > 0; excess--) {
    const widest = columns.reduce((a, b) => (b.width > a.width ? b : a));
    if (widest.width <= MIN_WIDTH) return;
    widest.width--;
  }
}

function lineOf(columns: readonly Column[], cells: readonly string[]): string {
  const fitting = columns.map((column, i) => fitted(cells[i] ?? '', column));
  return fitting.join(GAP).trimEnd();
}

/** A value in one line. */
export function cellText(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'number') {
    const isPlain = Math.abs(value) >= 1e-4 && Math.abs(value) < 1e9;
    return isPlain && !Number.isInteger(value) ? value.toFixed(4) : String(value);
  }
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex');
  const text = typeof value === 'object' ? JSON.stringify(value, plain) : String(value);
  return text
    .slice(0, 2000)
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/\p{Cc}/gu, '\u{fffd}');
}

/** What JSON has no form for: bigints as texts, typed arrays as arrays. */
function plain(_: string, value: unknown): unknown {
  if (typeof value === 'bigint') return String(value);
  return ArrayBuffer.isView(value) ? Array.from(value as Float32Array) : value;
}

/** Characters that take two columns: of East Asia, and pictures. */
const WIDE = new RegExp(
  '[\\u1100-\\u115f\\u2e80-\\u303e\\u3041-\\ua4cf\\uac00-\\ud7a3\\uf900-\\ufaff\\ufe30-\\ufe6f' +
    '\\uff00-\\uff60\\uffe0-\\uffe6\\u{1f300}-\\u{1faff}\\u{20000}-\\u{3fffd}]',
  'u',
);

/** Columns of the terminal that a character takes; marks above others take none. */
function columnsOfCharacter(character: string): number {
  if (/\p{Mn}/u.test(character)) return 0;
  return WIDE.test(character) ? 2 : 1;
}

/** Columns of the terminal that a text takes. */
function widthOf(text: string): number {
  if (/^[\x20-\x7e]*$/.test(text)) return text.length;
  return Array.from(text).reduce((sum, one) => sum + columnsOfCharacter(one), 0);
}

/** A cell cut or padded to the width of its column. */
function fitted(text: string, { width, isNumeric }: Column): string {
  const blanks = ' '.repeat(Math.max(0, width - widthOf(text)));
  if (widthOf(text) <= width) return isNumeric ? blanks + text : text + blanks;
  let kept = '';
  let used = 0;
  for (const character of text) {
    used += columnsOfCharacter(character);
    if (used > width - 1) break;
    kept += character;
  }
  return `${kept}…${' '.repeat(Math.max(0, width - 1 - widthOf(kept)))}`;
}
