/**
 * Reads rows of CSV. The first line names the columns. A column has numbers where all of the first
 * rows have numbers there, and lists of numbers only where the caller says so. Numbers with leading
 * zeros are texts.
 */

import type { BytesBuilder, ColumnBuilder } from '../../table/columns/make';
import { type ColumnPlan, RowAssembler } from '../../table/row-batch';
import type { ByteSource } from '../byte-source';
import { type Fitter, fitter, kindOf, misfit } from '../column-kinds';
import { sendRecords } from '../records';
import { checkColumnCount, checkColumns, type FormatRows, type ReadOptions } from '../row-reader';
import { CsvScan } from './csv-scan';

/** Numbers as programs write them. 007 and +1 stay texts: they may be names of something. */
const NUMBER = /^-?(?:(?:0|[1-9]\d*)(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/;
const INTEGER = /^-?\d+$/;
const [MINUS, POINT, ZERO] = Buffer.from('-.0');

/** Numbers of this many digits are exact in float64. */
const SAFE_DIGITS = 15;

/** Powers of ten, exact in float64. */
const POWERS = Array.from({ length: SAFE_DIGITS + 1 }, (_, i) => 10 ** i);
/** Items of a list, also as numpy prints them: "1." and "+1e-3". */
const ITEM = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/;

/** Reads rows of CSV; memory holds one block of bytes and one batch. */
export async function csvRows(source: ByteSource, options: ReadOptions): Promise<FormatRows> {
  const { types, batchRows } = options;
  const scan = new CsvScan(source, options);
  const names = await scan.header();
  checkColumnCount(names.length, options, source.name);
  // The header line, and all before it, are the first record.
  options.onRecord?.(scan.bytes, 0, scan.next);
  const wanted = options.columns ?? names;
  checkColumns(wanted, names);
  checkColumns(Object.keys(types), names);
  // Columns are given in the order in which the caller wants them.
  const places = new Map(names.map((name, cell) => [name, cell]));
  const cells = wanted.map((name) => places.get(name) as number);
  const first: unknown[][] = cells.map(() => []);
  await scan.ahead(() => {
    cells.forEach((cell, i) => {
      const text = cell < scan.record.count ? scan.record.text(scan.bytes, cell) : null;
      first[i].push(text !== null && isNumberText(text) ? numberOf(text) : text);
    });
  });
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

  return { columns: assembler.columns, read: (send) => sendRecords(scan, assembler, send, add) };
}

/** A column that is read, and which cell of a record has its value. */
interface CellColumn extends ColumnPlan {
  readonly cell: number;
  readonly builder: ColumnBuilder;
  readonly turn: Fitter;
}

/** A function that adds the scan's record to the builders: all of its cells, or none. */
function recordAdder(
  scan: CsvScan,
  columns: readonly CellColumn[],
  cellCount: number,
): () => boolean {
  const values: unknown[] = [];
  return () => {
    const { bytes, record } = scan;
    if (record.count !== cellCount) {
      throw new Error(`${record.count} cells, but ${cellCount} columns are named`);
    }
    // Values that may be refused come first: nothing is appended until all of them are known.
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
    // Texts are copied as bytes, unless they have doubled quotes.
    for (let i = 0; i < columns.length; i++) {
      const { builder, cell, kind } = columns[i];
      if (kind !== 'text') builder.append(values[i]);
      else if (record.quotes[cell] === 2) builder.append(record.text(bytes, cell));
      else if (record.starts[cell] === record.ends[cell] && record.quotes[cell] === 0)
        builder.append(null);
      else (builder as BytesBuilder).appendBytes(bytes, record.starts[cell], record.ends[cell]);
    }
    return true;
  };
}

/** The value of a cell in a column of numbers or lists; throws if it does not fit. */
function fitText(text: string, { name, kind, turn }: ColumnPlan & { turn: Fitter }): unknown {
  if (typeof kind === 'object') {
    const numbers = parseNumbers(text);
    if (numbers !== null) return numbers;
    throw misfit(name, 'a list of numbers as "[0.1, 0.2]"', text);
  }
  if (isNumberText(text)) return turn(numberOf(text));
  throw misfit(name, 'a number', text);
}

/** Whether a text becomes a number; leading zeros and plus signs stay texts. */
function isNumberText(text: string): boolean {
  return NUMBER.test(text);
}

/** The number of a text that is one; a bigint where float64 would round an integer. */
function numberOf(text: string): number | bigint {
  if (text.length <= SAFE_DIGITS || !INTEGER.test(text)) return Number(text);
  // An integer of more than 15 digits may still be exact in float64.
  const integer = BigInt(text);
  const number = Number(integer);
  return Number.isSafeInteger(number) ? number : integer;
}

/**
 * The number that bytes `start` to `end - 1` spell, if it is a plain decimal number of at most 15
 * digits; NaN for anything else. Its digits and the power of ten are exact, so that one division
 * rounds correctly.
 */
function numberAt(bytes: Uint8Array, start: number, end: number): number {
  const isNegative = bytes[start] === MINUS;
  let at = isNegative ? start + 1 : start;
  // 15 digits and a point at most.
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
  // A number with leading zeros stays text.
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
