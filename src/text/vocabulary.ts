/**
 * Words that were seen before, by number, with the halves of their hash: words follow Zipf's law,
 * and most need no hashing. They are known by their code units, so that no string is made of one
 * that is known. Bounded: when it is full it begins anew, between two texts.
 */

import { hashUnits, type WordHash } from './word-hash';

const MOST_WORDS = 2 ** 18;
/** Code units of all words together. */
const MOST_UNITS = 2 ** 22;
/** Code units that a string is made of at a time. */
const PIECE = 4096;

/** A word's key is made of its code units one by one (Fowler, Noll & Vo), from this on. */
export const KEY_START = 0x811c_9dc5 | 0;

export function nextKey(key: number, unit: number): number {
  return Math.imul(key ^ unit, 0x0100_0193);
}

/** Where a key may be looked for first: an even number, to be cut to the room there is. */
function placeOf(key: number): number {
  return (key ^ (key >>> 15)) << 1;
}

export class Vocabulary {
  readonly #hash: WordHash;
  readonly #stopWords: ReadonlySet<string>;
  #size = 0;
  /** By number: */
  lows = new Uint32Array(1024);
  highs = new Uint32Array(1024);
  /** How often it is in the text at hand; of a stop word anything. */
  counts = new Uint32Array(1024);
  /** What a caller holds of each word; NaN until it is set. */
  weights = new Float64Array(1024).fill(Number.NaN);
  /** The words of the text at hand, in the order in which they came: `foundCount` numbers. */
  found = new Uint32Array(1024);
  foundCount = 0;
  /** The code units of a word that is to be counted; a reader may replace it by a longer one. */
  spelled = new Uint16Array(256);
  /** Word n has the code units from `starts[n]` to `starts[n + 1]`. */
  #starts = new Uint32Array(1025);
  #units = new Uint16Array(2 ** 14);
  /** Key and number + 1, 0 where a place is free; at most half of them are taken. */
  #places = new Int32Array(2 * 2048);

  constructor(hash: WordHash, stopWords: ReadonlySet<string>) {
    this.#hash = hash;
    this.#stopWords = stopWords;
  }

  /** Forgets the counts of the text before. */
  begin(): void {
    const { counts, found, foundCount } = this;
    for (let i = 0; i < foundCount; i++) counts[found[i]] = 0;
    this.foundCount = 0;
    if (this.#size >= MOST_WORDS || this.#starts[this.#size] >= MOST_UNITS) this.#forget();
  }

  /** Counts a word. */
  count(word: string): void {
    const { length } = word;
    while (length > this.spelled.length) this.spelled = grown(this.spelled);
    let key = KEY_START;
    for (let i = 0; i < length; i++) {
      this.spelled[i] = word.charCodeAt(i);
      key = nextKey(key, this.spelled[i]);
    }
    this.countSpelled(length, key);
  }

  /** Counts the word of the code units in `spelled`, whose key `nextKey` made. */
  countSpelled(length: number, key: number): void {
    const number = this.#numberOf(length, key);
    if (this.counts[number]++ > 0) return;
    if (this.#stopWords.size > 0 && this.#stopWords.has(this.wordOf(number))) return;
    if (this.foundCount === this.found.length) this.found = grown(this.found);
    this.found[this.foundCount++] = number;
  }

  wordOf(number: number): string {
    const [from, to] = [this.#starts[number], this.#starts[number + 1]];
    let word = '';
    for (let at = from; at < to; at += PIECE) {
      word += String.fromCharCode(...this.#units.subarray(at, Math.min(to, at + PIECE)));
    }
    return word;
  }

  /** Makes weights be asked for anew. */
  resetWeights(): void {
    this.weights.fill(Number.NaN);
  }

  /** The number of the word that is spelled, a new one where it was never seen. */
  #numberOf(length: number, key: number): number {
    const { spelled } = this;
    const [units, starts, places] = [this.#units, this.#starts, this.#places];
    const last = places.length - 2;
    let place = placeOf(key) & last;
    for (; places[place + 1] > 0; place = (place + 2) & last) {
      if (places[place] !== key) continue;
      const number = places[place + 1] - 1;
      const from = starts[number];
      if (starts[number + 1] - from !== length) continue;
      let same = 0;
      while (same < length && units[from + same] === spelled[same]) same++;
      if (same === length) return number;
    }
    places[place] = key;
    places[place + 1] = this.#size + 1;
    return this.#learn(length);
  }

  #learn(length: number): number {
    const number = this.#size++;
    const from = this.#starts[number];
    const to = from + length;
    this.#starts[number + 1] = to;
    while (to > this.#units.length) this.#units = grown(this.#units);
    for (let i = 0; i < length; i++) this.#units[from + i] = this.spelled[i];
    const hash = hashUnits(this.#units.subarray(from, to), this.#hash);
    this.lows[number] = Number(hash & 0xffff_ffffn);
    this.highs[number] = Number(hash >> 32n);
    if (this.#size === this.lows.length) this.#grow();
    return number;
  }

  #grow(): void {
    this.lows = grown(this.lows);
    this.highs = grown(this.highs);
    this.counts = grown(this.counts);
    this.weights = grown(this.weights).fill(Number.NaN, this.#size);
    const starts = new Uint32Array(this.lows.length + 1);
    starts.set(this.#starts);
    this.#starts = starts;
    const places = this.#places;
    this.#places = new Int32Array(2 * places.length);
    const last = this.#places.length - 2;
    for (let from = 0; from < places.length; from += 2) {
      if (places[from + 1] === 0) continue;
      let place = placeOf(places[from]) & last;
      while (this.#places[place + 1] > 0) place = (place + 2) & last;
      this.#places[place] = places[from];
      this.#places[place + 1] = places[from + 1];
    }
  }

  #forget(): void {
    const empty = new Vocabulary(this.#hash, this.#stopWords);
    this.#size = 0;
    [this.lows, this.highs, this.counts] = [empty.lows, empty.highs, empty.counts];
    [this.weights, this.found, this.spelled] = [empty.weights, empty.found, empty.spelled];
    [this.#starts, this.#units, this.#places] = [empty.#starts, empty.#units, empty.#places];
  }
}

/** Twice the room. */
export function grown<T extends Uint16Array | Uint32Array | Float64Array>(from: T): T {
  const to = new (from.constructor as Uint32ArrayConstructor)(2 * from.length);
  to.set(from);
  return to as unknown as T;
}
