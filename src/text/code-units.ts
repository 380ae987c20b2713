/**
 * What each UTF-16 code unit is to `words`, asked of the engine once and kept. Most stand for
 * themselves whatever is beside them: texts of these need no normal form and no regular expression.
 * The others are odd, and `words` is asked: half characters, marks and what they may be composed
 * with (NFKC), the Greek sigma (lower case by what follows it), what becomes several letters.
 */

import { DENSE_LETTER, LETTER, normal } from './tokens';

/** No part of a word. */
export const APART = 0;
/** Of a script that is written without spaces; the other bits are the letter. */
export const DENSE = 0x1_0000;
export const LETTER_BITS = 0xffff;
export const ODD = 0x2_0000;
const UNKNOWN = 0x4_0000;

/** By code unit: the letter that it becomes in lower case, `DENSE` with it, `APART`, or `ODD`. */
export const kinds = new Uint32Array(0x1_0000).fill(UNKNOWN);

/**
 * No parts of words, that neither compose with what is beside them, as < may, nor change its case,
 * as an apostrophe may.
 */
const CUTS = new Set(
  Array.from(' \t\n\r!"#$%&()*+,-/;?@[]{|}\u3000、。，！？', (cut) => cut.charCodeAt(0)),
);

const SIGMA = 'Σ';
/** Marks, halves of characters, and the parts of Hangul syllables. */
const MAY_COMPOSE = /[\p{M}\p{Cs}\u1100-\u11ff]/u;

/** Where the next odd code unit is, or the end of the text; the kinds of those before are known. */
export function nextOdd(text: string, from: number): number {
  for (let at = from; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (kinds[unit] < ODD) continue;
    if (kinds[unit] === UNKNOWN) kinds[unit] = kindOf(String.fromCharCode(unit));
    if (kinds[unit] === ODD) return at;
  }
  return text.length;
}

function kindOf(character: string): number {
  const composed = character.normalize('NFKC');
  if (MAY_COMPOSE.test(composed) || composed.includes(SIGMA)) return ODD;
  const plain = normal(character);
  if (!LETTER.test(plain)) return APART;
  if (plain.length > 1 || MAY_COMPOSE.test(plain)) return ODD;
  return plain.charCodeAt(0) | (DENSE_LETTER.test(plain) ? DENSE : 0);
}

/** The end of the last cut before an odd code unit, not before `from`. */
export function cutBefore(text: string, odd: number, from: number): number {
  let at = odd;
  while (at > from && !CUTS.has(text.charCodeAt(at - 1))) at--;
  return at;
}

/** The next cut from an odd code unit on, or the end of the text. */
export function cutAfter(text: string, odd: number): number {
  let at = odd;
  while (at < text.length && !CUTS.has(text.charCodeAt(at))) at++;
  return at;
}
