/**
 * Command lines and filters: words of the command mixed with others. Each gives values of the
 * declared kinds, within their limits, or a misuse in our own words.
 */

import { parseFilter } from '../../src/cli/input/filter-text';
import { type Option, parse } from '../../src/cli/options';
import { CommandError } from '../../src/cli/talk';
import { VERBS } from '../../src/cli/verbs';
import type { Draws } from '../reference/random';
import { check, checkError } from './check';
import { TEXTS } from './mutate';
import type { MakeTarget } from './readers';

const WORDS = [
  ...['', '-', '--', '---', '-x', '-5', '-.5', '--=', '-=5', '=', '@', '@-', 'a,b', ',', ' , '],
  ...['5', '0', '-0', '1e3', '0x10', '1e999', '4294967296', '9007199254740993', 'NaN', 'Infinity'],
  ...['--constructor', '--__proto__', '--__proto__=1', '--no-force', '--toString=5', '-ooo'],
  ...['in.jsonl', 'out.csv', '[1,2]', '{"a":1}', '\u001b[31m', '--force=yes', '\0'],
  ...TEXTS,
];
const FILTER_WORDS = [
  ...['=', '!=', '<', '<=', '>', '>=', ' and ', ' AND ', ' or ', ' in ', ' like ', 'null', 'true'],
  ...['n', 'a', '"a b"', "'a'", '""', '"', "'", '(', ')', ',', ' ', '&&', '||', '\\', '%', 'id'],
  ...WORDS,
];

function pick<T>(draws: Draws, items: readonly T[]): T {
  return items[draws.integer(items.length)];
}

/** Runs what is under test; null where it refuses its words in ours. */
function outcome<T>(run: () => T, doing: string): T | null {
  try {
    return run();
  } catch (error) {
    checkError(error instanceof CommandError ? new Error(error.message) : error, doing);
    check(error instanceof CommandError, `${doing}: ${error} is no misuse`);
    return null;
  }
}

function wordsFor(draws: Draws, options: readonly Option[]): string[] {
  return Array.from({ length: draws.integer(6) }, () => {
    const option = pick(draws, options);
    const value =
      option.choices && draws.integer(2) ? pick(draws, option.choices) : pick(draws, WORDS);
    const at = draws.integer(option.name.length + 1);
    const forms = [
      [`--${option.name}`, value],
      [`--${option.name}=${value}`],
      [`-${option.short ?? option.name[0]}${value}`],
      [`--${option.name.slice(0, at)}${pick(draws, WORDS)}${option.name.slice(at + 1)}`],
      [value],
    ];
    return pick(draws, forms);
  }).flat();
}

function checkValue({ name, kind, min, above, max, choices }: Option, value: string): void {
  const what = `--${name} took "${value}"`;
  if (choices !== undefined) check(choices.includes(value), what);
  if (kind !== 'integer' && kind !== 'number') return;
  const number = Number(value);
  check(kind === 'number' || Number.isSafeInteger(number), what);
  check(!Number.isNaN(number), what);
  if (min !== undefined) check(number >= min, what);
  if (above !== undefined) check(number > above, what);
  if (max !== undefined) check(number <= max, what);
}

const TAKING_OPTIONS = VERBS.filter(({ options }) => options.length > 0);

const commandLine: MakeTarget = () => (draws) => {
  const { name, options } = pick(draws, TAKING_OPTIONS);
  const words = wordsFor(draws, options);
  const doing = `halfspace ${name} ${JSON.stringify(words)}`;
  const parsed = outcome(() => parse(words, options), doing);
  for (const [key, values] of parsed?.given ?? []) {
    const option = options.find((one) => one.name === key);
    check(option !== undefined, `${doing}: no option ${key}`);
    for (const value of values) checkValue(option as Option, value);
  }
  for (const arg of parsed?.args ?? []) check(words.includes(arg), `${doing}: ${arg} is no word`);
};

const filter: MakeTarget = () => (draws) => {
  const length = 1 + draws.integer(9);
  const text = Array.from({ length }, () => pick(draws, FILTER_WORDS)).join('');
  outcome(() => parseFilter(text), `--filter ${JSON.stringify(text)}`);
};

export const COMMAND: Record<string, MakeTarget> = { 'command-line': commandLine, filter };
