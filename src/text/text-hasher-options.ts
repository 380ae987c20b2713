/** The options of `TextHasher`: types, defaults and choices, and checks of how texts are read. */

import { checkOneOf, wrongType, wrongValue } from '../base/check';
import type { Projection } from '../hashing/row-hasher';
import type { KernelName } from '../kernels/kernels';
import type { FrequencyTable } from './frequency-table';
import { checkNormalizations, type Normalization } from './normalize';
import {
  LETTER_CASES,
  type LetterCase,
  recipeOf,
  type TokenRecipe,
  type Tokens,
  tokensOfRecipe,
  words,
} from './tokens';
import type { WordHash } from './word-hash';

/** Choices of the value of a word that occurs n times: 'raw' n, 'log' 1 + ln n, 'binary' 1. */
export const COUNTINGS = ['raw', 'log', 'binary'] as const;
export type Counting = (typeof COUNTINGS)[number];

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
  /** A function from a text to its tokens. */
  tokens?: Tokens;
  /** The name that frequency tables record for your own tokens. */
  tokensName?: string;
  /** Parts of a text that become a blank before it is split. */
  normalize?: readonly Normalization[];
  /**
   * Whether letters become lower case, so that Polish is polish. For words, characters and shingles
   * of these.
   */
  case?: LetterCase;
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
export const PROJECTIONS = ['signs', 'gaussian', 'direct', 'minwise'] as const;

/** The options that a hasher uses where none are given. */
export const TEXT_HASHER_DEFAULTS = {
  bits: 64,
  seed: 0,
  projection: 'signs',
  counting: 'raw',
  hash: 'xxhash64',
  normalize: [],
  case: 'lower',
  empty: 'error',
} as const;

export const OPTIONS = [
  'bits',
  'seed',
  'projection',
  'tokens',
  'tokensName',
  'normalize',
  'case',
  'stopWords',
  'counting',
  'frequencies',
  'keywords',
  'hash',
  'empty',
  'kernel',
];

/** How a hasher reads texts. */
interface Reading {
  readonly tokens: Tokens;
  /** The recipe by which another thread makes the same tokens; null if it cannot. */
  readonly recipe: TokenRecipe | null;
  /** The name of the tokens. */
  readonly ownName: string;
  /** The name of the tokens with the case and the rules: `words with case without html`. */
  readonly tokensName: string;
  readonly rules: readonly Normalization[];
  readonly letterCase: LetterCase;
}

/** Checks the options that say how texts are read. */
export function checkReading(
  given: Pick<TextHasherOptions, 'tokens' | 'tokensName'> &
    Required<Pick<TextHasherOptions, 'normalize' | 'case'>>,
): Reading {
  const { tokens = words } = given;
  if (typeof tokens !== 'function') {
    throw wrongType('tokens', `a function from text to strings, such as ${KINDS}`, tokens);
  }
  const ownName = given.tokensName ?? tokens.kind ?? 'own';
  if (typeof ownName !== 'string') throw wrongType('tokensName', 'a string', ownName);
  const rules = checkNormalizations(given.normalize);
  const letterCase = checkOneOf('case', given.case, LETTER_CASES);
  const recipe = recipeOf(tokens);
  if (letterCase === 'keep' && recipe === null) {
    const which = 'words, characters(n) or shingles(n) of these; other tokens decide of case';
    throw wrongValue('case', `'lower', or tokens that are ${which}`, 'keep');
  }
  const without = rules.length > 0 ? ` without ${rules.join(' and ')}` : '';
  return {
    ownName,
    recipe,
    rules,
    letterCase,
    tokensName: ownName + (letterCase === 'keep' ? ' with case' : '') + without,
    tokens: recipe === null ? tokens : tokensOfRecipe(recipe, letterCase),
  };
}
