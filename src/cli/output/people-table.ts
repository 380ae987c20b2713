/**
 * Rows as a table for people: a heading, columns as wide as their first rows need and as the
 * terminal allows, numbers to the right. Control characters of the data do not reach the terminal.
 */

import type { RowBatch, RowWriter } from '../../node';

export interface TableOptions {
  /** Columns of the terminal. */
  readonly width: number;
  readonly isColored: boolean;
  write(text: string): Promise<void>;
}

/** Rows by which the widths are found. */
const FIRST_ROWS = 200;
const MIN_WIDTH = 6;
const GAP = '  ';

interface Column {
  readonly name: string;
  readonly isNumeric: boolean;
  width: number;
}

export class PeopleTable implements RowWriter {
  rowCount = 0;
  readonly #options: TableOptions;
  #columns: Column[] | null = null;

  constructor(options: TableOptions) {
    this.#options = options;
  }

  async write(batch: RowBatch): Promise<void> {
    const names = batch.columns.map(({ name }) => name);
    const cells = names.map((name) => batch.values(name).map(cellText));
    if (batch.count === 0) return;
    const isFirst = this.#columns === null;
    this.#columns ??= columnsOf(names, cells, (i) => batch.values(names[i]), this.#options.width);
    const lines: string[] = [];
    if (isFirst) lines.push(this.#heading());
    for (let row = 0; row < batch.count; row++) {
      lines.push(this.#line(cells.map((column) => column[row])));
    }
    this.rowCount += batch.count;
    await this.#options.write(`${lines.join('\n')}\n`);
  }

  async close(): Promise<void> {
    if (this.rowCount === 0) await this.#options.write('no rows\n');
  }

  async abort(): Promise<void> {}

  #heading(): string {
    const line = this.#line((this.#columns as Column[]).map(({ name }) => name));
    return this.#options.isColored ? `\x1b[1m${line}\x1b[0m` : line;
  }

  #line(cells: readonly string[]): string {
    const columns = this.#columns as Column[];
    return columns
      .map(({ width, isNumeric }, i) => fitted(cells[i] ?? '', width, isNumeric))
      .join(GAP)
      .trimEnd();
  }
}

function columnsOf(
  names: readonly string[],
  cells: readonly (readonly string[])[],
  valuesOf: (column: number) => unknown[],
  width: number,
): Column[] {
  const columns = names.map((name, i) => {
    const some = cells[i].slice(0, FIRST_ROWS);
    const isNumeric = valuesOf(i).every((one) => one === null || /number|bigint/.test(typeof one));
    const widest = some.reduce((most, cell) => Math.max(most, widthOf(cell)), widthOf(name));
    return { name, isNumeric, width: widest };
  });
  const room = width - GAP.length * (columns.length - 1);
  let excess = columns.reduce((sum, column) => sum + column.width, 0) - room;
  // The widest gives way first.
  while (excess > 0) {
    const widest = columns.reduce((a, b) => (b.width > a.width ? b : a));
    if (widest.width <= MIN_WIDTH) break;
    widest.width--;
    excess--;
  }
  return columns;
}

/** A value in one line. */
export function cellText(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'number') return numberText(value);
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex');
  if (typeof value === 'object') return printable(JSON.stringify(value, plain));
  return printable(String(value));
}

function numberText(value: number): string {
  if (Number.isInteger(value)) return String(value);
  return Math.abs(value) >= 1e-4 && Math.abs(value) < 1e9 ? value.toFixed(4) : String(value);
}

function plain(_: string, value: unknown): unknown {
  if (typeof value === 'bigint') return String(value);
  return ArrayBuffer.isView(value) ? Array.from(value as Float32Array) : value;
}

function printable(text: string): string {
  return text
    .slice(0, 2000)
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/\p{Cc}/gu, '\u{fffd}');
}

/** Characters that take two columns: of East Asia, and pictures. */
const WIDE = new RegExp(
  '[\\u1100-\\u115f\\u2e80-\\u303e\\u3041-\\ua4cf\\uac00-\\ud7a3\\uf900-\\ufaff\\ufe30-\\ufe6f' +
    '\\uff00-\\uff60\\uffe0-\\uffe6\\u{1f300}-\\u{1faff}\\u{20000}-\\u{3fffd}]',
  'u',
);
const NARROW = /^[\x20-\x7e]*$/;

function columnsOfCharacter(character: string): number {
  if (/\p{Mn}/u.test(character)) return 0;
  return WIDE.test(character) ? 2 : 1;
}

function widthOf(text: string): number {
  if (NARROW.test(text)) return text.length;
  return Array.from(text).reduce((sum, one) => sum + columnsOfCharacter(one), 0);
}

/** Cut or padded to a width. */
function fitted(text: string, width: number, isNumeric: boolean): string {
  const own = widthOf(text);
  if (own <= width) {
    const blanks = ' '.repeat(width - own);
    return isNumeric ? blanks + text : text + blanks;
  }
  let kept = '';
  let used = 0;
  for (const character of text) {
    used += columnsOfCharacter(character);
    if (used > width - 1) break;
    kept += character;
  }
  return `${kept}…${' '.repeat(Math.max(0, width - 1 - widthOf(kept)))}`;
}
