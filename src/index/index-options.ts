/** The options of an index and of its calls: defaults in one place, checks in another. */

import {
  checkAttached,
  checkInteger,
  checkNumber,
  checkOneOf,
  checkOptions,
  wrongType,
  wrongValue,
} from '../base/check';
import type { Codes } from '../codes/codes';
import { type Projection, SIMHASHER_DEFAULTS, type SimHasherOptions } from '../hashing/simhash';
import type { DenseMatrix, VectorBatch } from '../vectors/vectors';
import { MAX_ROWS } from './distinct/distinct-codes';
import type { Id } from './id-table';
import { VECTOR_STORAGES, type VectorStorage } from './vectors/row-vectors';

/**
 * What ranks the results: 'hamming' (distance, then row; exact), 'estimate' (the query's
 * accumulators against the rows' bits) or 'exact' (the best by estimate, by true cosine).
 */
export type Rank = (typeof RANKS)[number];
export const RANKS = ['hamming', 'estimate', 'exact'] as const;

/** How rows are found: all of them, by tables of blocks of bits, or by their nearest centroids. */
export type Method = (typeof METHODS)[number];
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

const SIMHASH_INDEX_DEFAULTS = { ...SIMHASHER_DEFAULTS, vectors: 'none' } as const;

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

/**
 * A checked filter; a function of the caller goes through `ask`, which refuses changes meanwhile.
 */
export function checkFilter(
  filter: unknown,
  ask: (filter: (id: Id, row: number) => unknown, row: number) => boolean,
): RowFilter | null {
  if (filter === undefined) return null;
  if (typeof filter === 'function') {
    const accepts = (row: number) => ask(filter as (id: Id) => unknown, row);
    return { accepts, isUserCode: true, rows: null };
  }
  const isRows = filter instanceof Set || filter instanceof Uint32Array || Array.isArray(filter);
  if (!isRows) throw wrongType('filter', 'a function, or rows as an array or a Set', filter);
  checkAttached('filter', filter);
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
  /** For rank 'exact': re-ranks up to this many times k rows; after `optimize` what it measured. */
  oversample?: number;
  /** For method 'partitions': how many to visit at most; after `optimize` what it measured. */
  probes?: number;
  /** Only these rows: their numbers, or a function of id and row that returns true for them. */
  filter?: Filter<I>;
  /**
   * Share of this query's neighbours that must be found, as far as the search can tell: it ends
   * with less work where that is enough, and goes on, up to eight times the measured setting, where
   * it is not; `explain.expectedMissing` says what that still misses. After `optimize`, for the k
   * measured there.
   */
  recall?: number;
  /** True to get the method, the work, the time it took and what it expects to have missed. */
  explain?: boolean;
}

export const SEARCH_DEFAULTS = { k: 10, method: 'auto', oversample: 20, probes: 32 } as const;

export const SEARCH_OPTIONS = [
  ...['k', 'rank', 'method', 'oversample', 'probes', 'filter', 'recall', 'explain'],
];

/** `maxDistance`, or the least similarity, or both must be given. */
export interface IndexWithinOptions<I extends Id = Id> {
  /** Most differing bits, inclusive. No row within it is missed. */
  maxDistance?: number;
  /**
   * Least cosine. With vectors the exact one: of the rows within `maxDistance`, or where that is
   * not given within the distance that catches 99 % of the rows at this cosine. Without vectors,
   * and for a code as query, the cosine that a distance estimates.
   */
  minCosine?: number;
  /** The same as Jaccard similarity, of an index by projection 'minwise'. */
  minJaccard?: number;
  /** How rows are found; every method finds the same ones. */
  method?: 'auto' | 'scan' | 'bands';
  /** Only these rows: their numbers, or a function of id and row that returns true for them. */
  filter?: Filter<I>;
  /** True to get the method, the work and the time it took with the result. */
  explain?: boolean;
}

export const WITHIN_OPTIONS = [
  ...['maxDistance', 'minCosine', 'minJaccard', 'method', 'filter', 'explain'],
];

/** With which queries recall is measured: rows of the index, or queries of the caller. */
export interface EvaluationOptions {
  /**
   * Vectors or codes like those that will be searched for; half of them choose, half measure. Or
   * how many rows are taken as queries, which take no part in training; fewer in a small index.
   */
  queries?: number | VectorBatch | Float32Array | Float64Array | Codes;
  /**
   * For each of these queries the rows of its true neighbours, nearest first, at least k of them.
   * Without them they are found by the vectors that the index holds, or by distance.
   */
  truth?: readonly ArrayLike<number>[];
  /**
   * The dense vectors of all rows, as they were added, for an index that holds none or rounded
   * ones: true neighbours are then those by their exact cosine. They are read and not kept.
   */
  vectors?: DenseMatrix;
  /**
   * Measures with more rows until the 95 % interval is no wider than this, or with 32,768: a count
   * and no time, so that the same calls do the same work on every machine.
   */
  precision?: number;
}

export interface OptimizeOptions extends EvaluationOptions {
  /** Share of the true neighbours that searches must find, above 0 and at most 1. */
  recall?: number;
  /**
   * Share of the queries that must find so many of their neighbours; without it, searches find
   * them on average. Needs `recall`.
   */
  coverage?: number;
  /** How many neighbours those searches find. */
  k?: number;
  /** How many partitions; by default it follows from the number of rows. */
  partitions?: number;
  /** Seed of the queries and of the starting centroids. */
  seed?: number | bigint;
}

export const OPTIMIZE_DEFAULTS = { recall: 0.95, k: 10, queries: 1000, seed: 0 } as const;

export const EVALUATION_OPTIONS = ['queries', 'truth', 'vectors', 'precision'];
export const OPTIMIZE_OPTIONS = [
  ...['recall', 'coverage', 'k', 'partitions', 'seed'],
  ...EVALUATION_OPTIONS,
];

/** What a search reads of an index in files, of which nothing is in memory. */
export interface QueryCost {
  /** Bytes of partitions and vectors; ids and the heads of blocks, which differ, are left out. */
  readonly bytes: number;
  /** Waits for reads that run together: one for the partitions, one for the vectors. */
  readonly roundTrips: number;
}

/** The recall of some queries. */
export interface QueryRecall {
  /** Mean over the queries of the share of their true k nearest that was found. */
  readonly recall: number;
  /** Holds the recall over all such queries in 95 of 100 samples (Gaffke 2005). */
  readonly interval: readonly [low: number, high: number];
  /**
   * At least `share` of all such queries find at least the share `recall` of their neighbours; this
   * is wrong in 5 of 100 samples.
   */
  readonly coverage: { readonly recall: number; readonly share: number };
  /** Queries that have neighbours. */
  readonly queries: number;
}

/** The same, with what was asked and what the truth is. */
export interface EvaluationRecall extends QueryRecall {
  /** Rows of the index that took no part in training, or queries of the caller. */
  readonly source: 'rows' | 'queries';
  /**
   * What the true neighbours are ranked by: the exact cosine, the distance of codes, or as `given`.
   * Where only int8 vectors are known, the digits that rounding took are drawn at random.
   */
  readonly truth: 'cosine' | 'distance' | 'given';
  /**
   * How near the queries lie: mean cosine of the k-th row that searches found. Null of codes alone,
   * and before 0.2.
   */
  readonly kthCosine: number | null;
}

/** A setting, and the weights of signs of a search with it: see doubt.ts. */
export interface DoubtModel {
  /** Partitions to visit; 0 for a scan. */
  readonly probes: number;
  /** Candidates for each of k. */
  readonly oversample: number;
  readonly weights: readonly number[];
}

/** What `optimize` chose, and what queries found with it that did not choose. */
export interface RecallReport extends EvaluationRecall {
  /** What was asked for, and whether what was measured is as high. */
  readonly wanted: number;
  /** The share of queries that must find so much; null where the mean must. */
  readonly wantedCoverage: number | null;
  readonly reached: boolean;
  /** The same measured with held-out rows, where the caller gave queries. */
  readonly byRows: EvaluationRecall | null;
  /**
   * In words: what makes these figures less certain, and how the queries of the caller differ from
   * held-out rows.
   */
  readonly warnings: readonly string[];
  readonly k: number;
  readonly rank: Rank;
  readonly queriesPerSecond: number;
  /** What a search reads that finds nothing in memory; null of sparse vectors, and before 0.2. */
  readonly cost: QueryCost | null;
  readonly method: 'scan' | 'partitions';
  readonly partitions: number;
  readonly probes: number;
  readonly oversample: number;
  /** Standard errors by which an estimate must fall short where re-ranking ends early. */
  readonly margin: number;
  /** Settings that `recall` of a search picks from, with what tells how much they miss. */
  readonly doubt: readonly DoubtModel[];
  /** Which rows took no part in training, for `remeasure`. */
  readonly seed: number;
  readonly heldOutShare: number;
  /** Rows that were there, and how many came or went since. */
  readonly rows: number;
  readonly rowsAdded: number;
  readonly rowsRemoved: number;
  /** True when more than a tenth of the rows came or went since: `remeasure` tells what holds. */
  readonly stale: boolean;
}

/** Share of the rows that may come or go before what was measured is stale. */
const MAX_CHANGED = 0.1;

/** The report with this many more rows added and removed. */
export function afterChanges(
  report: RecallReport,
  { rowsAdded = 0, rowsRemoved = 0 }: { rowsAdded?: number; rowsRemoved?: number },
): RecallReport {
  const added = report.rowsAdded + rowsAdded;
  const removed = report.rowsRemoved + rowsRemoved;
  const stale = added + removed > MAX_CHANGED * report.rows;
  return { ...report, rowsAdded: added, rowsRemoved: removed, stale };
}

const OPTIONS = [
  ...['bits', 'seed', 'projection', 'dimensions', 'zero', 'kernel', 'pattern', 'texts'],
  ...['vectors', 'mean'],
];

/** The options of an index: those of its hasher, what vectors it holds, the mean as float64. */
export interface CheckedOptions {
  readonly hasher: SimHasherOptions;
  readonly vectors: VectorStorage;
  readonly mean: Float64Array | null;
}

/** Checks the options of an index against each other; those of the hasher are checked by it. */
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
  if (given.projection === 'minwise' && vectors !== 'none' && vectors !== 'sparse') {
    throw wrongValue('vectors', `'none' or 'sparse' with projection 'minwise'`, vectors);
  }
  return { hasher, vectors, mean: mean === undefined ? null : checkMean(mean, given.dimensions) };
}

function checkMean(mean: unknown, dimensions: number | undefined): Float64Array {
  if (typeof mean !== 'object' || mean === null || !('length' in mean)) {
    throw wrongType('mean', 'an array of numbers', mean);
  }
  if (dimensions === undefined)
    throw wrongType('dimensions', 'a number, since "mean" is given', dimensions);
  const values = mean as ArrayLike<unknown>;
  if (values.length !== dimensions) {
    throw wrongValue('mean', `${dimensions} numbers, one a dimension`, values.length);
  }
  return Float64Array.from({ length: dimensions }, (_, i) =>
    checkNumber(`mean[${i}]`, values[i], -Number.MAX_VALUE, Number.MAX_VALUE),
  );
}
