/**
 * Converts UTF-16 code units to the letters of words. Most code units become one letter whatever
 * their neighbours are: these are looked up in a table that is filled as they occur. Stretches with
 * other code units, called odd, are left to the slower `words`: marks and characters that compose
 * with them (NFKC), surrogates, the Greek sigma (whose lower case depends on what follows), and
 * characters that become several letters.
 */

import { DENSE } from '../kernels/minwise';
import { DENSE_LETTER, LETTER, normal, words } from './tokens';

/** The kind of a code unit: its letter in lower case, `DENSE` + its letter, `APART` or `ODD`. */
export const APART = 0; // separates words
export { DENSE }; // of a script written without spaces
/** The bits of a kind that are its letter. */
export const LETTER_BITS = 0xffff;
const ODD = 0x2_0000;
const UNKNOWN = 0x4_0000;

let table: Uint32Array | undefined;

/** The kind of each code unit, `UNKNOWN` before it occurs. 256 KiB, made by the first text. */
export function kindTable(): Uint32Array {
  table ??= new Uint32Array(0x1_0000).fill(UNKNOWN);
  return table;
}

/**
 * Characters at which a text may be cut without changing its words: separators that neither compose
 * with a neighbour, as < does with a stroke, nor affect its case, as an apostrophe may.
 */
const CUTS = ' \t\n\r!"#$%&()*+,-/;?@[]{|}\u3000、。，！？';

const SIGMA = 'Σ';
/** Marks, surrogates, and the parts of Hangul syllables. */
const MAY_COMPOSE = /[\p{M}\p{Cs}\u1100-\u11ff]/u;

/**
 * Cuts a text between words into stretches, in order. Calls `readPlain` with the range of each
 * stretch without odd code units, and `readOdd` with each word of the others.
 */
export function eachStretch(
  text: string,
  readPlain: (from: number, end: number) => void,
  readOdd: (word: string) => void,
): void {
  for (let at = 0; at < text.length; ) {
    // The plain stretch ends at the last cut before the odd code unit, the odd one at the next.
    const odd = nextOdd(text, at);
    let end = odd;
    if (odd < text.length) while (end > at && !CUTS.includes(text[end - 1])) end--;
    if (end > at) readPlain(at, end);
    at = odd;
    while (at < text.length && !CUTS.includes(text[at])) at++;
    if (at === end) continue;
    for (const word of words(text.slice(end, at))) readOdd(word);
  }
}

/** Index of the first odd code unit from `from` on, or the text's length; fills in its kinds. */
export function nextOdd(text: string, from: number): number {
  const kinds = kindTable();
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
