/** The options of `TextHasher`: types, defaults and choices, and checks of how texts are read. */

import { wrongType } from '../base/check';
import type { Projection } from '../hashing/row-hasher';
import type { KernelName } from '../kernels/kernels';
import type { FrequencyTable } from './frequency-table';
import { checkNormalizations, type Normalization } from './normalize';
import { recipeOf, type TokenRecipe, type Tokens, words } from './tokens';
import { WORD_HASHES, type WordHash } from './word-hash';

/** The value of a word that occurs n times: 'raw' n, 'log' 1 + ln n, 'binary' 1. */
export type Counting = 'raw' | 'log' | 'binary';

export interface TextHasherOptions {
  /** Width of a code, 1 to 65,535. */
  bits?: number;
  /** An integer from 0 to 2^64 - 1. */
  seed?: number | bigint;
  /**
   * 'direct': a word's hash is its pattern (at most 64 bits), as in most text simhashes. 'minwise':
   * codes of the set of words, whose distance estimates the Jaccard similarity.
   */
  projection?: Exclude<Projection, 'hadamard'>;
  /** A function from a text to its tokens. Frequency tables record its `kind`, if it has one. */
  tokens?: Tokens;
  /** Parts of a text that become a blank before it is split. */
  normalize?: readonly Normalization[];
  /** Tokens that are dropped. */
  stopWords?: Iterable<string>;
  /** The value of n occurrences: n, 1 + ln n, or 1. */
  counting?: Counting;
  /** Weights words by inverse document frequency. The table may grow: weights follow it. */
  frequencies?: FrequencyTable;
  /** Uses only so many words of a text, the heaviest. */
  keywords?: number;
  /** The hash of a word, which is its dimension. */
  hash?: WordHash;
  /** What a text without words becomes. */
  empty?: 'error' | 'null';
  /**
   * Forces a kernel; all give equal results.
   * @default 'auto'
   */
  kernel?: KernelName;
}

const KINDS = 'words, characters(n), shingles(n), segments(locale) or jieba()';

/** The options that a hasher uses where none are given. */
export const TEXT_HASHER_DEFAULTS = {
  bits: 64,
  seed: 0,
  projection: 'signs',
  counting: 'raw',
  hash: 'xxhash64',
  normalize: [],
  empty: 'error',
} as const;

/** What the options may be. */
export const DECLARED = {
  bits: 'any',
  seed: 'any',
  projection: ['signs', 'gaussian', 'direct', 'minwise'],
  tokens: 'any',
  normalize: 'any',
  stopWords: 'any',
  counting: ['raw', 'log', 'binary'],
  frequencies: 'any',
  keywords: { min: 1 },
  hash: WORD_HASHES,
  empty: ['error', 'null'],
  kernel: 'any',
} as const;

/** How a hasher reads texts. */
interface Reading {
  readonly tokens: Tokens;
  /** The recipe by which another thread makes the same tokens; null if it cannot. */
  readonly recipe: TokenRecipe | null;
  /** The name of the tokens with the rules: `words without html`. */
  readonly tokensName: string;
  readonly rules: readonly Normalization[];
}

/** Checks the options that say how texts are read. */
export function checkReading(
  given: Pick<TextHasherOptions, 'tokens'> & Required<Pick<TextHasherOptions, 'normalize'>>,
): Reading {
  const { tokens = words } = given;
  if (typeof tokens !== 'function') {
    throw wrongType('tokens', `a function from text to strings, such as ${KINDS}`, tokens);
  }
  const { kind = 'own' } = tokens;
  if (typeof kind !== 'string') throw wrongType('tokens.kind', 'a string', kind);
  const rules = checkNormalizations(given.normalize);
  const without = rules.length > 0 ? ` without ${rules.join(' and ')}` : '';
  return { tokens, recipe: recipeOf(tokens), tokensName: kind + without, rules };
}
