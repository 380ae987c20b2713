/**
 * The carried columns of a stored index. It reads only the ranges of the requested columns. A file
 * of columns has the rows of its segment in ascending order, so the position of a row among them
 * gives its values.
 */

import { lowerBound } from '../base/arrays';
import { wrongValue } from '../base/check';
import type { ColumnData } from '../table/columns/make';
import { RowBatch } from '../table/row-batch';
import { carriedColumn } from '../table/sealed/carried-columns';
import type { BlockReader } from './block-reader';
import type { StoredContent, StoredSegment } from './content';
import { passingBlocks } from './passing-blocks';
import type { ByteRange } from './stored-files';

/** Reads carried columns; remembers the rows of each segment. */
export class StoredColumns {
  readonly #content: StoredContent;
  readonly #reader: BlockReader;
  /** For each segment its rows, including removed ones. */
  readonly #rows = new Map<StoredSegment, Uint32Array>();

  constructor(content: StoredContent, reader: BlockReader) {
    this.#content = content;
    this.#reader = reader;
  }

  /** The values of columns, by name: one for each of `rows`, all of which must exist. */
  async valuesOf(
    names: readonly string[],
    rows: Uint32Array,
    signal?: AbortSignal,
  ): Promise<Record<string, unknown[]>> {
    const batch = await this.batchOf(names, rows, signal);
    return Object.fromEntries(names.map((name) => [name, batch.values(name)]));
  }

  /** The same as a batch with the types in the files. Also without rows the types are right. */
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
    const parts: { segment: StoredSegment; places: Uint32Array }[] = [];
    /** For each index in `rows` the position of the row in the concatenated parts. */
    const order = new Uint32Array(rows.length);
    let found = 0;
    for (const segment of this.#content.segments) {
      const { firstRow = 0, nextRow = 0 } = segment.rows;
      const own = [...rows.keys()].filter((i) => rows[i] >= firstRow && rows[i] < nextRow);
      // If no rows are wanted, the first segment gives the types.
      if (own.length === 0 && (rows.length > 0 || parts.length > 0)) continue;
      parts.push({ segment, places: await this.#placesOf(segment, own, rows, signal) });
      for (const i of own) order[i] = found++;
    }
    if (found < rows.length) throw wrongValue('rows', 'rows of the index', 'others');
    // Parts come in the order of segments; other orders of rows are restored at the end.
    const isInOrder = order.every((place, i) => place === i);
    const columns = new Map<string, ColumnData>();
    for (const name of names) {
      const chosen: RowBatch[] = [];
      for (const { segment, places } of parts) {
        chosen.push((await this.#column(segment, name, signal)).select(places));
      }
      // Parts of one column are joined, then put into the order of `rows`.
      const joined = chosen.length === 0 ? null : RowBatch.join(chosen);
      const column = (isInOrder ? joined : joined?.select(order))?.column(name);
      columns.set(name, column ?? []);
    }
    return RowBatch.of(Object.fromEntries(columns));
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

  /** One column of a segment, all rows. */
  async #column(segment: StoredSegment, name: string, signal?: AbortSignal): Promise<RowBatch> {
    const file = segment.columns;
    if (file === null) throw wrongValue('names', 'columns of all segments', name);
    const path = this.#reader.pathOf(file);
    // Reads ranges of this file through the reader that counts all reads.
    const read = (ranges: readonly ByteRange[]) =>
      this.#reader.ranges(
        ranges.map((range) => ({ file, range })),
        signal,
      );
    return RowBatch.join(await carriedColumn({ path, bytes: file.bytes }, name, read));
  }

  /**
   * The positions in a segment of some of `rows`, given by index in `own`; throws for removed rows.
   */
  async #placesOf(
    segment: StoredSegment,
    own: readonly number[],
    rows: Uint32Array,
    signal: AbortSignal | undefined,
  ): Promise<Uint32Array> {
    const there = await this.rowsOf(segment, signal);
    return Uint32Array.from(own, (i) => {
      const place = lowerBound(there, rows[i]);
      if (there[place] === rows[i] && !this.#content.removed.has(rows[i])) return place;
      throw wrongValue('rows', 'rows of the index', rows[i]);
    });
  }

  /** The rows of a segment, removed ones included, ascending. */
  async rowsOf(segment: StoredSegment, signal?: AbortSignal): Promise<Uint32Array> {
    const known = this.#rows.get(segment);
    if (known !== undefined) return known;
    const { firstRow = 0, nextRow = 0, rows: count } = segment.rows;
    const rows = new Uint32Array(count);
    // Without gaps the row numbers follow from the manifest; otherwise they are read from the
    // blocks.
    if (nextRow - firstRow === count) {
      for (let i = 0; i < count; i++) rows[i] = firstRow + i;
    } else {
      let at = 0;
      // Only the blocks of this segment.
      const content = { ...this.#content, segments: [segment] };
      for await (const { rows: block } of passingBlocks({
        content,
        reader: this.#reader,
        signal,
      })) {
        rows.set(block.rows, at);
        at += block.count;
      }
      rows.sort();
    }
    this.#rows.set(segment, rows);
    return rows;
  }
}
