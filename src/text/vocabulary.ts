/**
 * The words that occurred before, each with a number (its index in the arrays here) and the halves
 * of its 64-bit hash. Words follow Zipf's law, so most words of a text are known and need not be
 * hashed; they are found by their code units, without making a string.
 *
 * UTF-16 code units become the letters of words by a table that is filled as they occur, since most
 * become one letter whatever their neighbours are. Stretches with other code units, called odd, are
 * left to the slower `words`: marks and characters that compose with them (NFKC), surrogates, the
 * Greek sigma (whose lower case depends on what follows), and what becomes several letters.
 */

import { grown } from '../base/arrays';
import { newSecret } from '../base/hash-tables';
import { DENSE } from '../kernels/words';
import { DENSE_LETTER, LETTER, normal, words } from './tokens';

/** A vocabulary with this many words, or code units of all its words, is full. */
const MAX_WORDS = 2 ** 18;
const MAX_UNITS = 2 ** 22;
/** Code units per call of String.fromCharCode, whose arguments engines limit. */
const PIECE = 4096;

/** The key of a word with one more code unit, from the key of the word without it. */
function nextKey(key: number, unit: number, multiplier: number): number {
  return Math.imul(key ^ unit, multiplier);
}

/** The index in `#places` where the search for a key begins, before it is masked; even. */
function placeOf(key: number): number {
  return (key ^ (key >>> 15)) << 1;
}

/**
 * Writes the hashes of words to `hashes`, their halves, low before high. Word i has the code units
 * `starts[i]` to `starts[i + 1] - 1`.
 */
export type HashWords = (units: Uint16Array, starts: Uint32Array, hashes: Uint32Array) => void;

/** Callers read the arrays, of which each new word may replace some. */
export class Vocabulary {
  readonly #hash: HashWords;
  readonly #stopWords: ReadonlySet<string>;
  #size = 0;
  /** Words that are hashed: the first ones. */
  #hashed = 0;
  /** The halves of each word's hash, by word number, once `hashNew` was called. */
  lows = new Uint32Array(1024);
  highs = new Uint32Array(1024);
  /** Occurrences in the current text by word number; meaningless for stop words. */
  counts = new Uint32Array(1024);
  /** A value that the caller caches per word; NaN until it is set. */
  weights = new Float64Array(1024).fill(Number.NaN);
  /** Its first `foundCount` entries are the distinct words of the current text, as they came. */
  found = new Uint32Array(1024);
  foundCount = 0;
  /** The code units of the word to count; a reader may replace it by a longer array. */
  spelled = new Uint16Array(256);
  /** Word n has the code units from `#starts[n]` to `#starts[n + 1]`. */
  #starts = new Uint32Array(1025);
  #units = new Uint16Array(2 ** 14);
  /**
   * The key of a word is a hash of its code units in the manner of FNV-1a, with a secret start
   * value and a secret multiplier.
   */
  readonly keyStart: number;
  readonly keyMultiplier: number;
  /** A hash table of pairs (key, word number + 1, or 0 where free), at most half full. */
  #places = new Int32Array(2 * 2048);

  /** `hash` is called with new words, many at once. */
  constructor(hash: HashWords, stopWords: ReadonlySet<string>) {
    this.#hash = hash;
    const [start, multiplier] = newSecret();
    this.keyStart = start | 0;
    this.keyMultiplier = multiplier | 1;
    this.#stopWords = stopWords;
  }

  /** True of one that is left for an empty one before the next text, so that memory is bounded. */
  get isFull(): boolean {
    return this.#size >= MAX_WORDS || this.#starts[this.#size] >= MAX_UNITS;
  }

  /** An empty one for the same words. */
  emptied(): Vocabulary {
    return new Vocabulary(this.#hash, this.#stopWords);
  }

  /** Begins a text: sets all counts to 0. */
  begin(): void {
    const { counts, found, foundCount } = this;
    for (let i = 0; i < foundCount; i++) counts[found[i]] = 0;
    this.foundCount = 0;
  }

  /** Counts an occurrence of a word. Throws a TypeError if it is no string. */
  count(word: string): void {
    if (typeof word !== 'string') {
      throw new TypeError(`"tokens" gave a ${typeof word}, not a string`);
    }
    const { length } = word;
    while (length > this.spelled.length) this.spelled = grown(this.spelled);
    let key = this.keyStart;
    for (let i = 0; i < length; i++) {
      this.spelled[i] = word.charCodeAt(i);
      key = nextKey(key, this.spelled[i], this.keyMultiplier);
    }
    this.countSpelled(length, key);
  }

  /** Counts the word in the first `length` entries of `spelled`, whose key must be `key`. */
  countSpelled(length: number, key: number): void {
    const number = this.#numberOf(length, key);
    if (this.counts[number]++ > 0) return;
    if (this.#stopWords.size > 0 && this.#stopWords.has(this.wordOf(number))) return;
    if (this.foundCount === this.found.length) this.found = grown(this.found);
    this.found[this.foundCount++] = number;
  }

  /** Hashes the words that came since the last call. */
  hashNew(): void {
    const first = this.#hashed;
    const count = this.#size - first;
    if (count === 0) return;
    this.#hashed = this.#size;
    const hashes = new Uint32Array(2 * count);
    this.#hash(this.#units, this.#starts.subarray(first, this.#size + 1), hashes);
    for (let i = 0; i < count; i++) {
      this.lows[first + i] = hashes[2 * i];
      this.highs[first + i] = hashes[2 * i + 1];
    }
  }

  /** The word of a number, as a string. */
  wordOf(number: number): string {
    const [from, to] = [this.#starts[number], this.#starts[number + 1]];
    let word = '';
    for (let at = from; at < to; at += PIECE) {
      word += String.fromCharCode(...this.#units.subarray(at, Math.min(to, at + PIECE)));
    }
    return word;
  }

  /** Clears the cached weights. */
  resetWeights(): void {
    this.weights.fill(Number.NaN);
  }

  /** The number of the word in `spelled`, which is added if it is unknown. Linear probing. */
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

  /** Adds the word in `spelled`, and returns its number. */
  #learn(length: number): number {
    const number = this.#size++;
    const from = this.#starts[number];
    const to = from + length;
    this.#starts[number + 1] = to;
    while (to > this.#units.length) this.#units = grown(this.#units);
    for (let i = 0; i < length; i++) this.#units[from + i] = this.spelled[i];
    if (this.#size === this.lows.length) this.#grow();
    return number;
  }

  /** Doubles the arrays by word number, and the hash table. */
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
}

/** Moves for each word above which hashes are not spread evenly, so that a sort is faster. */
const MAX_MOVES = 8;

/**
 * Puts words in ascending order of their hash, in which they are summed. Hashes are spread evenly,
 * so a counting sort by their upper bits puts each word near its position, and an insertion sort
 * moves it there: linear time. Hashes that are not spread evenly are sorted by comparison.
 */
export class HashOrder {
  #order = new Uint32Array(256);
  #ends = new Uint32Array(256);

  /** The word numbers in order: a view that the next call overwrites. */
  of({ lows, highs }: Vocabulary, numbers: Uint32Array): Uint32Array {
    const count = numbers.length;
    if (count > this.#order.length) {
      this.#order = new Uint32Array(2 * count);
      this.#ends = new Uint32Array(2 * count);
    }
    const ends = this.#ends.fill(0, 0, count);
    const scale = count / 2 ** 32;
    for (let i = 0; i < count; i++) ends[(highs[numbers[i]] * scale) | 0]++;
    for (let i = 1; i < count; i++) ends[i] += ends[i - 1];
    const order = this.#order.subarray(0, count);
    for (let i = 0; i < count; i++) order[--ends[(highs[numbers[i]] * scale) | 0]] = numbers[i];
    const isBefore = (a: number, b: number) =>
      highs[a] < highs[b] || (highs[a] === highs[b] && lows[a] < lows[b]);
    let moves = 0;
    for (let i = 1; i < count; i++) {
      const number = order[i];
      let at = i;
      for (; at > 0 && isBefore(number, order[at - 1]); at--) order[at] = order[at - 1];
      order[at] = number;
      moves += i - at;
      if (moves > MAX_MOVES * count) {
        return order.sort((a, b) => highs[a] - highs[b] || lows[a] - lows[b]);
      }
    }
    return order;
  }
}

/** Counts the words of a text, split as `words` does it, in their order. */
export function readWords(text: string, vocabulary: Vocabulary): void {
  eachStretch(
    text,
    (from, end) => readPlain(text, from, end, vocabulary),
    (word) => vocabulary.count(word),
  );
}

/** Counts the words of a stretch without odd code units, whose kinds are all in the table. */
function readPlain(text: string, from: number, end: number, vocabulary: Vocabulary): void {
  const kinds = kindTable();
  const { keyStart, keyMultiplier } = vocabulary;
  const kindAt = (at: number) => (at < end ? kinds[text.charCodeAt(at)] : APART);
  let { spelled } = vocabulary;
  for (let at = from; at < end; ) {
    let kind = kindAt(at);
    if (kind >= DENSE) {
      at = readPairs(at);
      continue;
    }
    let key = keyStart;
    let length = 0;
    for (; kind !== APART && kind < DENSE; kind = kindAt(++at)) {
      if (length === spelled.length) spelled = vocabulary.spelled = grown(spelled);
      spelled[length++] = kind;
      key = nextKey(key, kind, keyMultiplier);
    }
    if (length > 0) vocabulary.countSpelled(length, key);
    else at++;
  }

  /** Counts the pairs of a run of a dense script, or its only letter; returns the run's end. */
  function readPairs(start: number): number {
    let at = start;
    let before = kindAt(at) & LETTER_BITS;
    for (let kind = kindAt(++at); kind >= DENSE; kind = kindAt(++at)) {
      spelled[0] = before;
      spelled[1] = kind;
      const key = nextKey(keyStart, before, keyMultiplier);
      before = kind & LETTER_BITS;
      vocabulary.countSpelled(2, nextKey(key, before, keyMultiplier));
    }
    if (at === start + 1) {
      spelled[0] = before;
      vocabulary.countSpelled(1, nextKey(keyStart, before, keyMultiplier));
    }
    return at;
  }
}

/** The kind of a code unit: its letter in lower case, `DENSE` + its letter, `APART` or `ODD`. */
export const APART = 0; // separates words
export { DENSE }; // of a script written without spaces

/** The bits of a kind that are its letter. */
const LETTER_BITS = 0xffff;
const ODD = 0x2_0000;
const UNKNOWN = 0x4_0000;

let table: Uint32Array | undefined;

/** The kind of each code unit, `UNKNOWN` before it occurs. 256 KiB, made by the first text. */
export function kindTable(): Uint32Array {
  table ??= new Uint32Array(0x1_0000).fill(UNKNOWN);
  return table;
}

/**
 * Characters at which a text may be cut without changing its words: separators that neither compose
 * with a neighbour, as < does with a stroke, nor affect its case, as an apostrophe may.
 */
const CUTS = ' \t\n\r!"#$%&()*+,-/;?@[]{|}\u3000、。，！？';

const SIGMA = 'Σ';
/** Marks, surrogates, and the parts of Hangul syllables. */
const MAY_COMPOSE = /[\p{M}\p{Cs}\u1100-\u11ff]/u;

/**
 * Cuts a text between words into stretches, in order. Calls `readPlain` with the range of each
 * stretch without odd code units, and `readOdd` with each word of the others.
 */
export function eachStretch(
  text: string,
  readPlain: (from: number, end: number) => void,
  readOdd: (word: string) => void,
): void {
  for (let at = 0; at < text.length; ) {
    // The plain stretch ends at the last cut before the odd code unit, the odd one at the next.
    const odd = nextOdd(text, at);
    let end = odd;
    if (odd < text.length) while (end > at && !CUTS.includes(text[end - 1])) end--;
    if (end > at) readPlain(at, end);
    at = odd;
    while (at < text.length && !CUTS.includes(text[at])) at++;
    if (at === end) continue;
    for (const word of words(text.slice(end, at))) readOdd(word);
  }
}

/** Index of the first odd code unit from `from` on, or the text's length; fills in its kinds. */
export function nextOdd(text: string, from: number): number {
  const kinds = kindTable();
  for (let at = from; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (kinds[unit] < ODD) continue;
    if (kinds[unit] === UNKNOWN) kinds[unit] = kindOf(String.fromCharCode(unit));
    if (kinds[unit] === ODD) return at;
  }
  return text.length;
}

function kindOf(character: string): number {
  const composed = character.normalize('NFKC');
  if (MAY_COMPOSE.test(composed) || composed.includes(SIGMA)) return ODD;
  const plain = normal(character);
  if (!LETTER.test(plain)) return APART;
  if (plain.length > 1 || MAY_COMPOSE.test(plain)) return ODD;
  return plain.charCodeAt(0) | (DENSE_LETTER.test(plain) ? DENSE : 0);
}
