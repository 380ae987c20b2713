/**
 * What the readers of all formats have in common: columns are known before the first batch, rows
 * are read once, and the source is closed however that ends. Formats go by name, by extension, and
 * by the first bytes of a file.
 */

import { extname } from 'node:path';
import { asFormatError, FormatError, messageOf, noColumn } from '../base/check';
import { iterated } from '../base/long-work';
import type { ColumnInfo, ColumnKind } from '../table/columns/types';
import type { RowBatch } from '../table/row-batch';
import { checkTextModel, type TextModel } from '../vectors/vectors';
import type { ByteSource } from './byte-source';

/** What the reader of a format gives: columns at once, rows when they are asked for. */
export interface FormatRows {
  /** A batch without rows, which has the columns. */
  readonly empty: RowBatch;
  readonly rowCount?: number | null;
  /** The JSON header of Arrow files of this library. */
  readonly header?: string;
  /**
   * Sends all batches, once; a batch may have more rows than the options allow, or none.
   */
  readonly read: (send: SendBatch) => Promise<void>;
}

/** Takes a batch; resolves once the next one is wanted. */
export type SendBatch = (batch: RowBatch) => Promise<void>;

/** What a format's reader gets: the options of `openRows`, checked and with their defaults. */
export interface ReadOptions {
  readonly columns: readonly string[] | undefined;
  readonly batchRows: number;
  readonly types: Readonly<Record<string, ColumnType>>;
  /** By column the kind that it has in rows before, as those of other shards. */
  readonly kinds: Map<string, ColumnKind>;
  /** Bytes of a line, or a record of CSV, above which it is refused. */
  readonly maxLineBytes: number;
  /** Called with the bytes of each row of a format of lines; those of its names come first. */
  readonly onRecord?: ((bytes: Buffer, start: number, end: number) => void) | undefined;
  /** For JSONL known to be sound: the rows that are parsed; the others get nulls. */
  readonly isWanted?: ((row: number) => boolean) | undefined;
}

/** What the caller says a column of CSV or JSON lines is. */
export type ColumnType = 'text' | 'number' | 'integer' | 'vector';

/** Fails for a column that is wanted and not there. */
export function checkColumns(wanted: Iterable<string>, names: readonly string[]): void {
  const known = new Set(names);
  for (const name of wanted) if (!known.has(name)) throw noColumn(name, names);
}

/** Columns above which CSV or JSONL is refused. */
const MAX_COLUMNS = 100_000;

/** Fails for more columns than a source may have. */
export function checkColumnCount(count: number, file: string): void {
  if (count > MAX_COLUMNS) throw new FormatError(`more than ${MAX_COLUMNS} columns`, file);
}

/** The error for a line of a file, counted from 1, by what was thrown there. */
export function lineError(line: number, error: unknown, file: string): FormatError {
  return new FormatError(`line ${line}: ${messageOf(error)}`, file);
}

/** Batches of rows, to be read once; `for await` closes the source at its end. */
export class RowReader implements AsyncIterable<RowBatch> {
  /** Path, or what the stream is called. */
  readonly file: string;
  readonly columns: readonly ColumnInfo[];
  /** Rows, where the format says so before they are read. */
  readonly rowCount: number | null;
  /** Bytes of the file, where that is known. */
  readonly byteCount: number | null;
  /** The JSON header of Arrow files of this library. @internal */
  readonly header: string | undefined;
  /** Null once they were read: what they hold is free. */
  #read: FormatRows['read'] | null;
  /** A batch without rows, which has the columns. @internal */
  readonly empty: RowBatch;

  /** @internal */
  constructor(
    rows: FormatRows,
    readonly format: RowFormat,
    private readonly source: ByteSource,
    private readonly batchRows = Number.POSITIVE_INFINITY,
  ) {
    this.file = source.name;
    this.columns = rows.empty.columns;
    this.empty = rows.empty;
    this.rowCount = rows.rowCount ?? null;
    this.byteCount = source.byteCount;
    this.header = rows.header;
    this.#read = rows.read;
  }

  /** The model that made the vectors, as Arrow files of `halfspace embed` keep it; else null. */
  get model(): TextModel | null {
    const { model } = JSON.parse(this.header ?? '{}') as { model?: TextModel };
    return model === undefined ? null : asFormatError(this.file, () => checkTextModel(model));
  }

  /** Bytes of the file that were read. */
  get bytesRead(): number {
    return this.source.bytesRead;
  }

  [Symbol.asyncIterator](): AsyncIterableIterator<RowBatch> {
    return iterated((send) => this.read(send));
  }

  /**
   * Sends all batches, cut to `batchRows`, or one without rows where there are none; closes the
   * source however that ends.
   * @internal
   */
  async read(send: SendBatch): Promise<void> {
    const read = this.#read;
    if (!read) throw new Error(`${this.file}: its rows were read already, open it again`);
    this.#read = null;
    const { batchRows } = this;
    let isEmpty = true;
    try {
      await read(async (batch) => {
        isEmpty &&= batch.count === 0;
        for (let first = 0; first < batch.count; first += batchRows) {
          const isWhole = batch.count <= batchRows;
          await send(isWhole ? batch : batch.slice(first, first + batchRows));
        }
      });
      if (isEmpty) await send(this.empty);
    } finally {
      await this.close();
    }
  }

  async close(): Promise<void> {
    this.#read = null;
    await this.source.close();
  }
}

/** All formats by name. */
export const ROW_FORMATS = ['arrow', 'arrows', 'parquet', 'csv', 'jsonl', 'npy', 'text'] as const;

/** 'arrow' is the file, 'arrows' the stream. */
export type RowFormat = (typeof ROW_FORMATS)[number];

/** The file extensions of each format. */
const EXTENSIONS: Record<RowFormat, readonly string[]> = {
  arrow: ['.arrow', '.feather', '.ipc'],
  arrows: ['.arrows'],
  parquet: ['.parquet', '.pq'],
  csv: ['.csv', '.tsv', '.tab'],
  jsonl: ['.jsonl', '.ndjson'],
  npy: ['.npy'],
  text: ['.txt', '.md'],
};

/** Formats of lines: one may end after any of them, and each can be copied byte for byte. */
export const OF_LINES: readonly (RowFormat | null)[] = ['csv', 'jsonl', 'text'];

/** The first bytes of formats that have a magic number, as text with a character for each byte. */
const MAGICS: readonly (readonly [string, RowFormat])[] = [
  ['ARROW1', 'arrow'],
  ['\xff\xff\xff\xff', 'arrows'],
  ['PAR1', 'parquet'],
  ['\x93NUMPY', 'npy'],
];

/** How many first bytes are compared with magic numbers, or searched for the start of JSON. */
export const MAGIC_BYTES = 64;

/** A name without the extension of a compression; of an address without what follows its path. */
function bareName(path: string): string {
  return path.replace(/^(https?:\/\/[^?#]*)[?#].*$/is, '$1').replace(/\.(?:gz|zst)$/i, '');
}

/** The format by the extension, or null for an unknown one. */
export function formatOfPath(path: string): RowFormat | null {
  const extension = extname(bareName(path)).toLowerCase();
  return ROW_FORMATS.find((format) => EXTENSIONS[format].includes(extension)) ?? null;
}

/** Whether a name is one of tab-separated values. */
export const isTabbed = (path: string) => /\.(tsv|tab)$/i.test(bareName(path));

/** The format that the first bytes show, else that of the name; JSON lines begin with a brace. */
export function detectFormat(name: string, head: Uint8Array): RowFormat {
  const text = Buffer.from(head.buffer, head.byteOffset, head.length).toString('latin1');
  const magic = MAGICS.find(([start]) => text.startsWith(start))?.[1];
  if (magic !== undefined) return magic;
  const named = formatOfPath(name);
  if (named !== null) return named;
  if (/^(\xef\xbb\xbf)?\s*\{/.test(text)) return 'jsonl';
  if (/^(\xef\xbb\xbf)?\s*\[/.test(text)) {
    throw new FormatError('one JSON array is not read; write a JSON object a line (.jsonl)', name);
  }
  if (head.length === 0) throw new FormatError('empty, and its name has no known extension', name);
  throw new FormatError(
    'its format is not known by its name or first bytes; say which with format (--from)',
    name,
  );
}

/** Encodes batches as the bytes of one format. */
export interface RowEncoder {
  encode(batch: RowBatch): Uint8Array[] | Promise<Uint8Array[]>;
  /** The bytes that end the output. */
  finish(): Uint8Array[] | Promise<Uint8Array[]>;
}
