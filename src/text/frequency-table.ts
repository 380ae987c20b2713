/**
 * Counts in how many documents each word occurs, for inverse document frequencies. A word is stored
 * as its 64-bit hash only, in entries of 12 bytes of a hash table that is 3/4 full or more. Tables
 * of parts of a corpus can be merged. A table records by which tokens and which hash it was made,
 * and cannot be used with others.
 */

import { checkInteger, checkOptions, wrongType, wrongValue } from '../base/check';
import { hashOfPair, newSecret } from '../base/secret';

/** Entries of an empty table, factor of growth, and largest share in use: memory before speed. */
const FIRST_ENTRIES = 1024;
const GROWTH = 1.2;
const MAX_FULL = 0.9;
/** Constants in place of a secret, since digests are compared across runs; any would do. */
const DIGEST_SECRET = /* @__PURE__ */ new Uint32Array([0x9e37_79b1, 0x85eb_ca77, 0xc2b2_ae3d]);

export interface TableOrigin {
  /** Names of the tokens and of the hash. */
  readonly tokens: string;
  readonly hash: string;
}

/** The content of a table: one hash and one count for each word. */
export interface FrequencyEntries extends TableOrigin {
  /** Documents that were counted. */
  readonly documents: number;
  /** Hashes of the words. */
  readonly dimensions: BigUint64Array;
  /** Documents with each word. */
  readonly counts: Uint32Array;
}

/**
 * The number of documents with each word: `TextHasher.fit` counts them, and the option
 * `frequencies` weights words by them.
 *
 * @example
 * const frequencies = new TextHasher().fit(['green tea', 'black tea', 'white tea']);
 * const hasher = new TextHasher({ frequencies });
 * console.log(frequencies.documents, hasher.keywords('green tea', 1)[0]?.word); // 3 green
 */
export class FrequencyTable {
  /** Name of the tokens that were counted. */
  readonly tokens: string;
  /** Name of the hash of the words. */
  readonly hash: string;
  #documents = 0;
  #size = 0;
  #version = 0;
  /** Anyone can compute the hashes of words, and choose words whose hashes collide in a table. */
  readonly #secret = newSecret();
  #lows = new Uint32Array(FIRST_ENTRIES);
  #highs = new Uint32Array(FIRST_ENTRIES);
  /** 0 where an entry is free. */
  #counts = new Uint32Array(FIRST_ENTRIES);

  constructor(origin: TableOrigin) {
    const { tokens, hash } = checkOptions('origin', origin, ['tokens', 'hash']);
    if (typeof tokens !== 'string') throw wrongType('tokens', 'a string', tokens);
    if (typeof hash !== 'string') throw wrongType('hash', 'a string', hash);
    this.tokens = tokens;
    this.hash = hash;
  }

  /** Documents that were counted. */
  get documents(): number {
    return this.#documents;
  }

  /** Number of distinct words. */
  get size(): number {
    return this.#size;
  }

  /**
   * A number that changes with every word that is counted, so that cached weights can be checked.
   * @internal
   */
  get version(): number {
    return this.#version;
  }

  /** Memory of the table in bytes. */
  get bytes(): number {
    return 12 * this.#counts.length;
  }

  /**
   * Counts a document by the numbers of its distinct words; word n has the hash of halves
   * `lows[n]` and `highs[n]`.
   * @internal
   */
  addDocument(numbers: Uint32Array, words: { lows: Uint32Array; highs: Uint32Array }): void {
    this.#documents++;
    this.#version++;
    const { lows, highs } = words;
    for (const number of numbers) this.#add(lows[number], highs[number], 1);
  }

  /**
   * Documents with the word of a hash; 0 for an unknown word.
   * @internal
   */
  countOf(low: number, high: number): number {
    return this.#counts[this.#placeOf(low, high)];
  }

  /** Adds the counts of a table of other documents, made by the same tokens and hash. */
  merge(other: FrequencyTable): void {
    if (!(other instanceof FrequencyTable)) throw wrongType('other', 'a FrequencyTable', other);
    if (other === this) throw wrongValue('other', 'a table of other documents', 'the table itself');
    this.checkOrigin(other);
    this.#reserve(this.#size + other.#size);
    this.#documents += other.#documents;
    for (let i = 0; i < other.#counts.length; i++) {
      if (other.#counts[i] > 0) this.#add(other.#lows[i], other.#highs[i], other.#counts[i]);
    }
  }

  /**
   * Throws unless this table was made by these tokens and this hash.
   * @internal
   */
  checkOrigin({ tokens, hash }: TableOrigin): void {
    for (const [name, own, given] of [
      ['tokens', this.tokens, tokens],
      ['hash', this.hash, hash],
    ]) {
      if (own === given) continue;
      throw new Error(`the frequency table was made with ${name} '${own}', not '${given}'`);
    }
  }

  /**
   * A checksum of the words and their counts, 8 hexadecimal digits, independent of their order.
   * @internal
   */
  digest(): string {
    let sum = 0;
    for (let i = 0; i < this.#counts.length; i++) {
      if (this.#counts[i] === 0) continue;
      const word = hashOfPair(this.#lows[i], this.#highs[i], DIGEST_SECRET);
      sum = (sum + hashOfPair(word, this.#counts[i], DIGEST_SECRET)) | 0;
    }
    return (sum >>> 0).toString(16).padStart(8, '0');
  }

  /**
   * A copy of the content for files and other threads, in ascending order of hash.
   * @internal
   */
  entries(): FrequencyEntries {
    const order = [...this.#counts.keys()].filter((i) => this.#counts[i] > 0);
    order.sort((a, b) => this.#highs[a] - this.#highs[b] || this.#lows[a] - this.#lows[b]);
    const halves = new Uint32Array(2 * order.length);
    order.forEach((i, to) => {
      halves[2 * to] = this.#lows[i];
      halves[2 * to + 1] = this.#highs[i];
    });
    const { tokens, hash, documents } = this;
    return {
      ...{ tokens, hash, documents },
      dimensions: new BigUint64Array(halves.buffer),
      counts: Uint32Array.from(order, (i) => this.#counts[i]),
    };
  }

  /**
   * A table with this content. Throws a RangeError for a count that is 0 or above `documents`.
   * @internal
   */
  static of(entries: FrequencyEntries): FrequencyTable {
    const { tokens, hash, documents, dimensions, counts } = entries;
    const table = new FrequencyTable({ tokens, hash });
    table.#documents = documents;
    table.#reserve(counts.length);
    for (let i = 0; i < counts.length; i++) {
      checkInteger(`counts[${i}]`, counts[i], 1, Math.min(documents, 0xffff_ffff));
      const low = Number(dimensions[i] & 0xffff_ffffn);
      table.#add(low, Number(dimensions[i] >> 32n), counts[i]);
    }
    return table;
  }

  #add(low: number, high: number, count: number): void {
    this.#version++;
    if (this.#size >= MAX_FULL * this.#counts.length) {
      this.#rebuild(Math.ceil(GROWTH * this.#counts.length));
    }
    const at = this.#placeOf(low, high);
    if (this.#counts[at] === 0) {
      this.#size++;
      this.#lows[at] = low;
      this.#highs[at] = high;
    }
    this.#counts[at] += count;
  }

  /** The entry of a hash, or the free entry where it would be. Linear probing. */
  #placeOf(low: number, high: number): number {
    const { length } = this.#counts;
    const hash = hashOfPair(low, high, this.#secret) >>> 0;
    let at = Math.floor((hash / 2 ** 32) * length); // the length is not a power of two
    while (this.#counts[at] > 0 && (this.#lows[at] !== low || this.#highs[at] !== high)) {
      at = at + 1 === length ? 0 : at + 1;
    }
    return at;
  }

  /** Makes room for `size` words in all, so that adding them does not rebuild the table. */
  #reserve(size: number): void {
    const room = Math.ceil(size / MAX_FULL) + 1;
    if (room > this.#counts.length) this.#rebuild(room);
  }

  /** Moves all words to a table of `room` entries. */
  #rebuild(room: number): void {
    const [lows, highs, counts] = [this.#lows, this.#highs, this.#counts];
    this.#lows = new Uint32Array(room);
    this.#highs = new Uint32Array(room);
    this.#counts = new Uint32Array(room);
    for (let i = 0; i < counts.length; i++) {
      if (counts[i] === 0) continue;
      const at = this.#placeOf(lows[i], highs[i]);
      this.#lows[at] = lows[i];
      this.#highs[at] = highs[i];
      this.#counts[at] = counts[i];
    }
  }
}
