/**
 * Splits texts into tokens, by an option that is plain data or a function of the caller. 'words',
 * the default, uses no dictionary, so a text has the same tokens on every engine: scripts written
 * without spaces become overlapping pairs of characters. The hash of a word is its dimension.
 */

import { checkText, wrongType, wrongValue } from '../base/check';
import { checksum } from '../kernels/xxhash';

/** A function from a text to its tokens. Frequency tables and codes record its `kind`, if any. */
export type Tokenizer = ((text: string) => Iterable<string>) & { readonly kind?: string };

/**
 * How a text is split. 'words': runs of letters and digits in lower case, and pairs of neighbouring
 * characters in scripts without spaces. 'characters:N': overlapping runs of so many; white space is
 * one blank. 'shingles:N': overlapping runs of so many words. Runs have 1 to 1,000 parts; a shorter
 * text is one token.
 */
export type Tokens = 'words' | `characters:${number}` | `shingles:${number}` | Tokenizer;

const FORMS = "'words', 'characters:N' or 'shingles:N' (N in 1..1000)";
const FORM = /^(?:words|(characters|shingles):([1-9]\d{0,2}|1000))$/;

/** How texts are split, checked. */
export interface Splitter {
  /** The name that frequency tables and codes record. */
  readonly kind: string;
  readonly split: Tokenizer;
  /** The number of words of a token, where tokens are words or shingles of them; else null. */
  readonly wordsInToken: number | null;
  /** False where a function of the caller splits, which another thread cannot have. */
  readonly isData: boolean;
}

/** Checks how texts are split. */
export function splitterOf(tokens: Tokens): Splitter {
  const plain = { wordsInToken: null, isData: true };
  if (typeof tokens === 'function') {
    const { kind = 'own' } = tokens;
    if (typeof kind !== 'string') throw wrongType('tokens.kind', 'a string', kind);
    const split = (text: string) => {
      const found: unknown = tokens(checkText('text', text));
      if (typeof (found as Iterable<string> | null)?.[Symbol.iterator] !== 'function') {
        throw wrongType('tokens', 'a function from a text to texts', found);
      }
      return found as Iterable<string>;
    };
    return { ...plain, kind, split, isData: false };
  }
  if (typeof tokens !== 'string') {
    throw wrongType('tokens', `${FORMS}, or a function from a text to strings`, tokens);
  }
  const [kind, parts, digits] = FORM.exec(tokens) ?? [];
  if (kind === undefined) throw wrongValue('tokens', FORMS, tokens);
  const count = Number(digits);
  const split = (text: string) => {
    if (parts === undefined) return words(text);
    if (parts === 'shingles') return runsOf(words(text), count, ' ');
    // White space is one blank.
    return runsOf(Array.from(normal(text).replaceAll(/\s+/gu, ' ').trim()), count, '');
  };
  if (parts === 'characters') return { ...plain, kind, split };
  return { ...plain, kind, split, wordsInToken: parts === undefined ? 1 : count };
}

/** Scripts written without spaces, called dense: Han, Hiragana and Katakana. */
const DENSE = '\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Hangul}々〆ー';
/** A run of a dense script, or of other letters, marks and digits. */
const RUN = /* @__PURE__ */ new RegExp(`[${DENSE}]+|(?:(?![${DENSE}])[\\p{L}\\p{M}\\p{N}])+`, 'gu');
const ASCII_RUN = /[a-z0-9]+/g;
const IS_ASCII = /^[\0-\x7f]*$/;
/** Matches a text with any character that words consist of. */
export const LETTER = /* @__PURE__ */ new RegExp(`[${DENSE}\\p{L}\\p{M}\\p{N}]`, 'u');
/** Matches a text that begins with a character of a dense script. */
export const DENSE_LETTER = /* @__PURE__ */ new RegExp(`^[${DENSE}]`, 'u');

/** Unicode's NFKC form in lower case. Skips NFKC, which is slow, for ASCII. */
export function normal(text: string): string {
  checkText('text', text);
  return (IS_ASCII.test(text) ? text : text.normalize('NFKC')).toLowerCase();
}

/**
 * Runs of letters and digits in lower case. Of dense scripts, each pair of neighbouring characters,
 * or the character itself where it has no neighbour.
 */
export function words(text: string): string[] {
  const plain = normal(text);
  if (IS_ASCII.test(plain)) return plain.match(ASCII_RUN) ?? [];
  const found: string[] = [];
  for (const run of plain.match(RUN) ?? []) {
    if (DENSE_LETTER.test(run))
      pairsInto(run, found); // a run is of one kind throughout
    else found.push(run);
  }
  return found;
}

/** Appends each pair of neighbouring characters of a run, or its only character. */
function pairsInto(run: string, found: string[]): void {
  const characters = Array.from(run);
  if (characters.length === 1) found.push(run);
  for (let i = 1; i < characters.length; i++) found.push(characters[i - 1] + characters[i]);
}

/** The runs of `count` neighbouring parts, each joined; fewer parts are one run. */
function runsOf(parts: readonly string[], count: number, separator: string): string[] {
  if (parts.length === 0) return [];
  const runs = Math.max(1, parts.length - count + 1);
  return Array.from({ length: runs }, (_, i) => parts.slice(i, i + count).join(separator));
}

const encoder = /* @__PURE__ */ new TextEncoder();

/**
 * The hash of a word, xxHash64 of its UTF-8 bytes; half a surrogate pair counts as U+FFFD.
 *
 * @example
 * console.log(hashWord('tea')); // 4741855839676419641n
 */
export function hashWord(word: string): bigint {
  if (typeof word !== 'string') throw wrongType('word', 'a string', word);
  return checksum(encoder.encode(word));
}
