/**
 * Columns of the rows of an index in sealed Arrow files: ids, codes and vectors; and the carried
 * columns of a folder, in files of their own, of which ranges are read.
 */

import { type DataType, type Field, Type } from 'apache-arrow';
import { lowerBound } from '../../base/arrays';
import { asFormatError, FormatError } from '../../base/check';
import { asArrow, type ByteFile, outlineOf } from '../arrow/batches';
import { type Block, type ByteRange, batchAt } from '../arrow/messages';
import { RowBatch } from '../row-batch';
import { checkColumn, headerText } from './seal';
import { type ColumnSchema, type Lists, openTable, type TableRows } from './sealed-table';

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

const KIND = 'columns';
/** The JSON in the schema of such a file. */
export const COLUMNS_HEADER = headerText({ kind: KIND });

/**
 * Reads columns of the rows at some places of such a file, in the order given: the footer, and of
 * the batches that have these rows the metadata and the buffers of these columns, which are
 * compared with their checksums. Without places it reads one batch, for the types. All batches but
 * the last have as many rows as the first, so that the places tell the batches.
 */
export async function carriedRows(
  file: ByteFile,
  path: string,
  names: readonly string[],
  places: Uint32Array,
): Promise<RowBatch> {
  const { schema, blocks, head } = await asArrow(path, () => outlineOf(file, FIRST_BYTES));
  if (blocks.length === 0) throw new FormatError('it has no batches', path);
  const [{ offset, metadataBytes }] = blocks;
  const end = offset + metadataBytes;
  const [begin] = end <= head.length ? [head] : await file.read([{ at: 0, length: end }]);
  const { rows } = asArrow(path, () => batchAt(begin, offset));
  const wanted = Uint32Array.from(new Set(places.map((place) => Math.floor(place / rows)))).sort();
  const some = Array.from(wanted.length === 0 ? [0] : wanted, (i) => blocks[i]);
  if (some.includes(undefined as never)) throw new FormatError('it has fewer rows', path);
  const stream = partialStream(schema, some, file);
  await stream.fill(some.map(({ metadataBytes }) => [{ at: 0, length: metadataBytes }]));
  const open = () => openTable(stream.bytes, path, { kind: KIND, isSound: true });
  const { fields } = open().schema;
  const columns = names.map((name) => {
    const at = fields.findIndex((field) => field.name === name);
    if (at < 0) throw new FormatError(`there is no column "${name}"`, path);
    // Buffers of a batch are listed column by column: those of the columns before are skipped.
    const before = fields.slice(0, at).reduce((sum, field) => sum + bufferCount(field), 0);
    return { at, before, end: before + bufferCount(fields[at]) };
  });
  const buffers = some.map((block, i) => {
    const at = stream.starts[i];
    const batch = asArrow(path, () => batchAt(stream.bytes, at));
    if (batch.rows !== rows && block !== blocks.at(-1)) {
      throw new FormatError(`a batch has ${batch.rows} rows, the first has ${rows}`, path);
    }
    const own = columns.flatMap(({ before, end }) => batch.buffers.slice(before, end));
    return own.map((buffer) => ({ at: buffer.at - at, length: buffer.length }));
  });
  await stream.fill(buffers);
  return asFormatError(path, () => {
    const batches = open().batches.map((batch, i) => {
      const own = columns.map(({ at }) => {
        checkColumn(batch, at, wanted[i] ?? 0);
        return { field: fields[at], data: batch.data.children[at] };
      });
      return RowBatch.ofColumns(own, batch.numRows, { firstRow: wanted[i] * rows, file: path });
    });
    const order = places.map((place) => {
      return lowerBound(wanted, Math.floor(place / rows)) * rows + (place % rows);
    });
    return RowBatch.join(batches).select(order);
  });
}

/**
 * Some messages of a file as a stream, in which what was not read is zeros; `starts` are where each
 * begins. `fill` reads spans of each message, counted from its beginning.
 */
function partialStream(schema: Uint8Array, blocks: readonly Block[], file: ByteFile) {
  let size = schema.length;
  const starts = blocks.map(({ metadataBytes, bodyBytes }) => {
    size += metadataBytes + bodyBytes;
    return size - metadataBytes - bodyBytes;
  });
  const bytes = new Uint8Array(size + END_OF_STREAM.length);
  bytes.set(schema);
  bytes.set(END_OF_STREAM, size);
  const fill = async (spans: readonly (readonly ByteRange[])[]) => {
    const all = spans.flatMap((own, i) => own.map((span) => ({ ...span, i })));
    const there = all.filter(({ length }) => length > 0);
    const parts = await file.read(
      there.map(({ at, length, i }) => ({ at: blocks[i].offset + at, length })),
    );
    for (const [n, { at, i }] of there.entries()) bytes.set(parts[n], starts[i] + at);
  };
  return { bytes, starts, fill };
}

/** Bytes at the beginning of a file that most metadata of a first batch fit into. */
const FIRST_BYTES = 2 ** 13;
const END_OF_STREAM = Uint8Array.of(255, 255, 255, 255, 0, 0, 0, 0);

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
