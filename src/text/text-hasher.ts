/**
 * Texts to codes, the classic way: split, drop stop words, weigh, keep the heaviest words if asked
 * to, hash, add up, take signs. Words are dimensions by their 64-bit hash, so that texts, TF-IDF
 * rows and embeddings meet in the same index.
 */

import { checkInteger, checkOneOf, checkOptions, wrongType } from '../base/check';
import type { Codes } from '../codes/codes';
import { type Projection, SimHasher } from '../hashing/simhash';
import type { KernelName } from '../kernels/kernels';
import type { SparseVector } from '../vectors/vectors';
import { FrequencyTable } from './frequency-table';
import { HashOrder } from './hash-order';
import { logOf } from './log';
import { readWords } from './read-words';
import { TextBatch } from './text-batch';
import { type Tokens, words } from './tokens';
import { Vocabulary } from './vocabulary';
import { WORD_HASHES, type WordHash } from './word-hash';

/** How often a word counts: as it occurs, by 1 + its logarithm, or once. */
const COUNTINGS = ['raw', 'log', 'binary'] as const;
export type Counting = (typeof COUNTINGS)[number];

export interface TextHasherOptions {
  bits?: number;
  seed?: number | bigint;
  /** 'direct': a word's own hash is its pattern, up to 64 bits, as in classic text simhash. */
  projection?: Exclude<Projection, 'hadamard'>;
  /** A function from text to strings; with a name, for tables, where it is your own. */
  tokens?: Tokens;
  tokensName?: string;
  stopWords?: Iterable<string>;
  counting?: Counting;
  /** Inverse document frequencies; without, words weigh what they count. */
  frequencies?: FrequencyTable;
  /** Keep so many of the heaviest words. */
  keywords?: number;
  hash?: WordHash;
  /** What a text without words becomes: an error, or a null code. */
  empty?: 'error' | 'null';
  kernel?: KernelName;
}

const KINDS = 'words, characters(n), shingles(n), segments(locale) or jieba()';
const PROJECTIONS = ['signs', 'gaussian', 'direct'] as const;

export const TEXT_HASHER_DEFAULTS = {
  ...{ bits: 64, seed: 0, projection: 'signs', counting: 'raw', hash: 'xxhash64' },
  empty: 'error',
} as const;

const OPTIONS = [
  ...['bits', 'seed', 'projection', 'tokens', 'tokensName', 'stopWords', 'counting'],
  ...['frequencies', 'keywords', 'hash', 'empty', 'kernel'],
];
/** A word of a text, and what it weighs. */
export interface WeightedWord {
  readonly word: string;
  readonly weight: number;
}

export class TextHasher {
  readonly hasher: SimHasher;
  readonly tokensName: string;
  readonly hashName: WordHash;
  readonly #tokens: Tokens;
  readonly #counting: Counting;
  readonly #keywords: number;
  readonly #frequencies: FrequencyTable | null;
  readonly #vocabulary: Vocabulary;
  readonly #order = new HashOrder();
  /** Of the frequencies, when weights were last made. */
  #version = 0;

  constructor(options?: TextHasherOptions) {
    const given = { ...TEXT_HASHER_DEFAULTS, ...checkOptions('options', options, OPTIONS) };
    const { tokens = words, frequencies, keywords, stopWords = [] } = given;
    if (typeof tokens !== 'function') {
      throw wrongType('tokens', `a function from text to strings, such as ${KINDS}`, tokens);
    }
    this.#tokens = tokens;
    this.tokensName = given.tokensName ?? tokens.kind ?? 'own';
    this.hashName = checkOneOf('hash', given.hash, WORD_HASHES);
    this.#counting = checkOneOf('counting', given.counting, COUNTINGS);
    this.#keywords =
      keywords === undefined
        ? Number.POSITIVE_INFINITY
        : checkInteger('keywords', keywords, 1, Number.MAX_SAFE_INTEGER);
    const { bits, seed, projection, kernel } = given;
    this.hasher = new SimHasher({
      ...{ bits, seed, projection: checkOneOf('projection', projection, PROJECTIONS) },
      zero: checkOneOf<'error' | 'null'>('empty', given.empty, ['error', 'null']),
      ...(kernel !== undefined && { kernel }),
    });
    if (frequencies !== undefined) {
      if (!(frequencies instanceof FrequencyTable)) {
        throw wrongType('frequencies', 'a FrequencyTable', frequencies);
      }
      frequencies.checkOrigin({ tokens: this.tokensName, hash: this.hashName });
    }
    this.#frequencies = frequencies ?? null;
    this.#vocabulary = new Vocabulary(this.hashName, new Set(stopWords));
  }

  get bits(): number {
    return this.hasher.bits;
  }

  /** Counts in how many texts each word occurs: in one pass, in a memory that only words fill. */
  fit(texts: Iterable<string>): FrequencyTable {
    refuseOneText(texts);
    const table = new FrequencyTable({ tokens: this.tokensName, hash: this.hashName });
    for (const text of texts) {
      const found = this.#read(text);
      table.addDocument(found, this.#vocabulary);
    }
    return table;
  }

  /** The weights of a text's words, each at the dimension of its hash, ascending. */
  vectorize(text: string): SparseVector {
    const numbers = this.#weighed(text);
    const halves = new Uint32Array(2 * numbers.length);
    const values = new Float64Array(numbers.length);
    this.#write(numbers, { halves, values }, 0);
    return { indices: new BigUint64Array(halves.buffer), values };
  }

  /** The code of a text. */
  hash(text: string): Uint8Array {
    return this.hasher.hash(this.vectorize(text));
  }

  /** The codes of texts in their order, some at a time, so that there may be any number. */
  hashAll(texts: Iterable<string>): Generator<Codes, void, void> {
    refuseOneText(texts);
    return this.#hashing(texts);
  }

  *#hashing(texts: Iterable<string>): Generator<Codes, void, void> {
    const batch = new TextBatch();
    for (const text of texts) {
      const numbers = this.#weighed(text);
      const from = batch.append(numbers.length);
      this.#write(numbers, batch, from);
      if (batch.isFull) yield this.hasher.hashAll(batch.taken());
    }
    if (batch.count > 0) yield this.hasher.hashAll(batch.taken());
  }

  /** The heaviest words of a text, heaviest first. */
  keywords(text: string, count = Number.POSITIVE_INFINITY): WeightedWord[] {
    return Array.from(this.#weighed(text), (number) => {
      return { word: this.#vocabulary.wordOf(number), weight: this.#weightOf(number) };
    })
      .sort((a, b) => b.weight - a.weight || (a.word < b.word ? -1 : 1))
      .slice(0, count);
  }

  /** The numbers of the text's words, in the order in which they come. */
  #read(text: string): Uint32Array {
    if (typeof text !== 'string') throw wrongType('text', 'a string', text);
    const vocabulary = this.#vocabulary;
    vocabulary.begin();
    if (this.#tokens === words) readWords(text, vocabulary);
    else for (const token of this.#tokens(text)) vocabulary.count(checkToken(token));
    return vocabulary.found.subarray(0, vocabulary.foundCount);
  }

  /** The numbers of the words that stay, by rising hash. */
  #weighed(text: string): Uint32Array {
    const version = this.#frequencies?.version ?? 0;
    if (version !== this.#version) this.#vocabulary.resetWeights();
    this.#version = version;
    const order = this.#order.of(this.#vocabulary, this.#read(text));
    if (order.length <= this.#keywords) return order;
    const places = Array.from(order.keys());
    const weights = Float64Array.from(order, (number) => this.#weightOf(number));
    places.sort((a, b) => weights[b] - weights[a] || a - b);
    places.length = this.#keywords;
    return Uint32Array.from(
      places.sort((a, b) => a - b),
      (place) => order[place],
    );
  }

  /** Writes the hashes of words, in halves, and their weights. */
  #write(
    numbers: Uint32Array,
    { halves, values }: { halves: Uint32Array; values: Float64Array },
    from: number,
  ): void {
    const { lows, highs } = this.#vocabulary;
    for (let i = 0, to = from; i < numbers.length; i++, to++) {
      const number = numbers[i];
      halves[2 * to] = lows[number];
      halves[2 * to + 1] = highs[number];
      values[to] = this.#weightOf(number);
    }
  }

  #weightOf(number: number): number {
    const { weights, counts } = this.#vocabulary;
    let weight = weights[number];
    if (Number.isNaN(weight)) {
      weight = this.#inverseFrequency(number);
      weights[number] = weight;
    }
    const count = counts[number];
    if (this.#counting === 'binary') return weight;
    return (this.#counting === 'raw' ? count : 1 + logOf(count)) * weight;
  }

  /** ln((1 + documents) / (1 + documents with the word)) + 1: words never seen count as such. */
  #inverseFrequency(number: number): number {
    const table = this.#frequencies;
    if (table === null) return 1;
    const { lows, highs } = this.#vocabulary;
    const count = table.countOf(lows[number], highs[number]);
    return logOf((1 + table.documents) / (1 + count)) + 1;
  }
}

function checkToken(token: unknown): string {
  if (typeof token === 'string') return token;
  throw new TypeError(`"tokens" gave a ${typeof token}, not a string`);
}

/** A string is iterable too, but by its characters. */
function refuseOneText(texts: unknown): void {
  if (typeof texts === 'string') throw wrongType('texts', 'texts, as in an array', texts);
}
