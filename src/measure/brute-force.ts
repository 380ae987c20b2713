/**
 * Brute force: exact similarities of all rows to all rows, and the true neighbours of queries among
 * the rows of an index. Distances, recall and calibrations are measured against it, so it is
 * written in plain loops over the vectors, and uses nothing of the search.
 */
import { clampedCosine, lengthOf } from '../base/length';
import { Highest } from '../base/top-k';
import { JACCARD, type Measure } from '../codes/measure';
import type { SimHashIndex } from '../index/simhash-index';
import { scanVectorsAll } from '../vectors/scan-vectors';
import type { DenseMatrix, SparseMatrix } from '../vectors/vectors';
import { heldOf, type IndexSample } from './measured-rows';

/** Rows of an index that are copied and compared together. */
const BLOCK_ROWS = 4096;

/** Exact similarities of the rows of a matrix, one row at a time. */
export interface PairSimilarities {
  readonly count: number;
  /**
   * Similarities of `row` to itself and the rows behind it, by row; entries before are undefined.
   * The array is overwritten by the next call.
   */
  of(row: number): Float64Array;
}

/**
 * Similarities of all rows of a matrix to each other. No row may be null or all-zero. For Jaccard,
 * a sparse row is the set of dimensions whose value is not 0.
 */
export function pairSimilarities(
  measure: Measure,
  vectors: DenseMatrix | SparseMatrix,
): PairSimilarities {
  if ('dimensions' in vectors) return denseCosines(vectors);
  return measure === JACCARD ? sparseJaccards(vectors) : sparseCosines(vectors, vectors);
}

/** Cosines of dense rows, scaled to length 1 once. */
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

/** Jaccard similarities: shared members of two rows, divided by all members of both. */
function sparseJaccards(matrix: SparseMatrix): PairSimilarities {
  return overlaps(matrix, matrix, setRow, (common, a, b) => common / (a + b - common));
}

/** The values of a sparse row by dimension. */
type RowValues = ReadonlyMap<bigint, number>;

/**
 * For each row of `queries` its products with all rows of `matrix`, turned into similarities by
 * `similarity`. An inverted list finds the rows that share a dimension with the query.
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

/** The values of a sparse row by dimension; values of a repeated dimension are summed. */
function summedRow({ offsets, indices, values }: SparseMatrix, row: number): Map<bigint, number> {
  const sums = new Map<bigint, number>();
  for (let at = offsets[row]; at < offsets[row + 1]; at++) {
    const dimension = BigInt.asUintN(64, BigInt(indices[at]));
    sums.set(dimension, (sums.get(dimension) ?? 0) + values[at]);
  }
  return sums;
}

/** The same, scaled to length 1. */
function unitRow(matrix: SparseMatrix, row: number): RowValues {
  const sums = summedRow(matrix, row);
  const length = lengthOf([...sums.values()]);
  for (const [dimension, value] of sums) sums.set(dimension, value / length);
  return sums;
}

/** The dimensions whose value is not 0, each with the value 1. */
function setRow(matrix: SparseMatrix, row: number): RowValues {
  const members = [...summedRow(matrix, row)].filter(([, value]) => value !== 0);
  return new Map(members.map(([dimension]) => [dimension, 1]));
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
 * must hold vectors. Awaits `step` after each block, with the number of rows compared so far.
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

/** Passes at least the k nearest rows of a block to `take`, for each query, with cosines. */
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
