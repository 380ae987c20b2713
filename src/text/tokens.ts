/**
 * Texts to tokens. Each kind is a function from text to strings; whoever needs another passes their
 * own. The default depends on no engine's dictionaries, so that a text has the same tokens
 * everywhere: scripts that are written without spaces become overlapping pairs of characters.
 */

import { checkInteger } from '../base/check';

/** `kind` names it in the tables of frequencies that are made with it. */
export type Tokens = ((text: string) => Iterable<string>) & { readonly kind?: string };

/** A kind of tokens. */
export function named(kind: string, tokens: (text: string) => Iterable<string>): Tokens {
  return Object.assign(tokens, { kind });
}

/** Written without spaces, or with few: Chinese, Japanese, Korean. */
const DENSE = '\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Hangul}々〆ー';
/** A run of a dense script, or of other letters, marks and digits. */
const RUN = new RegExp(`[${DENSE}]+|(?:(?![${DENSE}])[\\p{L}\\p{M}\\p{N}])+`, 'gu');
const ASCII_RUN = /[a-z0-9]+/g;
const IS_ASCII = /^[\0-\x7f]*$/;
const IS_DENSE = new RegExp(`^[${DENSE}]`, 'u');
/** What words are made of. */
export const LETTER = new RegExp(`[${DENSE}\\p{L}\\p{M}\\p{N}]`, 'u');
export const DENSE_LETTER = new RegExp(`[${DENSE}]`, 'u');

/** NFKC, lower case; what is ASCII is left to the quick way. */
export function normal(text: string): string {
  return IS_ASCII.test(text) ? text.toLowerCase() : text.normalize('NFKC').toLowerCase();
}

/** Runs of letters and digits; of dense scripts pairs, a single character as itself. */
export const words: Tokens = named('words', (text) => {
  const plain = normal(text);
  if (IS_ASCII.test(plain)) return plain.match(ASCII_RUN) ?? [];
  const found: string[] = [];
  for (const run of plain.match(RUN) ?? []) {
    if (IS_DENSE.test(run)) pairsInto(run, found);
    else found.push(run);
  }
  return found;
});

function pairsInto(run: string, found: string[]): void {
  const characters = Array.from(run);
  if (characters.length === 1) found.push(run);
  for (let i = 1; i < characters.length; i++) found.push(characters[i - 1] + characters[i]);
}

/** Overlapping runs of `count` characters of the normal form, white space as one blank. */
export function characters(count: number): Tokens {
  checkInteger('count', count, 1, 1000);
  return named(`characters(${count})`, function* (text) {
    const all = Array.from(normal(text).replaceAll(/\s+/gu, ' ').trim());
    if (all.length > 0 && all.length < count) yield all.join('');
    for (let i = count; i <= all.length; i++) yield all.slice(i - count, i).join('');
  });
}

/** Overlapping runs of `count` words, or of other tokens; a shorter text is one. */
export function shingles(count: number, of: Tokens = words): Tokens {
  checkInteger('count', count, 1, 1000);
  return named(`shingles(${count}, ${of.kind ?? 'own'})`, function* (text) {
    const held: string[] = [];
    let isShort = true;
    for (const token of of(text)) {
      if (held.length === count) held.shift();
      held.push(token);
      if (held.length < count) continue;
      isShort = false;
      yield held.join(' ');
    }
    if (isShort && held.length > 0) yield held.join(' ');
  });
}
