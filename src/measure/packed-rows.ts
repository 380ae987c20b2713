/** Vectors that were picked one by one, as a matrix. */

import type { DenseMatrix, SparseMatrix } from '../vectors/vectors';

export interface SparseRow {
  readonly indices: ArrayLike<number | bigint>;
  readonly values: ArrayLike<number>;
}

export function packedDense(rows: readonly ArrayLike<number>[], dimensions: number): DenseMatrix {
  const values = new Float64Array(rows.length * dimensions);
  rows.forEach((row, i) => {
    values.set(row, i * dimensions);
  });
  return { values, dimensions };
}

export function packedSparse(rows: readonly SparseRow[]): SparseMatrix {
  const offsets = [0];
  for (const { values } of rows) offsets.push(offsets[offsets.length - 1] + values.length);
  const indices = new BigUint64Array(offsets[rows.length]);
  const values = new Float64Array(offsets[rows.length]);
  rows.forEach((row, i) => {
    for (let j = 0; j < row.values.length; j++) {
      indices[offsets[i] + j] = BigInt.asUintN(64, BigInt(row.indices[j]));
      values[offsets[i] + j] = row.values[j];
    }
  });
  return { offsets, indices, values };
}
