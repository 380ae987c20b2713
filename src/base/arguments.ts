/**
 * What calls take, declared as data: for each argument or option a list of choices, a range of
 * integers, or a kind. A call is checked by its declaration before it does anything, so that a
 * wrong argument is a TypeError or a RangeError that names it.
 */

import { checkInteger, checkOneOf, checkOptions, wrongType, wrongValue } from './check';

/** Tests a value; the text completes `expected …, got …`. */
const KINDS = {
  text: ['a string', isText],
  path: ['a path', isText],
  paths: ['a path or an array of paths', (value: unknown) => isText(value) || isTexts(value)],
  names: ['an array of names', isTexts],
  boolean: ['true or false', (value: unknown) => typeof value === 'boolean'],
  batches: ['batches to be read with for await', isAsyncIterable],
  source: [
    'a path, paths, or an async iterable of bytes',
    (value: unknown) => isText(value) || isTexts(value) || isAsyncIterable(value),
  ],
  any: ['anything', () => true],
} as const;

/** What an argument may be; of a record, what each of its values may be. */
type Declared =
  | keyof typeof KINDS
  | readonly string[]
  | { readonly min: number; readonly max?: number }
  | { readonly each: readonly string[] };

type Declaration = Readonly<Record<string, Declared>>;

/** Options without those that are undefined, all of them declared and as they are declared. */
export function checkDeclared<T extends object>(options: T | undefined, declared: Declaration): T {
  const given = checkOptions('options', options, Object.keys(declared));
  for (const [name, value] of Object.entries(given)) checkArgument(name, value, declared[name]);
  return given;
}

/** Fails unless all arguments, by their names, are as they are declared; none may be undefined. */
export function checkArguments(given: Readonly<Record<string, unknown>>, declared: Declaration) {
  for (const [name, one] of Object.entries(declared)) checkArgument(name, given[name], one);
}

function checkArgument(name: string, value: unknown, declared: Declared): void {
  if (Array.isArray(declared)) {
    checkOneOf(name, value, declared);
  } else if (typeof declared === 'string') {
    const [expected, isRight] = KINDS[declared];
    if (isRight(value)) return;
    const wrong = Array.isArray(value) ? value.findIndex((item) => !isText(item)) : -1;
    if (wrong < 0) throw wrongType(name, expected, value);
    throw wrongType(`${name}[${wrong}]`, 'a string', (value as unknown[])[wrong]);
  } else if ('min' in declared) {
    checkInteger(name, value, declared.min, declared.max ?? Number.MAX_SAFE_INTEGER);
  } else if ('each' in declared) {
    if (typeof value !== 'object' || value === null) throw wrongType(name, 'an object', value);
    for (const [key, one] of Object.entries(value)) {
      checkOneOf(`${name}.${key}`, one, declared.each);
    }
  }
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every(isText);
}

function isAsyncIterable(value: unknown): boolean {
  return typeof (value as AsyncIterable<unknown>)?.[Symbol.asyncIterator] === 'function';
}

/**
 * `800M`, `1.5 GB`, `2GiB` or a plain number as bytes, rounded down; null for any other text. Each
 * unit is a power of 1,024, with or without an i.
 */
export function parseBytes(text: string): number | null {
  const match = /^(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?$/i.exec(text.trim());
  if (match === null) return null;
  const power = ['', 'k', 'm', 'g', 't'].indexOf(match[2].toLowerCase());
  return Math.floor(Number(match[1]) * 1024 ** power);
}

/** Checks an option that takes bytes, at least 1: a whole number, or a text as `512MB`. */
export function checkByteCount(name: string, value: unknown): number {
  if (typeof value !== 'number' && typeof value !== 'string') {
    throw wrongType(name, 'a number of bytes, or a text as 512MB', value);
  }
  const bytes = typeof value === 'string' ? parseBytes(value) : value;
  if (bytes !== null && Number.isSafeInteger(bytes) && bytes > 0) return bytes;
  throw wrongValue(name, 'a number of bytes, or a text as 512MB', value);
}
