/**
 * All verbs of the command, declared as data: a new verb is an entry here and a file in verbs/ that
 * exports `run`. Parsing, checks and help read these declarations only; the code of a verb is
 * loaded when it is run, so that help answers at once.
 */

import type { Verb } from './call';
import { INDEX_VERBS } from './index-verbs';
import {
  COMPARED_OPTIONS,
  FORCE_OPTION,
  HASHING_OPTIONS,
  INPUT_OPTIONS,
  JSON_OPTION,
  NEAR_HASHING_OPTIONS,
  NEAR_OPTIONS,
  OUTPUT_OPTIONS,
  options,
  TEXT_OPTIONS,
} from './options';

/** A verb whose rows are all written may write those that cannot be hashed too. */
const [NULL_ON_ERROR] = options({
  '--on-error WHAT: stop|skip|null = stop':
    'At a line that cannot be read: stop, or skip and count it; null also gives rows whose ' +
    'vectors make no code a null code, and counts them',
});

/** k-means starts from rows that are drawn by the seed too. */
const [SEED_OF_BOTH] = options({
  '--seed N = 0': 'Seed of the hyperplanes, and of the rows that k-means starts from',
});

/** Hashing options that change which rows `calibrate` reads and how they are compared. */
const CALIBRATED = [
  ...['vector', 'text', 'id', 'tokens', 'normalize', 'stop-words', 'counting', 'tf-idf'],
  ...['frequencies', 'seed', 'from', 'types', 'on-error'],
];

export const VERBS: readonly Verb[] = [
  {
    name: 'fingerprint',
    summary: 'vectors or texts to codes, other columns carried along',
    usage: 'IN -o OUT',
    first: ['output', 'text', 'vector', 'id', 'columns', 'bits', 'to', 'tf-idf', 'from'],
    options: [
      ...OUTPUT_OPTIONS,
      ...options({
        '--columns NAMES: list':
          'Carry only these columns along, or none (all but the one that becomes codes)',
        '--code-type TYPE: bytes|int64 = bytes':
          'Codes as bytes, or as signed integers of 64 bits (wider codes as lists of them), for ' +
          'engines such as Spark SQL',
      }),
      ...HASHING_OPTIONS.map((one) => (one.name === 'on-error' ? NULL_ON_ERROR : one)),
    ],
    example: 'halfspace fingerprint datasets/sample/docs.jsonl --bits 128 -o codes.arrow',
    load: () => import('./verbs/fingerprint'),
  },
  ...INDEX_VERBS,
  {
    name: 'pairs',
    summary: 'all pairs of rows within a distance',
    usage: 'IN|DIR [IN|DIR] -o OUT',
    first: [
      'max-distance',
      'min-cosine',
      'min-jaccard',
      'within',
      'output',
      'text',
      'vector',
      'id',
      'to',
      'from',
    ],
    options: [
      ...NEAR_OPTIONS,
      ...options({
        '--columns NAMES: list': 'Columns to write, of a, b, id_a, id_b, distance and the cosine',
      }),
      ...NEAR_HASHING_OPTIONS,
      ...OUTPUT_OPTIONS,
    ],
    example: 'halfspace pairs datasets/sample/docs.jsonl --text body',
    load: () => import('./verbs/pairs'),
  },
  {
    name: 'dedup',
    summary: 'which rows are nearly the same, and which to keep: a plan',
    usage: 'IN… -o PLAN | IN… --apply PLAN -o OUT',
    first: [
      'output',
      'apply',
      'text',
      'min-jaccard',
      'min-cosine',
      'max-distance',
      'keep',
      'within',
      'against',
      'force',
    ],
    options: [
      ...NEAR_OPTIONS,
      ...options({
        '--grouping HOW: star|components = star':
          'Which rows are one group: near the row that is kept (star), or joined by a chain of ' +
          'near ones (components)',
        '--keep WHICH = first':
          'The row of a group that is kept: first, last, longest, longest:COLUMN, lowest:COLUMN, ' +
          'highest:COLUMN, random or random:SEED',
        '--pairs FILE':
          'Near are these pairs, as halfspace pairs writes them, in place of a distance: columns ' +
          'a and b (rows) or id_a and id_b; - is an Arrow stream on stdin',
        '--keep-at-most N: integer 1.. = 1':
          'Keep so many rows of a group, those preferred by --keep',
        '--target-rows N: integer 1..':
          'So many rows stay where fewer would: only the nearest duplicates are dropped',
        '--extend PLAN':
          'Go on with a plan for the same file, which has new rows behind the old ones now',
        '--against OLD':
          'IN has new rows: plan them against the rows of an index, or of an older plan that has ' +
          'their codes, which is only read. The new rows are hashed as the old ones were',
        '--all-rows':
          'A line for each row in the order of IN, in place of those of groups; in a .arrow file ' +
          'with its code, for --against',
        '--apply PLAN': 'Write the rows that a plan keeps to OUT, as they are in IN',
      }),
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
    first: [
      'clusters',
      'density',
      'output',
      'text',
      'vector',
      'id',
      'by',
      'min-cluster-size',
      'to',
      'from',
    ],
    options: [
      ...options({
        '--clusters N: integer': 'So many clusters, by k-means',
        '--by WHAT: vectors|accumulators|codes|majority':
          'Go by vectors (the default where they are dense), accumulators (the sums behind the ' +
          'bits, for texts and sparse vectors), codes, or codes with codes as centroids (majority)',
        '--density':
          'Clusters where rows are dense (HDBSCAN*), as many as there are; others are in -1',
        '--min-cluster-size N: integer': 'By density: fewest rows of a cluster (5)',
        '--min-samples N: integer':
          'By density: other rows that a row must have near it to be in a dense region (5)',
        '--max-distance N: integer 0..':
          'By density: cut where steps exceed N bits, in place of where mass is largest',
        '--min-cosine C: number -1..1': 'By density: the same at an estimated cosine of C',
        '--min-jaccard J: number 0..1':
          'By density: the same at an estimated Jaccard similarity of J; implies --measure jaccard',
      }),
      ...COMPARED_OPTIONS.map((one) => (one.name === 'seed' ? SEED_OF_BOTH : one)),
      ...OUTPUT_OPTIONS,
    ],
    example:
      'halfspace cluster datasets/sample/docs.jsonl --text body --by accumulators --clusters 6',
    load: () => import('./verbs/cluster'),
  },
  {
    name: 'frequencies',
    summary: 'in how many texts each word is: a table for --frequencies',
    usage: 'IN -o TABLE | --merge TABLE… -o TABLE',
    options: [
      ...options({
        '-o, --output TABLE': 'Write the table to this Arrow file',
        '--merge': 'The inputs are tables of parts, or index folders that keep one: add them up',
        '--text COLUMN': 'Read texts from this column',
      }),
      ...TEXT_OPTIONS.filter(({ name }) => ['tokens', 'stop-words', 'hash'].includes(name)),
      ...INPUT_OPTIONS,
      ...FORCE_OPTION,
    ],
    example: 'halfspace frequencies datasets/sample/docs.jsonl --text body -o table.arrow',
    load: () => import('./verbs/frequencies'),
  },
  {
    name: 'calibrate',
    summary: 'which threshold finds the duplicates in your own rows',
    usage: 'IN',
    first: ['text', 'vector', 'id', 'pairs', 'min-jaccard', 'min-cosine'],
    options: [
      ...options({
        '--pairs FILE':
          'Judge by labelled pairs: id, id, and whether they are the same (true or false)',
        '--edits E: number 0.01..0.5 = 0.1':
          'Else judge by planted copies of texts: with up to this share of the words edited they ' +
          'are the same, with twice as many they are not',
        '--min-jaccard J: number 0<..1 = 0.6': 'Lowest threshold of the table, for texts and sets',
        '--min-cosine C: number -1<..1 = 0.88': 'The same for vectors, and for texts by TF-IDF',
      }),
      ...NEAR_HASHING_OPTIONS.filter(({ name }) => CALIBRATED.includes(name)),
      ...JSON_OPTION,
    ],
    example: 'halfspace calibrate datasets/sample/docs.jsonl --text body',
    load: () => import('./verbs/calibrate'),
  },
  {
    name: 'explore',
    summary: 'a page to look at rows, search them and review duplicates',
    usage: 'IN [-o page.html]',
    first: ['output', 'text', 'vector', 'id', 'plan', 'open'],
    options: [
      ...options({
        '-o, --output OUT': 'Write the page as one file (.html), which needs no server',
      }),
      ...FORCE_OPTION,
      ...options({
        '--plan PLAN':
          'The plan to review; the page makes it where there is none (docs-plan.jsonl)',
        '--port N: integer 0..65535 = 0': 'Port of this machine (0: a free one)',
        '--open': 'Open a browser',
      }),
      ...NEAR_HASHING_OPTIONS,
    ],
    example: 'halfspace explore datasets/sample/docs.jsonl --text body --open',
    load: () => import('./verbs/explore'),
  },
  {
    name: 'info',
    summary: 'what an index or a file holds',
    usage: 'DIR|FILE',
    options: [...JSON_OPTION, ...INPUT_OPTIONS],
    example: 'halfspace info datasets/sample/docs.jsonl',
    load: () => import('./verbs/info'),
  },
  {
    name: 'verify',
    summary: 'every checksum and invariant of an index or a file',
    usage: 'DIR|FILE',
    options: [
      ...options({
        '--repair': 'Go back to the newest sound state of a damaged index',
        '--yes': 'With --repair: also where rows are discarded that were saved since',
      }),
      ...JSON_OPTION,
      ...INPUT_OPTIONS,
    ],
    example: 'halfspace verify datasets/sample/docs.jsonl',
    load: () => import('./verbs/verify'),
  },
];
