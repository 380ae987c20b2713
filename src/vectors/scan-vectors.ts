/**
 * Brute force over the vectors themselves: the k nearest by exact cosine, then row. The truth that
 * recall is measured against. All-zero and null rows match nothing.
 */

import { isValid } from '../base/bitmap';
import { checkK, checkNumber, checkOptions, wrongValue } from '../base/check';
import { lengthOf } from '../base/length';
import { checkLongCall, LONG_CALL, type LongCall } from '../base/steps';
import { dotsKernel, type KernelName } from '../kernels/kernels';
import { checkDenseMatrix, checkDenseVector, type DenseMatrix, type DenseVector } from './vectors';

/** Rows and their exact cosines, highest first; equal cosines in order of row. */
export interface CosineNeighbors {
  readonly rows: Uint32Array;
  readonly cosines: Float64Array;
}

export interface ScanVectorsOptions {
  k?: number;
  /** Only rows with this cosine or more. */
  minCosine?: number;
  kernel?: KernelName;
}

export const SCAN_VECTORS_DEFAULTS = { k: 10, minCosine: -1, kernel: 'auto' } as const;

const TILE_BYTES = 1 << 18;

/** The k nearest rows of `matrix` to one dense vector. */
export function scanVectors(
  matrix: DenseMatrix,
  query: DenseVector,
  options?: ScanVectorsOptions,
): CosineNeighbors {
  const given = checkOptions('options', options, ['k', 'minCosine', 'kernel']);
  const values = Float64Array.from(checkDenseVector('query', query));
  checkDenseMatrix(matrix);
  if (values.length !== matrix.dimensions) {
    throw wrongValue('query', `${matrix.dimensions} dimensions`, values.length);
  }
  const queries = { values, dimensions: matrix.dimensions };
  return scanVectorsAll(matrix, queries, given)[0];
}

/** The k nearest rows of `matrix` to each row of `queries`; a null query has no neighbours. */
export function scanVectorsAll(
  matrix: DenseMatrix,
  queries: DenseMatrix,
  options?: ScanVectorsOptions & LongCall,
): CosineNeighbors[] {
  const known = ['k', 'minCosine', 'kernel', ...LONG_CALL];
  const given = checkLongCall(checkOptions('options', options, known));
  const k = checkK(given.k ?? SCAN_VECTORS_DEFAULTS.k);
  const least = checkNumber('minCosine', given.minCosine ?? SCAN_VECTORS_DEFAULTS.minCosine, -1, 1);
  const count = checkDenseMatrix(matrix);
  const queryCount = checkDenseMatrix(queries, 'queries');
  const width = matrix.dimensions;
  if (queries.dimensions !== width) {
    throw wrongValue('queries', `vectors of ${width} dimensions`, queries.dimensions);
  }
  const dots = dotsKernel(given.kernel);
  const units = Array.from({ length: queryCount }, (_, row) => unit(queries, row));
  const best = units.map(() => new Best(Math.min(k, count), least));
  const tile = Math.max(1, Math.min(count, Math.floor(TILE_BYTES / (8 * width))));
  const scores = new Float64Array(tile);
  for (let first = 0; first < count; first += tile) {
    given.signal?.throwIfAborted();
    const here = Math.min(tile, count - first);
    const norms = normsOf(matrix, first, here);
    units.forEach((query, i) => {
      if (query === null) return;
      dots.dotsInto(matrix.values, first, here, query, scores);
      for (let row = 0; row < here; row++) {
        if (norms[row] > 0) best[i].offer(first + row, clamp(scores[row] / norms[row]));
      }
    });
    given.onProgress?.(first + here, count);
  }
  return best.map((one) => one.result());
}

/** A query at length 1; null where the row is. */
function unit(queries: DenseMatrix, row: number): Float64Array | null {
  if (!isValid(queries.validity, row)) return null;
  const from = row * queries.dimensions;
  const vector = Float64Array.from(queries.values.subarray(from, from + queries.dimensions));
  const norm = lengthOf(vector);
  if (!Number.isFinite(norm)) {
    throw new RangeError(`query ${row}: expected finite values of a finite length`);
  }
  if (norm === 0) throw new RangeError(`query ${row}: an all-zero vector has no direction`);
  return vector.map((value) => value / norm);
}

/** Lengths of rows; 0 for those that match nothing. */
function normsOf(matrix: DenseMatrix, first: number, count: number): Float64Array {
  const { values, dimensions, validity } = matrix;
  const norms = new Float64Array(count);
  for (let i = 0; i < count; i++) {
    if (!isValid(validity, first + i)) continue;
    norms[i] = lengthOf(values, (first + i) * dimensions, (first + i + 1) * dimensions);
    if (!Number.isFinite(norms[i])) {
      throw new RangeError(`row ${first + i}: expected finite values of a finite length`);
    }
  }
  return norms;
}

function clamp(cosine: number): number {
  return Math.max(-1, Math.min(1, cosine));
}

/** The k best by (cosine, row) as a heap with the worst on top; rows come in ascending order. */
class Best {
  readonly #k: number;
  readonly #least: number;
  readonly #rows: number[] = [];
  readonly #cosines: number[] = [];

  constructor(k: number, least: number) {
    this.#k = k;
    this.#least = least;
  }

  offer(row: number, cosine: number): void {
    if (this.#rows.length === this.#k) {
      if (!(cosine > this.#cosines[0])) return; // a later row at the same cosine comes after
      this.#place(0, row, cosine);
    } else if (cosine >= this.#least) {
      this.#rows.push(row);
      this.#cosines.push(cosine);
      this.#rise(this.#rows.length - 1, row, cosine);
    }
  }

  /** Is entry `at` worse than the given? */
  #isWorse(at: number, row: number, cosine: number): boolean {
    const difference = this.#cosines[at] - cosine;
    return difference < 0 || (difference === 0 && this.#rows[at] > row);
  }

  #rise(start: number, row: number, cosine: number): void {
    let at = start;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (this.#isWorse(parent, row, cosine)) break;
      this.#set(at, this.#rows[parent], this.#cosines[parent]);
      at = parent;
    }
    this.#set(at, row, cosine);
  }

  #place(start: number, row: number, cosine: number): void {
    const { length } = this.#rows;
    let at = start;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= length) break;
      const right = child + 1;
      if (right < length && this.#isWorse(right, this.#rows[child], this.#cosines[child])) child++;
      if (!this.#isWorse(child, row, cosine)) break;
      this.#set(at, this.#rows[child], this.#cosines[child]);
      at = child;
    }
    this.#set(at, row, cosine);
  }

  #set(at: number, row: number, cosine: number): void {
    this.#rows[at] = row;
    this.#cosines[at] = cosine;
  }

  result(): CosineNeighbors {
    const order = this.#rows.map((_, i) => i);
    order.sort((a, b) => this.#cosines[b] - this.#cosines[a] || this.#rows[a] - this.#rows[b]);
    return {
      rows: Uint32Array.from(order, (i) => this.#rows[i]),
      cosines: Float64Array.from(order, (i) => this.#cosines[i]),
    };
  }
}
