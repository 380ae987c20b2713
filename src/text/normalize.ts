/**
 * What is taken out of texts before they are split into tokens: HTML, numbers, punctuation. Each
 * leaves a blank, takes linear time on any text, and comes in this order, whatever the order in
 * which they are named.
 */

import { checkOneOf, wrongType } from '../base/check';

const NORMALIZATIONS = ['html', 'numbers', 'punctuation'] as const;
export type Normalization = (typeof NORMALIZATIONS)[number];

/**
 * Comments, scripts and styles with what is in them, and tags, which have no `<` inside. A comment
 * or script that is not closed ends with the text, so that no part is looked at twice.
 */
const MARKUP =
  /<!--[\s\S]*?(?:-->|$)|<(script|style)\b[^<>]*>[\s\S]*?(?:<\/\1\b[^<>]*>|$)|<[a-z/!?][^<>]*>/gi;
const REFERENCE = /&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|(amp|lt|gt|quot|apos|nbsp));/gi;
const NAMED: Record<string, string> = {
  ...{ amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ' },
};

const RULES: Record<Normalization, (text: string) => string> = {
  html: (text) => text.replaceAll(MARKUP, ' ').replaceAll(REFERENCE, characterOf),
  numbers: (text) => text.replaceAll(/\p{N}+/gu, ' '),
  punctuation: (text) => text.replaceAll(/[\p{P}\p{S}]+/gu, ' '),
};

/** The character of a reference as `&lt;` or `&#60;`; a number that names none stays. */
function characterOf(all: string, decimal?: string, hex?: string, name?: string): string {
  if (name !== undefined) return NAMED[name.toLowerCase()];
  const point = decimal === undefined ? Number.parseInt(hex as string, 16) : Number(decimal);
  return point <= 0x10_ffff ? String.fromCodePoint(point) : all;
}

/** The checked names in the order of their work. */
export function checkNormalizations(given: unknown): readonly Normalization[] {
  if (!Array.isArray(given)) throw wrongType('normalize', 'an array of names', given);
  for (const one of given) checkOneOf('normalize', one, NORMALIZATIONS);
  return NORMALIZATIONS.filter((one) => given.includes(one));
}

/** The text without what the rules take out. */
export function normalized(text: string, rules: readonly Normalization[]): string {
  if (typeof text !== 'string') throw wrongType('text', 'a string', text);
  return rules.reduce((rest, rule) => RULES[rule](rest), text);
}
