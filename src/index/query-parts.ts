/**
 * What an index makes queries by and compares them with, wherever its rows are: `IndexCore` adds
 * rows in memory, a stored index (`store/content.ts`) reads rows from files. A web page that
 * searches a stored index loads this part alone.
 */

import { type Measure, measureOf } from '../codes/measure';
import { SimHasher } from '../hashing/simhash';
import { hammingKernel, type KernelName } from '../kernels/kernels';
import type { SparseMatrix } from '../vectors/vectors';
import type { CheckedOptions, Rank, RecallReport } from './index-options';
import { DenseVectors } from './vectors/dense-vectors';
import type { RowVectors, UnitVector, VectorStorage } from './vectors/row-vectors';
import { SparseVectors } from './vectors/sparse-vectors';

/** A checked query, in the forms that searches read. */
export interface Query {
  readonly code: Uint8Array;
  /** One number a bit, whose sign is the bit; null for a query given as code, and for a set. */
  readonly sums: Float64Array | null;
  /** The vector at length 1; null for a code, and for a sparse one where the index holds none. */
  readonly unit: UnitVector | null;
  /** A query that is a set, where the index holds sets to compare it with: a matrix of one row. */
  readonly set?: SparseMatrix;
}

type QueryFields = Pick<QueryParts, 'hasher' | 'kernel' | 'vectors'>;

export class QueryParts {
  readonly bits: number;
  readonly hasher: SimHasher;
  readonly kernel: KernelName | undefined;
  /** The vectors of rows in memory; where rows are in files an empty container of their kind. */
  vectors: RowVectors | null;
  /** What `optimize` measured, with the rows added and removed since; null before. */
  report: RecallReport | null = null;
  /** True if codes were added that other options made: then only codes can be searched for. */
  isForeign = false;

  constructor({ hasher, kernel, vectors }: QueryFields) {
    this.bits = hasher.bits;
    this.hasher = hasher;
    this.kernel = kernel;
    this.vectors = vectors;
  }

  /** Takes what holds for all rows of a saved index: of which kind they are, and its report. */
  take({ isForeign, report, dense }: QueryParts): void {
    this.isForeign = isForeign;
    this.report = report;
    if (dense !== null) this.dense?.zeros.add(dense.zeros);
  }

  /** The vectors where they are dense; partitions and joins work on dense ones alone. */
  get dense(): DenseVectors | null {
    return this.vectors instanceof DenseVectors ? this.vectors : null;
  }

  /** True if exact similarities of the query with the held vectors can be computed. */
  canCompare({ unit }: { readonly unit: UnitVector | null }): boolean {
    return unit !== null && (this.vectors?.accepts(unit) ?? false);
  }

  /** The rank of searches by vector where no `rank` is given. */
  get usualRank(): Rank {
    if (this.isForeign || this.hasher.projection === 'minwise') return 'hamming';
    return this.vectors === null ? 'estimate' : 'exact';
  }

  /** What distances estimate: cosines, or Jaccard similarities with projection 'minwise'. */
  get measure(): Measure {
    return measureOf(this.hasher.projection);
  }
}

/** The fields of an index of these options, without vectors yet. */
export function queryFields({ hasher: given, vectors }: CheckedOptions): QueryFields {
  const hasher = new SimHasher(given);
  // Resolved once, since each search asks for its kernels several times.
  const kernel = hammingKernel(given.kernel, hasher.bytesPerCode).name as KernelName;
  return { hasher, kernel, vectors: noVectors(vectors, hasher.dimensions, kernel) };
}

/** An empty container for vectors of a kind; null for 'none'. */
export function noVectors(
  storage: VectorStorage,
  dimensions: number | undefined,
  kernel: KernelName | undefined,
): RowVectors | null {
  if (storage === 'none') return null;
  return storage === 'sparse'
    ? new SparseVectors()
    : new DenseVectors(storage, dimensions as number, kernel);
}
