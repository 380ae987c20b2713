/**
 * The work of `SimHasher.hashAll`: hashes a batch in parts that threads can share. The codes do not
 * depend on how the batch is cut, nor on the number of threads.
 */

import { type CodeOrigin, Codes } from '../codes/codes';
import type { Job, Task } from '../threads/job';
import {
  checkMatrix,
  type DenseMatrix,
  isDenseMatrix,
  matrixOf,
  type SparseMatrix,
  type VectorBatch,
} from '../vectors/vectors';
import { type HashSettings, type RowCodes, RowHasher, rowsOfMatrix } from './row-hasher';

/** Consecutive rows of a batch. */
interface Part {
  readonly matrix: DenseMatrix | SparseMatrix;
  readonly count: number;
  /** The row of the first one in the whole, for messages. */
  readonly firstRow: number;
}

/** The task that hashes one part; `worker.ts` lists it, so that worker threads can run it. */
export const HASHING: Task<HashSettings, Part, RowCodes> = {
  name: 'hashing',
  open(settings) {
    const hasher = new RowHasher(settings);
    return ({ matrix, count, firstRow }) => hasher.codesOf(matrix, count, firstRow);
  },
};

/** The job that hashes a batch, and its codes when it is done. */
interface Hashing {
  readonly job: Job<HashSettings, Part, RowCodes>;
  codes(): Codes;
}

/**
 * Hashes a batch; the codes record `origin`. Without null rows they have no validity. Parts are
 * views of the batch, which therefore must not change until the work has ended.
 */
export function hashingOf(
  hasher: RowHasher,
  origin: CodeOrigin | undefined,
  batch: VectorBatch,
): Hashing {
  const { settings } = hasher;
  const matrix = matrixOf(batch, settings.dimensions);
  const isDense = isDenseMatrix(matrix);
  const count = checkMatrix(matrix);
  if (isDense && count > 0) hasher.checkWidth(matrix.dimensions);
  // `Codes` does not copy `validity`: clearing its bits below makes rows of `codes` null.
  const validity = new Uint8Array(Math.ceil(count / 8)).fill(0xff);
  const codes = Codes.allocate(count, { bits: settings.bits, validity, origin });
  const ends = hasher.partEnds(matrix, count);
  let hasNulls = false;
  const job: Hashing['job'] = {
    task: HASHING,
    state: settings,
    count: ends.length,
    part(i) {
      const [first, end] = [ends[i - 1] ?? 0, ends[i]];
      const rows = rowsOfMatrix(matrix, first, end);
      return { matrix: rows, count: end - first, firstRow: first };
    },
    take({ bytes, isNull }, i) {
      const first = ends[i - 1] ?? 0;
      codes.bytes.set(bytes, first * codes.bytesPerCode);
      for (let row = first; row < ends[i]; row++) {
        if (isNull[row - first] === 0) continue;
        validity[row >> 3] &= ~(1 << (row & 7));
        hasNulls = true;
      }
      return [ends[i], count];
    },
  };
  return { job, codes: () => (hasNulls ? codes : codes.withoutValidity()) };
}
