/**
 * Opens rows of a file, an address, a folder or a stream in any of the formats, to be read batch by
 * batch, in memory that does not grow with the file.
 */

import {
  checkNames,
  checkOneOf,
  checkOptions,
  checkSource,
  checkText,
  FormatError,
  wrongType,
} from '../base/check';
import { openArrowFile, openArrowStream } from '../table/arrow/batches';
import type { RowBatch } from '../table/row-batch';
import { ByteSource } from './byte-source';
import { csvRows } from './csv';
import { jsonlRows } from './jsonl';
import { npyRows } from './npy';
import { parquetRows } from './parquet/columns';
import { folderRows, textRows } from './records';
import {
  type ColumnType,
  checkColumns,
  detectFormat,
  type FormatRows,
  MAGIC_BYTES,
  type ReadOptions,
  ROW_FORMATS,
  type RowFormat,
  RowReader,
} from './row-reader';
import { openShards, shardsOf } from './shards';
import type { FileStates } from './web-source';

/** How rows are read. */
export interface OpenRowsOptions {
  /** By default as the first bytes or the name say. */
  format?: RowFormat;
  /** What a stream is called in errors. */
  file?: string;
  /** Columns to read; all by default. */
  columns?: readonly string[];
  /**
   * Most rows of a batch; fewer when they are wide.
   * @default 8192
   */
  batchRows?: number;
  /** Types of columns of JSONL or CSV, where first values mislead. */
  types?: Readonly<Record<string, ColumnType>>;
}

/** What the options may be, for callers that pass them on. */
export const OPEN_OPTIONS = {
  format: ROW_FORMATS,
  file: checkText,
  columns: checkNames,
  batchRows: { min: 1 },
  types: checkTypes,
} as const;

function checkTypes(name: string, types: unknown): void {
  if (typeof types !== 'object' || types === null) throw wrongType(name, 'an object', types);
  for (const [column, type] of Object.entries(types)) {
    checkOneOf(`${name}.${column}`, type, ['text', 'number', 'integer', 'vector']);
  }
}

type Open = (source: ByteSource, options: ReadOptions) => Promise<FormatRows>;

const READERS: Record<RowFormat, Open> = {
  arrow: arrowRows,
  arrows: arrowRows,
  parquet: parquetRows,
  csv: csvRows,
  jsonl: jsonlRows,
  npy: npyRows,
  text: textRows,
};

/**
 * Opens a file, an address (https:// or hf://datasets/), a folder, or a stream, to be read batch by
 * batch. The columns are known once it is open; leaving the loop closes it. A folder of files of
 * rows, a pattern as `data/*.jsonl.gz` or a list of paths is read as one, a folder of other files
 * as texts. gzip and ZSTD are unpacked.
 *
 * @example
 * for await (const batch of await openRows('datasets/sample/docs.jsonl')) {
 *   console.log(batch.count, batch.texts('title')[0]); // 40 How to brew green tea
 * }
 */
export async function openRows(
  source: string | readonly string[] | AsyncIterable<Uint8Array>,
  options?: OpenRowsOptions,
): Promise<RowReader> {
  return openRecords(source, checkOptions(options, OPEN_OPTIONS));
}

/** Options that only callers in this library give; `states` of files on hosts that were read. */
type Inner = Partial<Pick<ReadOptions, 'onRecord' | 'isWanted' | 'kinds' | 'maxLineBytes'>> & {
  readonly states?: FileStates | undefined;
};

/**
 * The same with options that were checked; `onRecord` gets the bytes of rows of text formats.
 */
export async function openRecords(
  source: string | readonly string[] | AsyncIterable<Uint8Array>,
  given: OpenRowsOptions,
  inner: Inner = {},
): Promise<RowReader> {
  checkSource('source', source);
  const isPath = typeof source === 'string';
  if ((isPath && given.format !== 'text') || Array.isArray(source)) {
    const shards = await shardsOf(source as string | readonly string[]);
    const name = isPath ? source : `${source[0]} and others`;
    const { isWanted, kinds = new Map() } = inner;
    const from = (first: number) => isWanted && ((row: number) => isWanted(first + row));
    if (shards !== null) {
      return openShards(shards, name, (file, first) =>
        openOne(file, given, { ...inner, kinds, isWanted: from(first) }),
      );
    }
  }
  return openOne(source as string, given, inner);
}

/** Opens one file, a folder of texts, or a stream. */
async function openOne(
  source: string | AsyncIterable<Uint8Array>,
  given: OpenRowsOptions,
  inner: Inner,
): Promise<RowReader> {
  const read: ReadOptions = {
    columns: given.columns,
    // Without a prototype, whose names a column may have: "constructor", "__proto__".
    types: Object.assign(Object.create(null), given.types),
    kinds: new Map(),
    batchRows: given.batchRows ?? 8192,
    maxLineBytes: 2 ** 28,
    ...inner,
  };
  const packed =
    typeof source === 'string'
      ? await ByteSource.open(source, inner.states)
      : ByteSource.of(source, given.file ?? 'the stream', inner.states);
  if (packed === null) {
    const folder = source as string;
    if (given.format !== undefined && given.format !== 'text') {
      throw new FormatError(`a folder, not a file of format ${given.format}`, folder);
    }
    const rows = await folderRows(folder, read, inner.states);
    return new RowReader(rows, 'text', ByteSource.folder(folder), read.batchRows);
  }
  try {
    const bytes = await packed.uncompressed();
    const head = await bytes.peek(MAGIC_BYTES);
    const format = given.format ?? detectFormat(bytes.name, head);
    if (head.length === 0) throw new FormatError('empty', bytes.name);
    const rows = await READERS[format](bytes, read);
    return new RowReader(rows, format, bytes, read.batchRows);
  } catch (error) {
    await packed.close();
    throw error;
  }
}

/** Rows of an Arrow file or stream, told apart by the first bytes. One batch is in memory. */
async function arrowRows(source: ByteSource, options: ReadOptions): Promise<FormatRows> {
  const isFile = Buffer.from(await source.peek(6)).toString('latin1') === 'ARROW1';
  // The file format has its schema last: of a stream, all of it is held.
  const opened = isFile
    ? await openArrowFile(await source.randomAccess(), source.name)
    : await openArrowStream(source, source.name, source.file === null);
  const names = opened.empty.columns.map(({ name }) => name);
  const wanted = new Set(options.columns ?? names);
  checkColumns(wanted, names);
  const kept = names.filter((name) => wanted.has(name));
  const own = (batch: RowBatch) => (wanted.size < names.length ? batch.only(kept) : batch);
  const read: FormatRows['read'] = (send) => opened.read((batch) => send(own(batch)));
  return { ...opened, empty: own(opened.empty), read };
}
