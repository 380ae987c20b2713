/**
 * Options of the command. Each is declared once, as a line of its help: parsing, checks and help
 * all follow from that. Options of several verbs are here, those of one verb in verbs.ts. Words of
 * a command line become values by node:util's parseArgs; an unknown name, a missing value, or one
 * of the wrong kind or outside its limits throws a misuse (exit code 2) that names it.
 */

import { parseArgs } from 'node:util';
import { parseBytes } from '../base/byte-count';
import { nearestName } from '../base/nearest-name';
import { type CommandError, misuse } from './errors';

export interface Option {
  /** The long name, without dashes: `max-distance`. */
  readonly name: string;
  /** One letter. */
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

/** Options that the help does not show. */
export function hidden(declared: Readonly<Record<string, string>>): readonly Option[] {
  return options(declared).map((one) => ({ ...one, isHidden: true }));
}

/** Every verb has these. */
export const COMMON_OPTIONS = options({
  '-h, --help': 'Show what the verb does, and its options',
  '-q, --quiet': 'No sentences and no progress on stderr',
  '--threads N: integer 1..256':
    'Use N threads (HALFSPACE_THREADS, else all cores where that pays)',
  '--debug': 'Show the stack of an error',
});

export const FORCE_OPTION = options({ '--force': 'Replace an output that exists' });
export const JSON_OPTION = options({ '--json': 'JSON for machines' });

/** How an input is read. */
export const INPUT_OPTIONS = options({
  '--from FORMAT: arrow|arrows|parquet|csv|jsonl|npy|text':
    'Format of the input, where its name does not show it (needed for stdin)',
  '--types TYPES: list': 'What columns of CSV or JSONL are: year=number,isbn=text,embedding=vector',
  '--on-error WHAT: stop|skip = stop': 'At a line that cannot be read: stop, or skip and count it',
});

/** Which columns make the codes. */
export const SOURCE_OPTIONS = options({
  '--text COLUMN': 'Read texts from this column',
  '--vector COLUMN: list': 'Read vectors from this column (INDICES,VALUES: sparse ones from two)',
  '--code COLUMN': 'Read ready codes from this column',
});
export const ID_OPTION = options({
  '--id COLUMN': 'The ids of the rows ("id" where there is one), or none',
});

/** How texts become vectors, and vectors codes. */
export const TEXT_OPTIONS = options({
  '--tokens KIND = words': 'words, characters:N, shingles:N, segments:LOCALE or jieba',
  '--normalize NAMES: list': 'Take out before texts are split: html, numbers, punctuation',
  '--tf-idf': 'Weigh rare words more; reads the input once more before',
});
export const FREQUENCIES_OPTION = options({
  '--frequencies FILE': 'Weigh words by a table of frequencies that was made before',
});
export const STOP_WORDS_OPTION = options({
  '--stop-words LANG': 'Leave out common words of a language: en, de, ja',
});
export const HASH_OPTION = options({
  '--hash NAME: xxhash64|fnv1a64|md5 = xxhash64': 'Hash of a word',
});
export const BITS_OPTION = options({ '--bits N: integer 1..65535': 'Width of a code (256)' });
export const PROJECTION_OPTION = options({
  '--projection NAME: signs|gaussian|hadamard|direct|minwise':
    'Kind of hyperplanes (hadamard for dense vectors, else signs); minwise for sets',
});
export const SEED_OPTION = options({
  // No number: seeds reach 2^64 - 1, beyond the integers of float64.
  '--seed N = 0': 'Seed of all that is drawn, as of the hyperplanes',
});

/** Where rows go. */
export const OUTPUT_OPTIONS: readonly Option[] = [
  ...options({
    '-o, --output OUT': 'Write to this file (- is stdout)',
    '--to FORMAT: arrow|arrows|parquet|csv|jsonl|json':
      'Format of the output, where its name does not show it (stdout: jsonl)',
  }),
  ...FORCE_OPTION,
  ...JSON_OPTION,
];

/** Which rows are near. */
export const NEAR_OPTIONS = options({
  '--max-distance N: integer 0..': 'Rows are near that differ in at most N bits',
  '--min-cosine C: number -1..1':
    'Rows are near at a cosine of C or more: exact, but of ready codes and stdin estimated from ' +
    'the bits',
  '--min-jaccard J: number 0..1':
    'Rows are near at a Jaccard similarity of J or more: of sets, as of tokens (texts: 0.6)',
});
export const WITHIN_OPTION = options({
  '--within COLUMN': 'Compare only rows of the same value in this column, as a language',
});

/**
 * Near texts are compared by pairs of words, and repetition counts little. In a trial with passages
 * of 20 to 300 words, a changed word moved short texts too far when triples were compared, and long
 * texts of one field looked alike when single words were.
 */
const NEAR_INITIAL: Record<string, string> = { tokens: 'shingles:2' };
const NEAR_COUNTING = hidden({ '--counting HOW: raw|log|binary = log': 'How often a word counts' });

/**
 * How rows are read and hashed where near ones are looked for. The help leaves --code out: the
 * columns of codes that verbs write are found by their names.
 */
export const NEAR_HASHING_OPTIONS: readonly Option[] = [
  ...SOURCE_OPTIONS.map((one) => (one.name === 'code' ? { ...one, isHidden: true } : one)),
  ...ID_OPTION,
  ...TEXT_OPTIONS.map((one) => ({ ...one, initial: NEAR_INITIAL[one.name] ?? one.initial })),
  ...NEAR_COUNTING,
  ...BITS_OPTION,
  ...INPUT_OPTIONS,
];

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
