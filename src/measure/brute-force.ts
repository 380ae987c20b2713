/**
 * Brute force: the true neighbours of queries among the rows of an index, by exact cosine. Recall
 * is measured against it, so it is written in plain loops, and uses nothing of the search.
 */
import { clampedCosine, lengthOf } from '../base/length';
import type { LongWork } from '../base/long-work';
import { Highest } from '../base/top-k';
import type { SimHashIndex } from '../index/simhash-index';
import { scanVectorsAll } from '../vectors/scan-vectors';
import type { DenseMatrix, SparseMatrix } from '../vectors/vectors';
import { heldOf, type IndexSample } from './measured-rows';

/** Rows of an index that are copied and compared together. */
const BLOCK_ROWS = 4096;

/**
 * For a row of `queries` its cosines to all rows of `matrix`, by row. An inverted list finds the
 * rows that share a dimension with it. The array is overwritten by the next call.
 */
function sparseCosines(
  matrix: SparseMatrix,
  queries: SparseMatrix,
): (query: number) => Float64Array {
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
  return (query) => {
    cosines.fill(0);
    for (const [dimension, value] of unitRow(queries, query)) {
      for (const other of rowsWith.get(dimension) ?? []) cosines[other.row] += value * other.value;
    }
    for (let row = 0; row < count; row++) cosines[row] = clampedCosine(cosines[row]);
    return cosines;
  };
}

/** The values of a sparse row by dimension, repeated ones summed, scaled to length 1. */
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

/** The queries, and the rows that they are compared with. */
interface TruthOptions {
  /** Rows of the index to look among. */
  readonly rows: Uint32Array;
  readonly queries: DenseMatrix | SparseMatrix;
  /** For each query its own row, which is left out; null if the queries are no rows. */
  readonly self: Uint32Array | null;
  readonly k: number;
}

/**
 * For each query the k nearest of `rows` by exact cosine, among equals the lower row. The index
 * must hold vectors.
 */
export async function trueNeighbors(
  index: SimHashIndex,
  { rows, queries, self, k }: TruthOptions,
  work: LongWork,
): Promise<Set<number>[]> {
  const count =
    'dimensions' in queries
      ? queries.values.length / queries.dimensions
      : queries.offsets.length - 1;
  const best = Array.from({ length: count }, () => new Highest(k));
  for (let first = 0; first < rows.length; first += BLOCK_ROWS) {
    const block = heldOf(index, rows.subarray(first, first + BLOCK_ROWS));
    const take = (query: number, cosine: number, row: number) => {
      if (row !== self?.[query]) best[query].take(cosine, row);
    };
    await takeNearest(block, queries, k + 1, take, work.quiet());
    await work.step(Math.min(rows.length, first + BLOCK_ROWS), rows.length + 1);
  }
  return best.map((one) => new Set(one.result().rows));
}

/** Passes at least the k nearest rows of a block to `take`, for each query, with cosines. */
async function takeNearest(
  { vectors, rows }: IndexSample,
  queries: DenseMatrix | SparseMatrix,
  k: number,
  take: (query: number, cosine: number, row: number) => void,
  work: LongWork,
): Promise<void> {
  if (vectors === null) return;
  if ('dimensions' in vectors) {
    const found = await scanVectorsAll(vectors, queries as DenseMatrix, { k, ...work.call });
    found.forEach((near, query) => {
      for (const [i, row] of near.rows.entries()) take(query, near.cosines[i], rows[row]);
    });
    return;
  }
  const sparse = queries as SparseMatrix;
  const cosines = sparseCosines(vectors, sparse);
  for (let query = 0; query + 1 < sparse.offsets.length; query++) {
    for (const [row, cosine] of cosines(query).entries()) take(query, cosine, rows[row]);
  }
}
