/** Checks and hashes new rows before `IndexParts.add` takes them: a refused batch adds nothing. */

import { wrongValue } from '../base/check';
import type { Steps } from '../base/steps';
import { Codes, checkSameTexts } from '../codes/codes';
import { checkFloat32 } from '../vectors/float32';
import {
  checkDenseMatrix,
  type DenseMatrix,
  isDenseMatrix,
  packVectors,
  type SparseMatrix,
  type Vector,
  type VectorBatch,
} from '../vectors/vectors';
import { MAX_ROWS } from './distinct/distinct-codes';
import type { Addition, IndexParts } from './index-parts';
import { centred, isFlat, matrixOf, refuseMean } from './query';

/** What `addAll` takes: vectors in any form, or ready codes. */
export type RowsToAdd = VectorBatch | Float32Array | Float64Array | Codes;

/**
 * Checks and hashes a batch in steps; throws if any row is refused. `mayReplace` allows ids of rows
 * that are there. Values must fit float32 where the index holds vectors. The addition reads the
 * batch, which must not change before `IndexParts.add` has taken it.
 */
export function* additionOf(
  parts: IndexParts,
  batch: RowsToAdd,
  ids: unknown,
  mayReplace = false,
): Steps<Addition> {
  if (batch instanceof Codes) return yield* foreignAddition(parts, batch, ids, mayReplace);
  if (parts.isForeign) {
    throw new Error('this index holds codes made elsewhere: add codes, not vectors');
  }
  const isArray = Array.isArray(batch);
  const given = isFlat(batch) ? matrixOf(parts.hasher, batch, 'vectors') : batch;
  const packed = isArray && batch.length > 0 ? packVectors(batch as readonly Vector[]) : given;
  const dense = isDenseMatrix(packed) ? packed : null;
  const isEmpty = isArray && batch.length === 0;
  const kind = parts.vectors?.kind;
  if (kind !== undefined && !isEmpty && (kind === 'sparse') === (dense !== null)) {
    const [wanted, got] = dense === null ? ['dense', 'sparse'] : ['sparse', 'dense'];
    throw new TypeError(`an index with vectors '${kind}' takes ${wanted} vectors, got ${got} ones`);
  }
  if (dense === null) refuseMean(packed, parts.mean);
  const hashed = dense !== null && parts.mean !== null ? centredMatrix(dense, parts.mean) : packed;
  const codes = yield* parts.hasher.hashInSteps(hashed);
  checkRoom(parts, codes.count);
  const vectors = kind === undefined || isEmpty ? null : (dense ?? (packed as SparseMatrix));
  // The hasher found all values finite, and float32 loses none of them.
  const isChecked = dense?.values instanceof Float32Array;
  if (vectors !== null && !isChecked) {
    for (let first = 0; first < codes.count; first += CHECKED_ROWS) {
      const end = Math.min(codes.count, first + CHECKED_ROWS);
      checkFloat32(vectors, first, end, (row) => codes.isNull(row));
      yield undefined;
    }
  }
  const checkedIds = yield* parts.ids.check(ids, codes.count, mayReplace);
  return { codes, ids: checkedIds, vectors, isForeign: false };
}

/** Rows whose values are checked between two steps. */
const CHECKED_ROWS = 2048;

/** The matrix whose rows are hashed in an index with a mean: a copy. */
function centredMatrix(matrix: DenseMatrix, mean: Float64Array): DenseMatrix {
  const count = checkDenseMatrix(matrix);
  const { values, dimensions } = matrix;
  if (dimensions !== mean.length) return matrix; // the hasher refuses it
  const less = new Float64Array(values.length);
  for (let row = 0; row < count; row++) {
    const from = row * dimensions;
    less.set(centred(values.subarray(from, from + dimensions), mean), from);
  }
  return { ...matrix, values: less };
}

/**
 * Codes as new rows. If other options made them than this index's, the index becomes foreign, and
 * then takes and finds codes alone.
 */
function* foreignAddition(
  parts: IndexParts,
  codes: Codes,
  ids: unknown,
  mayReplace: boolean,
): Steps<Addition> {
  if (codes.bits !== parts.bits)
    throw wrongValue('codes', `codes of ${parts.bits} bits`, codes.bits);
  if (parts.vectors !== null) {
    throw new TypeError(`an index with "vectors" takes vectors, got codes`);
  }
  checkRoom(parts, codes.count);
  const { origin } = parts.hasher;
  checkSameTexts('"codes"', origin, codes.origin);
  // Texts were compared by `checkSameTexts`, which explains what differs.
  const [own, given] = [origin, codes.origin].map((one) =>
    JSON.stringify({ ...one, texts: undefined }),
  );
  const isForeign = parts.mean !== null || given !== own;
  if (isForeign && !parts.isForeign && parts.distinctCodes.rowCount > 0) {
    throw new Error('these codes were made otherwise than those of the index');
  }
  const checkedIds = yield* parts.ids.check(ids, codes.count, mayReplace);
  return { codes, ids: checkedIds, vectors: null, isForeign };
}

function checkRoom({ distinctCodes }: IndexParts, count: number): void {
  if (distinctCodes.rowCount + count > MAX_ROWS) {
    throw new RangeError(`an index holds at most ${MAX_ROWS} rows`);
  }
}
