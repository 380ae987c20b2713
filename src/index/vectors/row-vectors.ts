/**
 * One interface for the vectors that an index holds for exact ranking, dense or sparse. Vectors are
 * found by the row of the index; those of null and removed rows are all-zero.
 */

import type { Codes } from '../../codes/codes';
import type { VectorColumns } from '../../table/sealed/index-rows';
import type { Entries, SparseUnit } from '../../vectors/sparse-rows';
import type { DenseMatrix, SparseMatrix } from '../../vectors/vectors';

export type { VectorColumns };

/** What vectors an index holds: dense as 'float32' or 'int8', 'sparse', or 'none'. */
export type VectorStorage = (typeof VECTOR_STORAGES)[number];
export const VECTOR_STORAGES = ['none', 'float32', 'int8', 'sparse'] as const;

/** A vector of length 1 to compare rows with; a sparse one as a hash table of dimensions. */
export type UnitVector = Float64Array | SparseUnit;

/** A copy of a sparse vector as the index holds it: dimensions ascending, each once. */
export interface KeptSparseVector {
  readonly indices: BigUint64Array;
  readonly values: Float32Array;
}

/** Entries of many sparse rows: dimensions as two 32-bit halves, low first, and weights. */
export interface SparsePart extends Entries {
  readonly halves: Uint32Array;
  readonly weights: Float32Array;
}

/** Vectors as other threads read them in place: what `state` of their class returns. */
export type VectorState = Pick<RowVectors, 'kind'>;

/** Vectors by row. Rows are appended in the order of the index and never change. */
export interface RowVectors {
  readonly kind: 'float32' | 'int8' | 'sparse';
  /** What another thread needs to read the vectors: `over` of the class takes it. */
  readonly state: VectorState;
  /** Bytes of memory that the rows take. */
  readonly bytes: number;
  /** Appends rows `first` to `end - 1` of a matrix; rows that are not present become zeros. */
  append(
    matrix: DenseMatrix | SparseMatrix,
    first: number,
    end: number,
    isPresent: (row: number) => boolean,
  ): void;
  /**
   * Fills skipped rows from columns that `gather` made; those whose row is NO_ROW are left out.
   * Throws if a dense value is not finite.
   */
  restore(columns: VectorColumns, rows: Uint32Array): void;
  /** Fills skipped rows `to` with copies of `rows` of vectors of the same kind and width. */
  copyFrom(from: RowVectors, rows: Uint32Array, to: Uint32Array): void;
  /** Appends rows that are removed, or restored later: all-zero until then. */
  skip(count: number): void;
  /** Copies rows into columns, in this order. */
  gather(rows: Uint32Array): VectorColumns;
  /** A copy of the vector of a row; int8 times its scale. */
  at(row: number): Float32Array | KeptSparseVector;
  /** A row that is not null, scaled to length 1. */
  unitOf(row: number): UnitVector;
  /** The length of a row's values as they are held; 0 for a null or all-zero one. */
  normOf(row: number): number;
  /** True if two rows are equal as they are held. */
  areEqual(row: number, other: number): boolean;
  /**
   * Exact cosines of rows with an accepted query; 0 for an all-zero row. The array is valid until
   * the next call, since making one takes longer than filling it.
   */
  cosinesOf(rows: Uint32Array, query: UnitVector): Float64Array;
}

/**
 * The rows of an index: a copy of the codes, where removed rows are null, and the vectors by row, a
 * copy where they lie at other places.
 */
export interface HeldRows {
  readonly codes: Codes;
  /** Vectors for exact similarities; null where none are held. */
  readonly vectors: RowVectors | null;
}

/**
 * How an index gives its rows to joins, groups and clusters: by a method under this symbol, so that
 * these work on an index without importing it.
 */
export const HELD_ROWS: unique symbol = /* @__PURE__ */ Symbol.for('halfspace: rows of an index');
