/**
 * The carried columns of rows in files: reads and writes them. It reads only the ranges of the
 * requested columns. A file of columns has the rows of its segment in ascending order, so the
 * position of a row among them gives its values.
 */

import { ascending, lowerBound } from '../base/arrays';
import { wrongValue } from '../base/check';
import type { ByteRange } from '../table/arrow/messages';
import { arrowWriter } from '../table/arrow/writer';
import type { ColumnInfo } from '../table/columns/types';
import { RowBatch } from '../table/row-batch';
import { COLUMNS_HEADER, carriedRows } from '../table/sealed/index-rows';
import type { FileWriter } from './blocks';
import type { Content, StoredSegment } from './content';
import type { FolderFile } from './manifest';
import { blockGroups, type Reader } from './reader';

/** Rows that are read together where all of a segment are. */
export const COLUMN_ROWS = 2 ** 13;

/** Reads carried columns; remembers the rows of each segment. */
export class StoredColumns {
  readonly #reader: Reader;
  readonly #content: Content;
  /** For each segment its rows, including removed ones. */
  readonly #rows = new Map<StoredSegment, Uint32Array>();

  constructor(reader: Reader) {
    this.#reader = reader;
    this.#content = reader.content;
  }

  /**
   * Values of columns of rows, all of which must exist, as a batch with the types in the files.
   * Also without rows the types are right.
   */
  async batchOf(
    names: readonly string[],
    rows: Uint32Array,
    signal?: AbortSignal,
  ): Promise<RowBatch> {
    // Unknown names are refused before anything is read.
    const known = this.#content.manifest.columns.map(({ name }) => name);
    for (const name of names) {
      if (known.includes(name)) continue;
      throw wrongValue('names', `some of ${known.join(', ') || 'no columns'}`, name);
    }
    const parts: RowBatch[] = [];
    /** For each index in `rows` the position of the row in the concatenated parts. */
    const order = new Uint32Array(rows.length);
    let found = 0;
    const { segments } = this.#content;
    for (const segment of segments) {
      const { firstRow, endRow } = segment;
      const own = [...rows.keys()].filter((i) => rows[i] >= firstRow && rows[i] < endRow);
      // If no rows are wanted, the first segment gives the types.
      if (own.length === 0 && (rows.length > 0 || parts.length > 0)) continue;
      // Rows without gaps are where their numbers say.
      const there = segment.count < endRow - firstRow ? await this.rowsOf(segment, signal) : null;
      const places = Uint32Array.from(own, (i) => {
        const place = there === null ? rows[i] - firstRow : lowerBound(there, rows[i]);
        const isThere = there === null || there[place] === rows[i];
        if (isThere && !this.#content.removed.has(rows[i])) return place;
        throw wrongValue('rows', 'rows of the index', rows[i]);
      });
      if (names.length > 0) parts.push(await this.at(segment, places, names, signal));
      for (const i of own) order[i] = found++;
    }
    if (found < rows.length) {
      const isIn = (row: number) => segments.some((s) => row >= s.firstRow && row < s.endRow);
      const other = rows.find((row) => !isIn(row));
      throw wrongValue('rows', 'rows of the index', other);
    }
    if (parts.length === 0) return RowBatch.of(Object.fromEntries(names.map((name) => [name, []])));
    // Parts come in the order of segments; other orders of rows are restored at the end.
    const isInOrder = order.every((place, i) => place === i);
    return isInOrder ? RowBatch.join(parts) : RowBatch.join(parts).select(order);
  }

  /** All live rows, ascending. */
  async rows(signal?: AbortSignal): Promise<Uint32Array> {
    const all: number[] = [];
    for (const segment of this.#content.segments) {
      for (const row of await this.rowsOf(segment, signal)) {
        if (!this.#content.removed.has(row)) all.push(row);
      }
    }
    return Uint32Array.from(all);
  }

  /** Columns of the rows at some places of a segment. */
  async at(
    segment: StoredSegment,
    places: Uint32Array,
    names: readonly string[],
    signal?: AbortSignal,
  ): Promise<RowBatch> {
    const file = segment.files.columns as FolderFile;
    let failed: { error: unknown } | null = null;
    // Reads ranges of this file through the reader that counts all reads.
    const read = async (ranges: readonly ByteRange[]) => {
      const all = ranges.map((range) => ({ ...range, file }));
      return this.#reader.ranges(all, signal).catch((error) => {
        failed = { error };
        throw error;
      });
    };
    const own = { byteCount: file.bytes, read };
    const path = this.#reader.pathOf(file);
    const how = { places, batchRows: BATCH_ROWS };
    return carriedRows(own, path, [...new Set(names)], how).catch((error) => {
      throw failed?.error ?? error; // a read that was stopped says nothing of the file
    });
  }

  /** The rows of a segment, removed ones included, ascending. */
  async rowsOf(segment: StoredSegment, signal?: AbortSignal): Promise<Uint32Array> {
    const { firstRow, endRow, count } = segment;
    const known = this.#rows.get(segment);
    if (known !== undefined) return known;
    const rows = ascending(count).map((i) => firstRow + i);
    if (endRow - firstRow > count) {
      await this.#reader.each(blockGroups([segment]), { signal }, (group) => {
        for (const { block, rows: own } of group) rows.set(own.rows, segment.blocks.starts[block]);
      });
      rows.sort();
    }
    this.#rows.set(segment, rows);
    return rows;
  }
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
    if (column.name !== before[i]?.name) return column;
    const { data } = added.column(column.name);
    return data.nullCount === data.length ? before[i] : column;
  });
  if (list(fitted) === list(before)) return;
  throw new Error(`the carried columns are ${list(before)}; those given are ${list(given)}`);
}

/** Rows of a batch: a search that shows ten rows reads as many batches. */
const BATCH_ROWS = 1024;

/** Begins a file of carried columns, to which batches are added. */
export async function columnsFile(writer: FileWriter) {
  const output = await writer.create('columns');
  const encoder = arrowWriter('file', COLUMNS_HEADER);
  /** Rows that are not a whole batch yet; null before the first. */
  let rest: RowBatch | null = null;
  let count = 0;
  return {
    async add(batch: RowBatch): Promise<void> {
      count += batch.count;
      const all = rest === null ? batch : RowBatch.join([rest, batch]);
      let first = 0;
      for (; first + BATCH_ROWS <= all.count; first += BATCH_ROWS) {
        await output.write(encoder.encode(all.slice(first, first + BATCH_ROWS)));
      }
      rest = all.slice(first, all.count);
    },
    async end(): Promise<FolderFile> {
      if (rest !== null && (rest.count > 0 || count === 0))
        await output.write(encoder.encode(rest));
      await output.write(encoder.finish());
      return output.end();
    },
  };
}
