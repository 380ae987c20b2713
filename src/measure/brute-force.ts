/**
 * Brute force: exact similarities of all rows to all rows, and the true neighbours of queries among
 * the rows of an index. It is the truth that distances, recall and calibrations are measured
 * against, so it is written in plain loops over the vectors and uses nothing of the search.
 */

import { clampedCosine, lengthOf } from '../base/length';
import { Highest } from '../base/top-k';
import { JACCARD, type Measure } from '../codes/measure';
import type { SimHashIndex } from '../index/simhash-index';
import { scanVectorsAll } from '../vectors/scan-vectors';
import type { DenseMatrix, SparseMatrix } from '../vectors/vectors';
import { heldOf, type IndexSample } from './rows';

/** Rows of an index whose vectors are copied and compared at once. */
const BLOCK_ROWS = 4096;

/** Exact similarities of the rows of a matrix, a row at a time. */
export interface PairSimilarities {
  readonly count: number;
  /**
   * Similarities of `row` to the rows from it on; entries before it are undefined. The array is
   * overwritten by the next call.
   */
  of(row: number): Float64Array;
}

/**
 * Similarities of all rows of a matrix to each other. No row may be null or all-zero; sets are the
 * dimensions of sparse rows whose value is not 0.
 */
export function pairSimilarities(
  measure: Measure,
  vectors: DenseMatrix | SparseMatrix,
): PairSimilarities {
  if ('dimensions' in vectors) return denseCosines(vectors);
  return measure === JACCARD ? sparseJaccards(vectors) : sparseCosines(vectors, vectors);
}

function denseCosines({ values, dimensions }: DenseMatrix): PairSimilarities {
  const count = values.length / dimensions;
  const units = Float64Array.from(values);
  for (let row = 0; row < count; row++) {
    const unit = units.subarray(row * dimensions, (row + 1) * dimensions);
    const length = lengthOf(unit);
    for (let i = 0; i < dimensions; i++) unit[i] /= length;
  }
  const cosines = new Float64Array(count);
  return {
    count,
    of(row) {
      const from = row * dimensions;
      for (let other = row, at = from; other < count; other++) {
        let sum = 0;
        for (let i = 0; i < dimensions; i++) sum += units[from + i] * units[at++];
        cosines[other] = clampedCosine(sum);
      }
      return cosines;
    },
  };
}

/** Cosines of each row of `queries` to all rows of `matrix`. */
function sparseCosines(matrix: SparseMatrix, queries: SparseMatrix): PairSimilarities {
  return overlaps(matrix, queries, unitRow, (sum) => clampedCosine(sum));
}

/** Members that two rows share, of all that either has. */
function sparseJaccards(matrix: SparseMatrix): PairSimilarities {
  return overlaps(matrix, matrix, setRow, (common, a, b) => common / (a + b - common));
}

/** The values of a row by dimension. */
type RowValues = ReadonlyMap<bigint, number>;

/**
 * For each of `queries` its sums of products with all rows of `matrix`, made similarities by the
 * sum and the sizes of both. Rows meet only by the dimensions that they share, which an inverted
 * list finds.
 */
function overlaps(
  matrix: SparseMatrix,
  queries: SparseMatrix,
  rowOf: (matrix: SparseMatrix, row: number) => RowValues,
  similarity: (sum: number, querySize: number, rowSize: number) => number,
): PairSimilarities {
  const count = matrix.offsets.length - 1;
  const sizes = new Uint32Array(count);
  const rowsWith = new Map<bigint, { row: number; value: number }[]>();
  for (let row = 0; row < count; row++) {
    const values = rowOf(matrix, row);
    sizes[row] = values.size;
    for (const [dimension, value] of values) {
      const found = rowsWith.get(dimension);
      if (found === undefined) rowsWith.set(dimension, [{ row, value }]);
      else found.push({ row, value });
    }
  }
  const sums = new Float64Array(count);
  return {
    count,
    of(query) {
      sums.fill(0);
      const values = rowOf(queries, query);
      for (const [dimension, value] of values) {
        for (const other of rowsWith.get(dimension) ?? []) sums[other.row] += value * other.value;
      }
      for (let row = 0; row < count; row++) {
        sums[row] = similarity(sums[row], values.size, sizes[row]);
      }
      return sums;
    },
  };
}

/** The values of a sparse row by dimension; one that it names twice has the sum of its values. */
function summedRow({ offsets, indices, values }: SparseMatrix, row: number): Map<bigint, number> {
  const sums = new Map<bigint, number>();
  for (let at = offsets[row]; at < offsets[row + 1]; at++) {
    const dimension = BigInt.asUintN(64, BigInt(indices[at]));
    sums.set(dimension, (sums.get(dimension) ?? 0) + values[at]);
  }
  return sums;
}

/** The same at length 1. */
function unitRow(matrix: SparseMatrix, row: number): RowValues {
  const sums = summedRow(matrix, row);
  const length = lengthOf([...sums.values()]);
  for (const [dimension, value] of sums) sums.set(dimension, value / length);
  return sums;
}

/** The dimensions whose value is not 0, each as 1. */
function setRow(matrix: SparseMatrix, row: number): RowValues {
  const members = [...summedRow(matrix, row)].filter(([, value]) => value !== 0);
  return new Map(members.map(([dimension]) => [dimension, 1]));
}

/** What is compared with what. */
interface TruthOptions {
  /** Rows of the index to look among. */
  readonly rows: Uint32Array;
  readonly queries: DenseMatrix | SparseMatrix;
  /** Of each query the row of the index that it is, which is left out; null for other queries. */
  readonly self: Uint32Array | null;
  readonly k: number;
}

/**
 * For each query the k nearest of `rows` by exact cosine, of equal cosines the first row. The index
 * must hold vectors. `step` is called after each block with the number of rows compared so far.
 */
export async function trueNeighbors(
  index: SimHashIndex,
  { rows, queries, self, k }: TruthOptions,
  step: (done: number) => Promise<void>,
): Promise<Set<number>[]> {
  const count =
    'dimensions' in queries
      ? queries.values.length / queries.dimensions
      : queries.offsets.length - 1;
  const best = Array.from({ length: count }, () => new Highest(k));
  for (let first = 0; first < rows.length; first += BLOCK_ROWS) {
    const block = heldOf(index, rows.subarray(first, first + BLOCK_ROWS));
    takeNearest(block, queries, k + 1, (query, cosine, row) => {
      if (row !== self?.[query]) best[query].take(cosine, row);
    });
    await step(Math.min(rows.length, first + BLOCK_ROWS));
  }
  return best.map((one) => new Set(one.result().rows));
}

/** Gives at least the k nearest rows of a block to each query, and their cosines. */
function takeNearest(
  { vectors, rows }: IndexSample,
  queries: DenseMatrix | SparseMatrix,
  k: number,
  take: (query: number, cosine: number, row: number) => void,
): void {
  if (vectors === null) return;
  if ('dimensions' in vectors) {
    scanVectorsAll(vectors, queries as DenseMatrix, { k }).forEach((near, query) => {
      for (const [i, row] of near.rows.entries()) take(query, near.cosines[i], rows[row]);
    });
    return;
  }
  const sparse = queries as SparseMatrix;
  const cosines = sparseCosines(vectors, sparse);
  for (let query = 0; query + 1 < sparse.offsets.length; query++) {
    for (const [row, cosine] of cosines.of(query).entries()) take(query, cosine, rows[row]);
  }
}
