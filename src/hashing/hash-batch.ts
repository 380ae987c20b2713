/** The codes of a batch, in parts that threads can share: the work of `hashAll`. */

import type { Steps } from '../base/steps';
import { type CodeOrigin, Codes } from '../codes/codes';
import type { Task } from '../threads/job';
import { inParallel } from '../threads/parallel';
import {
  checkMatrix,
  type DenseMatrix,
  isDenseMatrix,
  matrixOf,
  type SparseMatrix,
  type VectorBatch,
} from '../vectors/vectors';
import { type HashSettings, type RowCodes, RowHasher, rowsOfMatrix } from './row-hasher';

interface Part {
  readonly matrix: DenseMatrix | SparseMatrix;
  readonly count: number;
  readonly firstRow: number;
}

/** Hashes parts of a batch; codes depend on the settings alone, not on how a batch is cut. */
export const HASHING: Task<HashSettings, Part, RowCodes> = {
  name: 'hashing',
  open(settings) {
    const hasher = new RowHasher(settings);
    return ({ matrix, count, firstRow }) => hasher.codesOf(matrix, count, firstRow);
  },
};

/** What a batch is a part of: the row that its first row is there, and the rows of the whole. */
export interface WholeBatch {
  readonly firstRow: number;
  readonly total?: number | undefined;
}

/**
 * The codes of a batch. Errors name rows from `firstRow` on; `total` is for progress. The batch
 * must not change until the work has ended.
 */
export function* hashBatch(
  hasher: RowHasher,
  origin: CodeOrigin | undefined,
  batch: VectorBatch,
  { firstRow, total }: WholeBatch,
): Steps<Codes> {
  const { settings } = hasher;
  const matrix = matrixOf(batch, settings.dimensions);
  const isDense = isDenseMatrix(matrix);
  const count = checkMatrix(matrix);
  if (isDense && count > 0) hasher.checkWidth(matrix.dimensions);
  const validity = new Uint8Array(Math.ceil(count / 8)).fill(0xff);
  const codes = Codes.allocate(count, { bits: settings.bits, validity, origin });
  const ends = hasher.partEnds(matrix, count);
  let hasNulls = false;
  yield* inParallel({
    task: HASHING,
    state: settings,
    count: ends.length,
    part(i) {
      const [first, end] = [ends[i - 1] ?? 0, ends[i]];
      const rows = rowsOfMatrix(matrix, first, end);
      return { matrix: rows, count: end - first, firstRow: firstRow + first };
    },
    take({ bytes, isNull }, i) {
      const first = ends[i - 1] ?? 0;
      codes.bytes.set(bytes, first * codes.bytesPerCode);
      for (let row = first; row < ends[i]; row++) {
        if (isNull[row - first] === 0) continue;
        validity[row >> 3] &= ~(1 << (row & 7));
        hasNulls = true;
      }
      return [firstRow + ends[i], total ?? firstRow + count];
    },
  });
  return hasNulls ? codes : codes.withoutValidity();
}
