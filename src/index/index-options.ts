/** The options of an index and of its calls: defaults in one place, checks in another. */

import {
  checkInteger,
  checkNumber,
  checkOneOf,
  checkOptions,
  wrongType,
  wrongValue,
} from '../base/check';
import { type Projection, SIMHASHER_DEFAULTS, type SimHasherOptions } from '../hashing/simhash';
import { MAX_ROWS } from './distinct/distinct-codes';
import type { Id } from './id-table';
import { VECTOR_STORAGES, type VectorStorage } from './vectors/row-vectors';

/**
 * What ranks the results: 'hamming' (distance, then row; exact), 'estimate' (the query's
 * accumulators against the rows' bits) or 'exact' (the best by estimate, by true cosine).
 */
export type Rank = 'hamming' | 'estimate' | 'exact';
export const RANKS = ['hamming', 'estimate', 'exact'] as const;

/** How rows are found: all of them, by tables of blocks of bits, or by their nearest centroids. */
export type Method = 'auto' | 'scan' | 'bands' | 'partitions';
export const METHODS = ['auto', 'scan', 'bands', 'partitions'] as const;

export interface SimHashIndexOptions extends Omit<SimHasherOptions, 'pattern'> {
  /** Width of a code, 1 to 65,535. */
  bits?: number;
  projection?: Projection;
  /** The vectors held for rank 'exact': dense ones, or sparse ones. */
  vectors?: VectorStorage;
  /** Subtracted from the directions of dense vectors before they are hashed; see `meanOf`. */
  mean?: ArrayLike<number>;
}

export const SIMHASH_INDEX_DEFAULTS = { ...SIMHASHER_DEFAULTS, vectors: 'none' } as const;

/** Which rows a search may return: those that a function accepts, or those of a set. */
export type Filter<I extends Id = Id> =
  | ((id: I, row: number) => boolean)
  | Uint32Array
  | readonly number[]
  | ReadonlySet<number>;

/** A checked filter. */
export interface RowFilter {
  accepts(row: number): boolean;
  /** True when `accepts` calls a function of the user's, which may search in turn. */
  readonly isUserCode: boolean;
  /** The rows themselves, ascending, where a set is given. */
  readonly rows: readonly number[] | null;
}

export function checkFilter(filter: unknown, idOf: (row: number) => Id): RowFilter | null {
  if (filter === undefined) return null;
  if (typeof filter === 'function') {
    const accepts = (row: number) => Boolean(filter(idOf(row), row));
    return { accepts, isUserCode: true, rows: null };
  }
  const isRows = filter instanceof Set || filter instanceof Uint32Array || Array.isArray(filter);
  if (!isRows) throw wrongType('filter', 'a function, or rows as an array or a Set', filter);
  const allowed = new Set<number>();
  for (const row of filter as Iterable<unknown>) {
    allowed.add(checkInteger('a row of filter', row, 0, MAX_ROWS));
  }
  const rows = [...allowed].sort((a, b) => a - b);
  return { accepts: (row) => allowed.has(row), isUserCode: false, rows };
}

export interface SearchOptions<I extends Id = Id> {
  /** How many neighbours; fewer come back when there are fewer rows. */
  k?: number;
  /**
   * What ranks the results: 'hamming' (distance, then row), 'estimate' (the query's sums against
   * the rows' bits) or 'exact' (true cosine). By default 'exact' where the index holds vectors of
   * the query's kind, else 'estimate', and 'hamming' for a code.
   */
  rank?: Rank;
  /** How rows are found: all compared, by bands, or by partitions; 'auto' chooses. */
  method?: Method;
  /** For rank 'exact': re-ranks this many times k rows; after `optimize` what it measured. */
  oversample?: number;
  /** For method 'partitions': how many to visit; after `optimize` as many as it measured. */
  probes?: number;
  /** Only these rows: their numbers, or a function of id and row that returns true for them. */
  filter?: Filter<I>;
  /** True to get the method, the work and the time it took with the result. */
  explain?: boolean;
}

export const SEARCH_DEFAULTS = { k: 10, method: 'auto', oversample: 20, probes: 32 } as const;

export const SEARCH_OPTIONS = [
  ...['k', 'rank', 'method', 'oversample', 'probes', 'filter', 'explain'],
];

/** `maxDistance`, `minCosine` or both must be given. */
export interface IndexWithinOptions<I extends Id = Id> {
  /** Most differing bits, inclusive. No row within it is missed. */
  maxDistance?: number;
  /**
   * Least cosine. With vectors the exact one: of the rows within `maxDistance`, or where that is
   * not given within the distance that catches 99 % of the rows at this cosine. Without vectors,
   * and for a code as query, the cosine that a distance estimates.
   */
  minCosine?: number;
  /** How rows are found; every method finds the same ones. */
  method?: 'auto' | 'scan' | 'bands';
  /** Only these rows: their numbers, or a function of id and row that returns true for them. */
  filter?: Filter<I>;
  /** True to get the method, the work and the time it took with the result. */
  explain?: boolean;
}

export const WITHIN_OPTIONS = ['maxDistance', 'minCosine', 'method', 'filter', 'explain'];

export interface OptimizeOptions {
  /** Share of the true neighbours that searches must find, above 0 and at most 1. */
  recall?: number;
  /** How many neighbours those searches find. */
  k?: number;
  /** Rows taken as queries, half to choose by and half to measure by; fewer in a small index. */
  queries?: number;
  /** How many partitions; by default it follows from the number of rows. */
  partitions?: number;
  /** Seed of the queries and of the starting centroids. */
  seed?: number | bigint;
}

export const OPTIMIZE_DEFAULTS = { recall: 0.95, k: 10, queries: 1000, seed: 0 } as const;

export const OPTIMIZE_OPTIONS = ['recall', 'k', 'queries', 'partitions', 'seed'];

/** What `optimize` chose, and what was measured with it. */
export interface RecallReport {
  /** What was asked for, and whether the measured recall is as high. */
  readonly wanted: number;
  readonly reached: boolean;
  /** Share of the true k nearest that were found, with Wilson's 95 % interval. */
  readonly recall: number;
  readonly interval: readonly [low: number, high: number];
  readonly k: number;
  readonly rank: Rank;
  /** What the true neighbours were ranked by. */
  readonly truth: 'cosine' | 'distance';
  /** Held-out rows measured with; others were used to choose. */
  readonly queries: number;
  readonly queriesPerSecond: number;
  readonly method: 'scan' | 'partitions';
  readonly partitions: number;
  readonly probes: number;
  readonly oversample: number;
  /** Rows that were there, and how many came or went since. */
  readonly rows: number;
  readonly rowsAdded: number;
  readonly rowsRemoved: number;
}

const OPTIONS = [
  ...['bits', 'seed', 'projection', 'dimensions', 'zero', 'kernel', 'vectors', 'mean', 'pattern'],
];

export interface CheckedOptions {
  readonly hasher: SimHasherOptions;
  readonly vectors: VectorStorage;
  readonly mean: Float64Array | null;
}

export function checkIndexOptions(options: SimHashIndexOptions | undefined): CheckedOptions {
  const given = checkOptions('options', options, OPTIONS);
  const { vectors = SIMHASH_INDEX_DEFAULTS.vectors, mean, ...hasher } = given;
  if ('pattern' in hasher) {
    throw new TypeError(
      'an index takes no "pattern", its file could not tell it: add codes instead',
    );
  }
  checkOneOf('vectors', vectors, VECTOR_STORAGES);
  if (vectors === 'float32' || vectors === 'int8') {
    checkInteger('dimensions', given.dimensions, 1, 2 ** 26);
  }
  if (vectors === 'sparse' && (mean !== undefined || given.projection === 'hadamard')) {
    const what = mean === undefined ? `projection 'hadamard'` : '"mean"';
    throw new TypeError(`vectors 'sparse' takes sparse vectors, ${what} takes dense ones`);
  }
  return { hasher, vectors, mean: mean === undefined ? null : checkMean(mean, given.dimensions) };
}

function checkMean(mean: unknown, dimensions: number | undefined): Float64Array {
  if (typeof mean !== 'object' || mean === null || !('length' in mean)) {
    throw wrongType('mean', 'an array of numbers', mean);
  }
  const values = Float64Array.from(mean as ArrayLike<number>);
  if (dimensions === undefined)
    throw wrongType('dimensions', 'a number, since "mean" is given', dimensions);
  if (values.length !== dimensions) {
    throw wrongValue('mean', `${dimensions} numbers, one a dimension`, values.length);
  }
  values.forEach((value, i) => {
    checkNumber(`mean[${i}]`, value, -Number.MAX_VALUE, Number.MAX_VALUE);
  });
  return values;
}
