/** Checks and hashes new rows before they are appended: a batch that is refused adds nothing. */

import { wrongValue } from '../base/check';
import type { LongWork } from '../base/long-work';
import { Codes, checkSameTexts } from '../codes/codes';
import { checkFloat32 } from '../vectors/sparse-rows';
import {
  type DenseMatrix,
  isDense,
  isDenseMatrix,
  isSparse,
  matrixOf,
  notAVector,
  packVectors,
  type SparseMatrix,
  type Vector,
  type VectorBatch,
} from '../vectors/vectors';
import { MAX_ROWS } from './ids';
import type { IndexCore } from './index-core';
import { checkKind } from './query';
import type { NewRows } from './rows';

/** What `addAll` takes: vectors in any form, or ready codes. */
export type RowsToAdd = VectorBatch | Codes;

/** Checked rows, without their ids. */
interface Addition extends Omit<NewRows, 'ids'> {
  /** True of codes that other options made. */
  readonly isForeign: boolean;
}

/** Checks and hashes one vector or code, in less time than a batch of one. */
export function additionOfOne(core: IndexCore, given: Vector | Uint8Array): Addition {
  const { hasher } = core;
  if (given instanceof Uint8Array) {
    if (given.length !== hasher.bytesPerCode) {
      throw wrongValue('vector', `a code of ${hasher.bytesPerCode} bytes`, given.length);
    }
    return additionOfCodes(core, Codes.from(given, { bits: core.bits }));
  }
  if (!isSparse(given) && !isDense(given)) throw notAVector('vector', given);
  refuseVectors(core);
  checkKind(core, isSparse(given));
  const { bytes: codes, isNull } = hasher.codeOf(given);
  checkRoom(core, 1);
  const one = { count: 1, codes, isNull: () => isNull[0] === 1, isForeign: false };
  if (core.vectors === null) return { ...one, vectors: null };
  const vectors = isSparse(given)
    ? { offsets: [0, given.indices.length], indices: given.indices, values: given.values }
    : packVectors([given]);
  // The hasher found all values finite, and float32 loses none of those of a dense Float32Array.
  const isChecked = vectors.values instanceof Float32Array && !isSparse(given);
  if (!isChecked) checkFloat32(vectors, 0, 1, one.isNull);
  return { ...one, vectors };
}

/** A batch, hashed by several threads where that pays. It must not change meanwhile. */
export async function additionOf(
  core: IndexCore,
  batch: RowsToAdd,
  work: LongWork,
): Promise<Addition> {
  if (batch instanceof Codes) return additionOfCodes(core, batch);
  refuseVectors(core);
  const { hasher } = core;
  const isEmpty = Array.isArray(batch) && batch.length === 0;
  const packed = isEmpty ? batch : matrixOf(batch, hasher.dimensions);
  const dense = isDenseMatrix(packed) ? packed : null;
  if (!isEmpty) checkKind(core, dense === null);
  const codes = await hasher.hashBatch(packed, work);
  checkRoom(core, codes.count);
  const isNull = (i: number) => codes.isNull(i);
  const rows = { count: codes.count, codes: codes.bytes, isNull, isForeign: false };
  if (core.vectors === null || isEmpty) return { ...rows, vectors: null };
  const vectors = packed as DenseMatrix | SparseMatrix;
  // The hasher found all values finite, and float32 loses none of them.
  const isChecked = dense?.values instanceof Float32Array;
  for (let first = 0; !isChecked && first < codes.count; first += CHECKED_ROWS) {
    checkFloat32(vectors, first, Math.min(codes.count, first + CHECKED_ROWS), isNull);
    await work.step();
  }
  return { ...rows, vectors };
}

/**
 * Codes as new rows. If other options made them than this index's, the index becomes foreign, and
 * then takes and finds codes alone.
 */
function additionOfCodes(core: IndexCore, codes: Codes): Addition {
  if (codes.bits !== core.bits) throw wrongValue('codes', `codes of ${core.bits} bits`, codes.bits);
  if (core.vectors !== null) {
    throw new TypeError(`an index with "vectors" takes vectors, got codes`);
  }
  checkRoom(core, codes.count);
  const { origin } = core.hasher;
  checkSameTexts('"codes"', origin, codes.origin);
  // Texts were compared by `checkSameTexts`, which explains the difference.
  const [own, given] = [origin, codes.origin].map((one) =>
    JSON.stringify({ ...one, texts: undefined }),
  );
  const isForeign = given !== own;
  if (isForeign && !core.isForeign && core.rows.nextRow > 0) {
    throw new Error('these codes were made otherwise than those of the index');
  }
  const { count, bytes } = codes;
  return { count, codes: bytes, isNull: (i) => codes.isNull(i), vectors: null, isForeign };
}

function refuseVectors({ isForeign }: IndexCore): void {
  if (isForeign) {
    throw new Error('this index holds codes made elsewhere: add codes, not vectors');
  }
}

function checkRoom({ rows }: IndexCore, count: number): void {
  if (rows.nextRow + count > MAX_ROWS) {
    throw new RangeError(`an index holds at most ${MAX_ROWS} rows`);
  }
}

/** Rows whose values are checked between two steps. */
const CHECKED_ROWS = 2048;
