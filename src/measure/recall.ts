/**
 * The recall of an index's searches: the share of the true k nearest rows that they find, compared
 * with brute force, with a 95 % interval. Queries are rows of the index, each left out of its own
 * answer, or queries of the caller; none of them took part in building or tuning by this call.
 */

import { isValid } from '../base/arrays';
import { checkOptions, checkSeed, wrongType, wrongValue } from '../base/check';
import { LONG_CALL, type LongCall, LongWork } from '../base/long-work';
import { drawnNumbers } from '../base/random';
import { Codes } from '../codes/codes';
import type { Id } from '../index/ids';
import { type QueryRecall, SEARCH_OPTIONS, type SearchOptions } from '../index/index-options';
import { MemoryEvaluable } from '../index/optimize';
import { needComparable, type Queries, type Query, queriesOf } from '../index/query';
import { recallOf, sharesOf } from '../index/recall';
import { coreOf, SimHashIndex } from '../index/simhash-index';
import type { Truth } from '../index/truth';
import {
  type DenseMatrix,
  packVectors,
  type SparseMatrix,
  type VectorBatch,
} from '../vectors/vectors';

/** Options of `measureRecall`; unknown ones throw. */
export interface MeasureRecallOptions extends LongCall {
  /** What to search for; by default rows of the index. */
  queries?: VectorBatch | Codes;
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

/** A measured recall, with what was measured. */
export interface MeasuredRecall extends QueryRecall {
  readonly k: number;
  /** What ranks the true neighbours: cosines of vectors, or distances of codes. */
  readonly truth: 'cosine' | 'distance';
}

/**
 * Measures recall by brute force. An index that holds vectors is measured by cosine; one without,
 * or queries that are codes, by distance: then it shows what the chosen method misses of an exact
 * search by distance, and the rank is 'hamming'. Every query is compared with every row: 200
 * queries in 1,000,000 rows of 100 dimensions took 1.6 seconds.
 *
 * @example
 * const index = new SimHashIndex({ bits: 256, dimensions: 6, vectors: 'float32' });
 * const row = (_: unknown, i: number) => [1, 2, 3, 4, 5, 6].map((n) => Math.cos(i * n));
 * await index.addAll(Array.from({ length: 500 }, row));
 * const search = { rank: 'estimate' } as const; // by codes alone
 * console.log((await measureRecall(index, { k: 5, search })).recall); // 0.407
 */
export async function measureRecall(
  index: SimHashIndex,
  options?: MeasureRecallOptions,
): Promise<MeasuredRecall> {
  const given = { ...MEASURE_RECALL_DEFAULTS, ...checkOptions(options, OPTIONS) };
  const { k, sample: count, onProgress, signal } = given;
  const search = checkOptions(given.search, SEARCH, 'search');
  const seed = Number(BigInt.asUintN(32, checkSeed(given.seed)));
  const work = new LongWork({ ...(onProgress && { onProgress }), ...(signal && { signal }) });
  if (!(index instanceof SimHashIndex)) throw wrongType('index', 'a SimHashIndex', index);
  const rows = liveRows(index);
  const drawnRows = () => drawnNumbers(rows.length, count, seed).map((at) => rows[at]);
  const drawn = given.queries === undefined ? heldOf(index, drawnRows()) : null;
  const self = drawn?.rows ?? null;
  const asked = drawn ? (drawn.vectors ?? drawn.codes) : (given.queries ?? []);
  const queries = queriesOf(coreOf(index), asked);
  if (queries.count === 0) {
    throw new Error('recall needs a query and a row: the index or the queries are empty');
  }
  const isByCosine = !(asked instanceof Codes) && index.vectors !== 'none';
  if (!isByCosine && search.rank !== undefined && search.rank !== 'hamming') {
    throw wrongValue('search.rank', `'hamming' for recall by distance`, search.rank);
  }
  const rank = isByCosine ? search.rank : ('hamming' as const);
  const wanted = self === null ? k : k + 1; // a row of the index finds itself
  const truth = isByCosine
    ? await nearestByCosine(index, { queries, self, k }, work)
    : (await index.searchAll(asked, { method: 'scan', k: wanted, rank, signal })).map(
        (exact, query) => {
          const others = othersOf(exact.rows, self?.[query], k);
          return { rows: others, size: others.length };
        },
      );
  const answers = await index.searchAll(asked, { ...search, k: wanted, rank, signal });
  await work.step(1, 1);
  const found = answers.map((answer, query) => {
    const near = new Set(truth[query].rows);
    return othersOf(answer.rows, self?.[query], k).filter((row) => near.has(row)).length;
  });
  const shares = sharesOf(
    found,
    truth.map(({ size }) => size),
  );
  if (shares.length === 0) throw new Error('recall needs neighbours: the queries have none');
  return { ...recallOf(shares), k, truth: isByCosine ? 'cosine' : 'distance' };
}

/** By query its true neighbours by cosine, as `optimize` finds them; of a null query none. */
async function nearestByCosine(
  index: SimHashIndex,
  { queries, self, k }: { queries: Queries; self: Uint32Array | null; k: number },
  work: LongWork,
): Promise<Truth[]> {
  const core = coreOf(index);
  const asked = Array.from({ length: queries.count }, (_, i) => {
    const query = queries.at(i);
    if (query !== null) needComparable(core, query, i);
    return { query: query as Query, row: self?.[i] ?? null };
  });
  const present = asked.filter(({ query }) => query !== null);
  const found = await new MemoryEvaluable(core, core.rows).nearest(present, k, work);
  let at = 0;
  const none = { rows: new Uint32Array(), size: 0 };
  return asked.map(({ query }) => (query === null ? none : found[at++]));
}

/** The first `k` rows of an answer, without the query's own row. */
function othersOf(rows: Uint32Array, self: number | undefined, k: number): Uint32Array {
  return rows.filter((row) => row !== self).subarray(0, k);
}

// Rows to measure with, with their codes and held vectors. An index is read by its public methods.

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

/** The rows of an index that are not removed, ascending. */
export function liveRows(index: SimHashIndex): Uint32Array {
  const rows = new Uint32Array(index.count);
  for (let row = 0, count = 0; count < rows.length; row++) {
    if (index.idOf(row) !== undefined) rows[count++] = row;
  }
  return rows;
}

/**
 * Copies of what the index holds of `rows`, which must not be removed; rows without a code are left
 * out. The vectors are null if it holds none.
 */
export function heldOf(index: SimHashIndex, rows: ArrayLike<number>) {
  const held = Array.from(rows, (row) => index.get(index.idOf(row) as Id)).flatMap((one) =>
    one === undefined || one.code === null ? [] : [{ ...one, code: one.code }],
  );
  const codes = Codes.allocate(held.length, { bits: index.bits });
  held.forEach(({ code }, i) => {
    codes.bytes.set(code, i * code.length);
  });
  const vectors = held.flatMap(({ vector }) => (vector === null ? [] : [vector]));
  return {
    rows: Uint32Array.from(held, ({ row }) => row),
    codes,
    vectors: vectors.length === 0 || vectors.length < held.length ? null : packVectors(vectors),
  };
}
