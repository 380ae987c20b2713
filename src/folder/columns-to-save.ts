/**
 * The carried columns of the rows that a save of an index in memory writes: those given with the
 * save, or those in the files of the previous generation.
 */

import { lowerBound } from '../base/arrays';
import type { Segment } from '../stored/manifest';
import type { ColumnInfo } from '../table/columns/types';
import { RowBatch } from '../table/row-batch';
import { columnsFromArrow } from '../table/sealed/carried-columns';
import { readFolderFile } from './generations';
import type { Origin } from './origin';
import { rangeOf } from './segments';

/** What a save knows of carried columns. */
interface CarriedRequest {
  readonly folder: string;
  /** Where the index came from; null where nothing in the folder stays. */
  readonly origin: Origin | null;
  /** The segments of the previous generation; their files have the columns of older rows. */
  readonly segments: readonly Segment[];
  /** The rows of the index, ascending. */
  readonly live: Uint32Array;
  /** New columns for all rows, in place of those in files. */
  readonly whole: RowBatch | undefined;
  /** Columns for the rows that no file has yet, in their order. */
  readonly added: RowBatch | undefined;
}

/** Gives the carried columns of any run of rows, from memory or from files. */
export class CarriedColumns {
  readonly columns: readonly ColumnInfo[];
  readonly #request: CarriedRequest;
  /** The position among the live rows of the first row that no file has. */
  readonly #firstAdded: number;

  /**
   * Null where no columns are carried. Throws where rows were added without columns, or with others
   * than the folder has.
   */
  static of(request: CarriedRequest): CarriedColumns | null {
    const { whole, added, origin, segments, live } = request;
    const before = origin?.manifest.columns ?? [];
    // `select` turns dictionaries into plain columns, as files have them.
    const columns = (whole ?? added)?.select([]).columns ?? before;
    if (columns.length === 0) return null;
    const carried = new CarriedColumns(request, columns);
    if (whole !== undefined) return carried;
    const names = before.map(({ name }) => name).join(', ');
    const addedCount = live.length - carried.#firstAdded;
    if (added === undefined && addedCount > 0) {
      throw new Error(`the folder carries columns (${names}): give "columns" for the new rows`);
    }
    if (added !== undefined && segments.length > 0) refuseOthers(added, columns, before);
    return carried;
  }

  private constructor(request: CarriedRequest, columns: readonly ColumnInfo[]) {
    this.#request = request;
    this.columns =
      request.segments.length > 0 && request.whole === undefined
        ? (request.origin?.manifest.columns ?? columns)
        : columns;
    const nextRow = request.segments.at(-1)?.rows.nextRow ?? 0;
    this.#firstAdded = lowerBound(request.live, nextRow);
  }

  /** The columns of the live rows at positions `first` to `end - 1`, in batches in their order. */
  async rows(first: number, end: number): Promise<RowBatch[]> {
    const { whole, added, segments, live } = this.#request;
    if (whole !== undefined) return [whole.slice(first, end)];
    const batches: RowBatch[] = [];
    for (const segment of segments) {
      const own = rangeOf(segment.rows);
      const from = Math.max(first, lowerBound(live, own.firstRow));
      const to = Math.min(end, lowerBound(live, own.nextRow));
      if (from < to) batches.push(await this.#ofSegment(segment, live.subarray(from, to)));
    }
    const from = Math.max(first, this.#firstAdded);
    if (added !== undefined && from < end) {
      const own = added.slice(from - this.#firstAdded, end - this.#firstAdded);
      batches.push(RowBatch.join([...(await this.#withoutRows()), own]));
    }
    return batches;
  }

  /**
   * The columns of the last file without rows. Joined with them, a column that is all null takes
   * its type.
   */
  async #withoutRows(): Promise<RowBatch[]> {
    const { folder, segments } = this.#request;
    const file = segments.at(-1)?.columns ?? null;
    if (file === null) return [];
    const bytes = await readFolderFile(folder, file);
    return [columnsFromArrow(bytes, file.name, { isSound: true })[0].slice(0, 0)];
  }

  /** The columns of the rows `wanted` of a segment. The row numbers ascend. */
  async #ofSegment({ rows, columns }: Segment, wanted: Uint32Array): Promise<RowBatch> {
    if (columns === null) throw new Error(`${rows.name} has no carried columns`);
    const { folder, origin } = this.#request;
    const bytes = await readFolderFile(folder, columns);
    const all = RowBatch.join(columnsFromArrow(bytes, columns.name, { isSound: true }));
    const { firstRow, nextRow } = rangeOf(rows);
    // A file has a row for each row that its segment has, removed ones included.
    const there = origin?.held.within(firstRow, nextRow) ?? new Uint32Array();
    return all.select(Uint32Array.from(wanted, (row) => lowerBound(there, row)));
  }
}

/**
 * Throws unless the columns given have the names and types of those carried before, in the same
 * order. A column of nulls alone fits every type.
 */
export function refuseOthers(
  added: RowBatch,
  given: readonly ColumnInfo[],
  before: readonly ColumnInfo[],
): void {
  const list = (columns: readonly ColumnInfo[]) =>
    columns.map(({ name, type }) => `${name}: ${type}`).join(', ') || 'none';
  const fitted = given.map((column, i) => {
    const isFree = column.name === before[i]?.name && added.isNull(column.name);
    return isFree ? before[i] : column;
  });
  if (list(fitted) === list(before)) return;
  throw new Error(`the carried columns are ${list(before)}; those given are ${list(given)}`);
}
