/**
 * The words of a command line as the options and arguments of a verb, by node:util's parseArgs.
 * A name that is not known, a missing value and a value of the wrong kind are misuses that name it.
 */

import { parseArgs } from 'node:util';
import { nearestName } from '../base/nearest-name';
import { CommandError } from './errors';
import type { Option } from './verb';

export interface Parsed {
  readonly args: readonly string[];
  /** By long name: all values given, in their order; of a flag an empty list. */
  readonly given: ReadonlyMap<string, readonly string[]>;
}

const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

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
    const isMissing = value === undefined || (!inlineValue && /^-[^\d.]/.test(value));
    if (isMissing || value === '') {
      throw misuse(`--${option.name} expected a value: --${option.name} ${option.value}`);
    }
    if (values.length > 0 && option.kind !== 'list') {
      throw misuse(`--${option.name} is given twice, give it once`);
    }
    values.push(...checked(option, value));
  }
  return { args, given };
}

/** The values of an option, each of its kind and one of its choices. */
function checked({ name, kind, choices }: Option, text: string): string[] {
  const values = kind === 'list' ? text.split(',').map((value) => value.trim()) : [text];
  for (const value of values) {
    if (kind === 'integer' && !(NUMBER.test(value) && Number.isSafeInteger(Number(value)))) {
      throw misuse(`--${name} expected an integer, got "${value}"`);
    }
    if (kind === 'number' && !NUMBER.test(value)) {
      throw misuse(`--${name} expected a number, got "${value}"`);
    }
    if (choices !== undefined && !choices.includes(value)) {
      throw misuse(`--${name} expected one of ${choices.join(', ')}, got "${value}"`);
    }
  }
  return values;
}

function unknownOption(raw: string, options: readonly Option[]): CommandError {
  const names = options.map(({ name }) => name);
  const nearest = nearestName(raw.replace(/^-+/, ''), names);
  return misuse(`unknown option ${raw}${nearest ? `, did you mean --${nearest}?` : ''}`);
}

export function misuse(message: string): CommandError {
  return new CommandError(message, 2);
}
