/**
 * All verbs of the command, declared as data: a new verb is an entry here and a file in verbs/ that
 * exports `run`. The code of a verb is loaded when it is run.
 */

import type { Option } from './options';
import {
  BITS_OPTION,
  COLUMN_OPTIONS,
  FORCE_OPTION,
  HASHING_OPTIONS,
  INPUT_OPTIONS,
  JSON_OPTION,
  NEAR_HASHING_OPTIONS,
  NEAR_OPTIONS,
  OUTPUT_OPTIONS,
  option,
  SAMPLE_OPTION,
  TEXT_OPTIONS,
} from './options';
import type { Verb } from './verb';

/** How texts were read is in the index folder; options of a search may repeat it, not change it. */
const AGREEING: readonly Option[] = TEXT_OPTIONS.filter(
  ({ name }) => name !== 'tf-idf' && name !== 'frequencies',
).map(({ initial, ...option }) => option);

/** Hashing options that `calibrate` has no use for, or that it declares with another meaning. */
const NOT_CALIBRATED = ['code', 'bit-order', 'id', 'max-memory', 'bits', 'seed'];

export const VERBS: readonly Verb[] = [
  {
    name: 'fingerprint',
    summary: 'vectors or texts to codes, other columns carried along',
    usage: 'IN -o OUT',
    options: [
      ...OUTPUT_OPTIONS,
      option(
        '--columns NAMES',
        'Carry only these columns along, or none (all but the one that becomes codes)',
        { kind: 'list' },
      ),
      ...HASHING_OPTIONS,
    ],
    example: 'halfspace fingerprint datasets/sample/docs.jsonl --bits 128 -o codes.arrow',
    load: () => import('./verbs/fingerprint'),
  },
  {
    name: 'index',
    summary: 'an index folder: make it, append to it, remove, optimize',
    usage: 'IN -o DIR [--append [--replace]] | DIR --remove IDS | DIR --optimize | DIR --compact',
    options: [
      option('-o, --output DIR', 'The index folder'),
      option('--append', 'Append the rows to the index that is there'),
      option('--replace', 'With --append: a row whose id is there takes the place of the old row'),
      option('--remove IDS', 'Remove rows by their ids; @FILE has one a line', { kind: 'words' }),
      option('--optimize', 'Make searches fast at a recall that is measured'),
      option('--recall SHARE', 'Share of the true neighbours that searches must find [0.95]', {
        kind: 'number',
        above: 0,
        max: 1,
      }),
      option('-k, --k N', 'Optimize for N neighbours [10]', { kind: 'integer', min: 1 }),
      option('--compact', 'Write the folder again without what was removed'),
      option(
        '--vectors WHAT',
        'Vectors to hold with the codes, to rank by exact cosine; texts: sparse [none]',
        { choices: ['none', 'float32', 'int8', 'sparse'] },
      ),
      option(
        '--columns NAMES',
        'Carry these columns along, or none (all plain ones but the one that becomes codes)',
        { kind: 'list' },
      ),
      option('--force', 'Replace an index that exists'),
      JSON_OPTION,
      ...HASHING_OPTIONS,
    ],
    example:
      'halfspace index datasets/sample/docs.jsonl --text body --tf-idf --vectors sparse -o docs.hs',
    load: () => import('./verbs/index'),
  },
  {
    name: 'search',
    summary: 'the nearest rows of an index',
    usage: 'DIR [QUERIES] [-o OUT]',
    options: [
      option('--row-id IDS', 'Search for what is near these rows of the index', { kind: 'words' }),
      option('--query TEXT', 'Search for a text, in an index of texts'),
      option('-k, --k N', 'How many neighbours [10]', { kind: 'integer', min: 1 }),
      option(
        '--max-distance N',
        'All rows within so many differing bits (with -k the nearest of them)',
        { kind: 'integer', min: 0 },
      ),
      option('--min-cosine C', 'All rows at an estimated cosine of C or more', {
        ...{ kind: 'number', min: -1, max: 1 },
      }),
      option(
        '--filter CONDITION',
        "Only rows with: category = 'animal' and year >= 2000 (=, !=, <, <=, >, >=, in)",
      ),
      option(
        '--rank HOW',
        'By distance, estimated cosine or exact cosine (the best that the index can)',
        { choices: ['hamming', 'estimate', 'exact'] },
      ),
      option('--explain', 'Say what was done for each query, and how long it took'),
      option('--columns NAMES', 'Columns of the index to show (on a terminal the first text)', {
        kind: 'list',
      }),
      ...OUTPUT_OPTIONS,
      ...COLUMN_OPTIONS,
      ...INPUT_OPTIONS,
      ...AGREEING,
    ],
    example:
      'halfspace index datasets/sample/docs.jsonl --tf-idf --vectors sparse -o docs.hs && ' +
      'halfspace search docs.hs --query "green tea" -k 3',
    load: () => import('./verbs/search'),
  },
  {
    name: 'pairs',
    summary: 'all pairs of rows within a distance',
    usage: 'IN|DIR [IN|DIR] -o OUT',
    options: [
      ...NEAR_OPTIONS,
      option(
        '--first-equal',
        'Of rows with equal codes only the first is paired with others, and they with it',
      ),
      ...NEAR_HASHING_OPTIONS,
      ...OUTPUT_OPTIONS,
    ],
    example: 'halfspace pairs datasets/sample/docs.jsonl --text body',
    load: () => import('./verbs/pairs'),
  },
  {
    name: 'dedup',
    summary: 'which rows are nearly the same, and which to keep: a plan',
    usage: 'IN -o PLAN | IN --apply PLAN -o OUT',
    options: [
      ...NEAR_OPTIONS,
      option(
        '--grouping HOW',
        'Which rows are one group: near the row that is kept (star), joined by a chain of near ' +
          'ones (components), or all near each other (complete)',
        { choices: ['star', 'components', 'complete'], initial: 'star' },
      ),
      option(
        '--keep WHICH',
        'The row of a group that is kept: first, last, longest, lowest:COLUMN, highest:COLUMN, ' +
          'medoid or random:SEED',
        { initial: 'first' },
      ),
      option(
        '--extend PLAN',
        'Go on with a plan for the same file, which has new rows behind the old ones now',
      ),
      option('--apply PLAN', 'Write the rows that a plan keeps to OUT, as they are in IN'),
      ...NEAR_HASHING_OPTIONS,
      ...OUTPUT_OPTIONS,
    ],
    example: 'halfspace dedup datasets/sample/docs.jsonl --text body -o plan.jsonl',
    load: () => import('./verbs/dedup'),
  },
  {
    name: 'cluster',
    summary: 'which rows belong together',
    usage: 'IN|DIR -o OUT',
    options: [
      option('--clusters N', 'So many clusters, by k-means', { kind: 'integer' }),
      option(
        '--by WHAT',
        'Go by vectors (the default where they are dense), accumulators (the sums behind the ' +
          'bits, for texts and sparse vectors), codes, or codes with codes as centroids (majority)',
        { choices: ['vectors', 'accumulators', 'codes', 'majority'] },
      ),
      option('--starts N', 'Begin so many times, go on with the best (3)', { kind: 'integer' }),
      option('--iterations N', 'Most iterations (25)', { kind: 'integer' }),
      option('--start-seed N', 'Seed of the rows that k-means starts from', {
        kind: 'integer',
        initial: '0',
      }),
      option(
        '--density',
        'Clusters where rows are dense (HDBSCAN*), as many as there are; others are in -1',
      ),
      option('--min-cluster-size N', 'By density: fewest rows of a cluster (5)', {
        kind: 'integer',
      }),
      option(
        '--min-samples N',
        'By density: other rows that a row must have near it to be in a dense region (5)',
        { kind: 'integer' },
      ),
      option(
        '--max-distance N',
        'By density: cut where steps exceed N bits, in place of where mass is largest',
        { kind: 'integer', min: 0 },
      ),
      option('--min-cosine C', 'By density: the same at an estimated cosine of C', {
        ...{ kind: 'number', min: -1, max: 1 },
      }),
      option('--exemplars N', 'Rows shown for each cluster, nearest to its centroid first (5)', {
        kind: 'integer',
      }),
      ...HASHING_OPTIONS,
      ...OUTPUT_OPTIONS,
    ],
    example:
      'halfspace cluster datasets/sample/docs.jsonl --text body --by accumulators --clusters 6',
    load: () => import('./verbs/cluster'),
  },
  {
    name: 'calibrate',
    summary: 'what a distance means in your own rows',
    usage: 'IN [-o OUT]',
    options: [
      option('--min-cosine C', 'Pairs at a cosine of C or more are near', {
        kind: 'number',
        above: -1,
        max: 1,
        initial: '0.9',
      }),
      option('--cosine-error E', 'Largest accepted error of the cosine that a distance estimates', {
        kind: 'number',
        min: 0.001,
        max: 1,
        initial: '0.05',
      }),
      SAMPLE_OPTION,
      { ...BITS_OPTION, help: 'Width of a code, in place of the smallest that is good enough' },
      option('--seed N', 'Seed of the hyperplanes, and of the rows that are drawn', {
        kind: 'text',
        initial: '0',
      }),
      ...NEAR_HASHING_OPTIONS.filter(({ name }) => !NOT_CALIBRATED.includes(name)),
      option('-o, --output OUT', 'Write a page (.html) or data (.json) in place of the text'),
      FORCE_OPTION,
      JSON_OPTION,
    ],
    example: 'halfspace calibrate datasets/sample/docs.jsonl --text body',
    load: () => import('./verbs/calibrate'),
  },
  {
    name: 'report',
    summary: 'a page about an index',
    usage: 'DIR -o report.html',
    options: [
      option('-o, --output OUT', 'Write the page (.html) or its data (.json) to this file'),
      FORCE_OPTION,
      SAMPLE_OPTION,
      option('--min-cosine C', 'Rows at a cosine of C or more are nearly the same', {
        kind: 'number',
        above: -1,
        max: 1,
        initial: '0.9',
      }),
      option(
        '--max-distance N',
        'Group rows within N bits, in place of what the sample says of --min-cosine',
        { kind: 'integer', min: 0 },
      ),
      option('--clusters N', 'Clusters of the map', {
        kind: 'integer',
        min: 1,
        max: 64,
        initial: '8',
      }),
      option('--text COLUMN', 'The carried column that names rows', { kind: 'text' }),
      option('--seed N', 'Seed of what is drawn', {
        kind: 'integer',
        min: 0,
        max: 2 ** 32 - 1,
        initial: '0',
      }),
      option('--no-times', 'Time nothing: the same index gives the same page'),
    ],
    example:
      'halfspace index datasets/sample/docs.jsonl -o docs.hs && ' +
      'halfspace report docs.hs -o report.html',
    load: () => import('./verbs/report'),
  },
  {
    name: 'info',
    summary: 'what an index or a file holds',
    usage: 'DIR|FILE',
    options: [JSON_OPTION, ...INPUT_OPTIONS],
    example: 'halfspace info datasets/sample/docs.jsonl',
    load: () => import('./verbs/info'),
  },
  {
    name: 'verify',
    summary: 'every checksum and invariant of an index or a file',
    usage: 'DIR|FILE',
    options: [JSON_OPTION, ...INPUT_OPTIONS],
    example: 'halfspace verify datasets/sample/docs.jsonl',
    load: () => import('./verbs/verify'),
  },
  {
    name: 'completion',
    summary: 'completion for bash or zsh',
    usage: 'bash|zsh',
    options: [],
    example: 'halfspace completion bash > halfspace.bash && source halfspace.bash',
    load: () => import('./verbs/completion'),
  },
];
