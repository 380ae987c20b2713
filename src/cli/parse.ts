/**
 * The words of a command line as the options and arguments of a verb, by node:util's parseArgs and
 * the verb's declarations. An unknown name, a missing value, a value of the wrong kind or beyond
 * its limits is a misuse that names it.
 */

import { parseArgs } from 'node:util';
import { nearestName } from '../base/nearest-name';
import { type CommandError, misuse } from './errors';
import type { Option } from './options';

/** The words of a command line, checked. */
export interface Parsed {
  readonly args: readonly string[];
  /** By long name all values given, in their order; of a flag an empty list. */
  readonly given: ReadonlyMap<string, readonly string[]>;
}

/** A decimal number as JavaScript reads it, but no hexadecimal and no empty text. */
const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

/** Parses the words behind the name of a verb; throws a misuse that names the wrong one. */
export function parse(words: readonly string[], options: readonly Option[]): Parsed {
  const byName = new Map(options.map((option) => [option.name, option]));
  const { tokens } = parseArgs({
    args: [...words],
    options: Object.fromEntries(
      options.map(({ name, short, value }) => [
        name,
        { type: value === undefined ? 'boolean' : 'string', ...(short && { short }) } as const,
      ]),
    ),
    ...{ strict: false, allowPositionals: true, tokens: true },
  });
  const args: string[] = [];
  const given = new Map<string, string[]>();
  for (const token of tokens) {
    if (token.kind === 'positional') args.push(token.value);
    if (token.kind !== 'option') continue;
    const option = byName.get(token.name);
    if (option === undefined) throw unknownOption(token.rawName, options);
    const values = given.get(option.name) ?? [];
    given.set(option.name, values);
    if (option.value === undefined) {
      if (token.value !== undefined) throw misuse(`--${option.name} takes no value`);
      continue;
    }
    const { value, inlineValue } = token;
    // `-5` and `-` are values, `--force` and `-x` are the next option.
    const isMissing = value === undefined || (!inlineValue && /^-[^\d.]/.test(value));
    if (isMissing || value === '') {
      throw misuse(`--${option.name} expected a value: --${option.name} ${option.value}`);
    }
    if (values.length > 0 && option.kind !== 'list' && option.kind !== 'words') {
      throw misuse(`--${option.name} is given twice, give it once`);
    }
    values.push(...checked(option, value));
  }
  return { args, given };
}

/** The values of an option, each of its kind, within its limits and one of its choices. */
function checked(option: Option, text: string): string[] {
  const { name, kind, choices } = option;
  const values = kind === 'list' ? text.split(',').map((value) => value.trim()) : [text];
  const spelled = name.length === 1 ? `-${name}` : `--${name}`;
  for (const value of values) {
    const isInteger = kind === 'integer';
    if (isInteger && !(NUMBER.test(value) && Number.isSafeInteger(Number(value)))) {
      throw misuse(`${spelled} expected an integer, got "${value}"`);
    }
    if (kind === 'number' && !NUMBER.test(value)) {
      throw misuse(`${spelled} expected a number, got "${value}"`);
    }
    const limits = limitsBroken(option, Number(value));
    if ((isInteger || kind === 'number') && limits !== null) {
      throw misuse(`${spelled} expected ${isInteger ? 'an integer' : 'a number'} ${limits}`);
    }
    if (choices !== undefined && !choices.includes(value)) {
      throw misuse(`${spelled} expected one of ${choices.join(', ')}, got "${value}"`);
    }
  }
  return values;
}

/** The limits of an option and the value that is beyond them; null where it is within. */
function limitsBroken({ min, above, max }: Option, value: number): string | null {
  const isWithin = !(
    value < (min ?? value) ||
    value <= (above ?? -Infinity) ||
    value > (max ?? value)
  );
  if (isWithin) return null;
  if (above !== undefined) return `above ${above} and at most ${max}, got ${value}`;
  return max === undefined ? `from ${min} on, got ${value}` : `in ${min}..${max}, got ${value}`;
}

/** The misuse that suggests the option of the nearest name. */
function unknownOption(raw: string, options: readonly Option[]): CommandError {
  const names = options.map(({ name }) => name);
  const nearest = nearestName(raw.replace(/^-+/, ''), names);
  return misuse(`unknown option ${raw}${nearest ? `, did you mean --${nearest}?` : ''}`);
}
