/**
 * Options that several verbs share, each declared once: parsing, checks, help and completion all
 * follow from these declarations. A verb adds its own in verbs.ts.
 */

export interface Option {
  /** The long name, without dashes: `max-distance`. */
  readonly name: string;
  /** One letter. */
  readonly short?: string;
  /** The word for its value in the help, as `N`, `COLUMN` or `FILE`; a flag has none. */
  readonly value?: string;
  /**
   * A `list` takes several values by commas, or by the option again; `words` only by the latter.
   */
  readonly kind?: 'integer' | 'number' | 'text' | 'list' | 'words';
  readonly choices?: readonly string[];
  /** Limits of a number: `min` and `max` are allowed, `above` is not. */
  readonly min?: number;
  readonly above?: number;
  readonly max?: number;
  /** The value where none is given; shown in the help. */
  readonly initial?: string;
  readonly help: string;
}

/**
 * Declares an option, spelled as in the help: `-k, --k N` has a short name and a value, `--force`
 * is a flag.
 */
export function option(
  spelled: string,
  help: string,
  more?: Omit<Option, 'name' | 'short' | 'value' | 'help'>,
): Option {
  const [, short, name, value] = /^(?:-(\w), )?--([\w-]+)(?: (\w+))?$/.exec(spelled) ?? [];
  return { name, help, ...(short && { short }), ...(value && { value }), ...more };
}

export const FORCE_OPTION = option('--force', 'Replace an output that exists');
export const JSON_OPTION = option('--json', 'JSON for machines');
export const SAMPLE_OPTION = option('--sample N', 'Compare N rows, drawn at random by the seed', {
  kind: 'integer',
  min: 2,
  max: 20_000,
  initial: '2000',
});

/** Every verb has these. */
export const COMMON_OPTIONS: readonly Option[] = [
  option('-h, --help', 'Show what the verb does, and its options'),
  option('-q, --quiet', 'No sentences and no progress on stderr'),
  option('--debug', 'Show the stack of an error'),
];

export const IN_FORMATS = ['arrow', 'arrows', 'parquet', 'csv', 'jsonl', 'npy', 'text'] as const;
export const OUT_FORMATS = ['arrow', 'arrows', 'parquet', 'csv', 'jsonl', 'json'] as const;

/** How an input is read. */
export const INPUT_OPTIONS: readonly Option[] = [
  option('--from FORMAT', 'Format of the input, where its name does not tell (needed for stdin)', {
    choices: IN_FORMATS,
  }),
  option(
    '--types TYPES',
    'What columns of CSV or JSONL are: year=number,isbn=text,embedding=vector',
    { kind: 'list' },
  ),
  option('--on-error WHAT', 'At a line that cannot be read: stop, or skip and count it', {
    choices: ['stop', 'skip'],
    initial: 'stop',
  }),
];

/** Which column holds what. */
export const COLUMN_OPTIONS: readonly Option[] = [
  option(
    '--vector COLUMN',
    'Read vectors from this column (INDICES,VALUES: sparse ones from two)',
    { kind: 'list' },
  ),
  option('--text COLUMN', 'Read texts from this column', { kind: 'text' }),
  option('--code COLUMN', 'Read ready codes from this column', { kind: 'text' }),
  option('--id COLUMN', 'The ids of the rows ("id" where there is one)', { kind: 'text' }),
];

export const BITS_OPTION = option('--bits N', 'Width of a code (256)', {
  kind: 'integer',
  min: 1,
  max: 65_535,
});

/** How vectors become codes. */
export const HASH_OPTIONS: readonly Option[] = [
  BITS_OPTION,
  option('--seed N', 'Seed of the hyperplanes', { kind: 'text', initial: '0' }),
  option('--projection NAME', 'Kind of hyperplanes (hadamard for dense vectors, else signs)', {
    choices: ['signs', 'gaussian', 'hadamard', 'direct'],
  }),
  option(
    '--bit-order ORDER',
    'Of ready codes: which bit of a byte comes first (msb: numpy.packbits)',
    { choices: ['lsb', 'msb'], initial: 'lsb' },
  ),
];

/** How texts become vectors. */
export const TEXT_OPTIONS: readonly Option[] = [
  option('--tokens KIND', 'words, characters:N, shingles:N, segments:LOCALE or jieba', {
    initial: 'words',
  }),
  option('--stop-words LANG', 'Leave out common words of a language: en, de, ja'),
  option('--counting HOW', 'How often a word counts', {
    choices: ['raw', 'log', 'binary'],
    initial: 'raw',
  }),
  option('--tf-idf', 'Weigh rare words more; reads the input twice'),
  option(
    '--frequencies FILE',
    'Weigh words by a table of frequencies made before, in place of a first reading',
  ),
  option('--keywords N', 'Only the N heaviest words of a text', { kind: 'integer', min: 1 }),
  option('--hash NAME', 'Hash of a word', {
    choices: ['xxhash64', 'fnv1a64', 'md5'],
    initial: 'xxhash64',
  }),
];

export const MEMORY_OPTION = option(
  '--max-memory SIZE',
  'Refuse to start when the predicted peak is above, as 800M or 4G',
);

/** Where rows go. */
export const OUTPUT_OPTIONS: readonly Option[] = [
  option('-o, --output OUT', 'Write to this file (- is stdout)'),
  option('--to FORMAT', 'Format of the output, where its name does not tell', {
    choices: OUT_FORMATS,
  }),
  FORCE_OPTION,
  JSON_OPTION,
];

/** A verb that reads rows and makes codes of them. */
export const HASHING_OPTIONS: readonly Option[] = [
  ...COLUMN_OPTIONS,
  ...HASH_OPTIONS,
  ...TEXT_OPTIONS,
  ...INPUT_OPTIONS,
  MEMORY_OPTION,
];

/** Which rows are near, for the verbs that compare rows with rows. */
export const NEAR_OPTIONS: readonly Option[] = [
  option(
    '--max-distance N',
    'Rows are near that differ in at most N bits (texts: 5/32 of the bits, 40 of 256)',
    { kind: 'integer', min: 0 },
  ),
  option(
    '--min-cosine C',
    'Rows are near at a cosine of C or more: exact of vectors, else estimated from the bits',
    { kind: 'number', min: -1, max: 1 },
  ),
];

/**
 * Near texts are compared by pairs of words, and repetition counts little. In a trial with passages
 * of 20 to 300 words, a changed word moved short texts too far when triples were compared, and long
 * texts of one field looked alike when single words were.
 */
const NEAR_TEXT_INITIAL: Record<string, string> = { tokens: 'shingles:2', counting: 'log' };

/** How rows become codes where near ones are looked for. */
export const NEAR_HASHING_OPTIONS: readonly Option[] = HASHING_OPTIONS.map((one) => {
  const initial = NEAR_TEXT_INITIAL[one.name];
  return initial === undefined ? one : { ...one, initial };
});
