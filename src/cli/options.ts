/**
 * The options of the command, each declared once as a line of its help: parsing, checks
 * and help all follow from these declarations. Options of several verbs are here, those of one
 * verb in verbs.ts.
 */

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
      ...{ name, short, value, initial, help },
      kind: (list ?? kind) as Option['kind'],
      choices: choices?.split('|'),
      [isAbove ? 'above' : 'min']: from && Number(from),
      max: to ? Number(to) : undefined,
    };
  });
}

export const FORCE_OPTION = options({ '--force': 'Replace an output that exists' });
export const JSON_OPTION = options({ '--json': 'JSON for machines' });

/** Every verb has these. */
export const COMMON_OPTIONS = options({
  '-h, --help': 'Show what the verb does, and its options',
  '-q, --quiet': 'No sentences and no progress on stderr',
  '--threads N: integer 1..256':
    'Use N threads (default: HALFSPACE_THREADS, else all cores where that pays)',
  '--debug': 'Show the stack of an error',
});

/** How an input is read. */
export const INPUT_OPTIONS = options({
  '--from FORMAT: arrow|arrows|parquet|csv|jsonl|npy|text':
    'Format of the input, where its name does not show it (needed for stdin)',
  '--types TYPES: list': 'What columns of CSV or JSONL are: year=number,isbn=text,embedding=vector',
  '--on-error WHAT: stop|skip = stop': 'At a line that cannot be read: stop, or skip and count it',
  '--expect-end': 'Refuse an Arrow stream that ends without its end mark: its writer died',
});

/** Which column holds what. */
export const COLUMN_OPTIONS = options({
  '--vector COLUMN: list': 'Read vectors from this column (INDICES,VALUES: sparse ones from two)',
  '--text COLUMN': 'Read texts from this column',
  '--code COLUMN': 'Read ready codes from this column',
  '--id COLUMN': 'The ids of the rows ("id" where there is one), or none',
});

/** How texts become vectors. */
export const TEXT_OPTIONS = options({
  '--tokens KIND = words': 'words, characters:N, shingles:N, segments:LOCALE or jieba',
  '--normalize NAMES: list': 'Take out before texts are split: html, numbers, punctuation',
  '--stop-words LANG': 'Leave out common words of a language: en, de, ja',
  '--counting HOW: raw|log|binary = raw': 'How often a word counts',
  '--tf-idf': 'Weigh rare words more; reads the input twice',
  '--frequencies FILE':
    'Weigh words by a table of frequencies made before, in place of a first reading',
  '--keywords N: integer 1..': 'Only the N heaviest words of a text',
  '--hash NAME: xxhash64|fnv1a64|md5 = xxhash64': 'Hash of a word',
});

/** A verb that reads rows and makes codes of them. */
export const HASHING_OPTIONS: readonly Option[] = [
  ...COLUMN_OPTIONS,
  ...options({
    '--bits N: integer 1..65535': 'Width of a code (256)',
    // No number: seeds reach 2^64 - 1, beyond the integers of float64.
    '--seed N = 0': 'Seed of the hyperplanes',
    '--measure NAME: cosine|jaccard':
      'What distances estimate: the cosine of vectors, or the Jaccard similarity of sets, as of ' +
      'the tokens of texts [cosine]',
    '--projection NAME: signs|gaussian|hadamard|direct|minwise':
      'Kind of hyperplanes (hadamard for dense vectors, else signs); minwise for sets',
    '--bit-order ORDER: lsb|msb = lsb':
      'Of ready codes: which bit of a byte comes first (msb: numpy.packbits)',
  }),
  ...TEXT_OPTIONS,
  ...INPUT_OPTIONS,
];

/** Where rows go. */
export const OUTPUT_OPTIONS: readonly Option[] = [
  ...options({
    '-o, --output OUT': 'Write to this file (- is stdout)',
    '--to FORMAT: arrow|arrows|parquet|csv|jsonl|json':
      'Format of the output, where its name does not show it',
  }),
  ...FORCE_OPTION,
  ...JSON_OPTION,
];

/** Which rows are near, for the verbs that compare rows with rows. */
export const NEAR_OPTIONS = options({
  '--max-distance N: integer 0..': 'Rows are near that differ in at most N bits',
  '--min-cosine C: number -1..1':
    'Rows are near at a cosine of C or more: exact, but of ready codes and stdin estimated from ' +
    'the bits',
  '--min-jaccard J: number 0..1':
    'The same by the Jaccard similarity of sets; implies --measure jaccard (texts: 0.6)',
  '--within COLUMN': 'Compare only rows of the same value in this column, as a language',
});

/**
 * Near texts are compared by pairs of words, and repetition counts little. In a trial with passages
 * of 20 to 300 words, a changed word moved short texts too far when triples were compared, and long
 * texts of one field looked alike when single words were.
 */
const NEAR_TEXT_INITIAL: Record<string, string> = { tokens: 'shingles:2', counting: 'log' };

/** Options for codes that equal those of other programs, of which no near texts are made. */
const OF_OTHER_CODES = ['keywords', 'hash'];

/** How rows become codes that are compared with each other. */
export const COMPARED_OPTIONS: readonly Option[] = HASHING_OPTIONS.filter(
  ({ name }) => !OF_OTHER_CODES.includes(name),
);

/** How rows become codes where near ones are looked for. */
export const NEAR_HASHING_OPTIONS: readonly Option[] = COMPARED_OPTIONS.map((one) => ({
  ...one,
  initial: NEAR_TEXT_INITIAL[one.name] ?? one.initial,
}));
