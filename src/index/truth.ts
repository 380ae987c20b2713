/**
 * The true neighbours of evaluation queries: by exact cosine where vectors are held, else by
 * distance. For dense vectors, integer products find which rows can be among the k nearest, within
 * a proven error, and cosines in float64 decide. Vectors held as int8 have lost digits: these are
 * drawn at random, so that the truth differs from what the index holds as the given vectors do.
 */
import { cosineOf } from '../base/length';
import { alea } from '../base/random';
import type { Steps } from '../base/steps';
import { Highest, rowOf, weightOf } from '../base/top-k';
import { roundInto } from '../k-means/points';
import { integerWidth, UNIT } from '../kernels/products';
import { inParallel } from '../threads/parallel';
import { distinctCollector, scanDistinct } from './by-distance';
import type { IndexParts, Query } from './index-parts';
import { bestByCosine } from './re-rank';
import { NEAREST_ROWS, NearestOfParts, PRODUCT_STEP } from './truth-task';
import type { DenseVectors } from './vectors/dense-vectors';
import { lostDigits } from './vectors/rounding';
import { SparseVectors } from './vectors/sparse-vectors';

/** A query, and its row if it is one: that row is not its own neighbour. */
export interface Asked {
  readonly query: Query;
  readonly row: number | null;
}

/** The number of neighbours, and the dense vectors that decide, if there are any. */
export interface TruthBy {
  readonly k: number;
  readonly vectors: DenseVectors | null;
}

/** Rows of a part. The first parts are smaller, since no limits are known yet. */
const PART_ROWS = 4096;
const MIN_ROWS = 512;
const FIRST_ROWS = 32;
/** Rows of largest product that are compared by cosine, in units of k. */
const SPARE = 4;

/** Rows of sparse vectors between two steps. */
const SPARSE_ROWS = 512;

/** For each query its k nearest rows: by `dense` vectors, by held sparse ones, or by distance. */
export function* trueNeighbors(
  parts: IndexParts,
  asked: readonly Asked[],
  { k, vectors: dense }: TruthBy,
): Steps<Uint32Array[]> {
  const { vectors } = parts;
  if (dense !== null) return yield* byCosine(parts, dense, asked, k);
  if (!(vectors instanceof SparseVectors)) return yield* byDistance(parts, asked, k);
  const rows = asked.map(({ row }) => row);
  if (rows.includes(null)) return yield* bySparseUnits(parts, asked, k);
  return yield* trueSparseNeighbors(parts, vectors, Uint32Array.from(rows as number[]), k);
}

/** By distance of codes, in one scan for all queries. */
function* byDistance(parts: IndexParts, asked: readonly Asked[], k: number): Steps<Uint32Array[]> {
  const collectors = asked.map(({ row: own }) => {
    const accepts = (row: number) => row !== own;
    const others = { accepts, isUserCode: false, rows: null };
    return distinctCollector(parts, k, parts.bits, others);
  });
  const work = { codesCompared: 0, candidates: 0, probes: 0 };
  const codes = asked.map(({ query }) => query.code);
  yield* scanDistinct(parts, codes, collectors, work);
  return collectors.map((collector) => collector.result().rows);
}

/** By cosine with dense vectors: products of all rows in parts, then `decided` for each query. */
function* byCosine(
  parts: IndexParts,
  vectors: DenseVectors,
  asked: readonly Asked[],
  k: number,
): Steps<Uint32Array[]> {
  const { distinctCodes } = parts;
  const { rowCount } = distinctCodes;
  const width = integerWidth(vectors.dimensions);
  const rounded = new Int16Array(asked.length * width);
  asked.forEach(({ query }, i) => {
    roundInto(query.unit as Float64Array, 1, rounded, i * width);
  });
  const want = SPARE * k + 1;
  const nearest = new NearestOfParts(asked.length, want);
  const ends = [Math.min(FIRST_ROWS, rowCount)];
  for (let end = ends[0]; end < rowCount; ends.push(end)) {
    end = Math.min(rowCount, end + Math.min(PART_ROWS, Math.max(MIN_ROWS, end)));
  }
  yield* inParallel({
    task: NEAREST_ROWS,
    state: { vectors: vectors.state, queries: rounded, width, want },
    count: ends.length,
    part(i) {
      const [first, end] = [ends[i - 1] ?? 0, ends[i]];
      const isThere = new Uint8Array(end - first);
      for (let row = first; row < end; row++) isThere[row - first] = +distinctCodes.hasCode(row);
      return { first, end, isThere, least: nearest.least };
    },
    take(found, i) {
      nearest.take(found);
      return [ends[i], rowCount];
    },
  });
  const random = alea('lost digits');
  const neighbors: Uint32Array[] = [];
  for (const [i, one] of asked.entries()) {
    neighbors.push(decided(parts, vectors, one, nearest.best[i].result(), k, random));
    yield undefined;
  }
  return neighbors;
}

/** The k nearest by cosine: among the candidates if they must contain them, else among all. */
function decided(
  { distinctCodes }: IndexParts,
  vectors: DenseVectors,
  { row: own, query }: Asked,
  keys: Float64Array,
  k: number,
  random: () => number,
): Uint32Array {
  // A product is off by at most half a unit a coordinate on both sides, and by the step of the
  // keys. No other row is among the k nearest if the last candidate is farther behind than twice
  // this.
  const error = (Math.sqrt(vectors.dimensions) + 1) * UNIT + PRODUCT_STEP;
  const kth = weightOf(keys[Math.min(k + 1, keys.length) - 1]) * PRODUCT_STEP;
  const last = weightOf(keys[keys.length - 1]) * PRODUCT_STEP;
  const isCertain = keys.length <= SPARE * k || last - kth > 2 * error;
  const rows = isCertain ? Uint32Array.from(keys, rowOf) : distinctCodes.rowsWithCodes();
  const others = own === null ? rows : rows.filter((row) => row !== own);
  const unit = query.unit as Float64Array;
  const cosines = vectors.cosinesOf(others, unit);
  if (vectors.kind === 'int8') {
    for (const [i, row] of others.entries()) {
      const held = { values: vectors.valuesAt(row), norm: vectors.normOf(row) };
      cosines[i] += lostDigits(held, vectors.zeros, { unit, cosine: cosines[i] }, random);
    }
  }
  return bestByCosine(others, cosines, k).rows;
}

/** By cosine with every row, one query after another: for sparse queries that are no rows. */
function* bySparseUnits(
  parts: IndexParts,
  asked: readonly Asked[],
  k: number,
): Steps<Uint32Array[]> {
  const rows = parts.distinctCodes.rowsWithCodes();
  const best = Array.from(asked, () => new Highest(k));
  for (let first = 0; first < rows.length; first += SPARSE_ROWS) {
    const block = rows.subarray(first, first + SPARSE_ROWS);
    for (const [i, { query, row }] of asked.entries()) {
      const cosines = parts.exactCosines(query, block);
      block.forEach((other, at) => {
        if (other !== row) best[i].take(cosines[at], other);
      });
      if (i % SPARSE_ROWS === 0) yield [first, rows.length];
    }
  }
  return best.map((one) => one.result().rows);
}

/**
 * By cosine with sparse vectors, for queries that are rows: for each dimension it is known which
 * queries have it, so a row meets only the queries with which it shares one. Cosines equal those of
 * `SparseVectors.cosinesOf` to the bit.
 */
export function* trueSparseNeighbors(
  { distinctCodes }: IndexParts,
  sparse: SparseVectors,
  queries: Uint32Array,
  k: number,
): Steps<Uint32Array[]> {
  const having = new Map<bigint, Having>();
  queries.forEach((row, query) => {
    const norm = sparse.normOf(row);
    const { indices, values } = sparse.at(row);
    indices.forEach((dimension, i) => {
      const found = having.get(dimension) ?? { queries: [], weights: [] };
      having.set(dimension, found);
      found.queries.push(query);
      found.weights.push(values[i] / norm);
    });
  });
  const best = Array.from(queries, () => new Highest(k));
  const dots = new Float64Array(queries.length);
  for (let row = 0; row < distinctCodes.rowCount; row++) {
    if (row % SPARSE_ROWS === SPARSE_ROWS - 1) yield [row, distinctCodes.rowCount];
    if (!distinctCodes.hasCode(row)) continue;
    const { indices, values } = sparse.at(row);
    dots.fill(0);
    for (let i = 0; i < indices.length; i++) {
      const found = having.get(indices[i]);
      if (found === undefined) continue;
      const weight = values[i];
      for (let j = 0; j < found.queries.length; j++) {
        dots[found.queries[j]] += weight * found.weights[j];
      }
    }
    const norm = sparse.normOf(row);
    for (let query = 0; query < queries.length; query++) {
      if (queries[query] !== row) best[query].take(cosineOf(dots[query], norm), row);
    }
  }
  return best.map((one) => one.result().rows);
}

/** The queries that have a dimension, and their weights in it at length 1. */
interface Having {
  readonly queries: number[];
  readonly weights: number[];
}
