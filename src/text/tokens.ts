/**
 * Splits texts into tokens. A kind of tokens is a function from a text to strings; callers may pass
 * their own. `words`, the default, uses no dictionary, so a text has the same tokens on every
 * engine: scripts written without spaces become overlapping pairs of characters. HTML, numbers or
 * punctuation can be taken out before: each rule replaces what it removes by a blank and takes
 * linear time on any text, and rules apply in one order, whatever the order of their names.
 */

import { checkInteger, checkOneOf, wrongType } from '../base/check';

/** `kind` is the name that frequency tables and codes record for these tokens. */
export type Tokens = ((text: string) => Iterable<string>) & { readonly kind?: string };

/** Gives a token function the name that frequency tables record; changes the function itself. */
export function named(kind: string, tokens: (text: string) => Iterable<string>): Tokens {
  return Object.assign(tokens, { kind });
}

/** A description of tokens of this file, from which another thread can make the same function. */
export type TokenRecipe =
  | { readonly kind: 'words' }
  | { readonly kind: 'characters'; readonly count: number }
  | { readonly kind: 'shingles'; readonly count: number; readonly of: TokenRecipe };
const recipes = /* @__PURE__ */ new WeakMap<Tokens, TokenRecipe>();

const shingled = /* @__PURE__ */ new WeakSet<Tokens>();

/** True for shingles of any tokens, which are joined by blanks. */
export function areShingles(tokens: Tokens): boolean {
  return shingled.has(tokens);
}

/** The number of words of a token, where tokens are `words` or shingles of them; else null. */
export function wordsOfShingle(recipe: TokenRecipe | null): number | null {
  if (recipe?.kind === 'words') return 1;
  return recipe?.kind === 'shingles' && recipe.of.kind === 'words' ? recipe.count : null;
}

/** The recipe of a token function; null for segments, jieba and those of callers. */
export function recipeOf(tokens: Tokens): TokenRecipe | null {
  return tokens === words ? { kind: 'words' } : (recipes.get(tokens) ?? null);
}

/** The token function of a recipe. */
export function tokensOfRecipe(recipe: TokenRecipe): Tokens {
  if (recipe.kind === 'words') return words;
  if (recipe.kind === 'characters') return characters(recipe.count);
  return shingles(recipe.count, tokensOfRecipe(recipe.of));
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

/** Calls a token function; throws a TypeError if the result is not iterable. */
export function tokensOf(tokens: Tokens, text: string): Iterable<string> {
  const found: unknown = tokens(text);
  if (typeof (found as Iterable<string> | null)?.[Symbol.iterator] === 'function') {
    return found as Iterable<string>;
  }
  throw wrongType('tokens', 'a function from a text to texts', found);
}

/** Unicode's NFKC form in lower case. Skips NFKC, which is slow, for ASCII. */
export function normal(text: string): string {
  if (typeof text !== 'string') throw wrongType('text', 'a string', text);
  return (IS_ASCII.test(text) ? text : text.normalize('NFKC')).toLowerCase();
}

/**
 * Runs of letters and digits in lower case. Of dense scripts, each pair of neighbouring characters,
 * or the character itself where it has no neighbour.
 *
 * @example
 * console.log(...words('A Cup of Tea, 東京')); // a cup of tea 東京
 */
export const words: Tokens = /* @__PURE__ */ named('words', wordsIn);

function wordsIn(text: string): string[] {
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

/**
 * Overlapping runs of `count` characters; white space is one blank. `count` is 1 to 1,000; a
 * shorter text is one token.
 *
 * @example
 * console.log([...characters(4)('green tea')].join('|')); // gree|reen|een |en t|n te| tea
 */
export function characters(count: number): Tokens {
  checkInteger('count', count, 1, 1000);
  const tokens = named(`characters(${count})`, (text) =>
    runsOf(Array.from(normal(text).replaceAll(/\s+/gu, ' ').trim()), count, ''),
  );
  recipes.set(tokens, { kind: 'characters', count });
  return tokens;
}

/**
 * Overlapping runs of `count` words or other tokens; a shorter text is one token. `count` is 1 to
 * 1,000.
 */
export function shingles(count: number, of: Tokens = words): Tokens {
  checkInteger('count', count, 1, 1000);
  if (typeof of !== 'function') throw wrongType('of', 'a function from a text to texts', of);
  const tokens = named(`shingles(${count}, ${of.kind ?? 'own'})`, (text) =>
    runsOf(Array.from(tokensOf(of, text)), count, ' '),
  );
  shingled.add(tokens);
  const recipe = recipeOf(of);
  if (recipe !== null) recipes.set(tokens, { kind: 'shingles', count, of: recipe });
  return tokens;
}

const NORMALIZATIONS = ['html', 'numbers', 'punctuation'] as const;
export type Normalization = (typeof NORMALIZATIONS)[number];

/**
 * Matches comments, scripts and styles with their content, and tags, which have no `<` inside. A
 * comment or script that is not closed ends with the text, so that no part is searched twice.
 */
const MARKUP =
  /<!--[\s\S]*?(?:-->|$)|<(script|style)\b[^<>]*>[\s\S]*?(?:<\/\1\b[^<>]*>|$)|<[a-z/!?][^<>]*>/gi;
const REFERENCE = /&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|(amp|lt|gt|quot|apos|nbsp));/gi;
const NAMED: Record<string, string> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: ' ',
};

const RULES: Record<Normalization, (text: string) => string> = {
  html: (text) => text.replaceAll(MARKUP, ' ').replaceAll(REFERENCE, characterOf),
  numbers: (text) => text.replaceAll(/\p{N}+/gu, ' '),
  punctuation: (text) => text.replaceAll(/[\p{P}\p{S}]+/gu, ' '),
};

/** The character of a reference such as `&lt;` or `&#60;`; a number beyond Unicode stays. */
function characterOf(all: string, decimal?: string, hex?: string, name?: string): string {
  if (name !== undefined) return NAMED[name.toLowerCase()];
  const point = decimal === undefined ? Number.parseInt(hex as string, 16) : Number(decimal);
  return point <= 0x10_ffff ? String.fromCodePoint(point) : all;
}

/** Checks the names of rules; returns them in the order in which they apply. */
export function checkNormalizations(given: unknown): readonly Normalization[] {
  if (!Array.isArray(given)) throw wrongType('normalize', 'an array of names', given);
  for (const one of given) checkOneOf('normalize', one, NORMALIZATIONS);
  return NORMALIZATIONS.filter((one) => given.includes(one));
}

/** Applies the rules to a text. Throws a TypeError if it is no string. */
export function normalized(text: string, rules: readonly Normalization[]): string {
  if (typeof text !== 'string') throw wrongType('text', 'a string', text);
  return rules.reduce((rest, rule) => RULES[rule](rest), text);
}
