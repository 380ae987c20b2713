/**
 * The exact scan over vectors: the k nearest by cosine in float64, then row. It compares every row,
 * so the recall of faster searches is measured against it. All-zero and null rows match nothing.
 */

import { isValid } from '../base/bitmap';
import { checkK, checkNumber, checkOptions, wrongValue } from '../base/check';
import { checkedLength, clampedCosine } from '../base/length';
import { checkLongCall, LONG_CALL, type LongCall } from '../base/steps';
import { Highest } from '../base/top-k';
import { dotsKernel } from '../kernels/dots';
import {
  checkDenseMatrix,
  checkDenseVector,
  type DenseMatrix,
  type DenseVector,
  lengthsOf,
} from './vectors';

/** Rows and their exact cosines, highest first; equal cosines in order of row. */
export interface CosineNeighbors {
  readonly rows: Uint32Array;
  readonly cosines: Float64Array;
}

export interface ScanVectorsOptions {
  /** Number of neighbours, fewer where fewer rows qualify. */
  k?: number;
  /** Only rows with this cosine or a higher one. */
  minCosine?: number;
}

export const SCAN_VECTORS_DEFAULTS = { k: 10, minCosine: -1 } as const;

/** Size of a tile: rows that stay in the cache while all queries are compared with them. */
const TILE_BYTES = 1 << 18;

/**
 * Finds the `k` rows of `matrix` with the highest cosine to one dense vector, by cosine, then row.
 * Compares the query with every row.
 *
 * @example
 * const matrix = { values: new Float32Array([1, 0, 0.8, 0.6, 0, 1]), dimensions: 2 };
 * console.log(scanVectors(matrix, [1, 0.1], { k: 2 }).rows); // Uint32Array(2) [ 0, 1 ]
 */
export function scanVectors(
  matrix: DenseMatrix,
  query: DenseVector,
  options?: ScanVectorsOptions,
): CosineNeighbors {
  const given = checkOptions('options', options, ['k', 'minCosine']);
  const { length } = checkDenseVector('query', query);
  checkDenseMatrix(matrix);
  if (length !== matrix.dimensions) {
    throw wrongValue('query', `${matrix.dimensions} dimensions`, length);
  }
  const queries = { values: Float64Array.from(query), dimensions: matrix.dimensions };
  return scanVectorsAll(matrix, queries, given)[0];
}

/**
 * `scanVectors` for each row of `queries`, one result a query; a null query has no neighbours.
 *
 * @example
 * const matrix = { values: new Float32Array([1, 0, 0.8, 0.6, 0, 1]), dimensions: 2 };
 * console.log(scanVectorsAll(matrix, matrix, { k: 1 }).map(({ rows }) => rows[0])); // [ 0, 1, 2 ]
 */
export function scanVectorsAll(
  matrix: DenseMatrix,
  queries: DenseMatrix,
  options?: ScanVectorsOptions & LongCall,
): CosineNeighbors[] {
  const known = ['k', 'minCosine', ...LONG_CALL];
  const given = checkLongCall(checkOptions('options', options, known));
  const k = checkK(given.k ?? SCAN_VECTORS_DEFAULTS.k);
  const least = checkNumber('minCosine', given.minCosine ?? SCAN_VECTORS_DEFAULTS.minCosine, -1, 1);
  const count = checkDenseMatrix(matrix);
  const queryCount = checkDenseMatrix(queries, 'queries');
  const width = matrix.dimensions;
  if (queries.dimensions !== width) {
    throw wrongValue('queries', `vectors of ${width} dimensions`, queries.dimensions);
  }
  const units = Array.from({ length: queryCount }, (_, row) => unit(queries, row));
  const best = units.map(() => new Highest(Math.min(k, count)));
  const tile = Math.max(1, Math.min(count, Math.floor(TILE_BYTES / (8 * width))));
  const scores = new Float64Array(tile);
  for (let first = 0; first < count; first += tile) {
    given.signal?.throwIfAborted();
    const here = Math.min(tile, count - first);
    const norms = lengthsOf(matrix, first, here);
    units.forEach((query, i) => {
      if (query === null) return;
      dotsKernel.dotsInto(matrix.values, first, here, query, scores);
      for (let row = 0; row < here; row++) {
        if (norms[row] === 0) continue;
        const cosine = clampedCosine(scores[row] / norms[row]);
        if (cosine >= least) best[i].take(cosine, first + row);
      }
    });
    given.onProgress?.(first + here, count);
  }
  return best.map((one) => {
    const { rows, scores: cosines } = one.result();
    return { rows, cosines };
  });
}

/** A copy of a query at length 1; null where the row is null. Throws for an all-zero row. */
function unit(queries: DenseMatrix, row: number): Float64Array | null {
  if (!isValid(queries.validity, row)) return null;
  const from = row * queries.dimensions;
  const vector = Float64Array.from(queries.values.subarray(from, from + queries.dimensions));
  const norm = checkedLength(`query ${row}`, vector);
  if (norm === 0) throw new RangeError(`query ${row}: an all-zero vector has no direction`);
  return vector.map((value) => value / norm);
}
