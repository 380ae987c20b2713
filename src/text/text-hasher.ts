/**
 * Turns texts into codes: splits them into tokens, weighs words (counts times inverse document
 * frequency), and hashes the sparse vector. A word is the dimension of its 64-bit
 * hash, so one index can have texts and other TF-IDF rows.
 *
 * Codes record how texts became vectors, since codes of texts that were read in another way have
 * the same form and are not comparable; frequencies, which may be many, by a checksum.
 */

import { bitmapOf, concatenated } from '../base/arrays';
import { checkInteger, checkOptions, wrongType } from '../base/check';
import { LONG_CALL, type LongCall, LongWork } from '../base/long-work';
import { type CodeOrigin, Codes } from '../codes/codes';
import type { Projection, RowCodes } from '../hashing/rows';
import { SimHasher } from '../hashing/simhash';
import type { Job, Task } from '../threads/job';
import { runJob } from '../threads/parallel';
import type { SparseMatrix, SparseVector } from '../vectors/vectors';
import { type FrequencyEntries, FrequencyTable } from './frequency-table';
import {
  type BandKeys,
  countsOf,
  hashTokens,
  type MemberCounts,
  type MinBands,
  NO_BANDS,
  type SetReader,
  setReaderOf,
} from './text-set';
import { type Splitter, splitterOf, type Tokens } from './tokens';

/** A word of a text, and its value in the text's vector. */
export interface WeightedWord {
  readonly word: string;
  readonly weight: number;
}

/** The value of a word that occurs n times: 'raw' n, 'log' 1 + ln n, 'binary' 1. */
export type Counting = 'raw' | 'log' | 'binary';

export interface TextHasherOptions {
  /** Width of a code, 1 to 65,535. */
  bits?: number;
  /** An integer from 0 to 2^64 - 1. */
  seed?: number | bigint;
  /**
   * 'direct': a word's hash is its pattern (at most 64 bits), as in most text simhashes. 'minwise':
   * codes of the set of words, whose distance estimates the Jaccard similarity.
   */
  projection?: Exclude<Projection, 'hadamard'>;
  /**
   * How a text is split: 'words', 'shingles:3', 'characters:4', or a function from text to
   * strings.
   */
  tokens?: Tokens;
  /** The value of n occurrences: n, 1 + ln n, or 1. */
  counting?: Counting;
  /** Weights words by inverse document frequency. The table may grow: weights follow it. */
  frequencies?: FrequencyTable;
  /** What a text without words becomes. */
  empty?: 'error' | 'null';
}

/** The options that a hasher uses where none are given. */
const TEXT_HASHER_DEFAULTS = {
  bits: 64,
  seed: 0,
  projection: 'signs',
  tokens: 'words',
  counting: 'raw',
  empty: 'error',
} as const;

/** What the options may be. */
const DECLARED = {
  bits: null,
  seed: null,
  projection: ['signs', 'gaussian', 'direct', 'minwise'],
  tokens: null,
  counting: ['raw', 'log', 'binary'],
  frequencies: null,
  empty: ['error', 'null'],
} as const;

/**
 * Turns texts into sparse vectors and codes. A word is the dimension of its hash, weighted by its
 * count and, with `frequencies`, by how rare it is.
 *
 * @example
 * const hasher = new TextHasher({ bits: 256, tokens: 'shingles:2' });
 * const codes = await hasher.hashAll(['a cup of green tea', 'a cup of black tea', 'rain again']);
 * console.log(codes.distance(0, 1), codes.distance(0, 2)); // 81 130
 */
export class TextHasher {
  /** Makes codes of the sparse vectors. @internal */
  readonly hasher: SimHasher;
  /** The name that frequency tables record for the tokens. */
  readonly tokensName: string;
  readonly #splitter: Splitter;
  readonly #counting: Counting;
  readonly #frequencies: FrequencyTable | null;
  /** Of which another thread makes an equal hasher; null if it cannot have the tokens. */
  readonly #options: TextState['options'] | null;
  /** Reads texts by their words; null where tokens are strings. */
  readonly #reader: SetReader | null;
  /** Inverse frequencies by the number of documents with a word, of so many documents. */
  readonly #inverse = new Map<number, number>();
  #documents = 0;

  constructor(options?: TextHasherOptions) {
    const given = { ...TEXT_HASHER_DEFAULTS, ...checkOptions(options, DECLARED) };
    const { frequencies, ...own } = given;
    const { bits, seed, projection, tokens, empty } = own;
    const splitter = splitterOf(tokens);
    this.#splitter = splitter;
    this.tokensName = splitter.kind;
    this.#counting = own.counting;
    this.hasher = new SimHasher({ bits, seed, projection, zero: empty });
    if (frequencies !== undefined) {
      if (!(frequencies instanceof FrequencyTable)) {
        throw wrongType('frequencies', 'a FrequencyTable', frequencies);
      }
      frequencies.checkOrigin(this.tokensName);
    }
    this.#frequencies = frequencies ?? null;
    this.#reader = setReaderOf(projection, splitter);
    this.#options = splitter.isData ? own : null;
  }

  /** Width of a code. */
  get bits(): number {
    return this.hasher.bits;
  }

  /**
   * How the codes are made. Its `texts`, such as `words, counts raw`, changes when the frequencies
   * change; where only sets count, it is without the weights.
   */
  get origin(): CodeOrigin {
    const { hasher, tokensName } = this;
    const frequencies = this.#frequencies;
    const isWeighed = hasher.projection !== 'minwise';
    const texts = [
      tokensName,
      isWeighed && `counts ${this.#counting}`,
      isWeighed &&
        frequencies !== null &&
        `frequencies of ${frequencies.documents} documents (${frequencies.digest()})`,
    ]
      .filter((part) => part !== false)
      .join(', ');
    return { ...(hasher.origin as CodeOrigin), texts };
  }

  /** Counts in how many texts each word occurs. Memory grows with the distinct words only. */
  fit(texts: Iterable<string>): FrequencyTable {
    const table = new FrequencyTable(this.tokensName);
    for (const text of checkTexts(texts)) table.addDocument(this.#countsIn(text).halves);
    return table;
  }

  /** The weight of each word, at the dimension of its hash. */
  vectorize(text: string): SparseVector {
    const { indices, values } = this.vectorsOf([text]);
    return { indices, values };
  }

  /** The vectors of texts as the rows of a matrix. @internal */
  vectorsOf(texts: readonly string[]): SparseMatrix {
    const rows = texts.map((text) => this.#countsIn(text));
    const offsets = new Uint32Array(texts.length + 1);
    for (const [row, { counts }] of rows.entries()) offsets[row + 1] = offsets[row] + counts.length;
    const halves = concatenated([new Uint32Array(), ...rows.map((row) => row.halves)]);
    const values = new Float64Array(offsets[texts.length]);
    let at = 0;
    for (const { counts } of rows) {
      for (const count of counts) {
        values[at] = this.#weightOf(count, halves[2 * at], halves[2 * at + 1]);
        at++;
      }
    }
    return { offsets, indices: new BigUint64Array(halves.buffer), values };
  }

  /** The dimensions of a text's tokens in the order of the text; some may repeat. */
  members(text: string): BigUint64Array {
    return this.#membersOf(text).slice();
  }

  /** The code of a text, a new array. Throws a RangeError for a text without words. */
  hash(text: string): Uint8Array {
    return this.hasher.hash(this.vectorize(text));
  }

  /** The codes of texts, in their order. */
  async hashAll(texts: Iterable<string>, options?: LongCall): Promise<Codes> {
    return this.hashWithKeys(texts, null, checkOptions(options, LONG_CALL));
  }

  /** @internal `hashAll` that also collects keys, if texts are read as sets of shingles. */
  async hashWithKeys(
    texts: Iterable<string>,
    keys: BandKeys | null,
    call: LongCall,
  ): Promise<Codes> {
    const list = Array.isArray(texts) ? texts : [...checkTexts(texts)];
    const options = this.#options as TextState['options'];
    const frequencies = this.#frequencies;
    // Other threads cannot have tokens of the caller.
    const alone = this.#options === null && { threads: 1 };
    const work = new LongWork({ ...call, ...alone });
    const kind = { bits: this.bits, origin: this.origin };
    const ends = partEnds(list);
    const found: Codes[] = [];
    // Each thread has an equal hasher.
    const job: Job<TextState, TextPart, PartCodes> = {
      task: TEXT_HASHING,
      get state() {
        return { options, frequencies: frequencies?.entries() ?? null };
      },
      count: ends.length,
      part: (i) => {
        const firstRow = ends[i - 1] ?? 0;
        return { texts: list.slice(firstRow, ends[i]), firstRow, bands: keys?.bands ?? NO_BANDS };
      },
      here: (part) => this.codesOfPart(part),
      take({ bytes, isNull, keys: own }, i) {
        keys?.append(own);
        const hasNulls = isNull.includes(1);
        const validity = hasNulls ? bitmapOf(isNull.length, (row) => isNull[row] === 0) : null;
        const codes = Codes.allocate(isNull.length, { validity, ...kind });
        codes.bytes.set(bytes);
        found.push(codes);
        return [ends[i], list.length];
      },
    };
    await runJob(job, work);
    return Codes.join(found, kind);
  }

  /**
   * The codes of some texts, and their keys where these are wanted.
   * @internal
   */
  codesOfPart({ texts, firstRow, bands }: TextPart): PartCodes {
    const { hasher } = this;
    // Of a set weights do not count.
    const sets = hasher.projection === 'minwise' ? this.#reader : null;
    if (sets !== null) return sets.codesOf(hasher, texts, firstRow, bands);
    const codes = hasher.codesOf(this.vectorsOf(texts), texts.length, firstRow);
    return { ...codes, keys: new Uint32Array() };
  }

  /** Words with their weights, heaviest first. */
  keywords(text: string, count = Number.POSITIVE_INFINITY): WeightedWord[] {
    if (count !== Number.POSITIVE_INFINITY) {
      checkInteger('count', count, 0, Number.MAX_SAFE_INTEGER);
    }
    const tokens = [...this.#splitter.split(text)];
    const members = this.#membersOf(text);
    const words = new Map(tokens.map((token, i) => [members[i], token]));
    const { indices, values } = this.vectorize(text);
    return Array.from(values, (weight, i) => {
      return { word: words.get(indices[i] as bigint) as string, weight };
    })
      .sort((a, b) => b.weight - a.weight || (a.word < b.word ? -1 : 1))
      .slice(0, count);
  }

  #countsIn(text: string): MemberCounts {
    return countsOf(this.#membersOf(text));
  }

  /** The numbers of a text's tokens, in its order; the caller may change them until the next. */
  #membersOf(text: string): BigUint64Array {
    return this.#reader?.membersOf(text) ?? hashTokens([...this.#splitter.split(text)]);
  }

  /** The value of a word: that of its count, by `counting`, times its inverse frequency. */
  #weightOf(count: number, low: number, high: number): number {
    const table = this.#frequencies;
    const isOne = this.#counting === 'binary' || count === 1;
    const value = isOne ? 1 : this.#counting === 'raw' ? count : 1 + logOf(count);
    return value * (table === null ? 1 : this.#inverseOf(table, low, high));
  }

  /** ln((1 + documents) / (1 + documents with the word)) + 1, as scikit-learn smooths it. */
  #inverseOf(table: FrequencyTable, low: number, high: number): number {
    if (table.documents !== this.#documents) this.#inverse.clear();
    this.#documents = table.documents;
    const count = table.countOf(low, high);
    let inverse = this.#inverse.get(count);
    if (inverse === undefined) {
      inverse = logOf((1 + table.documents) / (1 + count)) + 1;
      this.#inverse.set(count, inverse);
    }
    return inverse;
  }
}

/** The natural logarithm of a number from 1 on, by + - * / only: the same on every engine. */
export function logOf(value: number): number {
  let mantissa = value;
  let halvings = 0;
  for (; mantissa >= 2; halvings++) mantissa /= 2;
  // ln m = 2 artanh(z) with z from 0 to 1/3: each term is a ninth of the one before, or less.
  const z = (mantissa - 1) / (mantissa + 1);
  const square = z * z;
  let sum = 0;
  for (let power = 35; power >= 1; power -= 2) sum = sum * square + 1 / power;
  return 2 * z * sum + halvings * Math.LN2;
}

/** Limits of a part, some milliseconds of work: texts, and their UTF-16 code units. */
const PART_TEXTS = 1024;
const PART_CHARACTERS = 2 ** 17;

/** The text at which each part ends, ascending, by the limits above. */
function partEnds(texts: readonly string[]): number[] {
  const ends: number[] = [];
  let characters = 0;
  let first = 0;
  for (let i = 0; i < texts.length; i++) {
    characters += texts[i]?.length ?? 0;
    const isFull = characters >= PART_CHARACTERS || i + 1 - first === PART_TEXTS;
    if (!isFull && i + 1 < texts.length) continue;
    ends.push(i + 1);
    [first, characters] = [i + 1, 0];
  }
  return ends;
}

/** Throws unless `texts` is iterable, and for one string, which would be read by characters. */
function checkTexts(texts: Iterable<string>): Iterable<string> {
  const isNoList = typeof texts === 'string' || ArrayBuffer.isView(texts);
  if (!isNoList && typeof texts?.[Symbol.iterator] === 'function') return texts;
  throw wrongType('texts', 'texts, as in an array', texts);
}

/** What another thread makes an equal hasher of. */
interface TextState {
  readonly options: Omit<TextHasherOptions, 'frequencies'>;
  readonly frequencies: FrequencyEntries | null;
}

interface TextPart {
  readonly texts: readonly string[];
  readonly firstRow: number;
  readonly bands: MinBands;
}

type PartCodes = RowCodes & { readonly keys: Uint32Array };

/** The task that hashes some texts; `worker.ts` lists it, so that worker threads can run it. */
export const TEXT_HASHING: Task<TextState, TextPart, PartCodes> = {
  name: 'text hashing',
  open({ options, frequencies }) {
    const hasher = new TextHasher({
      ...options,
      ...(frequencies && { frequencies: FrequencyTable.of(frequencies) }),
    });
    return (part) => hasher.codesOfPart(part);
  },
};
