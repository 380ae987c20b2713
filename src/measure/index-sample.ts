/** Rows of an index, drawn at random: their codes, and their vectors where the index keeps them. */

import { Codes } from '../codes/codes';
import type { Id } from '../index/id-table';
import type { IndexRow, SimHashIndex } from '../index/simhash-index';
import type { DenseMatrix, SparseMatrix } from '../vectors/vectors';
import { drawnNumbers } from './draw';
import { packedDense, packedSparse, type SparseRow } from './packed-rows';

export interface IndexSample {
  /** Ascending; all have codes. */
  readonly rows: Uint32Array;
  readonly ids: readonly Id[];
  readonly codes: Codes;
  /** Null where none are kept. */
  readonly vectors: DenseMatrix | SparseMatrix | null;
}

/** At most `most` of `rows`; fewer where some of those drawn are null. */
export function sampleOf(
  index: SimHashIndex,
  rows: Uint32Array,
  { most, seed }: { most: number; seed: number },
): IndexSample {
  return heldOf(
    index,
    drawnNumbers(rows.length, most, seed).map((place) => rows[place]),
  );
}

/** What the index holds of rows that are there; null ones are left out. */
export function heldOf(index: SimHashIndex, rows: ArrayLike<number>): IndexSample {
  const held = Array.from(rows, (row) => index.get(index.idOf(row) as Id)).flatMap((one) =>
    one === undefined || one.code === null ? [] : [{ ...one, code: one.code }],
  );
  const { bits } = index;
  const codes = Codes.allocate(held.length, { bits });
  held.forEach(({ code }, i) => {
    codes.bytes.set(code, i * code.length);
  });
  return {
    rows: Uint32Array.from(held, ({ row }) => row),
    ids: held.map(({ id }) => id),
    codes,
    vectors: vectorsOf(index, held),
  };
}

function vectorsOf(
  { keep, dimensions }: SimHashIndex,
  held: readonly Pick<IndexRow, 'vector'>[],
): IndexSample['vectors'] {
  if (keep === 'none') return null;
  const vectors = held.map(({ vector }) => vector ?? []);
  if (dimensions !== undefined && keep !== 'sparse') {
    return packedDense(vectors as readonly Float32Array[], dimensions);
  }
  return packedSparse(vectors as readonly SparseRow[]);
}
