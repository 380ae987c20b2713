/**
 * Texts by their words, rare ones weighed more, however the rows themselves were hashed: a search
 * by exact cosine, and codes for the map. An inverted list by word has every text that shares a
 * word with a query, so that none is missed. It takes some 16 bytes for each distinct word of each
 * text.
 */

import { lengthOf } from '../../base/length';
import { type LongCall, LongWork } from '../../base/long-work';
import { Highest } from '../../base/top-k';
import { Codes, TextHasher, words } from '../../node';

/** Texts that are read together, between two reports of progress. */
const BLOCK_TEXTS = 256;
const SETTINGS = { tokens: words, counting: 'log', empty: 'null' } as const;

/** The positions of the texts that have a word, and its weight in each, scaled to length 1. */
interface Posting {
  readonly texts: number[];
  readonly weights: number[];
}

/** `count` texts, of which `read` returns some. */
interface Texts {
  readonly count: number;
  read(first: number, end: number): string[];
}

/** Texts by their words; one without words is found by no query. */
export class WordSearch {
  readonly #postings = new Map<bigint, Posting>();

  private constructor(
    private readonly texts: Texts,
    private readonly hasher: TextHasher,
  ) {}

  /** Reads the texts twice: once for the frequencies of words, once for their weights. */
  static async of(texts: Texts, call: LongCall): Promise<WordSearch> {
    const work = new LongWork(call);
    const counting = new TextHasher(SETTINGS);
    const frequencies = counting.fit([]);
    const { count } = texts;
    await eachBlock(
      texts,
      work.part((done) => [done, 2 * count]),
      (some) => {
        frequencies.merge(counting.fit(some));
      },
    );
    const search = new WordSearch(texts, new TextHasher({ ...SETTINGS, frequencies }));
    await eachBlock(
      texts,
      work.part((done) => [count + done, 2 * count]),
      (some, first) => {
        some.forEach((text, i) => {
          search.#add(first + i, text);
        });
      },
    );
    return search;
  }

  #add(position: number, text: string): void {
    for (const [word, weight] of this.#weightsOf(text)) {
      const posting = this.#postings.get(word) ?? { texts: [], weights: [] };
      if (posting.texts.length === 0) this.#postings.set(word, posting);
      posting.texts.push(position);
      posting.weights.push(weight);
    }
  }

  /** The words of a text with their weights, scaled to length 1; empty for a text without words. */
  #weightsOf(text: string): [word: bigint, weight: number][] {
    const { indices, values } = this.hasher.vectorize(text);
    const length = lengthOf(values);
    return Array.from(indices, (word, i) => [BigInt(word), values[i] / length]);
  }

  /** The codes of the texts that have words, and the positions of these, ascending. */
  async codes(call: LongCall): Promise<{ positions: Uint32Array; codes: Codes }> {
    const { bits } = this.hasher;
    const bytes = new Uint8Array((this.texts.count * bits) / 8);
    const positions: number[] = [];
    await eachBlock(this.texts, new LongWork(call), (some, first) => {
      some.forEach((text, i) => {
        if (this.hasher.vectorize(text).values.length === 0) return;
        bytes.set(this.hasher.hash(text), (positions.length * bits) / 8);
        positions.push(first + i);
      });
    });
    const codes = Codes.from(bytes.subarray(0, (positions.length * bits) / 8), { bits });
    return { positions: Uint32Array.from(positions), codes };
  }

  /**
   * Positions and cosines of the k texts nearest to a text among those that `isAllowed` accepts;
   * of equal cosines the first text. Leaves out texts that share no word with it.
   */
  nearest(text: string, k: number, isAllowed: (position: number) => boolean) {
    const weights = this.#weightsOf(text);
    if (weights.length === 0) throw new RangeError('the query has no words that count');
    const cosines = new Float64Array(this.texts.count);
    for (const [word, weight] of weights) {
      const posting = this.#postings.get(word);
      posting?.texts.forEach((position, i) => {
        cosines[position] += weight * posting.weights[i];
      });
    }
    const best = new Highest(k);
    cosines.forEach((cosine, position) => {
      if (cosine > 0 && isAllowed(position)) best.take(Math.min(1, cosine), position);
    });
    const { rows: positions, scores } = best.result();
    return { positions, cosines: scores };
  }
}

/** Passes the texts to `take` in blocks, each with the position of its first text. */
async function eachBlock(
  { count, read }: Texts,
  work: LongWork,
  take: (texts: string[], first: number) => void,
): Promise<void> {
  for (let first = 0; first < count; first += BLOCK_TEXTS) {
    const end = Math.min(count, first + BLOCK_TEXTS);
    take(read(first, end), first);
    await work.step(end, count);
  }
}
