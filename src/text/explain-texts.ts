/**
 * Explains why two texts are near or far: lists the words of both with what each adds to the
 * cosine, and the words of one text only. Shares are of the exact sparse vectors, whose cosine the
 * codes only estimate.
 */

import type { AngleEstimate } from '../codes/angle';
import type { JaccardEstimate } from '../codes/measure';

/** A word of a text, and its value in the text's vector. */
export interface WeightedWord {
  readonly word: string;
  readonly weight: number;
}

/**
 * A word of both texts and its part of their cosine, or a word of one text only and its part of the
 * squared length of that text's vector.
 */
export interface WordShare {
  readonly word: string;
  readonly share: number;
}

export interface TextComparison {
  /** Distance of the two codes in bits. */
  readonly distance: number;
  /** The estimated cosine, or with 'minwise' Jaccard similarity, with its interval. */
  readonly estimate: AngleEstimate | JaccardEstimate;
  /** Exact cosine of the two sparse vectors. */
  readonly cosine: number;
  /** Exact Jaccard similarity of the two sets of words. */
  readonly jaccard: number;
  /** Words of both texts, largest share first; the shares add up to the cosine. */
  readonly together: readonly WordShare[];
  /** Words of one text only, largest share first. */
  readonly onlyA: readonly WordShare[];
  readonly onlyB: readonly WordShare[];
}

/** Compares two texts by their weighted words. Throws a RangeError if one has none. */
export function compareWords(
  wordsA: readonly WeightedWord[],
  wordsB: readonly WeightedWord[],
): Omit<TextComparison, 'distance' | 'estimate'> {
  for (const [name, words] of [
    ['textA', wordsA],
    ['textB', wordsB],
  ] as const) {
    if (words.length === 0) throw new RangeError(`"${name}" has no words that count`);
  }
  const [lengthA, lengthB] = [wordsA, wordsB].map((all) =>
    Math.sqrt(all.reduce((sum, { weight }) => sum + weight * weight, 0)),
  );
  const [inA, inB] = [wordsA, wordsB].map(
    (all) => new Map(all.map(({ word, weight }) => [word, weight])),
  );
  const together = wordsA
    .filter(({ word }) => inB.has(word))
    .map(({ word, weight }) => {
      return { word, share: (weight * (inB.get(word) as number)) / (lengthA * lengthB) };
    });
  const alone = (all: readonly WeightedWord[], others: Map<string, number>, length: number) =>
    all
      .filter(({ word }) => !others.has(word))
      .map(({ word, weight }) => ({ word, share: (weight / length) ** 2 }));
  return {
    cosine: together.reduce((sum, { share }) => sum + share, 0),
    jaccard: together.length / (wordsA.length + wordsB.length - together.length),
    together: byShare(together),
    onlyA: byShare(alone(wordsA, inB, lengthA)),
    onlyB: byShare(alone(wordsB, inA, lengthB)),
  };
}

function byShare(shares: WordShare[]): WordShare[] {
  return shares.sort((a, b) => b.share - a.share || (a.word < b.word ? -1 : 1));
}
