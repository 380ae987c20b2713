/**
 * All verbs of the command, declared as data: a new verb is an entry here and a file in verbs/ that
 * exports `run`. Parsing, checks and help read these declarations only; the code of a verb is
 * loaded when it is run, so that help answers at once. The help shows the options named by `first`
 * before the others.
 */

import type { Verb } from './call';
import { hidden, type Option, options } from './options';

export const COMMON_OPTIONS = options({
  '-h, --help': 'Show what the verb does, and its options',
  '-q, --quiet': 'No sentences and no progress on stderr',
  '--threads N: integer 1..256':
    'Use N threads (HALFSPACE_THREADS, else all cores where that pays)',
  '--debug': 'Show the stack of an error',
});

const SHARED = options({
  '-o, --output OUT': 'Write to this file (- is stdout)',
  '--to FORMAT: arrow|arrows|parquet|csv|jsonl':
    'Format of the output, where its name does not show it (stdout: jsonl)',
  '--force': 'Replace an output that exists',
  '--json': 'JSON for machines',
  '--from FORMAT: arrow|arrows|parquet|csv|jsonl|npy|text':
    'Format of the input, where neither its name nor its first bytes show it',
  '--types TYPES: list':
    'What columns of CSV or JSONL are: year=integer,isbn=text,embedding=vector',
  '--text COLUMN': 'Read texts from this column',
  '--vector COLUMN: list': 'Read vectors from this column (INDICES,VALUES: sparse ones from two)',
  '--code COLUMN': 'Read ready codes from this column',
  '--id COLUMN': 'The ids of the rows ("id" where there is one), or none',
  '--tokens KIND = words': 'words, characters:N or shingles:N',
  '--counting HOW: raw|log|binary = raw': 'How often a word counts',
  '--tf-idf': 'Weigh rare words more; reads the input once more before',
  '--frequencies FILE': 'Weigh words by a table of frequencies that was made before',
  '--bits N: integer 1..65535': 'Width of a code (256; 64 of --projection direct)',
  '--projection NAME: signs|gaussian|hadamard|direct|minwise':
    'Kind of hyperplanes (hadamard for dense vectors, else signs); minwise for sets',
  // No number: seeds reach 2^64 - 1, beyond the integers of float64.
  '--seed N = 0': 'Seed of all that is drawn, as of the hyperplanes',
  '--max-distance N: integer 0..': 'Rows are near that differ in at most N bits',
  '--min-cosine C: number -1..1':
    'Rows are near at a cosine of C or more: exact, but of ready codes and stdin estimated from ' +
    'the bits',
  '--min-jaccard J: number 0..1':
    'Rows are near at a Jaccard similarity of J or more: of sets, as of tokens (texts: 0.6)',
  '--common TEXT':
    'A file with text that makes no rows near, or none. Without it: the text of templates that ' +
    'many rows fill in',
  '--within COLUMN': 'Compare only rows of the same value in this column, as a language',
});

/** Shared options by their names, with `initial` values where these differ. */
function shared(names: string, initial: Record<string, string> = {}): Option[] {
  return names.split(' ').map((name) => {
    const option = SHARED.find((one) => one.name === name);
    if (option === undefined) throw new Error(`no shared option ${name}`);
    return { ...option, initial: initial[name] ?? option.initial };
  });
}

const IN = 'from types';
const OUT = 'output to force json';
const SOURCE = 'text vector code id';
const TEXTS = 'tokens tf-idf';
const NEAR = 'max-distance min-cosine min-jaccard';
/** How rows are hashed where near ones are looked for. */
const NEAR_HASHING = `${SOURCE} ${TEXTS} counting bits ${IN}`;
/**
 * Near texts are compared by pairs of words, and repetition counts little. In a trial with passages
 * of 20 to 300 words, a changed word moved short texts too far when triples were compared, and long
 * texts of one field looked alike when single words were.
 */
const NEAR_TEXTS = { tokens: 'shingles:2', counting: 'log' };

const WEIGHTS = { 'frequencies tf-idf': 'a table already says how rare words are' };

export const VERBS: readonly Verb[] = [
  {
    name: 'fingerprint',
    excludes: WEIGHTS,
    summary: 'vectors or texts to codes, other columns carried along',
    usage: 'IN -o OUT',
    first: 'output text vector id columns bits to tf-idf from force',
    options: [
      ...shared(OUT),
      ...options({
        '--columns NAMES: list':
          'Carry only these columns along, or none (all but the one that becomes codes)',
      }),
      ...shared(`${SOURCE} bits projection seed ${TEXTS}`),
      ...shared('counting frequencies from types'),
      // For the Spark package, whose tasks find near texts by them.
      ...hidden({
        '--keys J: number 0<..1':
          'Behind a code the keys of which texts of this Jaccard similarity share one',
      }),
    ],
    example: 'halfspace fingerprint datasets/sample/docs.jsonl --bits 128 -o codes.arrow',
    load: async () => (await import('./verbs/fingerprint')).run,
  },
  {
    name: 'embed',
    summary: 'texts to vectors by a sentence model, other columns carried along',
    usage: 'IN --model NAME|FOLDER -o OUT.arrow',
    options: [
      ...options({
        '--model NAME':
          'A sentence model in ONNX: its name on the Hugging Face Hub, or its folder. Needs npm ' +
          'install @huggingface/transformers',
        '--revision NAME': 'Branch, tag or commit of the model on the Hub [main]',
        '--pooling HOW: mean|cls|last_token':
          'How the vectors of tokens become one [as the model says, else mean]',
        '--columns NAMES: list': 'Carry only these columns along, or none',
      }),
      ...shared(`${OUT} text ${IN}`),
    ],
    example:
      'halfspace embed datasets/sample/docs.jsonl --model Xenova/all-MiniLM-L6-v2 ' +
      '-o docs.arrow && halfspace index docs.arrow --vectors float32 -o docs.hs && ' +
      'halfspace search docs.hs --query "a warm drink" -k 3',
    load: async () => (await import('./verbs/embed')).run,
  },
  {
    name: 'index',
    needs: {
      optimize: 'recall k queries partitions',
      append: 'replace',
      merge: 'manifests-only',
      memory: 'like first-row',
    },
    excludes: {
      'merge append remove compact partitions first-row like': '',
      'like optimize': 'a merge measures recall',
      'queries memory': 'there rows are the queries',
      ...WEIGHTS,
      'output remove compact queries': 'that is for an index that is there, halfspace index DIR …',
    },
    summary: 'an index folder: make it, append to it, remove, optimize',
    usage: 'IN -o DIR [--append [--replace]] | DIR --remove ID | DIR --optimize | DIR --compact',
    first: 'output text vector id vectors columns optimize recall append remove',
    options: [
      ...options({
        '-o, --output DIR': 'The index folder; a name in .arrow is one Arrow file for search',
        '--append': 'Append the rows to the index that is there',
        '--replace': 'With --append: a row whose id is there takes the place of the old row',
        '--remove ID: words': 'Remove a row by its id (again for more; @FILE has an id a line)',
        '--optimize': 'Make searches fast at a recall that is measured',
        '--recall SHARE: number 0<..1':
          'Share of the true neighbours that searches must find, else exit code 1 [0.95]',
        '-k, --k N: integer 1..': 'Optimize for N neighbours [10]',
        '--queries FILE':
          'Optimize an index that is there for these: half choose the setting, half measure it',
        '--compact': 'Write the folder again without what was removed',
        '--vectors WHAT: none|float32|int8|sparse':
          'Vectors to hold with the codes, to rank by exact cosine; texts: sparse [none; dense ' +
          'vectors with --optimize: int8]',
        '--columns NAMES: list':
          'Carry these columns along, or none (texts that become codes, and all others but ' +
          'lists, bytes and JSON)',
        '--memory SIZE: size':
          'Build or optimize more rows than memory holds: at most so much of them at a time, as 2G',
        '--force': 'Replace an index that exists',
      }),
      // For tasks of the Spark package, which build parts of an index and merge them.
      ...hidden({
        '--like DIR': 'Options and centroids of this folder',
        '--first-row N: integer 0..2147483647': 'The number of the first row',
        '--merge': 'Make one index of folders that were built --like one folder',
        '--manifests-only': 'With --merge: the files of the folders are elsewhere',
        '--evaluate FILE':
          'Evaluation queries: with --like what the rows answer is written, with --merge it counts',
        '--partitions N: integer 1..65535': 'Optimize with N partitions',
      }),
      ...shared(`${SOURCE} bits projection ${TEXTS} frequencies ${IN}`),
    ],
    example:
      'halfspace index datasets/sample/docs.jsonl --text body --tf-idf --vectors sparse -o docs.hs',
    load: async () => (await import('./verbs/index')).run,
  },
  {
    name: 'search',
    needs: { memory: 'segment at' },
    summary: 'the nearest rows of an index',
    usage: 'DIR|FILE [QUERIES] [-o OUT]',
    first: 'query row-id k max-distance filter columns output to',
    options: [
      ...options({
        '--row-id ID: words': 'Search for what is near this row of the index (again for more)',
        '--query TEXT': 'Search for a text, in an index of texts',
        '-k, --k N: integer 1..': 'How many neighbours [10]',
        '--max-distance N: integer 0..':
          'All rows within so many differing bits (with -k the nearest of them)',
        '--filter CONDITION':
          "Only rows with: category = 'animal' and (year >= 2000 or title like '%tea%'); =, !=, " +
          '<, <=, >, >=, like, in (a, b), is null, and, or, not before in, like and null',
        '--by-distance': 'The nearest by distance of codes (by cosine, exact where the index can)',
        '--memory SIZE: size':
          'Leave the rows in their files, and hold at most so much of them, as 512M',
        '--columns NAMES: list':
          'Columns of the index to show, or none (the first text, as that of an index of texts)',
      }),
      // For tasks of the Spark package.
      ...hidden({
        '--segment N: integer 0..65535': 'Search this segment alone',
        '--at URL': 'The files are at this address, the folder has the manifest',
      }),
      ...shared(`${OUT} ${SOURCE} ${IN}`),
    ],
    example:
      'halfspace index datasets/sample/docs.jsonl --tf-idf --vectors sparse -o docs.hs && ' +
      'halfspace search docs.hs --query "green tea" -k 3',
    load: async () => (await import('./verbs/search')).run,
  },
  {
    name: 'pairs',
    summary: 'all pairs of near rows',
    usage: 'IN|DIR [IN|DIR] -o OUT',
    first: 'max-distance min-cosine min-jaccard within output text vector id to from',
    options: [
      ...shared(`${NEAR} within ${NEAR_HASHING} ${OUT}`, NEAR_TEXTS),
      // For tasks of the Spark package, of which each reports the pairs of its cell alone.
      ...hidden({
        '--cell BITS': 'Codes agree in the first set of bits, and in no other entirely',
      }),
    ],
    example: 'halfspace pairs datasets/sample/docs.jsonl --text body',
    load: async () => (await import('./verbs/pairs')).run,
  },
  {
    name: 'dedup',
    excludes: {
      'against extend within keep-at-most target-rows grouping': '',
      'extend within keep-at-most target-rows': '',
      'common apply max-distance min-cosine': '',
      'common extend against':
        'what is common depends on all texts; plan old and new ones together',
    },
    summary: 'which rows are nearly the same, and which to keep: a plan',
    usage: 'IN… -o PLAN | IN… --apply PLAN -o OUT',
    first: 'output apply text min-jaccard min-cosine max-distance keep within against force',
    options: [
      ...shared(`${NEAR} within common`),
      ...options({
        '--keep WHICH = first':
          'The row of a group that is kept: first, last, longest, longest:COLUMN, lowest:COLUMN ' +
          'or highest:COLUMN',
        '--keep-at-most N: integer 1.. = 1':
          'Keep so many rows of a group, those preferred by --keep',
        '--target-rows N: integer 1..':
          'So many rows stay where fewer would: only the nearest duplicates are dropped',
        '--extend PLAN':
          'Go on with a plan for the same file, which has new rows behind the old ones now',
        '--against OLD':
          'IN has new rows: plan them against the rows of an index, and hash them as these were',
        '--apply PLAN': 'Write the rows that a plan keeps to OUT, as they are in IN',
      }),
      // For tasks of the Spark package.
      ...hidden({
        '--grouping HOW: star|components = star':
          'Which rows are one group: near the row that is kept, or joined by a chain of near ones',
      }),
      ...shared(NEAR_HASHING, NEAR_TEXTS),
      ...shared('output to force'),
    ],
    example: 'halfspace dedup datasets/sample/docs.jsonl --text body -o plan.jsonl',
    load: async () => (await import('./verbs/dedup')).run,
  },
  {
    name: 'cluster',
    needs: { density: 'min-cluster-size min-samples' },
    summary: 'which rows belong together',
    usage: 'IN|DIR -o OUT',
    first: 'clusters density output text vector id min-cluster-size tf-idf to from',
    options: [
      ...options({
        '--clusters N: integer': 'So many clusters, by k-means',
        '--density':
          'Clusters where rows are dense (HDBSCAN*), as many as there are; others are in -1',
        '--min-cluster-size N: integer': 'By density: fewest rows of a cluster (5)',
        '--min-samples N: integer':
          'By density: other rows that a row must have near it to be in a dense region (5)',
      }),
      // Words count as often as they are there.
      ...shared(`seed ${NEAR_HASHING} ${OUT}`),
    ],
    example: 'halfspace cluster datasets/sample/docs.jsonl --text body --clusters 6',
    load: async () => (await import('./verbs/cluster')).run,
  },
  {
    name: 'frequencies',
    summary: 'in how many texts each word is: a table for --frequencies',
    usage: 'IN… -o TABLE',
    options: [
      ...options({ '-o, --output TABLE': 'Write the table to this Arrow file' }),
      ...shared(`text tokens ${IN} force`),
    ],
    example: 'halfspace frequencies datasets/sample/docs.jsonl --text body -o table.arrow',
    load: async () => (await import('./verbs/fingerprint')).frequencies,
  },
  {
    name: 'calibrate',
    summary: 'which threshold finds the duplicates in your own rows',
    usage: 'IN',
    options: [
      ...options({
        '--pairs FILE':
          'Judge by labelled pairs: id, id, and whether they are the same (true or false); else ' +
          'by copies of texts, of which 1 to 10 % of the words are edited (the same) or 20 % (not)',
        '--min-jaccard J: number 0<..1 = 0.6': 'Lowest threshold of the table, for texts and sets',
        '--min-cosine C: number -1<..1 = 0.88': 'The same for vectors, and for texts by TF-IDF',
      }),
      ...shared(`text vector id ${TEXTS} counting common ${IN} json`, NEAR_TEXTS),
    ],
    example: 'halfspace calibrate datasets/sample/docs.jsonl --text body',
    load: async () => (await import('./verbs/calibrate')).run,
  },
  {
    name: 'explore',
    excludes: { 'output port plan': 'that is for the server' },
    summary: 'a page to look at rows, search them and review duplicates',
    usage: 'IN [-o page.html]',
    first: 'output text vector id plan port force',
    options: [
      ...options({
        '-o, --output OUT':
          'Write the map as one file: a page that needs no server (.html), or rows for Embedding ' +
          'Atlas (.parquet)',
        '--plan PLAN': 'The plan of dedup to review [docs-plan.jsonl]',
        '--port N: integer 0..65535 = 0': 'Port of this machine (0: a free one)',
      }),
      ...shared(`force ${NEAR_HASHING}`, NEAR_TEXTS),
    ],
    example: 'halfspace explore datasets/sample/docs.jsonl --text body',
    load: async () => (await import('./verbs/explore')).run,
  },
  {
    name: 'info',
    summary: 'what an index or a file holds',
    usage: 'DIR|FILE',
    options: shared(`json ${IN}`),
    example: 'halfspace info datasets/sample/docs.jsonl',
    load: async () => (await import('./verbs/inspect')).info,
  },
  {
    name: 'verify',
    summary: 'every checksum and invariant of an index or a file',
    usage: 'DIR|FILE',
    options: shared(`json ${IN}`),
    example: 'halfspace verify datasets/sample/docs.jsonl',
    load: async () => (await import('./verbs/inspect')).verify,
  },
  {
    name: 'demo',
    summary: 'the sample of the package: its duplicates, a search, the page',
    usage: '',
    options: [],
    example: 'halfspace demo',
    load: async () => (await import('./verbs/explore')).demo,
  },
];
