/** What may come of an input: an answer, or an error in our own words; all else is a finding. */

import { FormatError } from '../../src/index';
import { Thrown } from './mutate';

/** An answer that is wrong, or an error that is not ours. */
export class Finding extends Error {}

/** How engines speak of mistakes in code, which no caller should see. */
const RAW = new RegExp(
  [
    'Cannot (?:read|set|convert|destructure|mix|create|access|define|assign|delete|perform|redefine)',
    'is not (?:a function|iterable|a constructor|defined|extensible|async iterable)',
    'Invalid (?:array|typed array|string|array buffer|DataView|count|time|code point|regular)',
    'out of (?:bounds|memory|range of)|outside the bounds|memory access|unreachable|null function',
    'Maximum call stack|could not allocate|allocation failed|call stack|Array buffer',
    'detached|Reduce of empty|Unexpected (?:token|end|non-whitespace)|is not valid JSON',
    '(?:undefined|null|NaN|\\[object \\w+\\]) (?:is not|cannot)|object is not|called on incompatible',
    'cannot be converted to a BigInt|Do not know how|circular structure|not an integer',
    'byte length of|start offset|Offset is|should be a multiple|Source is too large',
    'must be an instance of|argument must be|The ".*" argument|Received ',
  ].join('|'),
);

const OURS = [TypeError, RangeError, Error] as readonly unknown[];

/**
 * Throws a Finding unless the error is one that users may see. A FormatError may quote the parser of
 * JSON, Arrow or Parquet that gave up.
 */
export function checkError(error: unknown, doing: string): void {
  if (error instanceof Finding) throw error;
  if (error instanceof Thrown || error instanceof FormatError) return;
  const isOurs = error instanceof Error && OURS.includes(error.constructor);
  if (isOurs && !RAW.test(error.message) && error.message !== '') return;
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  const lines = text.split('\n').slice(0, 5).join('\n');
  throw new Finding(`${doing}: raw error ${lines.replace(/\(?file:.*child\.mjs/g, '')}`);
}

/** Of bytes: a FormatError that names the file, or the words for a wrong argument. */
export function checkRefusal(error: unknown, file: string, doing: string): void {
  checkError(error, doing);
  if (!(error instanceof FormatError) || error.message.startsWith(`${file}: `)) return;
  throw new Finding(`${doing}: the error names no file: ${error.message}`);
}

/** Throws a Finding unless both are the same, by what they say. */
export function checkEqual(actual: unknown, expected: unknown, what: string): void {
  const [a, b] = [textOf(actual), textOf(expected)];
  if (a === b) return;
  let at = 0;
  while (a[at] === b[at]) at++;
  const near = (text: string) => text.slice(Math.max(0, at - 60), at + 120);
  throw new Finding(`${what}: ${near(a)} in place of ${near(b)}`);
}

export function check(isRight: boolean, what: string): void {
  if (!isRight) throw new Finding(what);
}

/** Any value as text: typed arrays with their kind, NaN and -0 as they are. */
export function textOf(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value);
  if (typeof value === 'bigint') return `${value}n`;
  if (Object.is(value, -0)) return '-0';
  if (typeof value !== 'object' || value === null) return String(value);
  if (value instanceof Promise) throw new Finding('a promise is compared, not what it brings');
  if (ArrayBuffer.isView(value)) {
    const items = value instanceof DataView ? '' : (value as Uint8Array).join();
    return `${value.constructor.name}[${items}]`;
  }
  if (Array.isArray(value)) return `[${value.map(textOf).join()}]`;
  if (value instanceof Map || value instanceof Set)
    return `${value.constructor.name}${textOf([...value])}`;
  const entries = Object.entries(value).map(([key, one]) => `${key}:${textOf(one)}`);
  return `{${entries.join()}}`;
}
