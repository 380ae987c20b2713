/**
 * Words that were seen before, by number, with the halves of their hash: words follow Zipf's law,
 * and most need no hashing. Bounded: when it is full it begins anew, between two texts.
 */

import { hashWord, type WordHash } from './word-hash';

const MOST_WORDS = 2 ** 18;

export class Vocabulary {
  readonly #hash: WordHash;
  readonly #stopWords: ReadonlySet<string>;
  #numbers = new Map<string, number>();
  /** By number. */
  lows = new Uint32Array(1024);
  highs = new Uint32Array(1024);
  /** The hash as a number that sorts as it does, but for its last bits. */
  orders = new Float64Array(1024);
  /** How often it is in the text at hand. */
  counts = new Uint32Array(1024);
  /** What a caller holds of each word; NaN until it is set. */
  weights = new Float64Array(1024).fill(Number.NaN);
  #words: string[] = [];
  /** The numbers of the words of the text at hand, in the order in which they came. */
  found: number[] = [];

  constructor(hash: WordHash, stopWords: ReadonlySet<string>) {
    this.#hash = hash;
    this.#stopWords = stopWords;
  }

  /** Counts the tokens of a text; those of the text before are forgotten. */
  read(tokens: Iterable<string>): void {
    for (const number of this.found) this.counts[number] = 0;
    this.found = [];
    if (this.#words.length >= MOST_WORDS) this.#forget();
    for (const token of tokens) {
      const number = this.#numbers.get(token) ?? this.#learn(token);
      if (number < 0) continue;
      if (this.counts[number]++ === 0) this.found.push(number);
    }
  }

  wordOf(number: number): string {
    return this.#words[number];
  }

  /** Makes weights be asked for anew. */
  resetWeights(): void {
    this.weights.fill(Number.NaN);
  }

  #learn(word: string): number {
    if (this.#stopWords.has(word)) {
      this.#numbers.set(word, -1);
      return -1;
    }
    const number = this.#words.length;
    if (number === this.lows.length) this.#grow();
    const hash = hashWord(word, this.#hash);
    const own = word.length < 13 ? word : word.split('').join(''); // engines keep the whole text
    this.#words.push(own);
    this.#numbers.set(own, number);
    this.lows[number] = Number(hash & 0xffff_ffffn);
    this.highs[number] = Number(hash >> 32n);
    this.orders[number] = Number(hash);
    return number;
  }

  #grow(): void {
    const room = 2 * this.lows.length;
    const grow = <T extends Uint32Array | Float64Array>(from: T): T => {
      const grown = new (from.constructor as Float64ArrayConstructor)(room);
      grown.set(from);
      return grown as T;
    };
    this.lows = grow(this.lows);
    this.highs = grow(this.highs);
    this.orders = grow(this.orders);
    this.counts = grow(this.counts);
    const weights = new Float64Array(room).fill(Number.NaN);
    weights.set(this.weights);
    this.weights = weights;
  }

  #forget(): void {
    this.#numbers = new Map();
    this.#words = [];
    this.resetWeights();
  }
}
