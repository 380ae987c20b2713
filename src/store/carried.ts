/** The carried columns of rows that are written: those given with them, or those in older files. */

import { lowerBound } from '../base/arrays';
import { ArrowWriter } from '../table/arrow/writer';
import type { ColumnInfo } from '../table/columns/types';
import { RowBatch } from '../table/row-batch';
import { COLUMNS_HEADER } from '../table/sealed/index-rows';
import { StoredColumns } from './columns';
import { withContent } from './folder-place';
import type { GenerationWriter } from './generations';
import type { FolderFile, Manifest } from './manifest';
import { StoredRows } from './stored-rows';

/** Columns by row, and their names and types. */
export interface CarriedColumns {
  readonly columns: readonly ColumnInfo[];
  /** The columns of some rows, which ascend. */
  of(rows: Uint32Array): Promise<RowBatch>;
}

/**
 * The columns of all rows of an index that is saved: `whole` has a row for each of `liveRows`;
 * without it those in the files of `origin`. Null where none are carried.
 */
export async function carriedBy(
  folder: string,
  origin: Manifest | null,
  whole: RowBatch | undefined,
  liveRows: () => Uint32Array,
): Promise<CarriedColumns | null> {
  if (whole !== undefined) {
    // `select` turns dictionaries into plain columns, as files have them.
    const { columns } = whole.select([]);
    if (columns.length === 0) return null;
    const live = liveRows();
    return {
      columns,
      of: async (rows) => whole.select(Uint32Array.from(rows, (row) => lowerBound(live, row))),
    };
  }
  const columns = origin?.columns ?? [];
  if (origin === null || columns.length === 0) return null;
  const names = columns.map(({ name }) => name);
  const nextRow = origin.segments.at(-1)?.endRow ?? 0;
  const last = liveRows().at(-1);
  if (last !== undefined && last >= nextRow) {
    const wanted = 'give "columns", a row for each of the index';
    throw new Error(`the folder carries columns (${names.join(', ')}): ${wanted}`);
  }
  return {
    columns,
    of: (rows) =>
      withContent(folder, origin, (content) =>
        new StoredColumns(content, new StoredRows(content, 0)).batchOf(names, rows),
      ),
  };
}

/**
 * Throws unless the columns given have the names and types of those carried before, in the same
 * order. A column of nulls alone fits every type.
 */
export function refuseOthers(added: RowBatch, before: readonly ColumnInfo[]): void {
  const list = (columns: readonly ColumnInfo[]) =>
    columns.map(({ name, type }) => `${name}: ${type}`).join(', ') || 'none';
  const given = added.select([]).columns;
  const fitted = given.map((column, i) => {
    const isFree = column.name === before[i]?.name && added.isNull(column.name);
    return isFree ? before[i] : column;
  });
  if (list(fitted) === list(before)) return;
  throw new Error(`the carried columns are ${list(before)}; those given are ${list(given)}`);
}

/** Writes columns of so many rows as a file of carried columns. */
export async function writeColumns(
  writer: GenerationWriter,
  batch: RowBatch,
  rows: number,
): Promise<FolderFile> {
  const output = new ColumnsFile(await writer.create('columns'));
  await output.add(batch);
  return output.end(rows);
}

/** Rows of a batch: a search that shows ten rows reads as many batches. */
const BATCH_ROWS = 1024;

/** A file of carried columns that is written batch by batch. */
export class ColumnsFile {
  readonly #output: Awaited<ReturnType<GenerationWriter['create']>>;
  readonly #encoder = new ArrowWriter('file', COLUMNS_HEADER);
  /** Rows that are not a whole batch yet; null before the first. */
  #rest: RowBatch | null = null;

  constructor(output: Awaited<ReturnType<GenerationWriter['create']>>) {
    this.#output = output;
  }

  async add(batch: RowBatch): Promise<void> {
    const all = this.#rest === null ? batch : RowBatch.join([this.#rest, batch]);
    let first = 0;
    for (; first + BATCH_ROWS <= all.count; first += BATCH_ROWS) {
      await this.#output.write(this.#encoder.write(all.slice(first, first + BATCH_ROWS)));
    }
    this.#rest = all.slice(first, all.count);
  }

  async end(rows: number): Promise<FolderFile> {
    if (this.#rest !== null && (this.#rest.count > 0 || rows === 0)) {
      await this.#output.write(this.#encoder.write(this.#rest));
    }
    await this.#output.write(this.#encoder.finish());
    return this.#output.end(rows);
  }
}
