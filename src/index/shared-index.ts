/**
 * An index as other threads search it: the arrays that they read in place, and the parts that are
 * made of them there. Rows stand for their ids, which stay with the calling thread.
 */

import type { SimHasherOptions } from '../hashing/simhash';
import type { BandState } from './bands/band-method';
import type { DistinctCodes } from './distinct/distinct-codes';
import type { IndexParts } from './index-parts';
import type { PartitionState } from './partitions/partitions';
import { DenseVectors } from './vectors/dense-vectors';
import type { RowVectors } from './vectors/row-vectors';
import { SparseVectors } from './vectors/sparse-vectors';

/** The arrays of vectors, dense or sparse, for `vectorsOver`. */
export type VectorState = RowVectors['state'];

/**
 * All that searches read. Arrays are shared, so rows added later may be seen in part: `count`s say
 * which of them belong to the state.
 */
export type IndexState = Pick<IndexParts, 'mean' | 'isForeign' | 'report'> & {
  readonly hasher: SimHasherOptions;
  readonly distinctCodes: DistinctCodes['state'];
  readonly vectors: VectorState | null;
  readonly partitions: PartitionState | null;
  /** Of searches by distance that use bands. */
  readonly bands: BandState | null;
};

/** The state of an index as it is now; nothing is copied. */
export function stateOf(parts: IndexParts, bands: BandState | null): IndexState {
  const { mean, isForeign, report, hasher, distinctCodes, vectors, partitions } = parts;
  return {
    ...{ mean, isForeign, report, hasher: hasher.options, distinctCodes: distinctCodes.state },
    ...{ vectors: vectors?.state ?? null, partitions: partitions?.state ?? null, bands },
  };
}

/** Vectors of another thread. */
export function vectorsOver(state: VectorState): RowVectors {
  return state.kind === 'sparse' ? SparseVectors.over(state) : DenseVectors.over(state);
}
