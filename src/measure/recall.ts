/**
 * The recall of an index's searches: the share of the true k nearest rows by exact cosine that they
 * find, compared with brute force, with a 95 % interval. Queries are rows of the index, each left
 * out of its own answer, or queries of the caller; none of them took part in building or tuning by
 * this call.
 */

import { isValid } from '../base/arrays';
import { checkOptions, checkSeed } from '../base/check';
import { LONG_CALL, type LongCall, LongWork } from '../base/long-work';
import { drawnNumbers } from '../base/random';
import { Codes } from '../codes/codes';
import type { Id } from '../index/ids';
import { type QueryRecall, SEARCH_OPTIONS, type SearchOptions } from '../index/index-options';
import { MemoryEvaluable } from '../index/optimize';
import { needComparable, queriesOf } from '../index/query';
import { recallOf } from '../index/recall';
import { coreOf, type SimHashIndex } from '../index/simhash-index';
import type { EvaluationQuery } from '../index/truth';
import {
  type DenseMatrix,
  packVectors,
  type SparseMatrix,
  type VectorBatch,
} from '../vectors/vectors';

/** Options of `measureRecall`; unknown ones throw. */
export interface MeasureRecallOptions extends LongCall {
  /** What to search for; by default rows of the index. */
  queries?: VectorBatch;
  /** Neighbours that a search must find. */
  k?: number;
  /** Rows that are drawn as queries. */
  sample?: number;
  /** Seed of the rows that are drawn. */
  seed?: number | bigint;
  /** How to search. */
  search?: Omit<SearchOptions, 'k' | 'filter' | 'explain'>;
}

/** More queries than by default narrow the interval, and take more time. */
const MEASURE_RECALL_DEFAULTS = { k: 10, sample: 200, seed: 0 } as const;

/** Most queries: more take memory and time, and narrow the interval little. */
const MAX_QUERIES = 100_000;
const OPTIONS = {
  queries: null,
  k: { min: 1 },
  sample: { min: 1, max: MAX_QUERIES },
  seed: null,
  search: null,
  ...LONG_CALL,
} as const;
/** The options of a search, without those that are set here. */
const { k: _, filter: __, explain: ___, ...SEARCH } = SEARCH_OPTIONS;

/**
 * Measures recall by brute force, of an index that holds vectors. Every query is compared with
 * every row: 200 queries in 1,000,000 rows of 100 dimensions took 1.6 seconds.
 *
 * @example
 * const index = new SimHashIndex({ bits: 256, dimensions: 6, vectors: 'float32' });
 * const row = (_: unknown, i: number) => [1, 2, 3, 4, 5, 6].map((n) => Math.cos(i * n));
 * await index.addAll(Array.from({ length: 500 }, row));
 * const search = { rank: 'hamming' } as const; // by codes alone
 * console.log((await measureRecall(index, { k: 5, search })).recall); // 0.479
 */
export async function measureRecall(
  index: SimHashIndex,
  options?: MeasureRecallOptions,
): Promise<QueryRecall> {
  const checked = { ...MEASURE_RECALL_DEFAULTS, ...checkOptions(options, OPTIONS) };
  const { k, sample, queries: given, seed, search: how, ...call } = checked;
  const search = checkOptions(how, SEARCH, 'search');
  const drawing = Number(BigInt.asUintN(32, checkSeed(seed)));
  const [finding, searching] = new LongWork(call).inParts([1, 2]);
  const core = coreOf(index);
  if (core.vectors === null) {
    throw new Error('recall is measured by exact cosines: make the index with "vectors"');
  }
  let own: number[] | null = null;
  let vectors = given;
  if (vectors === undefined) {
    const rows = core.rows.liveRows();
    const drawn = drawnNumbers(rows.length, sample, drawing).map((at) => rows[at]);
    own = drawn.filter((row) => index.get(index.idOf(row) as Id)?.code);
    vectors = heldVectors(index, own) ?? [];
  }
  const queries = queriesOf(core, vectors);
  if (queries.count === 0) {
    throw new Error('recall needs a query and a row: the index or the queries are empty');
  }
  const asked: EvaluationQuery[] = [];
  const numbers: number[] = [];
  for (let i = 0; i < queries.count; i++) {
    const query = queries.at(i);
    if (query === null) continue;
    needComparable(core, query, i);
    numbers.push(i);
    asked.push({ query, own: new Set(own === null ? [] : [own[i]]) });
  }
  const judging = await new MemoryEvaluable(core, core.rows).evaluated(asked, k, finding);
  const wanted = own === null ? k : k + 1; // a row of the index finds itself
  const answers = await index.searchAll(vectors, { ...search, k: wanted, ...searching.call });
  const rows = numbers.map((i) => answers[i].rows);
  const recall = recallOf(judging, rows, k);
  if (recall.queries === 0) throw new Error('recall needs neighbours: the queries have none');
  return recall;
}

/** True for a null row, and for a vector of zeros or without entries. */
export function isMissing(batch: DenseMatrix | SparseMatrix | Codes, row: number): boolean {
  if (!isValid(batch.validity, row)) return true;
  if (batch instanceof Codes) return false;
  const [first, end] =
    'offsets' in batch
      ? [batch.offsets[row], batch.offsets[row + 1]]
      : [row * batch.dimensions, (row + 1) * batch.dimensions];
  for (let i = first; i < end; i++) if (batch.values[i] !== 0) return false;
  return true;
}

/** The vectors that an index holds of rows; null where one of them has none. */
export function heldVectors(
  index: SimHashIndex,
  rows: ArrayLike<number>,
): DenseMatrix | SparseMatrix | null {
  const held = Array.from(rows, (row) => index.get(index.idOf(row) as Id)?.vector ?? null);
  const vectors = held.filter((vector) => vector !== null);
  return vectors.length === 0 || vectors.length < held.length ? null : packVectors(vectors);
}
