/**
 * The options of an index and of its calls, with their defaults and checks, and the report of
 * `optimize`. The comments of exported options are the texts of docs/api.md.
 */

import {
  checkBoolean,
  checkDeclared,
  checkInteger,
  checkNames,
  checkNumber,
  checkOptions,
  wrongType,
  wrongValue,
} from '../base/check';
import type { Codes } from '../codes/codes';
import {
  HASHER_OPTIONS,
  type Projection,
  SIMHASHER_DEFAULTS,
  type SimHasherOptions,
} from '../hashing/simhash';
import type { VectorBatch } from '../vectors/vectors';
import type { Filter } from './filter';
import type { Id } from './ids';
import { VECTOR_STORAGES, type VectorStorage } from './vectors/row-vectors';

/**
 * What orders results: 'hamming' (distance in bits, then row; misses nothing), 'estimate' (cosine
 * estimated from the query's accumulators and the bits of a row) or 'exact' (true cosine of the
 * candidates that are best by estimate).
 */
export type Rank = 'hamming' | 'estimate' | 'exact';

/** Options of an index: those of its hasher, but for `pattern`, which a file could not store. */
export interface SimHashIndexOptions extends Omit<SimHasherOptions, 'pattern'> {
  /** Width of a code, 1 to 65,535. */
  bits?: number;
  projection?: Projection;
  /** The vectors held for rank 'exact'. */
  vectors?: VectorStorage;
}

const SIMHASH_INDEX_DEFAULTS = { ...SIMHASHER_DEFAULTS, vectors: 'none' } as const;

/** Options of `search`, `searchAll` and the same of an index in files. */
export interface SearchOptions<I extends Id = Id> {
  /** Number of neighbours. */
  k?: number;
  /**
   * Orders the results by distance, as those of a code as query and of sets always are. Without it
   * by exact cosine of candidates where the index holds vectors, else by cosine estimated from the
   * codes.
   */
  rank?: 'hamming';
  /** Re-ranks up to this many times k rows; `optimize` chooses it. */
  oversample?: number;
  /** Partitions to visit; without it as `optimize` chose: as many as a query needs, or none. */
  probes?: number;
  /** A list or set of rows that may be returned, or a function of id and row. */
  filter?: Filter<I>;
  /** Reports the method, the work and the time. */
  explain?: boolean;
}

/** Defaults of a search; `optimize` replaces `oversample` by what it chose. */
export const SEARCH_DEFAULTS = { k: 10, oversample: 20 } as const;

export const SEARCH_OPTIONS = {
  k: { min: 1 },
  rank: ['hamming'],
  oversample: { least: 1, most: 2 ** 32 },
  probes: { min: 1, max: 2 ** 32 },
  filter: null,
  explain: checkBoolean,
} as const;

/** `maxDistance`, or the lowest similarity, or both must be given. */
export interface IndexWithinOptions<I extends Id = Id> {
  /** Largest distance of the rows, inclusive. No row within it is missed. */
  maxDistance?: number;
  /**
   * Lowest cosine of a result. With vectors the exact cosine: of the rows within `maxDistance`, by
   * default the distance that holds 99 % of the rows at this cosine. Without vectors, and for a
   * code as query, the cosine that a distance estimates.
   */
  minCosine?: number;
  /** Lowest Jaccard similarity, with projection 'minwise'. */
  minJaccard?: number;
  /** A list or set of rows that may be returned, or a function of id and row. */
  filter?: Filter<I>;
  /** Reports the method, the work and the time. */
  explain?: boolean;
}

export const WITHIN_OPTIONS = {
  maxDistance: null,
  minCosine: null,
  minJaccard: null,
  filter: null,
  explain: checkBoolean,
} as const;

/** Options of `optimize`: the wanted recall, and how it is measured. */
export interface OptimizeOptions {
  /**
   * Queries like those to come, or how many rows are held out of training. Half of them choose,
   * half measure. Fewer in a small index.
   */
  queries?: number | VectorBatch | Codes;
  /** Share of the true neighbours that searches must find, up to 1. */
  recall?: number;
  /** Neighbours that these searches find. */
  k?: number;
  /** Number of partitions; by default it follows from the rows. */
  partitions?: number;
  /**
   * Lists each row in two partitions, so that a search visits fewer. Takes memory, and bytes of
   * files, for a second residual code of each row. By default where it saves a fifth of a search or
   * more, counted with the evaluation queries.
   */
  copies?: boolean;
  /** Seed of held-out rows and starting centroids. */
  seed?: number | bigint;
}

export const OPTIMIZE_DEFAULTS = { recall: 0.95, k: 10, queries: 1000, seed: 0 } as const;

export const OPTIMIZE_OPTIONS = {
  recall: { least: 0, most: 1 },
  k: { min: 1, max: 10_000 },
  partitions: { min: 1, max: 65_536 },
  copies: checkBoolean,
  seed: null,
  queries: null,
} as const;

/** The recall of a sample of queries. */
export interface QueryRecall {
  /** Mean over the queries of the share of their true k nearest that was found. */
  readonly recall: number;
  /** 95 % confidence interval of the recall over all such queries (Gaffke 2005). */
  readonly interval: readonly [low: number, high: number];
  /** Number of queries that have neighbours. */
  readonly queries: number;
}

/** What `optimize` chose, and what other queries than the choosing ones found with it. */
export interface RecallReport extends QueryRecall {
  /** Rows of the index that took no part in training, or queries of the caller. */
  readonly source: 'rows' | 'queries';
  /**
   * What ranks the true neighbours: exact cosine, or of codes alone their distance. Of int8 vectors
   * the digits lost by rounding are drawn at random.
   */
  readonly truth: 'cosine' | 'distance';
  /** The recall that was asked for. */
  readonly wanted: number;
  /** True if the measured recall is as high as was asked for. */
  readonly reached: boolean;
  /** In words: what makes these figures uncertain. */
  readonly warnings: readonly string[];
  readonly k: number;
  readonly method: 'scan' | 'partitions';
  /** How many partitions there are and how many a search usually visits; 0 and 0 for a scan. */
  readonly partitions: number;
  readonly probes: number;
  /** A search visits partitions of products at most so far below the mean of the 24 highest. */
  readonly slack: number;
  readonly oversample: number;
  /** Rows at the time of the measurement, and how many were added and removed since. */
  readonly rows: number;
  readonly rowsAdded: number;
  readonly rowsRemoved: number;
  /** True if more than a tenth of the rows changed since: `optimize` measures what holds now. */
  readonly stale: boolean;
}

/** Share of the rows that may be added or removed before a report is stale. */
const MAX_CHANGED = 0.1;

/** The report after these rows were added and removed. */
export function afterChanges(
  report: RecallReport,
  { rowsAdded = 0, rowsRemoved = 0 }: { rowsAdded?: number; rowsRemoved?: number },
): RecallReport {
  const added = report.rowsAdded + rowsAdded;
  const removed = report.rowsRemoved + rowsRemoved;
  const stale = added + removed > MAX_CHANGED * report.rows;
  return { ...report, rowsAdded: added, rowsRemoved: removed, stale };
}

const COUNT = { min: 0, max: 2 ** 32 };
const SHARE = { least: 0, most: 1 };

/** What a report in a file must be. */
const DECLARED = {
  recall: SHARE,
  interval: checkInterval,
  queries: COUNT,
  source: ['rows', 'queries'],
  truth: ['cosine', 'distance'],
  wanted: SHARE,
  reached: checkBoolean,
  warnings: checkNames,
  k: COUNT,
  method: ['scan', 'partitions'],
  partitions: COUNT,
  probes: COUNT,
  slack: { least: -2, most: 2 },
  oversample: { ...COUNT, min: 1 },
  rows: COUNT,
  rowsAdded: COUNT,
  rowsRemoved: COUNT,
} as const;

function checkInterval(name: string, interval: unknown): void {
  if (!Array.isArray(interval) || interval.length !== 2) {
    throw wrongType(name, 'two numbers', interval);
  }
  for (const limit of interval) checkNumber(name, limit, 0, 1);
}

/**
 * The report of a file, checked, since programs print reports and search by them; throws with the
 * name of a wrong value.
 */
export function checkReport(report: RecallReport): RecallReport {
  if (typeof report !== 'object') throw wrongType('report', 'an object or null', report);
  for (const [name, declared] of Object.entries(DECLARED)) {
    checkDeclared(`report.${name}`, report[name as keyof RecallReport], declared);
  }
  if (report.method === 'partitions') checkInteger('report.probes', report.probes, 1, COUNT.max);
  // Computes `stale` again, so that a file cannot contradict its own counts.
  return afterChanges(report, {});
}

const OPTIONS = { ...HASHER_OPTIONS, vectors: VECTOR_STORAGES } as const;

/** Checked options of an index: those of its hasher, and its own with defaults filled in. */
export interface CheckedOptions {
  readonly hasher: SimHasherOptions;
  readonly vectors: VectorStorage;
}

/** Checks the options of an index against each other; the hasher checks its own. */
export function checkIndexOptions(options: SimHashIndexOptions | undefined): CheckedOptions {
  const given = checkOptions(options, OPTIONS);
  const { vectors = SIMHASH_INDEX_DEFAULTS.vectors, ...hasher } = given;
  if ('pattern' in hasher) {
    throw new TypeError(
      'an index takes no "pattern", which its file cannot record: add codes instead',
    );
  }
  if (vectors === 'float32' || vectors === 'int8') {
    checkInteger('dimensions', given.dimensions, 1, 2 ** 26);
  }
  if (vectors === 'sparse' && given.projection === 'hadamard') {
    throw new TypeError(
      `vectors 'sparse' takes sparse vectors, projection 'hadamard' takes dense ones`,
    );
  }
  if (given.projection === 'minwise' && vectors !== 'none' && vectors !== 'sparse') {
    throw wrongValue('vectors', `'none' or 'sparse' with projection 'minwise'`, vectors);
  }
  return { hasher, vectors };
}
