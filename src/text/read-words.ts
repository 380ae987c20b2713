/**
 * The words of a text as `words` splits it, counted in a vocabulary without making strings: most
 * UTF-16 code units become one letter whatever stands next to them, and are looked up in a table
 * that is filled as they occur. Stretches with other, "odd", code units are left to `words`: marks
 * and what they compose with (NFKC), surrogates, the Greek sigma (whose lower case depends on what
 * follows), and characters that become several letters. The result is the same as that of `words`.
 */

import { DENSE_LETTER, LETTER, normal, words } from './tokens';
import { grown, KEY_START, nextKey, type Vocabulary } from './vocabulary';

/** The kind of a code unit: its letter in lower case, `DENSE` + its letter, `APART` or `ODD`. */
const APART = 0; // separates words
const DENSE = 0x1_0000; // of a script written without spaces
const LETTER_BITS = 0xffff;
const ODD = 0x2_0000;
const UNKNOWN = 0x4_0000;

let table: Uint32Array | undefined;

/** Kinds by code unit, `UNKNOWN` until one occurs; 256 KB, made by the first text. */
function kindTable(): Uint32Array {
  table ??= new Uint32Array(0x1_0000).fill(UNKNOWN);
  return table;
}

/**
 * Characters at which a text may be cut: separators of words that neither compose with a neighbour,
 * as < does with a stroke, nor change its case, as an apostrophe may.
 */
const CUTS = ' \t\n\r!"#$%&()*+,-/;?@[]{|}\u3000、。，！？';

const SIGMA = 'Σ';
/** Marks, surrogates, and the parts of Hangul syllables. */
const MAY_COMPOSE = /[\p{M}\p{Cs}\u1100-\u11ff]/u;

/** Counts the words of a text in `vocabulary`, in the order in which they come. */
export function readWords(text: string, vocabulary: Vocabulary): void {
  for (let at = 0; at < text.length; ) {
    const odd = nextOdd(text, at);
    let end = odd;
    if (odd < text.length) while (end > at && !CUTS.includes(text[end - 1])) end--;
    readPlain(text, at, end, vocabulary);
    at = odd;
    while (at < text.length && !CUTS.includes(text[at])) at++;
    if (at > end) for (const word of words(text.slice(end, at))) vocabulary.count(word);
  }
}

/** Index of the first odd code unit, or the text's length; fills in kinds on the way. */
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

/** Counts the words of a stretch without odd code units, whose kinds are all known. */
function readPlain(text: string, from: number, end: number, vocabulary: Vocabulary): void {
  const kinds = kindTable();
  const kindAt = (at: number) => (at < end ? kinds[text.charCodeAt(at)] : APART);
  let { spelled } = vocabulary;
  for (let at = from; at < end; ) {
    let kind = kindAt(at);
    if (kind >= DENSE) {
      at = readPairs(at);
      continue;
    }
    let key = KEY_START;
    let length = 0;
    for (; kind !== APART && kind < DENSE; kind = kindAt(++at)) {
      if (length === spelled.length) spelled = vocabulary.spelled = grown(spelled);
      spelled[length++] = kind;
      key = nextKey(key, kind);
    }
    if (length > 0) vocabulary.countSpelled(length, key);
    else at++;
  }

  /** Counts the pairs of a run of a dense script, or its only letter; returns the run's end. */
  function readPairs(start: number): number {
    let at = start;
    let before = kindAt(at) & LETTER_BITS;
    for (let kind = kindAt(++at); kind >= DENSE; kind = kindAt(++at)) {
      spelled[0] = before;
      spelled[1] = kind;
      const key = nextKey(KEY_START, before);
      before = kind & LETTER_BITS;
      vocabulary.countSpelled(2, nextKey(key, before));
    }
    if (at === start + 1) {
      spelled[0] = before;
      vocabulary.countSpelled(1, nextKey(KEY_START, before));
    }
    return at;
  }
}
