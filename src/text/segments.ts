/**
 * Words as the engine's dictionaries of a locale tell them. They differ from engine to engine and
 * from version to version: compare only codes that one engine made.
 */

import { named, normal, type Tokens } from './tokens';

/** A piece's length for which the engine's segmenter is quick: it is quadratic in some. */
const PIECE = 500;

/** Words by Intl.Segmenter. */
export function segments(locale: string): Tokens {
  const segmenter = new Intl.Segmenter(locale, { granularity: 'word' });
  return named(`segments(${locale})`, function* (text) {
    for (const piece of pieces(normal(text))) {
      for (const { segment, isWordLike } of segmenter.segment(piece)) {
        if (isWordLike) yield segment;
      }
    }
  });
}

/** Cut at ends of lines and of sentences, and of long ones anywhere between characters. */
function* pieces(text: string): Generator<string> {
  for (const sentence of text.match(/[^\n。！？.!?]+[\n。！？.!?]*/gu) ?? []) {
    if (sentence.length <= PIECE) yield sentence;
    else for (const [piece] of sentence.matchAll(/[\s\S]{1,500}/gu)) yield piece;
  }
}
