/** One row of a batch of vectors or codes, by itself. */

import type { Codes, DenseMatrix, SparseMatrix, Vector } from '../../node';

type Batch = DenseMatrix | SparseMatrix | Codes;

/** True of a null row, and of a sparse one without entries. */
export function isMissing(batch: Batch, row: number): boolean {
  if (batch.validity && !((batch.validity[row >> 3] >> (row & 7)) & 1)) return true;
  return 'offsets' in batch && batch.offsets[row] === batch.offsets[row + 1];
}

/** A dense row where it lies; the entries of a sparse one. */
export function vectorAt(batch: DenseMatrix | SparseMatrix, row: number): Vector {
  if ('dimensions' in batch) {
    const { values, dimensions } = batch;
    return values.subarray(row * dimensions, (row + 1) * dimensions);
  }
  const [from, to] = [batch.offsets[row], batch.offsets[row + 1]];
  return {
    indices: batch.indices.slice(from, to) as BigUint64Array,
    values: batch.values.slice(from, to) as Float64Array,
  };
}
