/**
 * Search for a text among texts by exact cosine: of their words, rare ones weighed more, however
 * the rows themselves were hashed. An inverted list by word has every text that shares a word with
 * a query, so that none is missed. It takes some 16 bytes for each distinct word of each text.
 */

import { lengthOf } from '../../base/length';
import type { LongCall } from '../../base/steps';
import { Highest } from '../../base/top-k';
import { TextHasher, words } from '../../node';

/** Texts that are read together, between two reports of progress. */
const BLOCK_TEXTS = 256;

/** The positions of the texts that have a word, and its weight in each, scaled to length 1. */
interface Posting {
  readonly texts: number[];
  readonly weights: number[];
}

/** `count` texts, of which `read` returns some; progress is reported by `call`. */
interface Texts {
  readonly count: number;
  read(first: number, end: number): string[];
  readonly call: LongCall;
}

/** Texts by their words; one without words is found by no query. */
export class WordSearch {
  readonly #count: number;
  readonly #postings = new Map<bigint, Posting>();

  /** `hasher` makes vectors of texts, and explains them. */
  private constructor(
    count: number,
    readonly hasher: TextHasher,
  ) {
    this.#count = count;
  }

  /** Reads the texts twice: once for the frequencies of words, once for their weights. */
  static async of({ count, read, call }: Texts): Promise<WordSearch> {
    const eachBlock = async (before: number, take: (texts: string[], first: number) => void) => {
      for (let first = 0; first < count; first += BLOCK_TEXTS) {
        take(read(first, Math.min(count, first + BLOCK_TEXTS)), first);
        await new Promise((resolve) => setImmediate(resolve));
        call.signal?.throwIfAborted();
        call.onProgress?.(before + first, 2 * count);
      }
    };
    const settings = { tokens: words, counting: 'log', empty: 'null' } as const;
    const counting = new TextHasher(settings);
    const frequencies = counting.fit([]);
    await eachBlock(0, (texts) => frequencies.merge(counting.fit(texts)));
    const search = new WordSearch(count, new TextHasher({ ...settings, frequencies }));
    await eachBlock(count, (texts, first) => {
      texts.forEach((text, i) => {
        search.#add(first + i, text);
      });
    });
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

  /**
   * Positions and cosines of the k texts nearest to a text among those that `isAllowed` accepts;
   * of equal cosines the first text. Leaves out texts that share no word with it.
   */
  nearest(text: string, k: number, isAllowed: (position: number) => boolean) {
    const weights = this.#weightsOf(text);
    if (weights.length === 0) throw new RangeError('the query has no words that count');
    const cosines = new Float64Array(this.#count);
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
