/** Options of the verbs that look for near rows, and what is near where nothing is said. */

import { HASHING_OPTIONS } from './shared-options';
import type { Option } from './verb';

/**
 * Texts are nearly the same within this share of the bits: 40 of 256, a cosine of .88. In a trial
 * with passages of 20 to 300 words, some of them replaced, it found 98 of 100 of those with 2 %
 * replaced and 65 to 88 of those with 5 %; of the pairs that it found among 98,313 poems 99.9 %
 * were two editions of one.
 */
export const NEAR_TEXT_SHARE = 5 / 32;

export const NEAR_OPTIONS: readonly Option[] = [
  {
    ...{ name: 'max-distance', value: 'N', kind: 'integer' },
    help: 'Rows are near that differ in at most N bits (texts: 5/32 of the bits, 40 of 256)',
  },
  {
    ...{ name: 'min-cosine', value: 'C', kind: 'number' },
    help: 'Rows are near at a cosine of C or more: exact of vectors, else estimated from the bits',
  },
];

/**
 * Texts are told apart by their pairs of words, and repetition counts little. In the same trial
 * triples were moved too far by a word changed in a short text, and single words made long texts of
 * one field look alike.
 */
const NEAR_TEXT_INITIAL: Record<string, string> = { tokens: 'shingles:2', counting: 'log' };

/** How rows become codes where near ones are looked for. */
export const NEAR_HASHING_OPTIONS: readonly Option[] = HASHING_OPTIONS.map((option) => {
  const initial = NEAR_TEXT_INITIAL[option.name];
  return initial === undefined ? option : { ...option, initial };
});
