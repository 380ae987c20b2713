/**
 * Rows of an index in and out of an Arrow file: id, code, vector and partition of each in columns,
 * all else as JSON in the schema. The file is sealed like a file of codes, and can be read as one.
 *
 * The carried columns of a folder are files of their own.
 */

import { type DataType, type Field, Type } from 'apache-arrow';
import { lowerBound } from '../../base/arrays';
import { asFormatError, checkBits, FormatError, type Ids } from '../../base/check';
import { bytesPerCode, checkUnusedBits } from '../../codes/codes';
import { type ArrowSource, asArrow, schemaOfFooter } from '../arrow/batches';
import {
  type Block,
  batchAt,
  footerStart,
  readFooter,
  type Span,
  TAIL_BYTES,
} from '../arrow/messages';
import { RowBatch } from '../row-batch';
import { checkColumn, type Header, headerText } from './seal';
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
 * to `end - 1`; one empty batch where there are none.
 */
export function indexToArrow(
  header: Omit<IndexHeader, 'version'> & { readonly bits: number },
  count: number,
  rowsOf: (first: number, end: number) => IndexRows,
): Uint8Array {
  const rowBytes = 4 * Number(header.dimensions ?? 1);
  const most = Math.max(1, Math.min(BATCH_ROWS, Math.floor(BATCH_BYTES / rowBytes)));
  const batches = batchRanges(count, most).map(([first, end]) => ({
    count: end - first,
    rows: tableOf(rowsOf(first, end)),
  }));
  return writeTable(columnsFor(header), header, batches);
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

const KIND = 'columns';
/** The JSON in the schema of such a file. */
export const COLUMNS_HEADER = headerText({ kind: KIND });

/** Reads ranges of a file, in the order given. */
type ReadRanges = (ranges: readonly Span[]) => Promise<readonly Uint8Array[]>;

/** The file of carried columns of a segment. */
interface ColumnsFile {
  readonly path: string;
  readonly bytes: number;
}

/**
 * Reads columns of the rows at some places of such a file, in the order given: the footer, and of
 * the batches that have these rows the metadata and the buffers of these columns, which are
 * compared with their checksums. Without places it reads one batch, for the types. All batches but
 * the last have as many rows as the first, so that the places tell the batches.
 */
export async function carriedRows(
  file: ColumnsFile,
  names: readonly string[],
  places: Uint32Array,
  read: ReadRanges,
): Promise<RowBatch> {
  const { path } = file;
  const { schema, blocks, rows } = await outlineOf(file, read);
  const wanted = Uint32Array.from(new Set(places.map((place) => Math.floor(place / rows)))).sort();
  const some = Array.from(wanted.length === 0 ? [0] : wanted, (i) => blocks[i]);
  if (some.includes(undefined as never)) throw new FormatError('it has fewer rows', path);
  const stream = new PartialStream(schema, some, read);
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

/** The schema of a file as a message, where batches lie, and how many rows the first one has. */
async function outlineOf({ path, bytes }: ColumnsFile, read: ReadRanges) {
  const guess = Math.max(0, bytes - FOOTER_BYTES);
  const [first, last] = await read([
    { at: 0, length: Math.min(FIRST_BYTES, bytes) },
    { at: guess, length: bytes - guess },
  ]);
  const start = asArrow(path, () => footerStart(last.subarray(-TAIL_BYTES), bytes));
  const rest = start < guess ? await read([{ at: start, length: bytes - start }]) : null;
  const tail = rest === null ? last.subarray(start - guess) : rest[0];
  const footer = tail.subarray(0, -TAIL_BYTES);
  const said = asArrow(path, () => readFooter(footer, start));
  const { blocks } = said;
  if (blocks.length === 0) throw new FormatError('it has no batches', path);
  const [{ offset, metadataBytes }] = blocks;
  const end = offset + metadataBytes;
  const begin = end <= first.length ? first : (await read([{ at: 0, length: end }]))[0];
  const { rows } = asArrow(path, () => batchAt(begin, offset));
  return { schema: schemaOfFooter(footer, said), blocks, rows };
}

/** Some messages of a file as a stream, in which what was not read is zeros. */
class PartialStream {
  readonly bytes: Uint8Array;
  /** Where each message begins. */
  readonly starts: readonly number[];

  constructor(
    schema: Uint8Array,
    private readonly blocks: readonly Block[],
    private readonly read: ReadRanges,
  ) {
    const starts: number[] = [];
    let size = schema.length;
    for (const { metadataBytes, bodyBytes } of blocks) {
      starts.push(size);
      size += metadataBytes + bodyBytes;
    }
    this.starts = starts;
    this.bytes = new Uint8Array(size + END_OF_STREAM.length);
    this.bytes.set(schema);
    this.bytes.set(END_OF_STREAM, size);
  }

  /** Reads spans of each message, counted from its beginning. */
  async fill(spans: readonly (readonly Span[])[]): Promise<void> {
    const all = spans.flatMap((own, i) =>
      own
        .filter(({ length }) => length > 0)
        .map(({ at, length }) => {
          const from = { at: this.blocks[i].offset + at, length };
          return { from, to: this.starts[i] + at };
        }),
    );
    const parts = await this.read(all.map(({ from }) => from));
    for (const [i, part] of parts.entries()) this.bytes.set(part, all[i].to);
  }
}

/** Bytes at the beginning of a file that most metadata of a first batch fit into. */
const FIRST_BYTES = 2 ** 13;
const END_OF_STREAM = Uint8Array.of(255, 255, 255, 255, 0, 0, 0, 0);
/** Bytes at the end of a file that most footers fit into. */
const FOOTER_BYTES = 2 ** 15;

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
