/**
 * Why two texts are near or far: the words of both and what each adds to the cosine, and the words
 * of one text alone. Shares are of the exact sparse vectors; the codes only estimate their cosine.
 */

import type { AngleEstimate } from '../codes/angle';
import type { JaccardEstimate } from '../codes/measure';

/** A word of a text, and its value in the text's vector. */
export interface WeightedWord {
  readonly word: string;
  readonly weight: number;
}

/** A word of both texts and its part of their cosine, or of one and its part of that text. */
export interface WordShare {
  readonly word: string;
  readonly share: number;
}

export interface TextComparison {
  /** Of the two codes. */
  readonly distance: number;
  /** What the distance says, with its interval: of the cosine, or with 'minwise' of the overlap. */
  readonly estimate: AngleEstimate | JaccardEstimate;
  /** Of the two sparse vectors. */
  readonly cosine: number;
  /** Of the two sets of words. */
  readonly jaccard: number;
  /** Words of both, those first that add most to the cosine: shares add up to it. */
  readonly together: readonly WordShare[];
  /** Words of one alone: shares of the squared length of its vector. */
  readonly onlyA: readonly WordShare[];
  readonly onlyB: readonly WordShare[];
}

/** The words of both texts and of one alone, by the weighted words of each. */
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
