/**
 * Rows of an index in and out of an Arrow file: id, code, vector and partition of each; all else as
 * JSON in the schema. Sealed like a file of codes, which it also is. One file holds a whole index,
 * or some of its rows where the index is a folder.
 */

import { checkBits } from '../../base/check';
import type { Ids } from '../../base/ids';
import { bytesPerCode, checkUnusedBits } from '../../codes/codes';
import type { ArrowSource } from '../arrow/source';
import type { Column } from '../columns/builder';
import { columnOf } from '../columns/make';
import { joinedColumn } from '../columns/pick';
import type { RowBatch } from '../row-batch';
import type { Header } from './seal';
import {
  BATCH_ROWS,
  type ColumnSchema,
  type Lists,
  type OpenedTable,
  openTable,
  type Rows,
  readRows,
  type TableBatch,
  type TableRows,
} from './sealed-table';
import { writeTable } from './table-writer';

/** The schema's JSON: what `Header` says, and what the index adds. */
export type IndexHeader = Header & Readonly<Record<string, unknown>>;

/** Sparse rows one after another: those of row r lie at `offsets[r]` to `offsets[r + 1]`. */
export interface SparseColumns {
  readonly offsets: Int32Array;
  /** Dimensions, ascending within a row. */
  readonly indices: BigUint64Array;
  readonly weights: Float32Array;
}

/** Some rows of an index, column by column. */
export interface IndexRows {
  readonly count: number;
  /** Row numbers; null where they go up one by one from the first on. */
  readonly rows: Uint32Array | null;
  readonly ids: Ids | null;
  /** Codes one after another, and a bitmap of those that are there. */
  readonly codes: Uint8Array;
  readonly validity: Uint8Array | null;
  /** As many values a row as the index has dimensions. */
  readonly vectors: Float32Array | Int8Array | null;
  readonly scales: Float32Array | null;
  readonly sparse: SparseColumns | null;
  readonly partitions: Uint32Array | null;
  /**
   * The first row of the index with the same code, which may be in a file before; null where no row
   * has the code of another; undefined where that is not known.
   */
  readonly firsts?: Uint32Array | null;
  /** Residual codes one after another, and their scales, where files hold them. */
  readonly residuals?: Uint8Array | null;
  readonly residualScales?: Float32Array | null;
}

/** Rows to be written, in runs. */
export interface RowRuns {
  rowsOf(first: number, end: number): IndexRows;
  /** Where a run from `first` on ends: at most at `end`, and its rows fit a batch. */
  endOf(first: number, end: number): number;
}

/** Sparse vectors as two list columns. */
export const SPARSE_COLUMNS: readonly ColumnSchema[] = [
  { name: 'indices', type: { list: 'uint64' }, isOptional: true },
  { name: 'weights', type: { list: 'float32' }, isOptional: true },
];

/** The columns of an index with this header. */
function columnsFor({ bits, dimensions, keep }: Partial<IndexHeader>): ColumnSchema[] {
  const vector = keep === 'int8' ? 'int8' : 'float32';
  const isOptional = true;
  return [
    { name: 'id', type: 'ids', isOptional },
    { name: 'row', type: 'uint32', isOptional },
    { name: 'code', type: { bytes: bytesPerCode(checkBits(bits)) }, isNullable: true },
    { name: 'vector', type: { vector, width: Number(dimensions ?? 1) }, isOptional },
    { name: 'scale', type: 'float32', isOptional },
    ...(keep === 'sparse' ? SPARSE_COLUMNS : []),
    { name: 'partition', type: 'uint32', isOptional },
    { name: 'first', type: 'uint32', isOptional },
  ];
}

/** Bytes of the vectors of a batch, far below the 2 GiB that Arrow's library can write. */
const BATCH_BYTES = 2 ** 30;

/**
 * The bytes of an Arrow IPC file; `rowsOf` gives live rows `first` to `end - 1`. `carried` has a
 * row for each of them.
 */
export function indexToArrow(
  header: Omit<IndexHeader, 'version'> & { readonly bits: number },
  count: number,
  runs: RowRuns,
  carried?: RowBatch,
): Uint8Array {
  const carriedBytes = carried === undefined ? 0 : Math.ceil(carried.byteLength / (count || 1));
  const rowBytes = 4 * Number(header.dimensions ?? 1) + carriedBytes;
  const most = Math.max(1, Math.min(BATCH_ROWS, Math.floor(BATCH_BYTES / rowBytes)));
  function* batches(): Generator<TableBatch> {
    let first = 0;
    do {
      const end = runs.endOf(first, Math.min(count, first + most));
      const rows = runs.rowsOf(first, end);
      const own = carried && carriedColumns(carried.slice(first, end));
      yield { count: rows.count, rows: tableOf(rows), ...(own && { carried: own }) };
      first = end;
    } while (first < count);
  }
  const names = carried?.columns.map(({ name }) => name);
  return writeTable(columnsFor(header), { ...header, ...(names && { carried: names }) }, batches());
}

/** Names of the columns that an index has itself. */
const OWN = [
  ...['id', 'row', 'code', 'vector', 'scale', 'indices', 'weights', 'partition', 'first'],
] as const;

/** Carried columns as a file has them: under names that no other column has. */
function carriedColumns(batch: RowBatch): Column[] {
  const { schema, data } = batch.toArrow();
  const taken = new Set<string>(OWN);
  return schema.fields.map((field, i) => {
    let { name } = field;
    while (taken.has(name)) name += '_';
    taken.add(name);
    return columnOf(name, joinedColumn([{ field, data: data.children[i] }]));
  });
}

function tableOf(given: IndexRows): TableRows {
  const { rows, ids, codes, validity, vectors, scales, sparse, partitions, firsts } = given;
  return {
    ...{ id: ids, row: rows, code: { bytes: codes, validity }, vector: vectors, scale: scales },
    ...(sparse && sparseTable(sparse)),
    ...{ partition: partitions, first: firsts },
  };
}

/** Sparse rows as the values of their two columns. */
export function sparseTable({ offsets, indices, weights }: SparseColumns): TableRows {
  return { indices: { offsets, items: indices }, weights: { offsets, items: weights } };
}

/** Sparse rows from their columns, checked; null where there are none. */
export function sparseRows(table: TableRows, firstRow: number): SparseColumns | null {
  const [indices, weights] = [table.indices, table.weights] as (Lists | null)[];
  if (indices === null && weights === null) return null;
  if (indices === null || weights === null) {
    throw new Error(`there is no column "${indices === null ? 'indices' : 'weights'}"`);
  }
  const { offsets } = indices;
  const sparse = { offsets, indices: indices.items, weights: weights.items } as SparseColumns;
  for (let row = 0; row + 1 < offsets.length; row++) {
    if (offsets[row + 1] === weights.offsets[row + 1]) continue;
    throw new Error(`row ${firstRow + row}: as many indices as weights were expected`);
  }
  checkSparse(sparse, firstRow);
  return sparse;
}

/** Fails for vectors that an index would refuse. */
export function checkSparse(sparse: SparseColumns, firstRow: number): void {
  const { offsets } = sparse;
  for (let row = 0; row + 1 < offsets.length; row++) {
    checkEntries(sparse, offsets[row], offsets[row + 1], firstRow + row);
  }
}

/** Dimensions ascend and weights are finite: no file makes vectors that an index refuses. */
function checkEntries(
  { indices, weights }: SparseColumns,
  start: number,
  end: number,
  row: number,
): void {
  for (let i = start; i < end; i++) {
    if (!Number.isFinite(weights[i])) throw new Error(`row ${row}: its vector has ${weights[i]}`);
    if (i > start && indices[i] <= indices[i - 1]) {
      throw new Error(`row ${row}: dimension ${indices[i]} after ${indices[i - 1]}`);
    }
  }
}

/** A file of index rows that was opened; batches may be read again. */
interface OpenedIndex {
  readonly header: IndexHeader;
  readonly count: number;
  /** The rows, batch by batch. */
  batches(): Generator<IndexRows>;
}

/**
 * Opens an index, or rows of one; damage, and columns other than the header lets expect, are
 * errors. `isSound` says that the bytes are known to be those that were written.
 */
export function indexFromArrow(
  source: ArrowSource,
  file: string | undefined,
  { kind = 'index', isSound }: { kind?: 'index' | 'rows'; isSound?: boolean } = {},
): OpenedIndex {
  const table = openTable(source, file, { kind, isSound });
  return { header: table.header, count: table.count, batches: () => rowsOfBatches(table) };
}

function* rowsOfBatches({ header, batches }: OpenedTable): Generator<IndexRows> {
  const columns = columnsFor(header);
  let firstRow = 0;
  for (const batch of batches) {
    const table = readRows(batch, columns, firstRow);
    const { bytes: codes, validity } = table.code as Rows;
    checkUnusedBits(codes, header.bits, firstRow);
    yield {
      ...{ count: batch.numRows, codes, validity },
      rows: table.row as Uint32Array | null,
      ids: table.id as Ids | null,
      vectors: table.vector as Float32Array | Int8Array | null,
      scales: table.scale as Float32Array | null,
      sparse: header.keep === 'sparse' ? sparseRows(table, firstRow) : null,
      partitions: table.partition as Uint32Array | null,
      ...firstsOf(header, table.first as Uint32Array | null),
    };
    firstRow += batch.numRows;
  }
}

/** Which rows share a code, where the header says that it is known. */
function firstsOf({ equals }: IndexHeader, column: Uint32Array | null): Partial<IndexRows> {
  if (equals === undefined) return {};
  if (equals !== 'none' && equals !== 'first') throw new Error(`"equals" cannot be ${equals}`);
  if ((column === null) !== (equals === 'none')) {
    throw new Error('the header and the column "first" do not agree');
  }
  return { firsts: column };
}
