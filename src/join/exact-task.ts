/** The task by which threads compute exact similarities of pairs of rows. */

import { type VectorState, vectorsOver } from '../index/shared-index';
import type { RowVectors } from '../index/vectors/row-vectors';
import type { SparseVectors } from '../index/vectors/sparse-vectors';
import type { Task } from '../threads/job';

/** The vectors of both collections, and which similarity is computed. */
interface PairState {
  readonly isJaccard: boolean;
  readonly left: VectorState;
  /** Null if both are the same. */
  readonly right: VectorState | null;
}

/** Rows of pairs; pairs of the same `a` next to each other are faster. */
export interface RowPairs {
  readonly a: Uint32Array;
  readonly b: Uint32Array;
}

/** Compares pairs of rows whose vectors are in shared memory. */
export const COMPARING: Task<PairState, RowPairs, { readonly found: Float64Array }> = {
  name: 'comparing',
  open({ isJaccard, left, right }) {
    const ours = vectorsOver(left);
    const both = [ours, right === null ? ours : vectorsOver(right)] as const;
    return (pairs) => ({ found: similaritiesOfRows(isJaccard, both, pairs) });
  },
};

/** Exact cosines, or Jaccard similarities, of pairs in order; equal `a` in a row are one call. */
export function similaritiesOfRows(
  isJaccard: boolean,
  [ours, theirs]: readonly [RowVectors, RowVectors],
  { a, b }: RowPairs,
): Float64Array {
  const found = new Float64Array(a.length);
  if (isJaccard) {
    const [sets, otherSets] = [ours as SparseVectors, theirs as SparseVectors];
    for (let i = 0; i < a.length; i++) found[i] = sets.jaccardOf(a[i], otherSets, b[i]);
    return found;
  }
  for (let from = 0, to = 0; from < a.length; from = to) {
    while (to < a.length && a[to] === a[from]) to++;
    found.set(theirs.cosinesOf(b.subarray(from, to), ours.unitOf(a[from])), from);
  }
  return found;
}
