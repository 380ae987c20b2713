/**
 * Counts in how many documents each word occurs, for inverse document frequencies. A word is stored
 * as its 64-bit hash only. Tables of parts of a corpus can be merged. A table records by which
 * tokens it was made, and cannot be used with others.
 */

import { checkInteger, checkText, wrongType, wrongValue } from '../base/check';
import { HashCounts, hashOfPair } from '../base/hash-tables';

/** Constants in place of a secret, since digests are compared across runs; any would do. */
const DIGEST_SECRET = /* @__PURE__ */ new Uint32Array([0x9e37_79b1, 0x85eb_ca77, 0xc2b2_ae3d]);

/** The content of a table: one hash and one count for each word. */
export interface FrequencyEntries {
  /** Name of the tokens. */
  readonly tokens: string;
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
  #documents = 0;
  readonly #counts = new HashCounts();

  constructor(tokens: string) {
    this.tokens = checkText('tokens', tokens);
  }

  /** Documents that were counted. */
  get documents(): number {
    return this.#documents;
  }

  /** Number of distinct words. */
  get size(): number {
    return this.#counts.size;
  }

  /** Memory of the table. @internal */
  get bytes(): number {
    return this.#counts.bytes;
  }

  /** Counts a document by the halves of the hashes of its distinct words. @internal */
  addDocument(words: Uint32Array): void {
    this.#documents++;
    this.#counts.addAll(words);
  }

  /**
   * Documents with the word of a hash; 0 for an unknown word.
   * @internal
   */
  countOf(low: number, high: number): number {
    return this.#counts.countOf(low, high);
  }

  /** Adds the counts of other documents. Tokens must be the same. */
  merge(other: FrequencyTable): void {
    if (!(other instanceof FrequencyTable)) throw wrongType('other', 'a FrequencyTable', other);
    if (other === this) throw wrongValue('other', 'a table of other documents', 'the table itself');
    this.checkOrigin(other.tokens);
    this.#counts.reserve(this.size + other.size);
    this.#documents += other.#documents;
    other.#counts.each((low, high, count) => this.#counts.add(low, high, count));
  }

  /**
   * Throws unless this table was made by these tokens.
   * @internal
   */
  checkOrigin(tokens: string): void {
    if (this.tokens === tokens) return;
    throw new Error(`the frequency table was made with tokens '${this.tokens}', not '${tokens}'`);
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
    const { tokens, documents } = this;
    const halves = new Uint32Array(2 * this.size);
    let at = 0;
    this.#counts.each((low, high) => {
      halves[at++] = low;
      halves[at++] = high;
    });
    const dimensions = new BigUint64Array(halves.buffer).sort();
    const counts = Uint32Array.from({ length: this.size }, (_, i) =>
      this.#counts.countOf(halves[2 * i], halves[2 * i + 1]),
    );
    return { tokens, documents, dimensions, counts };
  }

  /**
   * A table with this content. Throws a RangeError for a count that is 0 or above `documents`.
   * @internal
   */
  static of(entries: FrequencyEntries): FrequencyTable {
    const { tokens, documents, dimensions, counts } = entries;
    const table = new FrequencyTable(tokens);
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
