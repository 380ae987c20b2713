/**
 * Changes a folder whose rows stay on disk: new rows become segments, removed rows are listed, and
 * neighbours of similar size are merged, partition by partition. Like every generation, a change is
 * published as a whole or not at all.
 */

import { ascending } from '../base/arrays';
import { type LongCall, LongWork } from '../base/long-work';
import { additionOf, type RowsToAdd } from '../index/add-rows';
import { duplicate, type Id, idsOnce, newIds } from '../index/ids';
import { IndexCore } from '../index/index-core';
import { afterChanges, checkIndexOptions, type RecallReport } from '../index/index-options';
import { MemoryIndex } from '../index/memory-index';
import { RowBatch } from '../table/row-batch';
import { layoutOf } from './blocks';
import { COLUMN_ROWS, columnsFile, refuseOthers, StoredColumns } from './columns';
import { type Content, countLive, openContent, RowSet, type StoredSegment } from './content';
import { FolderPlace, withContent } from './folder-place';
import { GenerationWriter } from './generations';
import { findRows, refuseEqualIds } from './id-hashes';
import {
  type FileKind,
  type FolderFile,
  headerOf,
  type IndexHeader,
  type Manifest,
  optionsOf,
  type SegmentFiles,
} from './manifest';
import { mergeSegments } from './merge-segments';
import { type Place, withPlace } from './place';
import { Reader } from './reader';
import { type NextSegment, writeRemoved } from './write-index';
import { fileBytesOfRow, memoryOfRow, writeSegment } from './write-segment';

/** Rows to add, with their ids and carried columns. */
export interface NewBatch {
  readonly vectors: RowsToAdd;
  readonly ids?: unknown;
  readonly columns?: RowBatch | undefined;
}

/** The largest file of a segment has about this many bytes: what Node 20 can read in one piece. */
const FILE_BYTES = 3.75 * 2 ** 30;
/** The share of a limit of memory that new rows fill before they become a segment. */
const ROWS_SHARE = 0.5;
/** A segment is written again when it has lost more than this share of its rows. */
const MAX_REMOVED = 0.5;

/** One change of a folder, from its first file to the commit. */
export class FolderChange {
  readonly writer: GenerationWriter;
  readonly call: LongCall;
  readonly memory: number;
  /** Reads what is in the files of the generation before; null where none of its rows stay. */
  readonly #reader: Reader | null;
  /** The files of the whole index, but for removed rows; at first those that stay. */
  readonly files: { [kind in FileKind]?: FolderFile };
  text: Manifest['text'];
  removed: RowSet;
  segments: NextSegment[] = [];
  /** The columns that all segments carry. */
  columns: Manifest['columns'];
  /** A batch without rows, from which a carried column of nulls alone gets its type. */
  #noColumns: RowBatch | null = null;
  #waitingColumns: RowBatch[] = [];
  /** Rows that were added by this change. */
  added = 0;
  #removedCount = 0;

  /**
   * `base` is the newest generation, null in a new folder; `content` what is in its files, null
   * where none of its rows stay; `core` makes the codes of new rows, and its own rows are those
   * that wait to be written.
   */
  private constructor(
    readonly folder: string,
    readonly base: Manifest | null,
    readonly content: Content | null,
    readonly core: IndexCore,
    { memory, call }: { memory: number; call: LongCall },
  ) {
    this.#reader = content && new Reader(content);
    this.memory = memory;
    this.call = call;
    this.writer = new GenerationWriter(folder, base);
    const { columns, text, files } = content?.manifest ?? { columns: [], text: null, files: {} };
    const { removed: _, ...others } = files;
    this.files = others;
    this.text = text;
    this.columns = columns;
    this.removed = content?.removed ?? new RowSet();
    this.segments = (content?.segments ?? []).map((segment) => ({
      files: (content as Content).manifest.segments[segment.number],
      live: countLive([segment], this.removed),
    }));
  }

  /** Runs a change of a generation; an error deletes what was written. */
  static of<T>(
    folder: string,
    base: Manifest,
    how: { memory: number; call: LongCall },
    work: (change: FolderChange) => Promise<T>,
  ): Promise<T> {
    const run = (content: Content) => {
      const { index } = base;
      const core = new IndexCore(checkIndexOptions(optionsOf(index)));
      core.take(content.parts);
      core.idKind = index.ids;
      core.rows = new MemoryIndex(core.rows.options, content.space, index.nextRow);
      const change = new FolderChange(folder, base, content, core, how);
      return change.writer.run(() => work(change));
    };
    return withContent(folder, base, run, how.call.signal);
  }

  /** Runs a change that replaces all rows of a folder; `core` has no rows yet. */
  static fresh<T>(
    folder: string,
    base: Manifest | null,
    core: IndexCore,
    how: { memory: number; call: LongCall },
    work: (change: FolderChange) => Promise<T>,
  ): Promise<T> {
    const change = new FolderChange(folder, base, null, core, how);
    return change.writer.run(() => work(change));
  }

  /** The header of the next generation, but for its report. */
  get header(): IndexHeader {
    return headerOf(this.core);
  }

  /** Throws where two new rows have one id; those that waited together are known to differ. */
  async checkNewIds(): Promise<void> {
    const made = this.segments.slice(this.content?.segments.length ?? 0);
    if (made.length < 2) return;
    const manifest = { ...this.provisional(), segments: made.map(({ files }) => files) };
    await withContent(this.folder, manifest, (content) => refuseEqualIds(new Reader(content)));
  }

  /**
   * Adds a batch; with `replace` in place of rows that have these ids. Errors count the rows of all
   * batches.
   */
  async add(batch: NewBatch, replace: boolean): Promise<void> {
    const before = this.added;
    await this.#add(batch, replace).catch((error) => {
      throw before === 0 ? error : countedFrom(before, error);
    });
  }

  async #add(batch: NewBatch, replace: boolean): Promise<void> {
    const { core } = this;
    const work = new LongWork(this.call);
    const addition = await additionOf(core, batch.vectors, work);
    const { count } = addition;
    const { ids, kind } = newIds(core.idKind, batch.ids, count);
    idsOnce(ids ?? [], (id) => core.rowOf(id) !== undefined)(0, ids?.length ?? 0);
    if (ids !== null && this.#reader !== null) {
      const found = await findRows(this.#reader, ids, this.call.signal);
      for (const [i, one] of found.entries()) {
        if (one === undefined) continue;
        if (!replace) throw duplicate(i, ids[i], count);
        this.#remove(one.row);
      }
    }
    await this.#takeColumns(batch.columns, count);
    core.idKind = kind;
    if (addition.isForeign) core.isForeign = true;
    core.append({ ...addition, ids }, false);
    this.added += count;
    if (this.#waitingBytes > ROWS_SHARE * this.memory) await this.flush();
  }

  get #waitingBytes(): number {
    const { rows } = this.core;
    const layout = layoutOf(this.header, rows.space, 'Utf8');
    return rows.count * memoryOfRow(layout);
  }

  async #takeColumns(batch: RowBatch | undefined, count: number): Promise<void> {
    if (batch === undefined) {
      if (count === 0 || this.columns.length === 0) return;
      const names = this.columns.map(({ name }) => name).join(', ');
      throw new Error(`the folder carries columns (${names}): give "columns" for the new rows`);
    }
    if (batch.count !== count) throw new Error(`${batch.count} rows of columns for ${count} rows`);
    const isFirst = this.added === 0 && this.segments.length === 0;
    if (isFirst && this.columns.length === 0) this.columns = batch.select([]).columns;
    else refuseOthers(batch, this.columns);
    const reader = this.#reader;
    if (this.#noColumns === null && reader !== null && reader.content.segments.length > 0) {
      const names = this.columns.map(({ name }) => name);
      this.#noColumns = await new StoredColumns(reader).batchOf(names, new Uint32Array());
    }
    this.#waitingColumns.push(batch);
  }

  /** Writes the rows that wait as a segment. */
  async flush(): Promise<void> {
    const { core } = this;
    if (core.rows.count === 0) return;
    await core.rows.settle(new LongWork(this.call), true);
    const columns = this.#takeWaiting();
    let first = 0;
    for (const segment of core.rows.sealed()) {
      const { count: live } = segment.rows;
      const own = columns?.slice(first, first + live) ?? null;
      const files = await writeSegment(this.writer, this.header, segment, core.rows.space, own);
      this.segments.push({ files, live });
      first += live;
    }
    core.rows = new MemoryIndex(core.rows.options, core.rows.space, core.rows.nextRow);
  }

  /** The carried columns of the rows that wait; null where none are carried. */
  #takeWaiting(): RowBatch | null {
    const waiting = this.#waitingColumns;
    this.#waitingColumns = [];
    if (this.columns.length === 0) return null;
    return RowBatch.join([...(this.#noColumns === null ? [] : [this.#noColumns]), ...waiting]);
  }

  /** Removes rows by their ids; returns how many were there. */
  async removeIds(ids: readonly Id[]): Promise<number> {
    const { signal } = this.call;
    const found = this.#reader ? await findRows(this.#reader, [...new Set(ids)], signal) : [];
    let count = 0;
    for (const one of found) {
      if (one === undefined) continue;
      this.#remove(one.row);
      count++;
    }
    return count;
  }

  #remove(row: number): void {
    this.removed.add(row);
    this.#removedCount++;
    const segment = this.segments.find(({ files }) => files.firstRow <= row && row < files.endRow);
    if (segment !== undefined) segment.live--;
  }

  /**
   * Merges neighbours: 'whole' all that fit into one; 'usual' the last ones while they are not
   * larger than twice those behind them, and segments that have lost half of their rows are written
   * again.
   */
  async merge(how: 'usual' | 'whole'): Promise<void> {
    const groups = this.groups(how);
    const isChanged = (group: readonly number[]) =>
      group.length > 1 || this.#isHollow(group[0], how);
    if (!groups.some(isChanged)) return;
    await withPlace(new FolderPlace(this.folder), async (place) => {
      const content = await this.opened(place);
      const next: NextSegment[] = [];
      let done = 0;
      const total = this.segments.reduce((sum, { live }) => sum + live, 0);
      for (const group of groups) {
        const live = group.reduce((sum, i) => sum + this.segments[i].live, 0);
        const passed = (rows: number) => this.call.onProgress?.(done + rows, total);
        if (!isChanged(group)) next.push(this.segments[group[0]]);
        else if (live > 0) {
          const segments = group.map((i) => content.segments[i]);
          const merging = { content, segments, signal: this.call.signal, passed };
          const files = await mergeSegments(this.writer, this.header, merging);
          next.push({ files: await this.mergeColumns(files, segments, content), live });
        }
        done += live;
        passed(0);
      }
      this.segments = next;
    });
  }

  /** What was written so far, opened as it would be read. */
  async opened(place: Place): Promise<Content> {
    const content = await openContent(place, this.provisional(), this.call.signal);
    return { ...content, removed: this.removed };
  }

  /** True if so many rows of a segment were removed that it should be written again. */
  #isHollow(i: number, how: 'usual' | 'whole'): boolean {
    const { files, live } = this.segments[i];
    const { count } = files;
    return live < count && (how === 'whole' || live < (1 - MAX_REMOVED) * count);
  }

  /** Neighbours that become one segment, by their numbers. */
  groups(how: 'usual' | 'whole'): number[][] {
    const layout = layoutOf(this.header, this.core.rows.space, 'Utf8');
    const mostRows = Math.floor(FILE_BYTES / fileBytesOfRow(layout));
    const groups: number[][] = [];
    let rows = 0;
    // From the last on: the newest rows are in the smallest segments.
    for (let i = this.segments.length - 1; i >= 0; i--) {
      const { live } = this.segments[i];
      const fits = live + rows <= mostRows && (how === 'whole' || live < 2 * rows);
      if (groups.length > 0 && fits) groups[0].unshift(i);
      else groups.unshift([i]);
      rows = groups[0].length > 1 ? rows + live : live;
    }
    return groups;
  }

  /** The carried columns of segments that were merged, some rows at a time. */
  async mergeColumns(
    files: SegmentFiles,
    segments: readonly StoredSegment[],
    content: Content,
  ): Promise<SegmentFiles> {
    if (this.columns.length === 0) return files;
    const { signal } = this.call;
    const columns = new StoredColumns(new Reader(content));
    const names = this.columns.map(({ name }) => name);
    const output = await columnsFile(this.writer);
    for (const segment of segments) {
      const rows = await columns.rowsOf(segment, signal);
      const live = ascending(rows.length).filter((at) => !this.removed.has(rows[at]));
      for (let first = 0; first < live.length; first += COLUMN_ROWS) {
        const some = live.subarray(first, first + COLUMN_ROWS);
        await output.add(await columns.at(segment, some, names, signal));
      }
    }
    return { ...files, files: { ...files.files, columns: await output.end() } };
  }

  /** A manifest of what was written so far, as it would be read; it is not published. */
  provisional(): Manifest {
    return {
      generation: this.writer.generation,
      previous: null,
      checksum: '',
      text: this.text,
      rows: this.segments.reduce((sum, { live }) => sum + live, 0),
      index: this.header,
      columns: this.columns,
      segments: this.segments.map(({ files }) => files),
      files: this.files,
    };
  }

  /** Publishes the change; `report` is a new one. */
  async publish(report = this.#changedReport): Promise<Manifest> {
    const { writer } = this;
    this.call.signal?.throwIfAborted();
    // The header of the rows that were written: an index in memory may change from here on.
    const { generation: _, previous: __, checksum: ___, ...made } = this.provisional();
    const removed = await writeRemoved(writer, this.segments, this.removed);
    const files = { ...made.files, removed };
    return writer.commit({ ...made, index: { ...made.index, report }, files });
  }

  /** The report of the generation before, after this change. */
  get #changedReport(): RecallReport | null {
    const { report } = this.content?.parts ?? { report: null };
    const changed = { rowsAdded: this.added, rowsRemoved: this.#removedCount };
    return report && afterChanges(report, changed);
  }
}

/** An error that begins with the row or id of a batch, as one that counts `before` rows more. */
function countedFrom(before: number, error: unknown): unknown {
  const isOfCaller = error instanceof RangeError || error instanceof TypeError;
  if (!isOfCaller) return error;
  const message = error.message.replace(/^(row |"ids"\[)(\d+)|^"id"/, (_, what, at) =>
    what === undefined ? `"ids"[${before}]` : `${what}${before + Number(at)}`,
  );
  const Kind = error instanceof RangeError ? RangeError : TypeError;
  return new Kind(message, { cause: error });
}
