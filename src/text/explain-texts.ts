/**
 * Why two texts are near or far: the words of both and what each adds to the cosine, and the words
 * of one text alone. Shares are of the exact sparse vectors; the codes only estimate their cosine.
 */

import { wrongType } from '../base/check';
import { hammingDistance } from '../codes/codes';
import { type AngleEstimate, estimateAngle } from '../hashing/angle';
import { TextHasher, type WeightedWord } from './text-hasher';

/** A word of both texts and its part of their cosine, or of one and its part of that text. */
export interface WordShare {
  readonly word: string;
  readonly share: number;
}

export interface TextComparison {
  /** Of the two codes. */
  readonly distance: number;
  /** What the distance says of the cosine, with its interval. */
  readonly estimate: AngleEstimate;
  /** Of the two sparse vectors. */
  readonly cosine: number;
  /** Words of both, those first that add most to the cosine: shares add up to it. */
  readonly together: readonly WordShare[];
  /** Words of one alone: shares of the squared length of its vector. */
  readonly onlyA: readonly WordShare[];
  readonly onlyB: readonly WordShare[];
}

/**
 * Shows why two texts are near or far: the words they share and the words of one alone, with their
 * weights, by a hasher's words. A text without words is a RangeError.
 *
 * @example
 * const { together, onlyA } = explainTexts(new TextHasher(), 'green tea', 'black tea');
 * console.log(together[0].word, onlyA[0].word); // tea green
 */
export function explainTexts(hasher: TextHasher, textA: string, textB: string): TextComparison {
  if (!(hasher instanceof TextHasher)) throw wrongType('hasher', 'a TextHasher', hasher);
  const [wordsA, wordsB] = [hasher.keywords(textA), hasher.keywords(textB)];
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
  const distance = hammingDistance(hasher.hash(textA), hasher.hash(textB));
  return {
    distance,
    estimate: estimateAngle(distance, hasher.bits),
    cosine: together.reduce((sum, { share }) => sum + share, 0),
    together: byShare(together),
    onlyA: byShare(alone(wordsA, inB, lengthA)),
    onlyB: byShare(alone(wordsB, inA, lengthB)),
  };
}

function byShare(shares: WordShare[]): WordShare[] {
  return shares.sort((a, b) => b.share - a.share || (a.word < b.word ? -1 : 1));
}
