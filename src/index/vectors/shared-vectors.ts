/** Held vectors as another thread reads them, in place. */

import { DenseVectors } from './dense-vectors';
import type { DenseState, SparseState } from './row-vectors';
import { SparseVectors } from './sparse-vectors';

export type VectorState = DenseState | SparseState;

export function vectorsOver(state: VectorState): DenseVectors | SparseVectors {
  return state.kind === 'sparse' ? SparseVectors.over(state) : DenseVectors.over(state);
}
