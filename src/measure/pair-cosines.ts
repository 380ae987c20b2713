/**
 * Exact cosines of the rows of a sample to each other: brute force, the truth that distances are
 * measured against; of sparse rows and texts by the dimensions that they have in common.
 */

import type { DenseMatrix, SparseMatrix } from '../vectors/vectors';

/** Rows of the sample, and the cosines of one of them to those from it on. */
export interface PairCosines {
  readonly count: number;
  /** What is said of rows before is of no account; the answer is overwritten by the next one. */
  of(row: number): Float64Array;
}

/** Of vectors that are all dense or all sparse. */
export function cosinesOf(vectors: DenseMatrix | SparseMatrix): PairCosines {
  return 'dimensions' in vectors ? denseCosines(vectors) : sparseCosines(vectors);
}

/** No row may be null or all-zero. */
function denseCosines({ values, dimensions }: DenseMatrix): PairCosines {
  const count = values.length / dimensions;
  const units = Float64Array.from(values);
  for (let row = 0; row < count; row++) {
    const unit = units.subarray(row * dimensions, (row + 1) * dimensions);
    const length = Math.sqrt(unit.reduce((sum, value) => sum + value * value, 0));
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
        cosines[other] = Math.max(-1, Math.min(1, sum));
      }
      return cosines;
    },
  };
}

/** No row may be all-zero. A dimension may come twice in a row: its values add up. */
function sparseCosines(matrix: SparseMatrix): PairCosines {
  return sparseCosinesTo(matrix, matrix);
}

/** Of each row of `queries` to all of `matrix`; `count` is of the latter. */
export function sparseCosinesTo(matrix: SparseMatrix, queries: SparseMatrix): PairCosines {
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
      for (let i = 0; i < count; i++) cosines[i] = Math.max(-1, Math.min(1, cosines[i]));
      return cosines;
    },
  };
}

function unitRow({ offsets, indices, values }: SparseMatrix, row: number): Map<bigint, number> {
  const sums = new Map<bigint, number>();
  for (let at = offsets[row]; at < offsets[row + 1]; at++) {
    const dimension = BigInt.asUintN(64, BigInt(indices[at]));
    sums.set(dimension, (sums.get(dimension) ?? 0) + values[at]);
  }
  let square = 0;
  for (const value of sums.values()) square += value * value;
  const length = Math.sqrt(square);
  for (const [dimension, value] of sums) sums.set(dimension, value / length);
  return sums;
}
