/**
 * Options of the command. Each is declared once (verbs.ts), as a line of its help: parsing, checks
 * and help all follow from that. Words of a command line become values by node:util's parseArgs; an
 * unknown name, a missing value, or one of the wrong kind or outside its limits throws a misuse
 * (exit code 2) that names it.
 */

import { parseArgs } from 'node:util';
import { nearestName, parseBytes } from '../base/check';
import { type CommandError, misuse } from './talk';

export interface Option {
  /** The long name, without dashes: `max-distance`. */
  readonly name: string;
  readonly short?: string | undefined;
  /** The word for its value in the help, as `N`, `COLUMN` or `FILE`; a flag has none. */
  readonly value?: string | undefined;
  /**
   * A `size` is a number of bytes, as 800M or 4G. A `list` takes several values by commas, or by
   * the option again; `words` only by the latter. Without a kind the value is any text.
   */
  readonly kind?: 'integer' | 'number' | 'size' | 'list' | 'words' | undefined;
  readonly choices?: readonly string[] | undefined;
  /** Limits of a number: `min` and `max` are allowed, `above` is not. */
  readonly min?: number | undefined;
  readonly above?: number | undefined;
  readonly max?: number | undefined;
  /** The value where none is given; shown in the help. */
  readonly initial?: string | undefined;
  readonly help: string;
  /** Left out of the help: for programs of this project, such as the Spark package. */
  readonly isHidden?: boolean;
}

/** `-k, --k N: KIND = INITIAL`: all but the long name may be left out. */
const SPELLING = /^(?:-(\w), )?--([\w-]+)(?: ([A-Z]+))?(?:: (.*?))?(?: = (.+))?$/;
/** `list`, `words`, `size`, `integer`, `number 0..1`, `number 0<..1` (not 0), or `one|other`. */
const KIND = /^(?:(list|words|size)|(integer|number)(?: (-?[\d.]+?)(<?)\.\.([\d.]*))?|(.+\|.+))$/;

/**
 * Declares options as a map from spelling to help. `-k, --k N: integer 1.. = 10` has a short name,
 * a value shown as N that is an integer from 1 on, and 10 where none is given; `--force` is a flag;
 * `--to FORMAT: csv|jsonl` is one of the choices. Their order is that of the help.
 */
export function options(declared: Readonly<Record<string, string>>): readonly Option[] {
  return Object.entries(declared).map(([spelling, help]) => {
    const [, short, name, value, detail, initial] = SPELLING.exec(spelling) ?? [];
    const [isKnown, list, kind, from, isAbove, to, choices] = KIND.exec(detail ?? '') ?? [];
    if (!name || (detail && !isKnown)) throw new Error(`wrong spelling of an option: ${spelling}`);
    return {
      name,
      short,
      value,
      initial,
      help,
      kind: (list ?? kind) as Option['kind'],
      choices: choices?.split('|'),
      [isAbove ? 'above' : 'min']: from && Number(from),
      max: to ? Number(to) : undefined,
    };
  });
}

export function hidden(declared: Readonly<Record<string, string>>): readonly Option[] {
  return options(declared).map((one) => ({ ...one, isHidden: true }));
}

/** Which options of a verb go together; names with blanks between. */
export interface Together {
  /** By option those that count next to it only: `optimize: 'recall k'`. */
  readonly needs?: Readonly<Record<string, string>>;
  /** An option and others that do not go with it, and why: `'extend within': 'because …'`. */
  readonly excludes?: Readonly<Record<string, string>>;
}

export function checkTogether(
  given: Parsed['given'],
  { needs = {}, excludes = {} }: Together,
): void {
  for (const [option, names] of Object.entries(needs)) {
    const alone = names.split(' ').find((name) => given.has(name));
    if (alone !== undefined && !given.has(option)) throw misuse(`--${alone} is for --${option}`);
  }
  for (const [names, why] of Object.entries(excludes)) {
    const [option, ...others] = names.split(' ');
    const other = given.has(option) ? others.find((name) => given.has(name)) : undefined;
    if (other === undefined) continue;
    throw misuse(`--${option} does not go with --${other}${why && `: ${why}`}`);
  }
}

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
    strict: false,
    allowPositionals: true,
    tokens: true,
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
  const wrong = (expected: string, got: string) =>
    misuse(`${name.length === 1 ? '-' : '--'}${name} expected ${expected}, got ${got}`);
  for (const value of values) {
    const isInteger = kind === 'integer';
    const noun = isInteger ? 'an integer' : 'a number';
    if (isInteger || kind === 'number') {
      const isOne = NUMBER.test(value) && (!isInteger || Number.isSafeInteger(Number(value)));
      if (!isOne) throw wrong(noun, `"${value}"`);
      const limits = limitsBroken(option, Number(value));
      if (limits !== null) throw wrong(`${noun} ${limits}`, value);
    }
    if (kind === 'size' && parseBytes(value) === null) {
      throw wrong('a size as 800M or 4G', `"${value}"`);
    }
    if (choices?.includes(value) === false) {
      throw wrong(`one of ${choices.join(', ')}`, `"${value}"`);
    }
  }
  return values;
}

/** Words for the limits that a value breaks; null where it is within them. */
function limitsBroken({ min, above, max }: Option, value: number): string | null {
  const isBelow = value < (min ?? value) || value <= (above ?? -Infinity);
  if (!isBelow && value <= (max ?? value)) return null;
  if (above !== undefined) return `above ${above} and at most ${max}`;
  return max === undefined ? `from ${min} on` : `in ${min}..${max}`;
}

function unknownOption(raw: string, options: readonly Option[]): CommandError {
  const names = options.filter(({ isHidden }) => !isHidden).map(({ name }) => name);
  const nearest = nearestName(raw.replace(/^-+/, ''), names);
  return misuse(`unknown option ${raw}${nearest ? `, did you mean --${nearest}?` : ''}`);
}
