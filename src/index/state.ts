/** What an index holds, for the files that search it, tune it and save it. */

import type { SimHasher } from '../hashing/simhash';
import type { KernelName } from '../kernels/kernels';
import type { SparseUnit } from '../vectors/sparse-unit';
import type { BandMethod } from './bands/band-method';
import type { DistinctCodes } from './distinct/distinct-codes';
import type { IdTable } from './id-table';
import type { Partitions } from './partitions/partitions';
import type { RecallReport } from './recall-report';
import type { KeptSparse } from './vectors/kept-sparse';
import type { KeptVectors } from './vectors/kept-vectors';

export interface IndexState {
  readonly bits: number;
  readonly hasher: SimHasher;
  readonly mean: Float64Array | null;
  readonly kernel: KernelName | undefined;
  /** This and `partitions` are replaced together. */
  distinctCodes: DistinctCodes;
  readonly ids: IdTable;
  /** Dense vectors, or sparse ones, or neither. */
  readonly vectors: KeptVectors | null;
  readonly sparse: KeptSparse | null;
  /** True when codes were added that this index's own options did not make. */
  isForeign: boolean;
  /** When searches by distance use bands, and the bands. */
  readonly bandMethod: BandMethod;
  partitions: Partitions | null;
  report: RecallReport | null;
}

/** A query that is ready to be searched with. */
export interface Query {
  readonly code: Uint8Array;
  /** Null when a code is all there is. */
  readonly sums: Float64Array | null;
  /** The vector at length 1, where it is dense. */
  readonly unit: Float64Array | null;
  /** The same where it is sparse and sparse vectors are kept. */
  readonly sparseUnit: SparseUnit | null;
}
