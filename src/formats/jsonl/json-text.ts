/**
 * Reads and writes JSON without rounding integers. JSON.parse makes float64 of every number, so
 * that 9007199254740993 becomes another; the few lines that have such integers are parsed a second
 * time, with these integers as marked texts. (Node 20 gives no access to the source text of a
 * number.)
 */

import { isJsonColumn, type RowBatch } from '../../table/row-batch';

/** A string or a number of JSON. */
const TOKEN = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
/** How JSON writes a NUL: it must be escaped, and there is one way to do it. */
const NUL = '\\u0000';
const NULS = /(?:\\u0000)+/g;

/** Numbers of this many digits are exact in float64. */
const SAFE_DIGITS = 15;

/** The value of a text that JSON.parse takes; large integers, nested ones too, become bigints. */
export function parseExact(text: string): unknown {
  // More NULs than any text of the line has in a row, so that no text looks like the mark.
  const runs = Array.from(text.matchAll(NULS), ([run]) => run.length / NUL.length);
  const nuls = runs.reduce((most, run) => Math.max(most, run), 0) + 1;
  const mark = '\0'.repeat(nuls);
  const marked = text.replace(TOKEN, (token) => {
    const isLarge = token.length > SAFE_DIGITS && /^-?\d+$/.test(token);
    return isLarge ? `"${NUL.repeat(nuls)}${token}"` : token;
  });
  return JSON.parse(marked, (_, value) => {
    if (typeof value !== 'string' || !value.startsWith(mark)) return value;
    const integer = BigInt(value.slice(nuls));
    const number = Number(integer);
    return Number.isSafeInteger(number) ? number : integer;
  });
}

/** A value as JSON: bigints as integers, NaN and infinity as null. */
export function exactJson(value: unknown): string {
  switch (typeof value) {
    case 'number':
      return Number.isFinite(value) ? String(value) : 'null';
    case 'bigint':
    case 'boolean':
      return String(value);
    case 'object':
      break;
    default:
      return JSON.stringify(value) ?? 'null';
  }
  if (value === null) return 'null';
  // Arrays of numbers, as vectors are, are left to the engine, which is faster.
  const mayHaveBigInts = (one: unknown) => typeof one === 'bigint' || typeof one === 'object';
  if (Array.isArray(value)) {
    return value.some(mayHaveBigInts)
      ? `[${value.map(exactJson).join(',')}]`
      : JSON.stringify(value);
  }
  if (ArrayBuffer.isView(value)) return JSON.stringify(value);
  const entries = Object.entries(value).filter(([, one]) => one !== undefined);
  return `{${entries.map(([key, one]) => `${JSON.stringify(key)}:${exactJson(one)}`).join(',')}}`;
}

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
