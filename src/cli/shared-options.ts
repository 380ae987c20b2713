/** Options that several verbs have, each told once: one long name, at most one short. */

import type { Option } from './verb';

/** Every verb has these. */
export const COMMON_OPTIONS: readonly Option[] = [
  { name: 'help', short: 'h', help: 'Tell what the verb does, and its options' },
  { name: 'quiet', short: 'q', help: 'No sentences and no progress on stderr' },
  { name: 'debug', help: 'Show the stack of an error' },
];

export const IN_FORMATS = ['arrow', 'arrows', 'parquet', 'csv', 'jsonl', 'npy', 'text'] as const;
export const OUT_FORMATS = ['arrow', 'arrows', 'parquet', 'csv', 'jsonl', 'json'] as const;

/** How an input is read. */
export const INPUT_OPTIONS: readonly Option[] = [
  {
    ...{ name: 'from', value: 'FORMAT', choices: IN_FORMATS },
    help: 'Format of the input, where its name does not tell (needed for stdin)',
  },
  {
    ...{ name: 'types', value: 'TYPES', kind: 'list' },
    help: 'What columns of CSV or JSONL are: year=number,isbn=text,embedding=vector',
  },
  {
    ...{ name: 'on-error', value: 'WHAT', choices: ['stop', 'skip'], initial: 'stop' },
    help: 'At a line that cannot be read: stop, or skip and count it',
  },
];

/** Which column holds what. */
export const COLUMN_OPTIONS: readonly Option[] = [
  {
    ...{ name: 'vector', value: 'COLUMN', kind: 'list' },
    help: 'Read vectors from this column (INDICES,VALUES: sparse ones from two)',
  },
  { name: 'text', value: 'COLUMN', kind: 'text', help: 'Read texts from this column' },
  { name: 'code', value: 'COLUMN', kind: 'text', help: 'Read ready codes from this column' },
  {
    name: 'id',
    value: 'COLUMN',
    kind: 'text',
    help: 'The ids of the rows ("id" where there is one)',
  },
];

/** How vectors become codes. */
export const HASH_OPTIONS: readonly Option[] = [
  { name: 'bits', value: 'N', kind: 'integer', help: 'Width of a code (256)' },
  { name: 'seed', value: 'N', kind: 'text', initial: '0', help: 'Seed of the hyperplanes' },
  {
    ...{ name: 'projection', value: 'NAME', choices: ['signs', 'gaussian', 'hadamard', 'direct'] },
    help: 'Kind of hyperplanes (hadamard for dense vectors, else signs)',
  },
  {
    ...{ name: 'bit-order', value: 'ORDER', choices: ['lsb', 'msb'], initial: 'lsb' },
    help: 'Of ready codes: which bit of a byte comes first (msb: numpy.packbits)',
  },
];

/** How texts become vectors. */
export const TEXT_OPTIONS: readonly Option[] = [
  {
    ...{ name: 'tokens', value: 'KIND', initial: 'words' },
    help: 'words, characters:N, shingles:N, segments:LOCALE or jieba',
  },
  { name: 'stop-words', value: 'LANG', help: 'Leave out common words of a language: en, de, ja' },
  {
    ...{ name: 'counting', value: 'HOW', choices: ['raw', 'log', 'binary'], initial: 'raw' },
    help: 'How often a word counts',
  },
  { name: 'tf-idf', help: 'Weigh rare words more; reads the input twice' },
  {
    ...{ name: 'frequencies', value: 'FILE' },
    help: 'Weigh words by a table of frequencies made before, in place of a first reading',
  },
  { name: 'keywords', value: 'N', kind: 'integer', help: 'Only the N heaviest words of a text' },
  {
    ...{ name: 'hash', value: 'NAME', choices: ['xxhash64', 'fnv1a64', 'md5'] },
    ...{ initial: 'xxhash64', help: 'Hash of a word' },
  },
];

export const MEMORY_OPTION: Option = {
  ...{ name: 'max-memory', value: 'SIZE' },
  help: 'Refuse to start when the predicted peak is above, as 800M or 4G',
};

/** Where rows go. */
export const OUTPUT_OPTIONS: readonly Option[] = [
  { name: 'output', short: 'o', value: 'OUT', help: 'Write to this file (- is stdout)' },
  {
    ...{ name: 'to', value: 'FORMAT', choices: OUT_FORMATS },
    help: 'Format of the output, where its name does not tell',
  },
  { name: 'force', help: 'Replace an output that exists' },
  { name: 'json', help: 'JSON for machines' },
];

/** A verb that reads rows and makes codes of them. */
export const HASHING_OPTIONS: readonly Option[] = [
  ...COLUMN_OPTIONS,
  ...HASH_OPTIONS,
  ...TEXT_OPTIONS,
  ...INPUT_OPTIONS,
  MEMORY_OPTION,
];
