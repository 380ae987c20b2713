/**
 * Rows of CSV. The first line names the columns; a column is of numbers when all of the first rows
 * say so, and a list of numbers where the caller says so. Numbers with leading zeros are texts.
 */

import type { BytesBuilder, ColumnBuilder } from '../../table/columns/builder';
import type { RowBatch } from '../../table/row-batch';
import { type ColumnPlan, RowAssembler } from '../../table/row-batch';
import type { ByteSource } from '../byte-source';
import { type Fitter, fitter, kindOf, misfit } from '../column-kinds';
import {
  checkColumnCount,
  checkColumns,
  type FormatRows,
  type ReadOptions,
  Skips,
} from '../row-reader';
import { CsvScan } from './csv-scan';

/** Rows whose types are looked at before the first batch, all of one block. */
const FIRST_ROWS = 5000;

/** Numbers as programs write them; 007 and +1 are names of something. */
const NUMBER = /^-?(?:(?:0|[1-9]\d*)(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/;
const INTEGER = /^-?\d+$/;
const [MINUS, POINT, ZERO] = Buffer.from('-.0');

/** Most digits whose number float64 holds for sure. */
const SAFE_DIGITS = 15;

const POWERS = Array.from({ length: SAFE_DIGITS + 1 }, (_, i) => 10 ** i);
/** As numpy prints them, too: "1." and "+1e-3". */
const ITEM = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/;

/** Rows of CSV. One block of bytes and one batch are in memory. */
export async function csvRows(source: ByteSource, options: ReadOptions): Promise<FormatRows> {
  const { types, skips, batchRows } = options;
  const scan = new CsvScan(source, skips, options.maxLineBytes);
  await scan.begin(options.delimiter);
  const names = await scan.header();
  checkColumnCount(names.length, options, source.name);
  options.onRecord?.(scan.bytes, 0, scan.next);
  const wanted = options.columns ?? names;
  checkColumns(wanted, names);
  checkColumns(Object.keys(types), names);
  const places = new Map(names.map((name, cell) => [name, cell]));
  const cells = wanted.map((name) => places.get(name) as number);
  const first = await firstValues(scan, cells);
  const plans = wanted.map((name, i) => {
    const kind = kindOf(name, first[i], types[name]);
    return { name, kind: kind === 'json' ? ('text' as const) : kind };
  });
  const assembler = new RowAssembler(plans, source.name, batchRows);
  const columns = plans.map((plan, i) => ({
    ...plan,
    cell: cells[i],
    builder: assembler.builders[i],
    turn: fitter(plan, true),
  }));
  const add = recordAdder(scan, columns, names.length);

  async function* batches(): AsyncGenerator<RowBatch> {
    do {
      while (scan.step()) {
        try {
          add();
          assembler.count++;
          options.onRecord?.(scan.bytes, scan.start, scan.next);
        } catch (error) {
          skips.skip(scan.line, error, source.name);
        }
        if (assembler.isFullAfter(scan.next - scan.start)) yield assembler.take();
      }
    } while (await scan.more());
    yield* assembler.rest();
  }
  return { columns: assembler.columns, batches };
}

/** A column that is read, and the cell of a record that has its value. */
interface CellColumn extends ColumnPlan {
  readonly cell: number;
  readonly builder: ColumnBuilder;
  readonly turn: Fitter;
}

/** Returns a function that adds the scan's record to the builders: all of its cells, or none. */
function recordAdder(scan: CsvScan, columns: readonly CellColumn[], cellCount: number): () => void {
  const values: unknown[] = [];
  return () => {
    const { bytes, record } = scan;
    if (record.count !== cellCount) {
      throw new Error(`${record.count} cells, but ${cellCount} columns are named`);
    }
    for (let i = 0; i < columns.length; i++) {
      const { kind, cell } = columns[i];
      if (kind === 'text') continue;
      const start = record.starts[cell];
      const end = record.ends[cell];
      if (start === end) values[i] = null;
      else {
        const number = typeof kind === 'object' ? Number.NaN : numberAt(bytes, start, end);
        const isFast = kind === 'float64' ? !Number.isNaN(number) : Number.isInteger(number);
        values[i] = isFast ? number : fitText(record.text(bytes, cell) as string, columns[i]);
      }
    }
    for (let i = 0; i < columns.length; i++) {
      const { builder, cell, kind } = columns[i];
      if (kind !== 'text') builder.append(values[i]);
      else if (record.quotes[cell] === 2) builder.append(record.text(bytes, cell));
      else if (record.starts[cell] === record.ends[cell] && record.quotes[cell] === 0)
        builder.append(null);
      else (builder as BytesBuilder).appendBytes(bytes, record.starts[cell], record.ends[cell]);
    }
  };
}

/** Values of the first rows, numbers where a text is one; the scan stays where it is. */
async function firstValues(scan: CsvScan, cells: readonly number[]): Promise<unknown[][]> {
  const { skips } = scan;
  scan.skips = new Skips('skip'); // reported when the rows are read
  let before = scan.position;
  while (!scan.step()) {
    scan.rewind(before);
    if (!(await scan.more())) break;
    before = scan.position;
  }
  scan.rewind(before);
  const values: unknown[][] = cells.map(() => []);
  for (let row = 0; row < FIRST_ROWS && scan.step(); row++) {
    cells.forEach((cell, i) => {
      const text = cell < scan.record.count ? scan.record.text(scan.bytes, cell) : null;
      values[i].push(text !== null && isNumberText(text) ? numberOf(text) : text);
    });
  }
  scan.rewind(before);
  scan.skips = skips;
  return values;
}

/** The value of a cell that is no text. */
function fitText(text: string, { name, kind, turn }: ColumnPlan & { turn: Fitter }): unknown {
  if (typeof kind === 'object') {
    const numbers = parseNumbers(text);
    if (numbers !== null) return numbers;
    throw misfit(name, 'a list of numbers as "[0.1, 0.2]"', text);
  }
  if (isNumberText(text)) return turn(numberOf(text));
  throw misfit(name, 'a number', text);
}

/** True of a text that becomes a number; leading zeros and signs of + stay texts. */
function isNumberText(text: string): boolean {
  return NUMBER.test(text);
}

/** The number of a text that is one; a bigint where float64 would round an integer. */
function numberOf(text: string): number | bigint {
  if (text.length <= SAFE_DIGITS || !INTEGER.test(text)) return Number(text);
  const integer = BigInt(text);
  const number = Number(integer);
  return Number.isSafeInteger(number) ? number : integer;
}

/**
 * A plain decimal number of at most 15 digits in bytes `start` to `end - 1`, NaN for all else. Its
 * digits and the power of ten are exact, so that one division rounds correctly.
 */
function numberAt(bytes: Uint8Array, start: number, end: number): number {
  const isNegative = bytes[start] === MINUS;
  let at = isNegative ? start + 1 : start;
  if (end - at > SAFE_DIGITS + 1 || at === end) return Number.NaN;
  const first = at;
  let digits = 0;
  let point = -1;
  for (; at < end; at++) {
    const digit = bytes[at] - ZERO;
    if (digit >= 0 && digit <= 9) digits = 10 * digits + digit;
    else if (bytes[at] === POINT && point < 0) point = at;
    else return Number.NaN;
  }
  const whole = (point < 0 ? end : point) - first;
  const decimals = point < 0 ? 0 : end - point - 1;
  if (whole === 0 && decimals === 0) return Number.NaN;
  if (whole > 1 && bytes[first] === ZERO) return Number.NaN;
  if (whole + decimals > SAFE_DIGITS) return Number.NaN;
  const number = digits / POWERS[decimals];
  return isNegative ? -number : number;
}

/** The numbers of "[0.1, 0.2]" or "[0.1 0.2]"; null for another text. */
function parseNumbers(text: string): number[] | null {
  const inner = /^\s*\[([^[\]]*)\]\s*$/.exec(text)?.[1].trim();
  if (inner === undefined) return null;
  if (inner === '') return [];
  const numbers = inner.split(/\s*,\s*|\s+/).map((item) => (ITEM.test(item) ? Number(item) : null));
  return numbers.includes(null) ? null : (numbers as number[]);
}
