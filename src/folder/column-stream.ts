/**
 * Carried columns of rows that pass: those of new rows wait in a temporary file, those of a segment
 * that is written again are read from its file, without the rows that were removed.
 */

import { join } from 'node:path';
import { ByteSource } from '../formats/byte-source';
import type { FolderFile } from '../stored/manifest';
import { type ByteFile, openArrowFile } from '../table/arrow/batches';
import { ArrowWriter } from '../table/arrow/writer';
import type { ColumnInfo } from '../table/columns/info';
import { RowBatch } from '../table/row-batch';
import { COLUMNS_HEADER, columnsFromArrow, columnsToArrow } from '../table/sealed/carried-columns';
import { refuseOthers } from './carried-columns';
import type { GenerationWriter } from './generations';
import { Spill } from './spill';

/** Bytes of new columns that memory holds. */
const HELD_BYTES = 2 ** 24;

export class NewColumns {
  columns: readonly ColumnInfo[];
  readonly #before: readonly ColumnInfo[];
  /** The columns as the folder has them, without rows: types of columns of nulls. */
  readonly #none: RowBatch | null;
  readonly #counts: number[] = [];
  readonly #spill: Spill;

  constructor(writer: GenerationWriter, before: readonly ColumnInfo[], none: RowBatch | null) {
    this.#before = before;
    this.#none = none;
    this.columns = before;
    this.#spill = new Spill(writer, HELD_BYTES);
  }

  /** Takes the columns of so many rows, or refuses them. */
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

  /** Those of new rows by their places, `first` to `end - 1`. */
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

  close(): Promise<void> {
    return this.#spill.close();
  }
}

/** The batches of a file of carried columns, one after another. */
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

/** Those of them whose rows are there; `rows` are the rows of the file, ascending. */
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

/** Writes a file of carried columns of so many rows. */
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
