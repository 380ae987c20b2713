/**
 * The words of a text, as `words` tells them, counted in a vocabulary without a string being made:
 * letters are read one by one into its room. Stretches with odd code units are left to `words`.
 */

import { APART, cutAfter, cutBefore, DENSE, kinds, LETTER_BITS, nextOdd } from './code-units';
import { words } from './tokens';
import { grown, KEY_START, nextKey, type Vocabulary } from './vocabulary';

export function readWords(text: string, vocabulary: Vocabulary): void {
  for (let at = 0; at < text.length; ) {
    const odd = nextOdd(text, at);
    const end = odd === text.length ? odd : cutBefore(text, odd, at);
    readPlain(text, at, end, vocabulary);
    at = cutAfter(text, odd);
    if (at > end) for (const word of words(text.slice(end, at))) vocabulary.count(word);
  }
}

/** Without odd code units: each is the letter that its kind says. */
function readPlain(text: string, from: number, end: number, vocabulary: Vocabulary): void {
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

  /** A run of a dense script: pairs, or a single letter; returns its end. */
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
