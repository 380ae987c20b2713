/**
 * Words by the engine's own dictionaries (Intl.Segmenter), which differ between engines and
 * versions.
 */

import { wrongType, wrongValue } from '../base/check';

/** A function that splits texts into the words of a locale; throws for an unknown one. */
export function segmenterOf(locale: unknown): (text: string) => string[] {
  const segmenter = engineSegmenter(locale);
  return (text) =>
    pieces(text)
      .flatMap((piece) => Array.from(segmenter.segment(piece)))
      .filter(({ isWordLike }) => isWordLike)
      .map(({ segment }) => segment);
}

function engineSegmenter(locale: unknown): Intl.Segmenter {
  const expected = 'a language tag such as "en" or "zh-Hant"';
  if (typeof locale !== 'string') throw wrongType('tokens.segments', expected, locale);
  try {
    return new Intl.Segmenter(locale, { granularity: 'word' });
  } catch {
    throw wrongValue('tokens.segments', expected, locale);
  }
}

/**
 * Cuts a text into lines and sentences, and those of more than 500 characters further, between
 * characters, because some engines' segmenter takes time quadratic in the length of its text.
 */
function pieces(text: string): string[] {
  const sentences = text.match(/[^\n。！？.!?]+[\n。！？.!?]*/gu) ?? [];
  return sentences.flatMap((sentence) => sentence.match(/[\s\S]{1,500}/gu) ?? []);
}
