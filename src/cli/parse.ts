/**
 * Turns the words of a command line into the options and arguments of a verb, by node:util's
 * parseArgs and the verb's declarations. An unknown name, a missing value, a value of the wrong
 * kind or outside its limits throws a misuse (exit code 2) that names it.
 */

import { parseArgs } from 'node:util';
import { parseBytes } from '../base/byte-count';
import { nearestName } from '../base/nearest-name';
import { type CommandError, misuse } from './errors';
import type { Option } from './options';

/** The words of a command line, checked. */
export interface Parsed {
  readonly args: readonly string[];
  /** By long name the values given, in order; of a flag an empty list. No initial values. */
  readonly given: ReadonlyMap<string, readonly string[]>;
}

/** A decimal number. Stricter than Number(), which takes '' for 0 and reads 0x10. */
const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

/** Parses the words after the name of a verb; throws a misuse that names the wrong word. */
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
    // Not strict: the errors below suggest the nearest option, those of parseArgs do not.
    ...{ strict: false, allowPositionals: true, tokens: true },
  });
  const args: string[] = [];
  const given = new Map<string, string[]>();
  for (const token of tokens) {
    // The third kind is the mark `--`: parseArgs takes all words after it as positional.
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
    // Of a next word, `-5`, `-.5` and `-` are the value; `--force` and `-x` are another option.
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

/** Splits a list at commas, and checks the kind, the limits and the choices of each value. */
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
    if (kind === 'size' && parseBytes(value) === null) {
      throw misuse(`${spelled} expected a size as 800M or 4G, got "${value}"`);
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

/** Words for the limits that a value breaks, and the value; null where it is within them. */
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
