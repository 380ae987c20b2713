/**
 * The state of an index that other threads search: arrays that they read in place, of which
 * `partsOver` makes an `IndexParts` there. Ids stay with the calling thread; workers return rows.
 */

import type { SimHasherOptions } from '../hashing/simhash';
import type { BandState } from './bands/band-method';
import type { DistinctCodes } from './distinct/distinct-codes';
import type { IndexParts } from './index-parts';
import type { PartitionState } from './partitions/partitions';
import { DenseVectors } from './vectors/dense-vectors';
import type { RowVectors } from './vectors/row-vectors';
import { SparseVectors } from './vectors/sparse-vectors';

/** The arrays of dense or sparse vectors, from which `vectorsOver` builds vectors. */
export type VectorState = RowVectors['state'];

/**
 * All that a search reads. Arrays are shared and not copied, so they may already contain parts of
 * rows that are added later; each state's `count` says which rows belong to it.
 */
export type IndexState = Pick<IndexParts, 'mean' | 'isForeign' | 'report'> & {
  readonly hasher: SimHasherOptions;
  readonly distinctCodes: DistinctCodes['state'];
  readonly vectors: VectorState | null;
  readonly partitions: PartitionState | null;
  /** Null unless the searches are by distance and use bands. */
  readonly bands: BandState | null;
};

/** The present state of an index. Large arrays are views, which the receiver must not change. */
export function stateOf(parts: IndexParts, bands: BandState | null): IndexState {
  const { mean, isForeign, report, hasher, distinctCodes, vectors, partitions } = parts;
  return {
    ...{ mean, isForeign, report, hasher: hasher.options, distinctCodes: distinctCodes.state },
    ...{ vectors: vectors?.state ?? null, partitions: partitions?.state ?? null, bands },
  };
}

/** Vectors that read the arrays of another thread. */
export function vectorsOver(state: VectorState): RowVectors {
  return state.kind === 'sparse' ? SparseVectors.over(state) : DenseVectors.over(state);
}
