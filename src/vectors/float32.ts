/**
 * Checks that rows can be held as float32: a row that would lose its direction, since its values
 * are too large or too small for float32, is refused and not rounded.
 */

import { isValid } from '../base/bitmap';
import { canonicalRows } from './sparse-rows';
import { type DenseMatrix, isDenseMatrix, type SparseMatrix } from './vectors';

/** Rows whose entries are brought in order together. */
const BLOCK_ROWS = 2048;
/** Float64 rows whose largest value is smaller lose digits as float32, which ends at 2^-149. */
const MIN_FLOAT32 = 2 ** -110;

/**
 * Throws a RangeError for one of the rows `from` to `to - 1` that is not finite or does not fit
 * float32; skips null rows.
 */
export function checkFloat32(
  matrix: DenseMatrix | SparseMatrix,
  from: number,
  to: number,
  isNull: (row: number) => boolean,
): void {
  const least = matrix.values instanceof Float32Array ? 0 : MIN_FLOAT32;
  for (let first = from; first < to; first += BLOCK_ROWS) {
    const end = Math.min(to, first + BLOCK_ROWS);
    const rows = isDenseMatrix(matrix) ? null : canonicalRows(matrix, first, end);
    const values = rows?.values ?? (matrix as DenseMatrix).values;
    const width = rows === null ? (matrix as DenseMatrix).dimensions : 0;
    for (let row = first; row < end; row++) {
      if (isNull(row) || !isValid(matrix.validity, row)) continue;
      const start = rows?.offsets[row - first] ?? row * width;
      const stop = rows?.offsets[row - first + 1] ?? (row + 1) * width;
      let most = 0; // the largest magnitude; NaN if the row has one
      for (let i = start; i < stop; i++) most = Math.max(most, Math.abs(values[i]));
      if (most === 0) continue;
      if (!Number.isFinite(most)) throw new RangeError(`row ${row}: expected finite values`);
      if (most >= least && Number.isFinite(Math.fround(most))) continue;
      throw new RangeError(`row ${row}: its values do not fit float32, in which they are kept`);
    }
  }
}
