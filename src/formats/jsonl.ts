/**
 * Reads and writes JSON lines: an object on each line. The columns and their types are those of the
 * first lines; a later value that does not fit is an error that names its line, and is never
 * changed silently.
 *
 * Integers are not rounded. JSON.parse makes float64 of every number, so that 9007199254740993
 * becomes another; the few lines that have such integers are parsed a second time, with these
 * integers as marked texts. (Node 20 gives no access to the source text of a number.)
 */

import { FormatError } from '../base/check';
import { newSecret } from '../base/hash-tables';
import type { RowBatch } from '../table/row-batch';
import type { ByteSource } from './byte-source';
import { exactJson, fitter, hex, kindOf, lateColumn } from './column-kinds';
import { type ColumnPlan, LineScan, RowAssembler, sendRecords } from './records';
import {
  checkColumnCount,
  checkColumns,
  type FormatRows,
  lineError,
  type ReadOptions,
} from './row-reader';

const BRACE = 0x7b;

type JsonObject = Record<string, unknown>;

/** Reads rows of JSON lines; memory holds one block of bytes and one batch. */
export async function jsonlRows(source: ByteSource, options: ReadOptions): Promise<FormatRows> {
  const { name } = source;
  const { types, kinds, isWanted = () => true } = options;
  const scan = new LineScan(source, options);

  // Nulls for keys that a line lacks are not stored: with a new key on each line, they would take
  // memory in proportion to the square of the lines.
  const values = new Map<string, unknown[]>();
  const valuesOf = (key: string) => {
    const own = values.get(key) ?? [];
    if (own.length === 0) values.set(key, own);
    return own;
  };
  await scan.ahead(() => {
    try {
      const value = objectOf(scan);
      for (const key in value) valuesOf(key).push(value[key]);
    } catch (error) {
      throw lineError(scan.line, error, name);
    }
  });
  for (const key of Object.keys(types)) valuesOf(key);
  checkColumnCount(values.size, name);
  const names = [...values.keys()];
  if (names.length === 0) throw new FormatError('no line has a value', name);
  const wanted = options.columns ?? names;
  checkColumns(wanted, names);
  const plans = wanted.map((column) => ({
    name: column,
    kind: kindOf(column, valuesOf(column), types[column], kinds),
  }));
  values.clear();
  const assembler = new RowAssembler(plans, name, options.batchRows);
  const addRow = rowAdder(plans, assembler, options);
  let row = 0;
  const add = () => {
    // Only a line that starts with a brace can be left out unparsed: other lines may be blank or
    // damaged.
    const isLeftOut = scan.bytes[scan.start] === BRACE && !isWanted(row);
    const value = isLeftOut ? {} : objectOf(scan);
    if (value === null) return false;
    row++;
    addRow(value);
    return true;
  };
  return { empty: assembler.empty, read: (send) => sendRecords(scan, assembler, send, add) };
}

/** Returns a function that adds a row to the batch: all of its values, or none. */
function rowAdder(
  plans: readonly ColumnPlan[],
  assembler: RowAssembler,
  { types, columns }: ReadOptions,
): (value: JsonObject) => void {
  const fits = plans.map((plan) => fitter(plan, types[plan.name] !== undefined));
  const places = new Map(plans.map(({ name }, i) => [name, i]));
  const row: unknown[] = [];
  return (value) => {
    row.length = 0;
    for (const key in value) {
      const place = places.get(key);
      if (place !== undefined) row[place] = fits[place](value[key]);
      else if (columns === undefined) throw new Error(lateColumn(key));
    }
    const { builders } = assembler;
    // Nothing was appended before all values fitted; keys that a line lacks are nulls.
    for (let i = 0; i < builders.length; i++) builders[i].append(row[i]);
  };
}

/** The object of a line; null for a blank line. Throws for anything else. */
function objectOf(scan: LineScan): JsonObject | null {
  if (scan.start === scan.end) return null;
  const text = scan.text();
  let value: unknown;
  try {
    value = JSON.parse(text);
    if (hasLarge(value)) value = parseExact(text);
  } catch (error) {
    if (text.trim() === '') return null;
    // The engine's words are "Maximum call stack size exceeded".
    if (error instanceof RangeError) throw new Error('values are nested too deeply to be read');
    throw error;
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new Error(`expected a JSON object, got ${text.slice(0, 40)}`);
  }
  return value as JsonObject;
}

/** Whether JSON.parse may have rounded an integer of a value. */
function hasLarge(value: unknown): boolean {
  if (typeof value === 'number') return Number.isInteger(value) && !Number.isSafeInteger(value);
  if (typeof value !== 'object' || value === null) return false;
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) if (hasLarge(value[i])) return true;
    return false;
  }
  for (const key in value) if (hasLarge((value as JsonObject)[key])) return true;
  return false;
}

/** A string or a number of JSON. */
const TOKEN = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
/** Is put before large integers, as texts; no text of a file begins with it, since it is drawn. */
const MARK = newSecret().join(' ');

/** Numbers of this many digits are exact in float64. */
const SAFE_DIGITS = 15;

/** The value of a text that JSON.parse takes; large integers, nested ones too, become bigints. */
function parseExact(text: string): unknown {
  const marked = text.replace(TOKEN, (token) => {
    const isLarge = token.length > SAFE_DIGITS && /^-?\d+$/.test(token);
    return isLarge ? `"${MARK}${token}"` : token;
  });
  return JSON.parse(marked, (_, value) => {
    if (typeof value !== 'string' || !value.startsWith(MARK)) return value;
    const integer = BigInt(value.slice(MARK.length));
    const number = Number(integer);
    return Number.isSafeInteger(number) ? number : integer;
  });
}

/** The objects of a batch's rows, keys in the order of the columns; bytes are hexadecimal. */
export function jsonRows(batch: RowBatch): string[] {
  const columns = batch.columns.map((column) => {
    const values = batch.values(column.name);
    const isJson = column.type === 'Json';
    const jsonOf = (value: unknown) =>
      value instanceof Uint8Array ? `"${hex(value)}"` : exactJson(value);
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
