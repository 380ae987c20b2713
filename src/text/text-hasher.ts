/**
 * Texts to codes, the classic way: split, drop stop words, weigh, keep the heaviest words if asked
 * to, hash, add up, take signs. Words are dimensions by their 64-bit hash, so that texts, TF-IDF
 * rows and embeddings meet in the same index.
 */

import { checkInteger, checkOneOf, checkOptions, wrongType } from '../check';
import type { Codes } from '../codes/codes';
import type { SparseVector } from '../codes/vectors';
import { type Projection, SimHasher } from '../hashing/simhash';
import type { KernelName } from '../kernels/kernels';
import { FrequencyTable } from './frequency-table';
import { logOf } from './log';
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
  /** Of the frequencies, when weights were last made. */
  #version = 0;

  constructor(options?: TextHasherOptions) {
    const given = { ...TEXT_HASHER_DEFAULTS, ...checkOptions('options', options, OPTIONS) };
    const { tokens = words, frequencies, keywords, stopWords = [] } = given;
    if (typeof tokens !== 'function') {
      throw wrongType('tokens', 'a function from text to strings', tokens);
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
    const table = new FrequencyTable({ tokens: this.tokensName, hash: this.hashName });
    const [lows, highs]: [number[], number[]] = [[], []];
    const vocabulary = this.#vocabulary;
    for (const text of texts) {
      this.#read(text);
      lows.length = highs.length = 0;
      for (const number of vocabulary.found) {
        lows.push(vocabulary.lows[number]);
        highs.push(vocabulary.highs[number]);
      }
      table.addDocument(lows, highs, lows.length);
    }
    return table;
  }

  /** The weights of a text's words, each at the dimension of its hash, ascending. */
  vectorize(text: string): SparseVector {
    this.#read(text);
    const numbers = this.#weighed();
    const { lows, highs } = this.#vocabulary;
    const halves = new Uint32Array(2 * numbers.length);
    const values = new Float64Array(numbers.length);
    numbers.forEach((number, i) => {
      halves[2 * i] = lows[number];
      halves[2 * i + 1] = highs[number];
      values[i] = this.#weightOf(number);
    });
    return { indices: new BigUint64Array(halves.buffer), values };
  }

  /** The code of a text. */
  hash(text: string): Uint8Array {
    return this.hasher.hash(this.vectorize(text));
  }

  /** The codes of texts in their order, some at a time, so that there may be any number. */
  *hashAll(texts: Iterable<string>): Generator<Codes, void, void> {
    const batch = new TextBatch();
    for (const text of texts) {
      batch.add(this.vectorize(text));
      if (batch.isFull) yield this.hasher.hashAll(batch.taken());
    }
    if (batch.count > 0) yield this.hasher.hashAll(batch.taken());
  }

  /** The heaviest words of a text, heaviest first. */
  keywords(text: string, count = Number.POSITIVE_INFINITY): WeightedWord[] {
    this.#read(text);
    return this.#weighed()
      .map((number) => ({ word: this.#vocabulary.wordOf(number), weight: this.#weightOf(number) }))
      .sort((a, b) => b.weight - a.weight || (a.word < b.word ? -1 : 1))
      .slice(0, count);
  }

  #read(text: string): void {
    if (typeof text !== 'string') throw wrongType('text', 'a string', text);
    const version = this.#frequencies?.version ?? 0;
    if (version !== this.#version) this.#vocabulary.resetWeights();
    this.#version = version;
    this.#vocabulary.read(this.#tokens(text));
  }

  /** The numbers of the words that stay, by rising hash. */
  #weighed(): number[] {
    const { found, orders, lows } = this.#vocabulary;
    const byHash = (a: number, b: number) => orders[a] - orders[b] || lows[a] - lows[b];
    if (found.length <= this.#keywords) return sortedBy(found, orders) ?? [...found].sort(byHash);
    const byWeight = (a: number, b: number) => this.#weightOf(b) - this.#weightOf(a);
    const heaviest = [...found].sort((a, b) => byWeight(a, b) || byHash(a, b));
    heaviest.length = this.#keywords;
    return heaviest.sort(byHash);
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

/** Numbers by their orders, which engines sort fastest by themselves; null where two are equal. */
function sortedBy(numbers: readonly number[], orders: Float64Array): number[] | null {
  const sorted = Float64Array.from(numbers, (number) => orders[number]).sort();
  const places = new Map<number, number>();
  for (const number of numbers) places.set(orders[number], number);
  if (places.size < numbers.length) return null;
  return Array.from(sorted, (order) => places.get(order) as number);
}
