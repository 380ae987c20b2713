/**
 * What calls take, declared as data: for each argument or option a list of choices, a range of
 * integers, or a kind. A call is checked by its declaration before it does anything, so that a
 * wrong argument is a TypeError or a RangeError that names it.
 */

import { checkInteger, checkOneOf, checkOptions, wrongType } from './check';

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
