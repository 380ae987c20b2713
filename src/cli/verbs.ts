/**
 * All verbs of the command, declared as data: a new verb is an entry here and a file in verbs/ that
 * exports `run`. Parsing, checks, help and completion read these declarations only; the code of a
 * verb is loaded when it is run, so that help answers at once.
 */

import type { Verb } from './call';
import {
  COLUMN_OPTIONS,
  FORCE_OPTION,
  HASHING_OPTIONS,
  INPUT_OPTIONS,
  JSON_OPTION,
  MAP_OPTIONS,
  NEAR_HASHING_OPTIONS,
  NEAR_OPTIONS,
  type Option,
  OUTPUT_OPTIONS,
  options,
  SAMPLE_OPTION,
  TEXT_OPTIONS,
} from './options';

/** How texts were read is in the index folder; options of a search may repeat it, not change it. */
const AGREEING: readonly Option[] = TEXT_OPTIONS.filter(
  ({ name }) => name !== 'tf-idf' && name !== 'frequencies',
).map(({ initial, ...option }) => option);

/** A verb whose rows are all written may write those that cannot be hashed too. */
const [NULL_ON_ERROR] = options({
  '--on-error WHAT: stop|skip|null = stop':
    'At a line that cannot be read: stop, or skip and count it; null also gives rows whose ' +
    'vectors make no code a null code, and counts them',
});

/** Hashing options that `calibrate` has no use for, or that it declares with another meaning. */
const NOT_CALIBRATED = ['code', 'bit-order', 'max-memory', 'bits', 'seed'];

export const VERBS: readonly Verb[] = [
  {
    name: 'fingerprint',
    summary: 'vectors or texts to codes, other columns carried along',
    usage: 'IN -o OUT',
    options: [
      // Other programs read the columns that are carried along, so they stay as they are.
      ...OUTPUT_OPTIONS.map((one) => (one.name === 'formulas' ? { ...one, initial: 'keep' } : one)),
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
  {
    name: 'index',
    summary: 'an index folder: make it, append to it, remove, optimize',
    usage:
      'IN -o DIR [--append [--replace]] | DIR --remove IDS | DIR --optimize | DIR --compact | ' +
      'DIR... --merge -o DIR',
    options: [
      ...options({
        '-o, --output DIR':
          'The index folder; a name in .arrow, or - for stdout, is one Arrow file for search',
        '--append': 'Append the rows to the index that is there',
        '--replace': 'With --append: a row whose id is there takes the place of the old row',
        '--remove IDS: words': 'Remove rows by their ids; @FILE has one a line',
        '--optimize': 'Make searches fast at a recall that is measured',
        '--recall SHARE: number 0<..1':
          'Share of the true neighbours that searches must find [0.95]',
        '-k, --k N: integer 1..': 'Optimize for N neighbours [10]',
        '--queries FILE':
          'Optimize for these queries: half of them choose the setting, the others measure it',
        '--partitions N: integer 1..65535':
          'Optimize with N partitions [3.5 times the root of the rows, or 1 for 150 of them]',
        '--copies WHEN: yes|no':
          'Optimize with rows in a second partition too: fewer are looked at, files are larger ' +
          '[where that saves a fifth of a search or more]',
        '--compact': 'Write the folder again without what was removed',
        '--like DIR':
          'With --memory: options and centroids of this folder, so that folders can be merged; ' +
          'with --merge: rows that trained them do not measure the recall',
        '--first-row N: integer 0..2147483647':
          'With --memory: the number of the first row, for folders that are merged [0]',
        '--merge':
          'Make one index of folders that were built --like one folder, and measure it with ' +
          '--optimize, or where they were optimized',
        '--manifests-only':
          'With --merge: the folders hold manifests alone, whose other files are elsewhere; ' +
          'with --optimize: in DIR already',
        '--vectors WHAT: none|float32|int8|sparse':
          'Vectors to hold with the codes, to rank by exact cosine; texts: sparse [none; dense ' +
          'vectors with --optimize: int8]',
        '--columns NAMES: list':
          'Carry these columns along, or none (texts that become codes, and all other plain ones)',
        '--memory SIZE':
          'Build or optimize more rows than memory holds: at most so much of them at a time, as 2G',
        '--force': 'Replace an index that exists',
      }),
      ...JSON_OPTION,
      ...HASHING_OPTIONS,
    ],
    example:
      'halfspace index datasets/sample/docs.jsonl --text body --tf-idf --vectors sparse -o docs.hs',
    load: () => import('./verbs/index'),
  },
  {
    name: 'search',
    summary: 'the nearest rows of an index',
    usage: 'DIR|FILE [QUERIES] [-o OUT]',
    options: [
      ...options({
        '--row-id IDS: words': 'Search for what is near these rows of the index',
        '--query TEXT': 'Search for a text, in an index of texts',
        '-k, --k N: integer 1..': 'How many neighbours [10]',
        '--max-distance N: integer 0..':
          'All rows within so many differing bits (with -k the nearest of them)',
        '--min-cosine C: number -1..1': 'All rows at an estimated cosine of C or more',
        '--min-jaccard J: number 0..1': 'The same by Jaccard similarity, in an index of sets',
        '--filter CONDITION':
          "Only rows with: category = 'animal' and (year >= 2000 or id in (a, b)); =, !=, <, <=, " +
          ">, >=, in, like '%tea%', between 1 and 2, is null, not, and, or",
        '--rank HOW: hamming|estimate|exact':
          'By distance, estimated cosine or exact cosine (the best that the index can)',
        '--ties ORDER: row|id = row':
          'Order of rows at equal distance or similarity, and which of them come last among the ' +
          'k: by their numbers, or by their ids, which do not depend on the order of the input',
        '--recall R: number 0<..1':
          'Of an optimized index: go on until this share of the neighbours is expected to be found',
        '--explain':
          'Say for each query what was done, how long it took, and how much it probably missed',
        '--memory SIZE': 'Leave the rows in their files, and hold at most so much of them, as 512M',
        '--segments RANGE':
          'With --memory: search these segments alone, as 0-3, of those that the manifest lists',
        '--columns NAMES: list':
          'Columns of the index to show, or none (the first text, as that of an index of texts)',
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
      ...options({
        '--first-equal':
          'Of rows with equal codes only the first is paired with others, and they with it',
        '--forest':
          'Only pairs that connect rows which no pair before connects: fewer than rows, enough ' +
          'for groups',
        '--agree BITS: list': 'Only pairs whose codes agree in these bits, as 0-15',
        '--differ BITS: list':
          'Only pairs whose codes differ in these bits, and in each further set: 0-15,16-31+40',
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
    options: [
      ...NEAR_OPTIONS,
      ...options({
        '--grouping HOW: star|components|complete = star':
          'Which rows are one group: near the row that is kept (star), joined by a chain of near ' +
          'ones (components), or all near each other (complete)',
        '--keep WHICH = first':
          'The row of a group that is kept: first, last, longest, longest:COLUMN, lowest:COLUMN, ' +
          'highest:COLUMN, medoid, random or random:SEED',
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
        '--resume':
          'Of shards: go on with an --apply that was stopped; what is written is not written again',
      }),
      ...NEAR_HASHING_OPTIONS,
      ...OUTPUT_OPTIONS,
    ],
    example: 'halfspace dedup datasets/sample/docs.jsonl --text body -o plan.jsonl',
    load: () => import('./verbs/dedup'),
  },
  {
    name: 'passages',
    summary: 'runs of words that many texts have, as licences and navigation',
    usage: 'IN… [-o OUT]',
    options: [
      ...options({
        '--min-words N: integer 16..1000 = 25': 'Words of the shortest passage',
        '--limit N: integer 1..10000 = 100': 'Most passages, those that repeat most words first',
      }),
      ...COLUMN_OPTIONS.filter(({ name }) => ['text', 'id'].includes(name)),
      ...TEXT_OPTIONS.filter(({ name }) => ['normalize', 'case'].includes(name)),
      ...INPUT_OPTIONS,
      ...options({
        '--max-memory SIZE': 'Refuse to go on when the predicted peak is above, as 800M or 4G',
      }),
      ...OUTPUT_OPTIONS,
    ],
    example: 'halfspace passages datasets/sample/docs.jsonl --text body',
    load: () => import('./verbs/passages'),
  },
  {
    name: 'cluster',
    summary: 'which rows belong together',
    usage: 'IN|DIR -o OUT',
    options: [
      ...options({
        '--clusters N: integer': 'So many clusters, by k-means',
        '--by WHAT: vectors|accumulators|codes|majority':
          'Go by vectors (the default where they are dense), accumulators (the sums behind the ' +
          'bits, for texts and sparse vectors), codes, or codes with codes as centroids (majority)',
        '--starts N: integer': 'Begin so many times, go on with the best (3)',
        '--iterations N: integer': 'Most iterations (25)',
        '--start-seed N: integer = 0': 'Seed of the rows that k-means starts from',
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
        '--exemplars N: integer': 'Rows shown for each cluster, nearest to its centroid first (5)',
      }),
      ...HASHING_OPTIONS,
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
    summary: 'which settings find the duplicates in your own rows',
    usage: 'IN [-o OUT]',
    options: [
      ...options({
        '--pairs FILE':
          'Judge settings by labelled pairs: id, id, and whether they are the same (true or false)',
        '--edits E: number 0.01..0.5 = 0.1':
          'Judge settings for texts by planted copies with up to this share of the words edited',
        '--min-cosine C: number -1<..1 = 0.9': 'Pairs at a cosine of C or more are near',
        '--min-jaccard J: number 0<..1':
          'The same by the Jaccard similarity of sets; implies --measure jaccard [0.6]',
        '--cosine-error E: number 0.001..1 = 0.05':
          'Largest accepted error of the cosine that a distance estimates',
        '--jaccard-error E: number 0.001..1 = 0.05': 'The same of the Jaccard similarity',
      }),
      ...SAMPLE_OPTION,
      ...options({
        '--bits N: integer 1..65535':
          'Width of a code, in place of the smallest that is good enough',
        '--seed N = 0': 'Seed of the hyperplanes, and of the rows that are drawn',
      }),
      ...NEAR_HASHING_OPTIONS.filter(({ name }) => !NOT_CALIBRATED.includes(name)),
      ...options({
        '-o, --output OUT': 'Write a page (.html) or data (.json) in place of the text',
      }),
      ...FORCE_OPTION,
      ...JSON_OPTION,
    ],
    example: 'halfspace calibrate datasets/sample/docs.jsonl --text body',
    load: () => import('./verbs/calibrate'),
  },
  {
    name: 'explore',
    summary: 'a page to look at rows, search them and review duplicates',
    usage: 'DIR|FILE',
    options: [
      ...options({
        '--plan PLAN':
          'The plan to review; the page makes it where there is none (docs-plan.jsonl)',
        '--port N: integer 0..65535 = 0': 'Port of this machine (0: a free one)',
        '--open': 'Open a browser',
      }),
      ...MAP_OPTIONS,
      ...NEAR_HASHING_OPTIONS,
    ],
    example: 'halfspace explore datasets/sample/docs.jsonl --text body --open',
    load: () => import('./verbs/explore'),
  },
  {
    name: 'report',
    summary: 'the same page about an index in one file, without a server',
    usage: 'DIR -o report.html',
    options: [
      ...options({
        '-o, --output OUT': 'Write the page (.html) or its figures (.json) to this file',
      }),
      ...FORCE_OPTION,
      ...SAMPLE_OPTION,
      ...options({
        '--min-cosine C: number -1<..1 = 0.9': 'Rows at a cosine of C or more are nearly the same',
        '--min-jaccard J: number 0..1 = 0.6':
          'In an index of sets: rows at an estimated Jaccard similarity of J or more are',
        '--max-distance N: integer 0..':
          'Group rows within N bits, in place of what --min-cosine or --min-jaccard says',
      }),
      ...MAP_OPTIONS,
      ...options({
        '--text COLUMN': 'The carried column that rows are shown by',
        '--seed N: integer 0..4294967295 = 0': 'Seed of what is drawn',
        '--queries FILE':
          'Measure the recall of an optimized index with these queries, and say how they differ ' +
          'from rows',
        '--no-times': 'Time nothing: the same index gives the same page',
      }),
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
    options: [...JSON_OPTION, ...INPUT_OPTIONS],
    example: 'halfspace info datasets/sample/docs.jsonl',
    load: () => import('./verbs/info'),
  },
  {
    name: 'verify',
    summary: 'every checksum and invariant of an index or a file',
    usage: 'DIR|FILE',
    options: [
      ...options({ '--repair': 'Go back to the newest sound state of a damaged index' }),
      ...JSON_OPTION,
      ...INPUT_OPTIONS,
    ],
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
