/**
 * Brute force: exact cosines of all rows to all rows, and the true neighbours of queries among the
 * rows of an index. It is the truth that distances, recall and calibrations are measured against,
 * so it is written in plain loops over the vectors and uses nothing of the search.
 */

import { clampedCosine, lengthOf } from '../base/length';
import { Highest } from '../base/top-k';
import type { SimHashIndex } from '../index/simhash-index';
import { scanVectorsAll } from '../vectors/scan-vectors';
import type { DenseMatrix, SparseMatrix } from '../vectors/vectors';
import { heldOf, type IndexSample } from './rows';

/** Rows of an index whose vectors are copied and compared at once. */
const BLOCK_ROWS = 4096;

/** Cosines of the rows of a matrix, a row at a time. */
export interface PairCosines {
  readonly count: number;
  /**
   * Cosines of `row` to the rows from it on; entries before it are undefined. The array is
   * overwritten by the next call.
   */
  of(row: number): Float64Array;
}

/** Cosines of all rows of a matrix to each other. No row may be null or all-zero. */
export function cosinesOf(vectors: DenseMatrix | SparseMatrix): PairCosines {
  return 'dimensions' in vectors ? denseCosines(vectors) : sparseCosines(vectors, vectors);
}

function denseCosines({ values, dimensions }: DenseMatrix): PairCosines {
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

/**
 * Cosines of each row of `queries` to all rows of `matrix`. Rows meet only by the dimensions that
 * they share, which an inverted list finds. A dimension that a row names twice has the sum of its
 * values.
 */
function sparseCosines(matrix: SparseMatrix, queries: SparseMatrix): PairCosines {
  const count = matrix.offsets.length - 1;
  const rowsWith = new Map<bigint, { row: number; value: number }[]>();
  for (let row = 0; row < count; row++) {
    for (const [dimension, value] of unitRow(matrix, row)) {
      const found = rowsWith.get(dimension);
      if (found === undefined) rowsWith.set(dimension, [{ row, value }]);
      else found.push({ row, value });
    }
  }
  const cosines = new Float64Array(count);
  return {
    count,
    of(query) {
      cosines.fill(0);
      for (const [dimension, value] of unitRow(queries, query)) {
        for (const other of rowsWith.get(dimension) ?? []) {
          cosines[other.row] += value * other.value;
        }
      }
      for (let i = 0; i < count; i++) cosines[i] = clampedCosine(cosines[i]);
      return cosines;
    },
  };
}

/** The values of a sparse row at length 1, by dimension. */
function unitRow({ offsets, indices, values }: SparseMatrix, row: number): Map<bigint, number> {
  const sums = new Map<bigint, number>();
  for (let at = offsets[row]; at < offsets[row + 1]; at++) {
    const dimension = BigInt.asUintN(64, BigInt(indices[at]));
    sums.set(dimension, (sums.get(dimension) ?? 0) + values[at]);
  }
  const length = lengthOf([...sums.values()]);
  for (const [dimension, value] of sums) sums.set(dimension, value / length);
  return sums;
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
