/**
 * The exact scan over vectors: the k nearest by cosine in float64, then row. It compares every row,
 * so the recall of faster searches is measured against it. All-zero and null rows match nothing.
 */

import { isValid } from '../base/arrays';
import { checkOptions, wrongValue } from '../base/check';
import { LONG_CALL, type LongCall, LongWork } from '../base/long-work';
import { Highest } from '../base/top-k';
import { dotsInto } from '../kernels/dots';
import {
  checkDenseMatrix,
  checkDenseVector,
  checkedLength,
  clampedCosine,
  type DenseMatrix,
  type DenseVector,
  lengthsOf,
  quotientsOf,
  reaches,
} from './vectors';

/** Rows and their exact cosines, highest first; equal cosines in order of row. */
export interface CosineNeighbors {
  readonly rows: Uint32Array;
  readonly cosines: Float64Array;
}

export interface ScanVectorsOptions {
  /** Number of neighbours. */
  k?: number;
  /** Lowest cosine, apart from rounding: 1 finds the query itself. */
  minCosine?: number;
}

export const SCAN_VECTORS_DEFAULTS = { k: 10, minCosine: -1 } as const;

const OPTIONS = { k: { min: 1 }, minCosine: { least: -1, most: 1 } } as const;

/** Size of a tile: rows that stay in the cache while all queries are compared with them. */
const TILE_BYTES = 1 << 18;
/** Queries of a step: it takes some milliseconds. */
const STEP_QUERIES = 256;

/**
 * Finds the `k` rows with the highest cosine to a vector, by cosine, then row. Compares the query
 * with every row.
 *
 * @example
 * const matrix = { values: new Float32Array([1, 0, 0.8, 0.6, 0, 1]), dimensions: 2 };
 * console.log(scanVectors(matrix, [1, 0.1], { k: 2 }).rows); // Uint32Array(2) [ 0, 1 ]
 * console.log((await scanVectorsAll(matrix, matrix, { k: 1 }))[2]?.rows); // Uint32Array(1) [ 2 ]
 */
export function scanVectors(
  matrix: DenseMatrix,
  query: DenseVector,
  options?: ScanVectorsOptions,
): CosineNeighbors {
  const given = checkOptions(options, OPTIONS);
  const { length } = checkDenseVector('query', query);
  checkDenseMatrix(matrix);
  if (length !== matrix.dimensions) {
    throw wrongValue('query', `${matrix.dimensions} dimensions`, length);
  }
  const queries = { values: Float64Array.from(query), dimensions: matrix.dimensions };
  const scan = new VectorScan(matrix, queries, given);
  while (scan.done < scan.count) scan.step();
  return scan.resultOf(0);
}

/** `scanVectors` for each row of `queries`, one result a query; a null query has no neighbours. */
export async function scanVectorsAll(
  matrix: DenseMatrix,
  queries: DenseMatrix,
  options?: ScanVectorsOptions & LongCall,
): Promise<CosineNeighbors[]> {
  const given = checkOptions(options, { ...OPTIONS, ...LONG_CALL });
  const work = new LongWork(given);
  const scan = new VectorScan(matrix, queries, given);
  while (scan.done < scan.count) {
    scan.step();
    await work.step(scan.done, scan.count);
  }
  const results: CosineNeighbors[] = [];
  while (results.length < scan.queryCount) {
    results.push(scan.resultOf(results.length));
    await work.step();
  }
  return results;
}

/** A scan for some queries: each step compares some of them with a tile of rows. */
class VectorScan {
  /** Rows of the matrix, and those that all queries were compared with. */
  readonly count: number;
  done = 0;
  readonly #matrix: DenseMatrix;
  readonly #least: number;
  /** Queries of length 1; null for a null one. */
  readonly #units: (Float64Array | null)[];
  readonly #best: Highest[];
  readonly #scores: Float64Array;
  /** The lengths of the rows of the tile, and the first query to compare with them. */
  #norms: Float64Array = new Float64Array();
  #query = 0;

  constructor(matrix: DenseMatrix, queries: DenseMatrix, given: ScanVectorsOptions) {
    const { k, minCosine } = { ...SCAN_VECTORS_DEFAULTS, ...given };
    this.#least = minCosine;
    this.count = checkDenseMatrix(matrix);
    const queryCount = checkDenseMatrix(queries, 'queries');
    const width = matrix.dimensions;
    if (queries.dimensions !== width) {
      throw wrongValue('queries', `vectors of ${width} dimensions`, queries.dimensions);
    }
    this.#matrix = matrix;
    this.#units = Array.from({ length: queryCount }, (_, row) => unit(queries, row));
    this.#best = this.#units.map(() => new Highest(Math.min(k, this.count)));
    const tile = Math.floor(TILE_BYTES / (8 * width));
    this.#scores = new Float64Array(Math.max(1, Math.min(this.count, tile)));
  }

  get queryCount(): number {
    return this.#units.length;
  }

  step(): void {
    const first = this.done;
    const count = Math.min(this.#scores.length, this.count - first);
    if (this.#query === 0) this.#norms = lengthsOf(this.#matrix, first, count);
    const end = Math.min(this.queryCount, this.#query + STEP_QUERIES);
    for (let query = this.#query; query < end; query++) this.#compare(query, first, count);
    this.#query = end < this.queryCount ? end : 0;
    if (this.#query === 0) this.done += count;
  }

  /** Compares a query with the rows of the tile. */
  #compare(query: number, first: number, count: number): void {
    const unit = this.#units[query];
    if (unit === null) return;
    const { values, dimensions } = this.#matrix;
    const [scores, norms, best] = [this.#scores, this.#norms, this.#best[query]];
    const rows = values.subarray(first * dimensions, (first + count) * dimensions);
    dotsInto(rows, null, unit, scores);
    for (let row = 0; row < count; row++) {
      if (norms[row] === 0) continue; // null or all-zero
      const cosine = scores[row] / norms[row];
      if (cosine >= best.bound && reaches(cosine, this.#least)) {
        best.take(clampedCosine(cosine), first + row);
      }
    }
  }

  resultOf(query: number): CosineNeighbors {
    const { rows, scores: cosines } = this.#best[query].result();
    return { rows, cosines };
  }
}

/** A copy of a query at length 1; null where the row is null. Throws for an all-zero row. */
function unit(queries: DenseMatrix, row: number): Float64Array | null {
  if (!isValid(queries.validity, row)) return null;
  const from = row * queries.dimensions;
  const vector = queries.values.subarray(from, from + queries.dimensions);
  const norm = checkedLength(`query ${row}`, vector);
  if (norm === 0) throw new RangeError(`query ${row}: an all-zero vector has no direction`);
  return quotientsOf(vector, norm);
}
