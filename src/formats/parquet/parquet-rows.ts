/**
 * Reads rows of Parquet, a row group at a time, by hyparquet (MIT, kept by Hyperparam, no
 * dependencies; parquet-wasm is twice as fast, but 5 MB of wasm). Each column is packed as Arrow
 * before the next is read, so that memory is what one row group takes.
 */

import type { ColumnChunk, ColumnMetaData, CompressionCodec, ParquetParsers } from 'hyparquet';
import { asFormatError } from '../../base/format-error';
import type { ByteFile } from '../../table/arrow/batches';
import type { ColumnBuilder } from '../../table/columns/builder';
import { type ColumnPlan, RowAssembler, type RowBatch } from '../../table/row-batch';
import { type ByteSource, joined } from '../byte-source';
import { exactJson } from '../jsonl/json-text';
import { checkColumns, type FormatRows, piecesOf, type ReadOptions } from '../row-reader';
import { type Chunk, type ParquetColumn, type RowGroup, readFooter } from './footer';
import { appendNumberLists } from './number-lists';
import { Budget, type CheckedPages, type ChunkShape, checkPages } from './pages';
import { kindOfTree } from './parquet-schema';

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/** Dates and times as texts that lose nothing, instead of Date objects. */
const PARSERS: Partial<ParquetParsers> = {
  timestampFromMilliseconds: (millis) => timeText(millis, 3),
  timestampFromMicroseconds: (micros) => timeText(micros, 6),
  timestampFromNanoseconds: (nanos) => timeText(nanos, 9),
  dateFromDays: (days) => timeText(BigInt(days) * 86_400n, 0).slice(0, -9),
  stringFromBytes: (bytes) => bytes && decoder.decode(bytes),
  jsonFromBytes: (bytes) => bytes && decoder.decode(bytes),
};

/** A time as text, from a count of units of 10^-digits seconds. */
function timeText(value: bigint, digits: number): string {
  const per = 10n ** BigInt(digits);
  // Never negative, also for times before 1970.
  const rest = ((value % per) + per) % per;
  const date = new Date(Number((value - rest) / per) * 1000);
  if (Number.isNaN(date.getTime())) return String(value);
  const seconds = date.toISOString().slice(0, -5);
  return digits === 0 ? seconds : `${seconds}.${String(rest).padStart(digits, '0')}`;
}

/** Reads rows of Parquet; memory holds one row group. */
export async function parquetRows(source: ByteSource, options: ReadOptions): Promise<FormatRows> {
  const { name: file } = source;
  const library = await import('hyparquet');
  const bytes = await source.randomAccess(); // its schema comes last
  const { columns, groups, rowCount } = await asParquet(file, () =>
    readFooter(bytes, (footer) => library.parquetMetadata(footer, { geoparquet: false })),
  );
  const names = columns.map(({ name }) => name);
  const wanted = new Set(options.columns ?? names);
  checkColumns(wanted, names);
  const plans = columns
    .filter(({ name }) => wanted.has(name))
    .map((column) => ({
      ...column,
      kind: kindOfTree(library.parquetSchema(schemaOf(column)).children[0]),
    }));
  const assembler = new RowAssembler(plans, file);

  async function* batches(): AsyncGenerator<RowBatch> {
    const full = groups.filter(({ rows }) => rows > 0);
    for (const group of full) {
      // Each row group has its own budget, from the bytes of its columns in the file.
      const budget = new Budget(bytesOf(group, plans, bytes.byteCount));
      for (const [i, plan] of plans.entries()) {
        await asParquet(file, async () => {
          const chunks = await readChunks(bytes, chunksIn(group, plan), budget.bytes);
          const builder = assembler.builders[i];
          // Lists of floats are read without the library, all other columns by it.
          if (appendNumberLists(builder, plan, chunks, group.rows)) return;
          const values = await valuesOf(plan, chunks, group.rows);
          appendAll(builder, values, { ...plan, rows: group.rows, budget });
        });
      }
      assembler.count = group.rows;
      yield* piecesOf(assembler.take(), options.batchRows);
    }
    // Without rows, one empty batch shows the columns.
    if (full.length === 0) yield assembler.take();
  }
  return { columns: assembler.columns, rowCount, batches };
}

/** The schema with one column alone. */
function schemaOf({ elements }: ParquetColumn) {
  return { schema: [{ name: 'root', num_children: 1 }, ...elements] };
}

/** The chunks of a column's leaves. */
function chunksIn({ chunks }: RowGroup, { firstLeaf, leafCount }: ParquetColumn) {
  return chunks.slice(firstLeaf, firstLeaf + leafCount);
}

/** Bytes of some columns of a row group. Chunks may overlap, so at most the bytes of the file. */
function bytesOf(group: RowGroup, columns: readonly ParquetColumn[], most: number): number {
  const chunks = columns.flatMap((column) => chunksIn(group, column));
  return Math.min(
    most,
    chunks.reduce((sum, { byteCount }) => sum + byteCount, 0),
  );
}

/** A chunk of a column, read; its pages are decoded and checked. */
interface ReadChunk extends CheckedPages {
  readonly meta: ColumnMetaData;
  readonly shape: ChunkShape;
  readonly bytes: Uint8Array;
}

/** Reads and checks the chunks of a column; the budget follows from `justified` bytes. */
async function readChunks(
  file: ByteFile,
  chunks: readonly Chunk[],
  justified: number,
): Promise<ReadChunk[]> {
  const budget = new Budget(justified);
  const read: ReadChunk[] = [];
  for (const { meta, shape, start, byteCount } of chunks) {
    budget.take(shape.values * (VALUE_BYTES + LEVEL_BYTES * shape.maxDefinition));
    const bytes = new Uint8Array(byteCount);
    await file.readInto(bytes, start);
    const pages = checkPages(bytes, shape, budget);
    read.push({ ...pages, meta, shape, bytes: bytes.subarray(0, pages.byteCount) });
  }
  return read;
}

/**
 * The values of a column in a row group. hyparquet gets only the chunks of this column, one after
 * another; they claim a codec that returns the pages decoded before.
 */
async function valuesOf(
  column: ParquetColumn,
  chunks: readonly ReadChunk[],
  rows: number,
): Promise<ArrayLike<unknown>> {
  const compressors: Record<string, (page: Uint8Array) => Uint8Array> = {};
  let place = 0;
  const columns = chunks.map(({ meta, contents, byteCount }, i): ColumnChunk => {
    let next = 0;
    compressors[`CHECKED ${i}`] = () => contents[next++];
    // Positions in `whole`, where the chunks lie one after another.
    const where = { data_page_offset: BigInt(place), dictionary_page_offset: undefined };
    const size = { total_compressed_size: BigInt(byteCount) };
    const codec = `CHECKED ${i}` as CompressionCodec;
    place += byteCount;
    return { meta_data: { ...meta, ...where, ...size, codec } } as ColumnChunk;
  });
  const whole = joined(chunks.map(({ bytes }) => bytes));
  const count = BigInt(rows);
  const { parquetScan } = await import('hyparquet');
  const scan = await parquetScan({
    file: {
      byteLength: whole.length,
      slice: (start, end) => whole.slice(start, end).buffer as ArrayBuffer,
    },
    metadata: {
      ...schemaOf(column),
      ...{ version: 1, metadata_length: 0, num_rows: count },
      row_groups: [{ columns, num_rows: count, total_byte_size: 0n }],
    },
    ...{
      columns: [column.name],
      compressors,
      parsers: PARSERS,
      utf8: false,
      useOffsetIndex: false,
    },
  });
  return scan.readColumn({ column: column.name, rowStart: 0, rowEnd: rows });
}

/** Memory that hyparquet takes for a value while it reads, and for each level of nesting. */
const VALUE_BYTES = 32;
const LEVEL_BYTES = 48;

/** Appends values to a builder, and counts their bytes for the budget. */
function appendAll(
  builder: ColumnBuilder,
  values: ArrayLike<unknown>,
  { name, kind, rows, budget }: ColumnPlan & { rows: number; budget: Budget },
): void {
  if (values.length !== rows) {
    throw new Error(`column "${name}" has ${values.length} rows, not ${rows}`);
  }
  // hyparquet returns undefined for an unknown dictionary entry, but also for a null list; the
  // items of lists are checked one by one.
  const isNested = kind === 'json' || (typeof kind === 'object' && 'list' in kind);
  for (let row = 0; row < rows; row++) {
    const value = values[row];
    if (value === undefined && !isNested) {
      throw new Error(`column "${name}": a value that is not in its dictionary`);
    }
    const isText = kind === 'json' && typeof value !== 'string' && value !== null;
    const own = isText && value !== undefined ? exactJson(value) : (value ?? null);
    budget.take(sizeOf(own));
    builder.append(own);
  }
}

/** Bytes that a value takes in a column, about. */
function sizeOf(value: unknown): number {
  if (typeof value === 'string' || value instanceof Uint8Array) return 4 + value.length;
  if (!Array.isArray(value)) return 8;
  let bytes = 4;
  for (const item of value) {
    if (item === undefined) throw new Error('an item that is not in its dictionary');
    bytes += sizeOf(item);
  }
  return bytes;
}

/** Errors of the engine on damaged bytes, whose messages do not help a reader. */
const ENGINE_ERRORS = [TypeError, RangeError, SyntaxError];

/** Runs `read`; what it throws becomes a FormatError. */
function asParquet<T>(file: string, read: () => Promise<T>): Promise<T> {
  const plain = (cause: unknown): never => {
    const isEngines = ENGINE_ERRORS.some((Type) => cause instanceof Type);
    throw isEngines ? new Error('damaged, or of a kind that is not read', { cause }) : cause;
  };
  return asFormatError(file, () => read().catch(plain), 'cannot be read as Parquet');
}
