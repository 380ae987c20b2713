/** The verbs of an index, declared as verbs.ts does: to make one, and to search it. */

import type { Verb } from './call';
import {
  COLUMN_OPTIONS,
  HASHING_OPTIONS,
  INPUT_OPTIONS,
  JSON_OPTION,
  OUTPUT_OPTIONS,
  options,
} from './options';

export const INDEX_VERBS: readonly Verb[] = [
  {
    name: 'index',
    summary: 'an index folder: make it, append to it, remove, optimize',
    usage:
      'IN -o DIR [--append [--replace]] | DIR --remove IDS | DIR --optimize | DIR --compact | ' +
      'DIR... --merge -o DIR',
    first: [
      'output',
      'text',
      'vector',
      'id',
      'vectors',
      'columns',
      'append',
      'remove',
      'optimize',
      'memory',
    ],
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
        '--memory SIZE: size':
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
    first: [
      'query',
      'row-id',
      'k',
      'max-distance',
      'min-cosine',
      'filter',
      'columns',
      'output',
      'to',
      'memory',
    ],
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
        '--explain': 'Say for each query what was done, and how long it took',
        '--memory SIZE: size':
          'Leave the rows in their files, and hold at most so much of them, as 512M',
        '--segments RANGE':
          'With --memory: search these segments alone, as 0-3, of those that the manifest lists',
        '--columns NAMES: list':
          'Columns of the index to show, or none (the first text, as that of an index of texts)',
      }),
      ...OUTPUT_OPTIONS,
      ...COLUMN_OPTIONS,
      ...INPUT_OPTIONS,
    ],
    example:
      'halfspace index datasets/sample/docs.jsonl --tf-idf --vectors sparse -o docs.hs && ' +
      'halfspace search docs.hs --query "green tea" -k 3',
    load: () => import('./verbs/search'),
  },
];
