/**
 * Carried columns of rows that do not fit in memory. Columns of new rows wait in a temporary file;
 * columns of a segment that is rewritten are read from its file batch by batch, without the removed
 * rows.
 */

import { join } from 'node:path';
import { ByteSource } from '../formats/byte-source';
import type { FolderFile } from '../stored/manifest';
import { type ByteFile, openArrowFile } from '../table/arrow/batches';
import { ArrowWriter } from '../table/arrow/writer';
import type { ColumnInfo } from '../table/columns/types';
import { RowBatch } from '../table/row-batch';
import { COLUMNS_HEADER, columnsFromArrow, columnsToArrow } from '../table/sealed/carried-columns';
import { refuseOthers } from './columns-to-save';
import type { GenerationWriter } from './generations';
import { Spill } from './spill';

/** Bytes of new columns that memory holds. */
const HELD_BYTES = 2 ** 24;

/** The carried columns of new rows, in the order in which the rows come. */
export class NewColumns {
  /** Names and types of the columns; in a new folder they are known from the first batch on. */
  columns: readonly ColumnInfo[];
  /** What the folder carried before; empty in a new folder. */
  readonly #before: readonly ColumnInfo[];
  /**
   * Those columns without rows, which give a column that is all null its type; null in a new
   * folder.
   */
  readonly #none: RowBatch | null;
  /** Rows of each batch so far; batch i waits in bucket i. */
  readonly #counts: number[] = [];
  readonly #spill: Spill;

  constructor(writer: GenerationWriter, before: readonly ColumnInfo[], none: RowBatch | null) {
    this.#before = before;
    this.#none = none;
    this.columns = before;
    this.#spill = new Spill(writer, HELD_BYTES);
  }

  /**
   * Takes the columns of the next `count` rows; throws where they are missing or not the folder's.
   */
  async add(batch: RowBatch | undefined, count: number): Promise<void> {
    if (batch === undefined) {
      if (count === 0 || this.columns.length === 0) return;
      const names = this.columns.map(({ name }) => name).join(', ');
      throw new Error(`the folder carries columns (${names}): give "columns" for the new rows`);
    }
    const { columns } = batch.select([]);
    if (this.#before.length > 0) refuseOthers(batch, columns, this.#before);
    else if (this.#counts.length === 0) this.columns = columns;
    const own = this.#none === null ? batch : RowBatch.join([this.#none, batch]);
    this.#spill.add(this.#counts.length, columnsToArrow([own]));
    this.#counts.push(batch.count);
    await this.#spill.settle();
  }

  /**
   * The columns of the new rows at positions `first` to `end - 1`, counted from the first new row.
   */
  async *batches(first: number, end: number): AsyncGenerator<RowBatch> {
    let at = 0;
    for (const [number, count] of this.#counts.entries()) {
      const [from, to] = [Math.max(first, at), Math.min(end, at + count)];
      if (from < to) {
        const bytes = await this.#spill.read(number);
        const batch = RowBatch.join(columnsFromArrow(bytes, 'columns', { isSound: true }));
        yield batch.slice(from - at, to - at);
      }
      at += count;
    }
  }

  /** Frees memory and deletes the temporary file. */
  close(): Promise<void> {
    return this.#spill.close();
  }
}

/**
 * Yields the batches of a file of carried columns, one in memory at a time; closes the file at the
 * end.
 */
export async function* columnsOfFile(folder: string, file: FolderFile): AsyncGenerator<RowBatch> {
  const path = join(folder, file.name);
  const source = await ByteSource.open(path);
  try {
    const opened = await openArrowFile((await source?.randomAccess()) as ByteFile, path);
    yield* opened.batches();
  } finally {
    await source?.close();
  }
}

/**
 * The rows of `batches` that are live, in their order. `rows` are the numbers of all rows of the
 * file, ascending.
 */
export async function* liveColumns(
  batches: AsyncIterable<RowBatch> | Iterable<RowBatch>,
  rows: Uint32Array,
  isLive: (row: number) => boolean,
): AsyncGenerator<RowBatch> {
  let first = 0;
  for await (const batch of batches) {
    const places = Uint32Array.from({ length: batch.count }, (_, place) => place);
    const live = places.filter((place) => isLive(rows[first + place]));
    if (live.length > 0) yield live.length < batch.count ? batch.select(live) : batch;
    first += batch.count;
  }
}

/** Writes batches with `rows` rows in all as a file of carried columns. */
export async function writeColumns(
  writer: GenerationWriter,
  batches: AsyncIterable<RowBatch>,
  rows: number,
): Promise<FolderFile> {
  const output = await writer.create('columns');
  const encoder = new ArrowWriter('file', COLUMNS_HEADER);
  for await (const batch of batches) await output.write(encoder.write(batch));
  await output.write(encoder.finish());
  return output.end(rows);
}
