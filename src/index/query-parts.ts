/**
 * What an index makes queries by and compares them with, wherever its rows are: `IndexCore` adds
 * rows in memory, a stored index (`store/content.ts`) reads rows from files. A web page that
 * searches a stored index loads this part alone.
 */

import { type Measure, measureOf } from '../codes/measure';
import { SimHasher } from '../hashing/simhash';
import type { SparseMatrix } from '../vectors/vectors';
import type { CheckedOptions, Rank, RecallReport } from './index-options';
import { DenseVectors } from './vectors/dense-vectors';
import type { Zeros } from './vectors/rounding';
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

export class QueryParts {
  readonly bits: number;
  readonly hasher: SimHasher;
  /** The vectors of rows in memory; where rows are in files an empty container of their kind. */
  vectors: RowVectors | null;
  /** What `optimize` measured, with the rows added and removed since; null before. */
  report: RecallReport | null = null;
  /** True if codes were added that other options made: then only codes can be searched for. */
  isForeign = false;

  /** The parts of an index of these options, without vectors yet. */
  constructor({ hasher, vectors }: CheckedOptions) {
    this.hasher = new SimHasher(hasher);
    this.bits = this.hasher.bits;
    this.vectors = noVectors(vectors, this.hasher.dimensions);
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

/** An empty container for vectors of a kind, which adds what it rounds to 0; null for 'none'. */
export function noVectors(
  storage: VectorStorage,
  dimensions: number | undefined,
  zeros?: Zeros,
): RowVectors | null {
  if (storage === 'none') return null;
  return storage === 'sparse'
    ? new SparseVectors()
    : new DenseVectors(storage, dimensions as number, zeros);
}
