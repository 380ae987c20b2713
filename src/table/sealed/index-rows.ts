/**
 * Rows of an index in and out of an Arrow file: id, code, vector and partition of each in columns,
 * all else as JSON in the schema. The file is sealed like a file of codes, and can be read as one.
 */

import { checkBits } from '../../base/check';
import type { Ids } from '../../base/ids';
import { bytesPerCode, checkUnusedBits } from '../../codes/codes';
import type { ArrowSource } from '../arrow/source';
import { type Column, columnOf } from '../columns/make';
import { joinedColumn } from '../columns/pick';
import type { RowBatch } from '../row-batch';
import type { Header } from './seal';
import {
  BATCH_ROWS,
  batchRanges,
  type ColumnSchema,
  type Lists,
  openTable,
  type Rows,
  readRows,
  type TableRows,
  writeTable,
} from './sealed-table';

/** The JSON in the schema: what `Header` states, and what the index adds. */
export type IndexHeader = Header & Readonly<Record<string, unknown>>;

/**
 * Sparse rows one after another: the entries of row r lie at `offsets[r]` to `offsets[r + 1] - 1`.
 */
export interface SparseColumns {
  readonly offsets: Int32Array;
  /** Dimensions, ascending within a row. */
  readonly indices: BigUint64Array;
  readonly weights: Float32Array;
}

/** Some rows of an index, column by column. */
export interface IndexRows {
  readonly count: number;
  /** Row numbers; null where they ascend one by one from the first. */
  readonly rows: Uint32Array | null;
  readonly ids: Ids | null;
  /** Codes one after another, and a bitmap of the rows that have one; null where all have. */
  readonly codes: Uint8Array;
  readonly validity: Uint8Array | null;
  /** As many values for each row as the index has dimensions. */
  readonly vectors: Float32Array | Int8Array | null;
  /** For int8 vectors: the factor by which the values of a row are multiplied. */
  readonly scales: Float32Array | null;
  readonly sparse: SparseColumns | null;
}

/** The columns of sparse vectors: lists of dimensions, and of their weights. */
export const SPARSE_COLUMNS: readonly ColumnSchema[] = [
  { name: 'indices', type: { list: 'uint64' }, isOptional: true },
  { name: 'weights', type: { list: 'float32' }, isOptional: true },
];

/**
 * The columns that a file with this header may have, in their order.
 */
function columnsFor({ bits, dimensions, vectors }: Partial<IndexHeader>) {
  const vector = vectors === 'int8' ? 'int8' : 'float32';
  const isOptional = true;
  const columns: ColumnSchema[] = [
    { name: 'id', type: 'ids', isOptional },
    { name: 'row', type: 'uint32', isOptional },
    { name: 'code', type: { bytes: bytesPerCode(checkBits(bits)) }, isNullable: true },
    { name: 'vector', type: { vector, width: Number(dimensions ?? 1) }, isOptional },
    { name: 'scale', type: 'float32', isOptional },
    ...(vectors === 'sparse' ? SPARSE_COLUMNS : []),
  ];
  return columns;
}

/** Most bytes of the vectors in a batch: far below 2 GiB, which the Arrow library cannot write. */
const BATCH_BYTES = 2 ** 30;

/**
 * The bytes of an Arrow file with `count` rows, of which `rowsOf` gives those at positions `first`
 * to `end - 1`; one empty batch where there are none. `carried` has a row for each of them.
 */
export function indexToArrow(
  header: Omit<IndexHeader, 'version'> & { readonly bits: number },
  count: number,
  rowsOf: (first: number, end: number) => IndexRows,
  carried?: RowBatch,
): Uint8Array {
  const carriedBytes = carried === undefined ? 0 : Math.ceil(carried.byteLength / (count || 1));
  const rowBytes = 4 * Number(header.dimensions ?? 1) + carriedBytes;
  const most = Math.max(1, Math.min(BATCH_ROWS, Math.floor(BATCH_BYTES / rowBytes)));
  const batches = batchRanges(count, most).map(([first, end]) => ({
    count: end - first,
    rows: tableOf(rowsOf(first, end)),
    carried: carried && carriedColumns(carried.slice(first, end)),
  }));
  const names = carried?.columns.map(({ name }) => name);
  return writeTable(columnsFor(header), { ...header, ...(names && { carried: names }) }, batches);
}

/** The names of an index's own columns. */
const OWN = ['id', 'row', 'code', 'vector', 'scale', 'indices', 'weights'];

/** Carried columns; a name that another column of the file has gets a `_` at its end. */
function carriedColumns(batch: RowBatch): Column[] {
  const { schema, data } = batch.toArrow();
  const taken = new Set(OWN);
  return schema.fields.map((field, i) => {
    let { name } = field;
    while (taken.has(name)) name += '_';
    taken.add(name);
    return columnOf(name, joinedColumn([{ field, data: data.children[i] }]));
  });
}

function tableOf(given: IndexRows): TableRows {
  const { rows, ids, codes, validity, vectors, scales, sparse } = given;
  return {
    id: ids,
    row: rows,
    code: { bytes: codes, validity },
    vector: vectors,
    scale: scales,
    ...(sparse && sparseTable(sparse)),
  };
}

/** Sparse rows as the values of their two columns; nothing is copied. */
export function sparseTable({ offsets, indices, weights }: SparseColumns): TableRows {
  return { indices: { offsets, items: indices }, weights: { offsets, items: weights } };
}

/**
 * Sparse rows from their two columns, checked; null where both are missing. `firstRow` numbers rows
 * in errors.
 */
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

/**
 * Fails for sparse vectors that an index would refuse: dimensions must ascend within a row, and
 * weights be finite.
 */
function checkSparse({ offsets, indices, weights }: SparseColumns, firstRow: number): void {
  for (let row = 0; row + 1 < offsets.length; row++) {
    const start = offsets[row];
    for (let i = start; i < offsets[row + 1]; i++) {
      if (!Number.isFinite(weights[i])) {
        throw new Error(`row ${firstRow + row}: its vector has ${weights[i]}`);
      }
      if (i > start && indices[i] <= indices[i - 1]) {
        throw new Error(`row ${firstRow + row}: dimension ${indices[i]} after ${indices[i - 1]}`);
      }
    }
  }
}

/**
 * Opens the file of an index: `eachBatch` calls `take` with the rows, batch by batch. Damage, and
 * columns that do not fit the header, throw a FormatError.
 */
export function indexFromArrow(source: ArrowSource, file: string | undefined) {
  const { header, count, batches } = openTable(source, file, { kind: 'index' });
  const eachBatch = (take: (rows: IndexRows) => void) => {
    const columns = columnsFor(header);
    let firstRow = 0;
    for (const batch of batches) {
      const table = readRows(batch, columns, firstRow);
      const { bytes: codes, validity } = table.code as Rows;
      checkUnusedBits(codes, header.bits, firstRow);
      take({
        count: batch.numRows,
        codes,
        validity,
        rows: table.row as Uint32Array | null,
        ids: table.id as Ids | null,
        vectors: table.vector as Float32Array | Int8Array | null,
        scales: table.scale as Float32Array | null,
        sparse: header.vectors === 'sparse' ? sparseRows(table, firstRow) : null,
      });
      firstRow += batch.numRows;
    }
  };
  return { header: header as IndexHeader, count, eachBatch };
}
