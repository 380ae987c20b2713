/**
 * What reads rows of any format: columns are known before the first batch, rows are read once, and
 * the source is closed whichever way that ends.
 */

import { FormatError } from '../base/format-error';
import { noColumn } from '../base/nearest-name';
import type { ColumnInfo } from '../table/columns/info';
import type { RowBatch } from '../table/row-batch';
import type { ByteSource } from './byte-source';
import { lineError } from './byte-source';
import type { RowFormat } from './row-format';

/** A line, counted from 1, that could not be read. */
export interface SkippedLine {
  readonly line: number;
  readonly reason: string;
}

/** Batches of rows, to be read once; `for await` closes the source at its end. */
export interface RowReader extends AsyncIterable<RowBatch> {
  /** Path, or what the stream is called. */
  readonly file: string;
  readonly format: RowFormat;
  readonly columns: readonly ColumnInfo[];
  /** Rows, where the format says so before they are read. */
  readonly rowCount: number | null;
  /** Bytes of the file, where that is known, and how many of them were read. */
  readonly byteCount: number | null;
  readonly bytesRead: number;
  /**
   * Bytes in memory while rows are read, besides those of batches: a row group of Parquet, the
   * content of a compressed file that is not unpacked piece by piece.
   */
  readonly heldBytes: number;
  /** Lines that could not be read, and the first ten of them. */
  readonly skipped: number;
  readonly skippedLines: readonly SkippedLine[];
  /** Of several files the one that a row is in, once it was read; undefined of one file. */
  shardAt(row: number): string | undefined;
  close(): Promise<void>;
}

/** Counts lines that are left out, or throws. */
export class Skips {
  count = 0;
  readonly lines: SkippedLine[] = [];

  constructor(readonly onError: 'stop' | 'skip') {}

  /** Leaves out a line, where that is wanted. */
  skip(line: number, error: unknown, file: string): void {
    const reason = error instanceof Error ? error.message : String(error);
    if (this.onError === 'stop') throw lineError(line, reason, file);
    this.count++;
    this.note(line, reason);
  }

  /** Lists a line that is counted elsewhere. */
  note(line: number, reason: string): void {
    if (this.lines.length < MAX_LISTED) this.lines.push({ line, reason });
  }
}

const MAX_LISTED = 10;

/** What a format's reader gives: columns from the start, rows when they are asked for. */
export interface FormatRows {
  readonly columns: readonly ColumnInfo[];
  readonly rowCount?: number | null;
  /** The files that have been read so far, of several, and the first row of each. */
  readonly shards?: readonly { readonly file: string; readonly firstRow: number }[];
  /** The JSON header of Arrow files of this library. */
  readonly header?: string;
  /** Bytes in memory while a batch is made. */
  readonly heldBytes?: number;
  readonly batches: () => AsyncGenerator<RowBatch>;
}

/** What a format's reader gets: the options of `openRows`, checked and with their defaults. */
export interface ReadOptions {
  readonly columns: readonly string[] | undefined;
  readonly batchRows: number;
  readonly skips: Skips;
  readonly expectEnd: boolean;
  readonly types: Readonly<Record<string, ColumnType>>;
  readonly delimiter: Delimiter | undefined;
  readonly maxColumns: number;
  readonly maxLineBytes: number;
  /** Told the bytes of each row of a text format as it is read; of CSV first the line of names. */
  readonly onRecord?: ((bytes: Buffer, start: number, end: number) => void) | undefined;
  /** Of JSONL that is known to be sound: rows whose values are read; others have none. */
  readonly isWanted?: ((row: number) => boolean) | undefined;
}

/** What the caller says a column of CSV or JSON lines is. */
export type ColumnType = 'text' | 'number' | 'vector';
/** What is between the cells of CSV. */
export type Delimiter = ',' | ';' | '\t' | '|';

/** Fails for a column that is wanted and not there. */
export function checkColumns(wanted: Iterable<string>, names: readonly string[]): void {
  const known = new Set(names);
  for (const name of wanted) if (!known.has(name)) throw noColumn(name, names);
}

/** Fails for more columns than a source may have. */
export function checkColumnCount(count: number, { maxColumns }: ReadOptions, file: string): void {
  if (count <= maxColumns) return;
  const advice = 'maxColumns allows more';
  throw new FormatError(`more than ${maxColumns} columns; ${advice}`, file);
}

/** Rows `first` to `first + rows - 1` of a batch, and so on to its end; nothing is copied. */
export function* piecesOf(batch: RowBatch, rows: number): Generator<RowBatch> {
  for (let first = 0; first < batch.count; first += rows) {
    yield batch.slice(first, Math.min(batch.count, first + rows));
  }
}

/** Reads once, and closes its source whichever way that ends. */
export class OpenRows implements RowReader {
  readonly file: string;
  readonly columns: readonly ColumnInfo[];
  readonly rowCount: number | null;
  readonly byteCount: number | null;
  /** The JSON header of Arrow files of this library. */
  readonly header: string | undefined;
  #isRead = false;

  constructor(
    private readonly rows: FormatRows,
    readonly format: RowFormat,
    private readonly source: ByteSource,
    private readonly skips: Skips,
  ) {
    this.file = source.name;
    this.columns = rows.columns;
    this.rowCount = rows.rowCount ?? null;
    this.byteCount = source.byteCount;
    this.header = rows.header;
  }

  get bytesRead(): number {
    return this.source.bytesRead;
  }

  get heldBytes(): number {
    return this.source.heldBytes + (this.rows.heldBytes ?? 0);
  }

  shardAt(row: number): string | undefined {
    return this.rows.shards?.filter(({ firstRow }) => firstRow <= row).at(-1)?.file;
  }

  get skipped(): number {
    return this.skips.count;
  }

  get skippedLines(): readonly SkippedLine[] {
    return this.skips.lines;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<RowBatch> {
    if (this.#isRead) throw new Error(`${this.file}: its rows were read already, open it again`);
    this.#isRead = true;
    try {
      yield* this.rows.batches();
    } finally {
      await this.close();
    }
  }

  async close(): Promise<void> {
    this.#isRead = true;
    await this.source.close();
  }
}
