/**
 * The vectors that an index holds for exact ranking, one interface for dense and sparse ones. Rows
 * are named by their numbers in the index; those that are null or removed are all-zero here.
 */

import type { KernelName } from '../../kernels/kernels';
import type { IndexRows } from '../../table/sealed/index-rows';
import type { Entries, SparseUnit } from '../../vectors/sparse-unit';
import type { DenseMatrix, SparseMatrix } from '../../vectors/vectors';

/** What vectors an index holds: dense ones as 'float32' or 'int8', sparse ones, or none. */
export type VectorStorage = (typeof VECTOR_STORAGES)[number];
export const VECTOR_STORAGES = ['none', 'float32', 'int8', 'sparse'] as const;

/** A vector of length 1 that rows are compared with; sparse ones as a table of dimensions. */
export type UnitVector = Float64Array | SparseUnit;

/** A sparse vector as an index holds it: dimensions ascending, each once. */
export interface KeptSparseVector {
  readonly indices: BigUint64Array;
  readonly values: Float32Array;
}

/** The columns of an index file that hold vectors. */
export type VectorColumns = Pick<IndexRows, 'vectors' | 'scales' | 'sparse'>;

/** Vectors as other threads read them in place; rows that are added later are not among them. */
export interface DenseState {
  readonly kind: 'float32' | 'int8';
  readonly dimensions: number;
  readonly kernel: KernelName;
  readonly count: number;
  readonly parts: readonly Uint8Array[];
  readonly norms: Float64Array;
  readonly scales: Float32Array;
}

/** Entries of many sparse rows. */
export interface SparsePart extends Entries {
  readonly halves: Uint32Array;
  readonly weights: Float32Array;
}

/** Vectors as other threads read them in place. */
export interface SparseState {
  readonly kind: 'sparse';
  readonly parts: readonly SparsePart[];
  readonly partOf: Uint32Array;
  readonly starts: Uint32Array;
  readonly counts: Uint32Array;
  readonly norms: Float64Array;
  readonly rowCount: number;
}

/** Vectors by row. Rows are appended in order, never changed, and numbered as in the index. */
export interface RowVectors {
  readonly kind: 'float32' | 'int8' | 'sparse';
  /** What `over` of the class makes vectors of that another thread reads. */
  readonly state: DenseState | SparseState;
  /** Memory that the rows take, in bytes. */
  readonly bytes: number;
  /**
   * Makes room for so many more rows, which have so many entries together where they are sparse.
   */
  reserve(rows: number, entries: number): void;
  /**
   * Appends rows `first` to `end - 1` of a matrix of this shape; rows that are not present, as
   * zeros.
   */
  append(
    matrix: DenseMatrix | SparseMatrix,
    first: number,
    end: number,
    isPresent: (row: number) => boolean,
  ): void;
  /**
   * Puts the rows of columns that `gather` made in place of skipped ones, but those whose number is
   * NO_ROW; throws if one is not finite.
   */
  restore(columns: VectorColumns, rows: Uint32Array): void;
  /** Counts up by rows that are not there, in place of removed ones. */
  skip(count: number): void;
  /** How far `gather` may go from `rows[first]` on: columns must stay below 2 GiB. */
  endOf(rows: Uint32Array, first: number, end: number): number;
  /** Copies rows into columns, one after another. */
  gather(rows: Uint32Array): VectorColumns;
  /** Copies the vector of a row. */
  at(row: number): Float32Array | KeptSparseVector;
  /** Whether a query of this form can be compared with the rows. */
  accepts(query: UnitVector): boolean;
  /** A row that is not null, at length 1. */
  unitOf(row: number): UnitVector;
  /** Whether two rows are equal as they are held. */
  areEqual(row: number, other: number): boolean;
  /**
   * Exact cosines of rows with an accepted query; 0 for an all-zero row. The array is valid until
   * the next call: making one takes longer than filling it.
   */
  cosinesOf(rows: Uint32Array, query: UnitVector): Float64Array;
}
