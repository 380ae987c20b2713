/**
 * Rows to measure with: rows of a batch, and rows of an index, drawn or all, with their codes and
 * held vectors. An index is read through its public methods alone.
 */

import { isValid } from '../base/bitmap';
import { drawnNumbers } from '../base/random';
import { Codes } from '../codes/codes';
import type { Id } from '../index/ids';
import type { SimHashIndex } from '../index/simhash-index';
import { type DenseMatrix, packVectors, type SparseMatrix } from '../vectors/vectors';

/** True for a null row, and for a vector of zeros or without entries. */
export function isMissing(batch: DenseMatrix | SparseMatrix | Codes, row: number): boolean {
  if (!isValid(batch.validity, row)) return true;
  if (batch instanceof Codes) return false;
  const [first, end] =
    'offsets' in batch
      ? [batch.offsets[row], batch.offsets[row + 1]]
      : [row * batch.dimensions, (row + 1) * batch.dimensions];
  for (let i = first; i < end; i++) if (batch.values[i] !== 0) return false;
  return true;
}

/** The rows of an index that are not removed, ascending. */
export function liveRows(index: SimHashIndex): Uint32Array {
  const rows = new Uint32Array(index.count);
  for (let row = 0, count = 0; count < rows.length; row++) {
    if (index.idOf(row) !== undefined) rows[count++] = row;
  }
  return rows;
}

/** Copies of what an index holds of some of its rows, all of which have codes. */
interface IndexSample {
  /** In the order in which they were asked for; ascending if they were drawn. */
  readonly rows: Uint32Array;
  readonly ids: readonly Id[];
  readonly codes: Codes;
  /** Null if the index holds none. */
  readonly vectors: DenseMatrix | SparseMatrix | null;
}

/** Up to `count` of `rows`, drawn by `seed`; fewer if some of these have no code. */
export function sampleOf(
  index: SimHashIndex,
  rows: Uint32Array,
  { count, seed }: { count: number; seed: number },
): IndexSample {
  const drawn = drawnNumbers(rows.length, count, seed).map((at) => rows[at]);
  return heldOf(index, drawn);
}

/** What the index holds of `rows`, which must not be removed; rows without a code are left out. */
export function heldOf(index: SimHashIndex, rows: ArrayLike<number>): IndexSample {
  const held = Array.from(rows, (row) => index.get(index.idOf(row) as Id)).flatMap((one) =>
    one === undefined || one.code === null ? [] : [{ ...one, code: one.code }],
  );
  const codes = Codes.allocate(held.length, { bits: index.bits });
  held.forEach(({ code }, i) => {
    codes.bytes.set(code, i * code.length);
  });
  const vectors = held.flatMap(({ vector }) => (vector === null ? [] : [vector]));
  return {
    rows: Uint32Array.from(held, ({ row }) => row),
    ids: held.map(({ id }) => id),
    codes,
    vectors: vectors.length === 0 || vectors.length < held.length ? null : packVectors(vectors),
  };
}
