/**
 * Columns of the rows of an index in sealed Arrow files: ids, codes and vectors; and the carried
 * columns of a folder, in files of their own, of which ranges are read.
 */

import { type DataType, type Field, Type } from 'apache-arrow';
import { lowerBound } from '../../base/arrays';
import { asFormatError, FormatError } from '../../base/check';
import { asArrow, type ByteFile, decoded, messageAt, outlineOf } from '../arrow/batches';
import { type ByteRange, batchAt } from '../arrow/messages';
import { RowBatch } from '../row-batch';
import { checkColumn, headerText, SealChecker } from './seal';
import type { ColumnSchema, Lists, TableRows } from './sealed-table';

/**
 * Sparse rows one after another: the entries of row r lie at `offsets[r]` to `offsets[r + 1] - 1`.
 */
export interface SparseColumns {
  readonly offsets: Int32Array;
  /** Dimensions, ascending within a row. */
  readonly indices: BigUint64Array;
  readonly weights: Float32Array;
}

/** Vectors of rows one after another, by how they are held; all null where they are not. */
export interface VectorColumns {
  /** As many values for each row as the index has dimensions. */
  readonly vectors: Float32Array | Int8Array | null;
  /** For int8 vectors: the factor by which the values of a row are multiplied. */
  readonly scales: Float32Array | null;
  readonly sparse: SparseColumns | null;
}

/** The columns of sparse vectors: lists of dimensions, and of their weights. */
export const SPARSE_COLUMNS: readonly ColumnSchema[] = [
  { name: 'indices', type: { list: 'uint64' } },
  { name: 'weights', type: { list: 'float32' } },
];

/** Vectors as the values of their columns; nothing is copied. */
export function tableOfVectors({ vectors, scales, sparse }: VectorColumns): TableRows {
  if (sparse === null) return { vector: vectors, scale: scales };
  const { offsets, indices, weights } = sparse;
  return { indices: { offsets, items: indices }, weights: { offsets, items: weights } };
}

/** The same back, checked where they are sparse. `firstRow` numbers rows in errors. */
export function vectorsOfTable(table: TableRows, firstRow: number): VectorColumns {
  return {
    vectors: (table.vector ?? null) as VectorColumns['vectors'],
    scales: (table.scale ?? null) as Float32Array | null,
    sparse: sparseRows(table, firstRow),
  };
}

/**
 * Sparse rows from their two columns; null without these. Fails for vectors that an index
 * would refuse: dimensions must ascend within a row, and weights be finite.
 */
function sparseRows(table: TableRows, firstRow: number): SparseColumns | null {
  const { indices, weights } = table as { indices?: Lists | null; weights?: Lists | null };
  if (!indices || !weights) return null;
  const { offsets } = indices;
  const sparse = { offsets, indices: indices.items, weights: weights.items } as SparseColumns;
  const [keys, values] = [sparse.indices, sparse.weights];
  for (let row = 0; row + 1 < offsets.length; row++) {
    const fail = (what: string) => new Error(`row ${firstRow + row}: ${what}`);
    if (offsets[row + 1] !== weights.offsets[row + 1]) {
      throw fail('as many indices as weights were expected');
    }
    for (let i = offsets[row]; i < offsets[row + 1]; i++) {
      if (!Number.isFinite(values[i])) throw fail(`its vector has ${values[i]}`);
      if (i > offsets[row] && keys[i] <= keys[i - 1]) {
        throw fail(`dimension ${keys[i]} after ${keys[i - 1]}`);
      }
    }
  }
  return sparse;
}

/** The JSON in the schema of a file of carried columns. */
export const COLUMNS_HEADER = headerText({ kind: 'columns' });

/**
 * Reads columns of the rows at some places of such a file, in the order given: the footer, and of
 * the batches that have these rows the metadata and the buffers of these columns, which are
 * compared with their checksums. Without places it reads one batch, for the types. All batches but
 * the last have `batchRows` rows, so that the places tell the batches.
 */
export async function carriedRows(
  file: ByteFile,
  path: string,
  names: readonly string[],
  { places, batchRows }: { places: Uint32Array; batchRows: number },
): Promise<RowBatch> {
  const { schema, blocks, columns } = await asArrow(path, () => outlineOf(file));
  const { header, schema: own } = asArrow(path, () => new SealChecker(decoded([schema], 0).schema));
  const { fields } = own;
  if ((header as { kind?: unknown } | null)?.kind !== 'columns')
    throw new FormatError('it holds no columns', path);
  const wanted = asFormatError(path, () => names.map((name) => columnIn(fields, name)));
  const batchOf = (place: number) => Math.floor(place / batchRows);
  const numbers = Uint32Array.from(new Set(places.length > 0 ? places.map(batchOf) : [0])).sort();
  const some = Array.from(numbers, (i) => blocks[i]);
  if (some.includes(undefined as never)) throw new FormatError('it has fewer rows', path);

  // What is not read of a message stays zeros.
  const messages = some.map((block) => new Uint8Array(block.metadataBytes + block.bodyBytes));
  /** Reads spans of each message, counted from its beginning. */
  const read = async (spansOf: (message: Uint8Array, i: number) => readonly ByteRange[]) => {
    const spans = messages.flatMap((message, i) =>
      asArrow(path, () => spansOf(message, i)).map((span) => ({ ...span, i })),
    );
    const parts = await file.read(
      spans.map(({ at, length, i }) => ({ at: some[i].offset + at, length })),
    );
    for (const [n, { at, i }] of spans.entries()) messages[i].set(parts[n], at);
  };
  await read((_, i) => [{ at: 0, length: some[i].metadataBytes }]);
  await read((message, i) => {
    messageAt(message, columns); // checks that the buffers lie within it
    const { rows, buffers } = batchAt(message, 0);
    if (rows !== batchRows && some[i] !== blocks.at(-1)) {
      throw new FormatError(`a batch has ${rows} rows, not ${batchRows}`, path);
    }
    const own = wanted.flatMap(({ before, end }) => buffers.slice(before, end));
    return own.filter(({ length }) => length > 0);
  });
  const made = asArrow(path, () => {
    const parts = messages.flatMap((message) => messageAt(message, columns).parts);
    return decoded([schema, ...parts], some.length).batches;
  });
  return asFormatError(path, () => {
    const batches = made.map((batch, i) => {
      const own = wanted.map(({ at }) => {
        checkColumn(batch, at, numbers[i]);
        return { field: fields[at], data: batch.data.children[at] };
      });
      const place = { firstRow: numbers[i] * batchRows, file: path };
      return RowBatch.ofColumns(own, batch.numRows, place);
    });
    const order = places.map((place) => {
      return lowerBound(numbers, batchOf(place)) * batchRows + (place % batchRows);
    });
    return RowBatch.join(batches).select(order);
  });
}

/** Which of the fields has a name, and which buffers of a batch are those of its column. */
function columnIn(fields: readonly Field[], name: string) {
  const at = fields.findIndex((field) => field.name === name);
  if (at < 0) throw new Error(`there is no column "${name}"`);
  // Buffers are listed column by column.
  const before = fields.slice(0, at).reduce((sum, field) => sum + bufferCount(field), 0);
  return { at, before, end: before + bufferCount(fields[at]) };
}

/** How many buffers a column has in a batch, as Arrow lists them, those of children included. */
function bufferCount({ type }: Field): number {
  const { typeId, children } = type as DataType;
  const own: Partial<Record<Type, number>> = {
    [Type.Null]: 0,
    [Type.Struct]: 1,
    [Type.FixedSizeList]: 1,
    [Type.Utf8]: 3,
    [Type.Binary]: 3,
    [Type.LargeUtf8]: 3,
    [Type.LargeBinary]: 3,
  };
  const below: readonly Field[] = typeId === Type.Dictionary ? [] : (children ?? []);
  return below.reduce((sum, child) => sum + bufferCount(child), own[typeId] ?? 2);
}
