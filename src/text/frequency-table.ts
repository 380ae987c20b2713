/**
 * Counts in how many documents each word occurs, for inverse document frequencies. A word is stored
 * as its 64-bit hash only. Tables of parts of a corpus can be merged. A table records by which
 * tokens and which hash it was made, and cannot be used with others.
 */

import { checkInteger, checkOptions, checkText, wrongType, wrongValue } from '../base/check';
import { HashCounts } from '../base/hash-counts';
import { hashOfPair } from '../base/secret';

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
 * In how many documents each word is: `TextHasher.fit` counts, the option `frequencies` weights by
 * it.
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
  #version = 0;
  readonly #counts = new HashCounts();

  constructor(origin: TableOrigin) {
    const { tokens, hash } = checkOptions(origin, { tokens: checkText, hash: checkText }, 'origin');
    this.tokens = checkText('tokens', tokens);
    this.hash = checkText('hash', hash);
  }

  /** Documents that were counted. */
  get documents(): number {
    return this.#documents;
  }

  /** Number of distinct words. */
  get size(): number {
    return this.#counts.size;
  }

  /**
   * A number that changes with every counted document, so that cached weights can be checked.
   * @internal
   */
  get version(): number {
    return this.#version;
  }

  /** Memory of the table. @internal */
  get bytes(): number {
    return this.#counts.bytes;
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
    for (const number of numbers) this.#counts.add(lows[number], highs[number], 1);
  }

  /**
   * Documents with the word of a hash; 0 for an unknown word.
   * @internal
   */
  countOf(low: number, high: number): number {
    return this.#counts.countOf(low, high);
  }

  /** Adds the counts of other documents. Tokens and hash must be the same. */
  merge(other: FrequencyTable): void {
    if (!(other instanceof FrequencyTable)) throw wrongType('other', 'a FrequencyTable', other);
    if (other === this) throw wrongValue('other', 'a table of other documents', 'the table itself');
    this.checkOrigin(other);
    this.#counts.reserve(this.size + other.size);
    this.#documents += other.#documents;
    this.#version++; // documents without words change weights too
    other.#counts.each((low, high, count) => this.#counts.add(low, high, count));
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
    this.#counts.each((low, high, count) => {
      const word = hashOfPair(low, high, DIGEST_SECRET);
      sum = (sum + hashOfPair(word, count, DIGEST_SECRET)) | 0;
    });
    return (sum >>> 0).toString(16).padStart(8, '0');
  }

  /**
   * A copy of the content for files and other threads, in ascending order of hash.
   * @internal
   */
  entries(): FrequencyEntries {
    const halves = new Uint32Array(2 * this.size);
    let at = 0;
    this.#counts.each((low, high) => {
      halves[at++] = low;
      halves[at++] = high;
    });
    const dimensions = new BigUint64Array(halves.buffer).sort();
    const { tokens, hash, documents } = this;
    return {
      tokens,
      hash,
      documents,
      dimensions,
      counts: Uint32Array.from(dimensions, (_, i) =>
        this.countOf(halves[2 * i], halves[2 * i + 1]),
      ),
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
    table.#counts.reserve(counts.length);
    for (let i = 0; i < counts.length; i++) {
      checkInteger(`counts[${i}]`, counts[i], 1, Math.min(documents, 0xffff_ffff));
      const low = Number(dimensions[i] & 0xffff_ffffn);
      table.#counts.add(low, Number(dimensions[i] >> 32n), counts[i]);
    }
    return table;
  }
}
