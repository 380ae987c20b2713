/**
 * The true neighbours of an index's own rows, each row left out of its answer: by exact cosine
 * where vectors are kept, else by distance. Integer products find what can be among the k nearest,
 * within a proven error; cosines in float64 decide.
 */

import type { Steps } from '../base/steps';
import { Highest, rowOf, Smallest, weightOf } from '../base/top-k';
import { roundInto } from '../k-means/points';
import { productsKernel } from '../kernels/kernels';
import { integerWidth, UNIT } from '../kernels/products/products.scalar';
import { distinctCollector, scanDistinct } from './by-distance';
import type { IndexParts } from './index-parts';
import { bestByCosine } from './re-rank';
import type { DenseVectors } from './vectors/dense-vectors';
import { cosineOf, SparseVectors } from './vectors/sparse-vectors';

/** Rows of a block; the first are fewer, since nothing is known yet of what is too far. */
const BLOCK_ROWS = 512;
const FIRST_ROWS = 32;
/** Looked at by cosine, in units of k. */
const SPARE = 4;
/** Weights of products in the order of `Smallest`, which is exact below 2^21. */
const PRODUCT_STEP = 2 ** 11;
const MIN_PRODUCT = -(2 ** 31);

/** Rows of sparse vectors between two steps. */
const SPARSE_ROWS = 512;

/** For each of `queries`, rows with codes, its k nearest other rows. */
export function* trueNeighbors(
  parts: IndexParts,
  queries: Uint32Array,
  k: number,
): Steps<Uint32Array[]> {
  const { dense, vectors } = parts;
  if (dense !== null) return yield* byCosine(parts, dense, queries, k);
  if (vectors instanceof SparseVectors) {
    return yield* trueSparseNeighbors(parts, vectors, queries, k);
  }
  return yield* byDistance(parts, queries, k);
}

function* byDistance(parts: IndexParts, queries: Uint32Array, k: number): Steps<Uint32Array[]> {
  const { distinctCodes } = parts;
  const codes = Array.from(queries, (row) => distinctCodes.codeAt(distinctCodes.distinctOf(row)));
  const collectors = codes.map((_, i) => {
    const accepts = (row: number) => row !== queries[i];
    const others = { accepts, isUserCode: false, rows: null };
    return distinctCollector(parts, k, parts.bits, others);
  });
  const work = { codesCompared: 0, candidates: 0, probes: 0 };
  yield* scanDistinct(parts, codes, collectors, work);
  return collectors.map((collector) => collector.result().rows);
}

function* byCosine(
  parts: IndexParts,
  vectors: DenseVectors,
  queries: Uint32Array,
  k: number,
): Steps<Uint32Array[]> {
  const { distinctCodes } = parts;
  const width = integerWidth(vectors.dimensions);
  const rounded = new Int16Array(queries.length * width);
  queries.forEach((row, i) => {
    roundInto(vectors.valuesAt(row), vectors.normOf(row), rounded, i * width);
  });
  const best = Array.from(queries, () => new Smallest(SPARE * k + 1));
  const least = new Int32Array(queries.length).fill(MIN_PRODUCT);
  const block = new Int16Array(BLOCK_ROWS * width);
  const kernel = productsKernel(parts.kernel);
  for (let first = 0, count = 0; first < distinctCodes.rowCount; first += count) {
    count = Math.min(BLOCK_ROWS, Math.max(FIRST_ROWS, first), distinctCodes.rowCount - first);
    for (let i = 0; i < count; i++) {
      if (!distinctCodes.hasCode(first + i)) block.fill(0, i * width, (i + 1) * width);
      else roundInto(vectors.valuesAt(first + i), vectors.normOf(first + i), block, i * width);
    }
    const rows = { values: block, width };
    kernel.productsOfMany(rows, 0, count, rounded, least, (row, here, query, products, at) => {
      for (let i = 0; i < here; i++) {
        if (products[at + i] < least[query] || !distinctCodes.hasCode(first + row + i)) continue;
        const weight = Math.ceil((2 ** 31 - products[at + i]) / PRODUCT_STEP);
        best[query].take(weight, first + row + i);
        const enough = 2 ** 31 - PRODUCT_STEP * (weightOf(best[query].bound) + 1);
        least[query] = Math.max(MIN_PRODUCT, enough);
      }
    });
    yield [first + count, distinctCodes.rowCount];
  }
  const neighbors: Uint32Array[] = [];
  for (const [i, row] of queries.entries()) {
    neighbors.push(decided(parts, vectors, row, best[i].result(), k));
    yield undefined;
  }
  return neighbors;
}

/** The k nearest by cosine: among the candidates when they must hold them, else among all rows. */
function decided(
  { distinctCodes }: IndexParts,
  vectors: DenseVectors,
  query: number,
  keys: Float64Array,
  k: number,
): Uint32Array {
  // A product is off by at most half a unit a coordinate on both sides, and the step of the keys.
  const error = (Math.sqrt(vectors.dimensions) + 1) * UNIT + PRODUCT_STEP;
  const kth = weightOf(keys[Math.min(k + 1, keys.length) - 1]) * PRODUCT_STEP;
  const last = weightOf(keys[keys.length - 1]) * PRODUCT_STEP;
  const isCertain = keys.length <= SPARE * k || last - kth > 2 * error;
  const rows = isCertain ? Uint32Array.from(keys, rowOf) : distinctCodes.rowsWithCodes();
  const others = rows.filter((row) => row !== query);
  return bestByCosine(others, vectors.cosinesOf(others, vectors.unitOf(query)), k).rows;
}

/**
 * The same by sparse vectors, dimension by dimension: which queries have it, and with what weight.
 * A row meets only the queries with which it shares a dimension; cosines are those of
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

/** The queries that have a dimension, and their weights at length 1. */
interface Having {
  readonly queries: number[];
  readonly weights: number[];
}
