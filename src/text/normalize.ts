/**
 * Removes HTML, numbers or punctuation from texts before they are split into tokens. Each rule
 * replaces what it removes by a blank and takes linear time on any text. Rules apply in this order,
 * whatever the order in which callers name them.
 */

import { checkOneOf, wrongType } from '../base/check';

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
