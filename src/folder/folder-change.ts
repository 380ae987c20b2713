/**
 * Changes a folder whose rows stay on disk: new rows become segments, removed rows are listed, and
 * segments are merged partition by partition. Memory holds some MiB of each file and, up to a
 * limit, rows that wait. Like every generation, a change is published as a whole or not at all.
 */

import type { LongCall } from '../base/long-work';
import type { RowsToAdd } from '../index/add-rows';
import type { IndexParts } from '../index/index-parts';
import { maxRowNumbers } from '../index/write-index';
import { maxBlockRows } from '../index/write-segment';
import type { StoredSegment } from '../stored/content';
import { type FolderFile, filesOf, filesOfSegment, type Manifest } from '../stored/manifest';
import { RowSet } from '../stored/row-set';
import type { RowBatch } from '../table/row-batch';
import type { SegmentLayout } from '../table/sealed/segment-tables';
import { removedToArrow } from '../table/sealed/small-tables';
import { type BlockCursor, merged, SegmentCursor, widestId } from './block-cursor';
import { columnsOfFile, liveColumns, type NewColumns, writeColumns } from './column-stream';
import { GenerationWriter } from './generations';
import type { NewSegments } from './new-segments';
import type { OldRows } from './old-rows';
import { SegmentWriter } from './segment-writer';
import { keptSegments, rangeOf } from './segments';
import { checkFile } from './verify-index';

/** Rows to add, with their ids and carried columns. */
export interface NewBatch {
  readonly vectors: RowsToAdd;
  readonly ids?: unknown;
  readonly columns?: RowBatch | undefined;
}

/** The largest file of a segment has about this many bytes: what Node 20 can read in one piece. */
const FILE_BYTES = 3.75 * 2 ** 30;

/** New rows that were assigned to partitions and wait to be written. */
interface Incoming {
  readonly segments: NewSegments;
  readonly columns: NewColumns;
  /** The new segments. */
  readonly cuts: readonly Cut[];
}

/** One new segment: pieces `firstPiece` to `endPiece - 1`, rows `firstRow` to `nextRow - 1`. */
export interface Cut {
  readonly firstPiece: number;
  readonly endPiece: number;
  readonly firstRow: number;
  readonly nextRow: number;
}

/** Old rows that were assigned to new partitions and wait to be written. */
interface Moved {
  /** The columns of the new blocks. */
  readonly layout: SegmentLayout;
  /** The new blocks of segment `i`, and the numbers of its rows, removed ones included. */
  sourceOf(i: number): {
    readonly cursor: BlockCursor;
    /** Null without copies. */
    readonly copies: BlockCursor | null;
    readonly held: RowSet;
  };
}

/** What a change writes. Other segments stay as they are. */
interface ChangeOptions {
  readonly incoming?: Incoming | null;
  /** Not null where rows move to other partitions: all segments are written again. */
  readonly moved?: Moved | null;
  /** True in a compaction: all segments that can be merged are. */
  readonly isWhole?: boolean;
}

/**
 * Whether a folder can be changed without loading its index: it has few gaps between row numbers
 * for the `rows` that it has after the change.
 */
export function canStream(manifest: Manifest, rows = manifest.rows): boolean {
  const firstRow = filesOf(manifest, 'rows')[0]?.firstRow ?? 0;
  return manifest.index.nextRow - firstRow <= maxRowNumbers(rows);
}

/** What a change puts into the manifest, apart from segments. */
interface Outcome extends Pick<Manifest, 'index' | 'columns' | 'text'> {
  /** How many new rows are written. */
  readonly rowsAdded: number;
  /** Rows that the change removes, ascending. */
  readonly removed: Uint32Array;
  /** The files of centroids and frequencies. */
  readonly others: readonly FolderFile[];
}

/** What a change begins with; `old` is null where no old rows stay. */
interface ChangeStart {
  readonly folder: string;
  /** The newest generation; null in a new folder. */
  readonly base: Manifest | null;
  readonly old: OldRows | null;
  /** The parts of an index with the same options and without rows. */
  readonly parts: IndexParts;
  /** The limit of memory, in bytes; parts of the work take shares of it. */
  readonly memory: number;
  /**
   * `signal` stops the change before it is published; `onProgress` gets how many rows were written.
   */
  readonly call?: LongCall;
}

/** One change of a folder, from its first temporary file to the commit. */
export class FolderChange {
  readonly folder: string;
  readonly writer: GenerationWriter;
  readonly memory: number;
  readonly #start: ChangeStart;
  /** Rows that this change removes. */
  readonly #removed = new RowSet();
  /** Rows that earlier generations removed. */
  readonly #before: RowSet;
  readonly #call: LongCall;
  /** Rows that have been written, or that stay in kept segments. */
  #done = 0;

  private constructor(start: ChangeStart) {
    this.folder = start.folder;
    this.memory = start.memory;
    this.#start = start;
    this.#call = start.call ?? {};
    this.#before = start.old?.content.removed ?? new RowSet();
    this.writer = new GenerationWriter(start.folder, start.base);
  }

  /**
   * Runs a change of the generation `base`. An error deletes what was written, so that the folder
   * stays as it was; the files of `old` are closed in any case.
   */
  static async run<T>(start: ChangeStart, work: (change: FolderChange) => Promise<T>): Promise<T> {
    const change = new FolderChange(start);
    try {
      return await work(change);
    } catch (error) {
      throw await change.writer.abandon(error);
    } finally {
      await start.old?.close();
    }
  }

  get #segments(): readonly StoredSegment[] {
    return this.#start.old?.segments ?? [];
  }

  /** Whether a row is there after this change. */
  isLive = (row: number): boolean => !this.#before.has(row) && !this.#removed.has(row);

  /** Marks rows as removed by this change. */
  remove(rows: Uint32Array): void {
    for (const row of rows) this.#removed.add(row);
  }

  /** How many rows a segment may have so that none of its files exceeds FILE_BYTES. */
  rowsPerFile(layout: SegmentLayout): number {
    const { bits, dimensions, vectors, residualBytes } = layout;
    const vector = vectors === 'float32' ? 4 * dimensions : vectors === 'int8' ? dimensions + 4 : 0;
    const sparse = vectors === 'sparse' ? this.#sparseBytes() : 0;
    // 64 bytes are an allowance for a row's id and numbers.
    const own = Math.ceil(bits / 8) + residualBytes + 64;
    return Math.max(1, Math.floor(FILE_BYTES / Math.max(own, vector, sparse)));
  }

  /** Mean bytes of a sparse vector in the files; 4096 where there is none yet. */
  #sparseBytes(): number {
    const vectors = this.#segments.flatMap((segment) => segment.vectors ?? []);
    const rows = vectors.reduce((sum, file) => sum + file.rows, 0);
    return vectors.reduce((sum, file) => sum + file.bytes, 0) / Math.max(1, rows) || 4096;
  }

  /**
   * Writes the segments and returns the content of the next manifest. Neighbouring segments that do
   * not stay are merged while they fit in one segment; the last group also takes the first new
   * rows.
   */
  async write(
    outcome: Outcome,
    { incoming = null, moved = null, isWhole = false }: ChangeOptions,
  ): Promise<Content> {
    const segments = this.#segments;
    const added = outcome.rowsAdded;
    const advance = (rows: number) => {
      this.#done += rows;
      this.#call.onProgress?.(this.#done, total);
    };
    const liveIn = (segment: StoredSegment) => segment.rows.rows - this.#removedIn(segment).length;
    const total = segments.reduce((sum, segment) => sum + liveIn(segment), added);
    const sample = (incoming?.segments ?? moved)?.layout ?? segments[0]?.table.layout;
    const rowsPerFile = sample === undefined ? 1 : this.rowsPerFile(sample);
    const keeps = this.#kept({ isWhole, moved }, { added, rowsPerFile, liveIn });
    const files: FolderFile[] = [];
    const dropped = new RowSet();
    let group: StoredSegment[] = [];
    let groupRows = 0;
    // Writes the segments collected so far and the rows of `cut` as one.
    const flush = async (cut: Cut | null) => {
      files.push(...(await this.#write(group, cut, { incoming, moved, outcome, advance })));
      for (const { rows } of group) dropped.addRange(rows.firstRow ?? 0, rows.nextRow ?? 0);
      group = [];
      groupRows = 0;
    };
    for (const [i, segment] of segments.entries()) {
      const rows = liveIn(segment);
      if (keeps[i] || groupRows + rows > rowsPerFile) await flush(null);
      if (keeps[i]) {
        files.push(...filesOfSegment(segment));
        advance(rows);
      } else {
        group.push(segment);
        groupRows += rows;
      }
    }
    for (const cut of incoming?.cuts ?? []) {
      if (groupRows + cut.nextRow - cut.firstRow > rowsPerFile) await flush(null);
      await flush(cut);
    }
    await flush(null);
    return this.#content(outcome, files, dropped);
  }

  /** Which of the old segments stay, in their order. */
  #kept(
    { isWhole, moved }: ChangeOptions,
    how: {
      added: number;
      rowsPerFile: number;
      liveIn: (segment: StoredSegment) => number;
    },
  ): boolean[] {
    if (moved) return this.#segments.map(() => false);
    if (isWhole) return this.#keptWhole(how.rowsPerFile, how.liveIn);
    return keptSegments(this.#segments, { ...how, liveIn: how.liveIn as never });
  }

  /**
   * A compaction keeps segments that have no removed rows and are too large to merge with a
   * neighbour.
   */
  #keptWhole(rowsPerFile: number, liveIn: (segment: StoredSegment) => number): boolean[] {
    const segments = this.#segments;
    const counts = segments.map(liveIn);
    return segments.map(({ rows }, i) => {
      const neighbors = [counts[i - 1], counts[i + 1]].filter((count) => count !== undefined);
      const isAlone = neighbors.every((count) => count + counts[i] > rowsPerFile);
      return isAlone && counts[i] === rows.rows;
    });
  }

  /** Rows of a segment that were removed, by this change or before, ascending. */
  #removedIn({ rows }: StoredSegment): Uint32Array {
    const { firstRow, nextRow } = rangeOf(rows);
    const before = this.#before.within(firstRow, nextRow);
    const now = this.#removed.within(firstRow, nextRow);
    return now.length === 0 ? before : Uint32Array.from(new Set([...before, ...now])).sort();
  }

  /**
   * Writes the live rows of `group` and the new rows of `cut` as one segment; returns its files,
   * none where no rows are left.
   */
  async #write(
    group: readonly StoredSegment[],
    cut: Cut | null,
    { incoming, moved, outcome, advance }: Writing,
  ): Promise<FolderFile[]> {
    const old = group.reduce((sum, one) => sum + one.rows.rows - this.#removedIn(one).length, 0);
    const count = old + (cut === null ? 0 : cut.nextRow - cut.firstRow);
    if (count === 0) return [];
    const layouts = moved ? [moved.layout] : group.map(({ table }) => table.layout);
    if (cut !== null && incoming !== null) layouts.push(incoming.segments.layout);
    const layout = {
      ...layouts[0],
      id: widestId(layouts.map(({ id }) => id)),
      hasFirsts: layouts.some(({ hasFirsts }) => hasFirsts),
    };
    const firstRow = group[0]?.rows.firstRow ?? (cut as Cut).firstRow;
    const nextRow = cut?.nextRow ?? group.at(-1)?.rows.nextRow ?? 0;
    const sources = group.map((one) => this.#sourceOf(one, moved));
    const added = cut && incoming && { number: incoming.cuts.indexOf(cut), of: incoming.segments };
    const fresh = cut && added?.of.cursor(added.number, cut.firstPiece, cut.endPiece);
    const cursors = [...sources.map(({ cursor }) => cursor), ...(fresh ? [fresh] : [])];
    const { report: _, distinct: __, shared: ___, ...header } = outcome.index;
    const place = { firstRow, nextRow, count, memory: this.memory / 4 };
    const segment = await SegmentWriter.open(this.writer, { header, layout }, place);
    const rowsPerBlock = maxBlockRows(
      this.#start.parts,
      outcome.others.some(({ kind }) => kind === 'centroids'),
    );
    const merging = { layout, rowsPerBlock, isLive: this.isLive, firstRow };
    for await (const block of merged(cursors, merging)) {
      this.#call.signal?.throwIfAborted();
      await segment.add(block);
      advance(block.count);
    }
    if (layout.link !== null) {
      const copies = [
        ...sources.map((one) => one.copies),
        added ? added.of.copies(added.number) : null,
      ];
      const known = copies.filter((one) => one !== null);
      for await (const block of merged(known, merging)) {
        this.#call.signal?.throwIfAborted();
        await segment.addCopies(block);
      }
    }
    const files = await segment.end();
    if (outcome.columns.length === 0) return files;
    // All blocks were read by now, so the rows of each old segment are known.
    const held = sources.map((one) => one.held);
    const batches = this.#columnsOf(group, held, cut, incoming);
    return [...files, await writeColumns(this.writer, batches, count)];
  }

  /** The blocks of an old segment, from its files or from where moved rows wait. */
  #sourceOf(segment: StoredSegment, moved: Moved | null): ReturnType<Moved['sourceOf']> {
    if (moved !== null) return moved.sourceOf(this.#segments.indexOf(segment));
    const held = new RowSet();
    const { reader, content } = this.#start.old as OldRows;
    const copies = content.copies.find(({ home }) => home === segment);
    return {
      cursor: new SegmentCursor(reader, segment, held),
      copies: copies === undefined ? null : new SegmentCursor(reader, copies, null),
      held,
    };
  }

  /** The carried columns of one new segment, in ascending order of rows. */
  async *#columnsOf(
    group: readonly StoredSegment[],
    held: readonly RowSet[],
    cut: Cut | null,
    incoming: Incoming | null,
  ): AsyncGenerator<RowBatch> {
    for (const [i, { rows, columns }] of group.entries()) {
      const { firstRow, nextRow } = rangeOf(rows);
      if (columns === null) throw new Error(`${rows.name} has no carried columns`);
      const own = columnsOfFile(this.folder, columns);
      yield* liveColumns(own, held[i].within(firstRow, nextRow), this.isLive);
    }
    if (cut === null || incoming === null) return;
    const start = incoming.cuts[0].firstRow;
    yield* incoming.columns.batches(cut.firstRow - start, cut.nextRow - start);
  }

  /**
   * The content of the next manifest. Writes the list of removed rows, but not those of rewritten
   * segments, which contain them no longer.
   */
  async #content(outcome: Outcome, segments: FolderFile[], dropped: RowSet): Promise<Content> {
    const { index, columns, text, others } = outcome;
    const all = new Set<number>(outcome.removed);
    for (const row of this.#before.within(0, index.nextRow)) all.add(row);
    const removed = Uint32Array.from(all)
      .sort()
      .filter((row) => !dropped.has(row));
    const files = [...segments, ...others.filter(({ kind }) => kind === 'centroids')];
    if (removed.length > 0) {
      files.push(await this.writer.add('removed', removedToArrow(removed), removed.length));
    }
    files.push(...others.filter(({ kind }) => kind !== 'centroids'));
    const held = files.reduce((sum, { kind, rows }) => (kind === 'rows' ? sum + rows : sum), 0);
    return { rows: held - removed.length, index, text, columns, files };
  }

  /** Reads back what was written, compares the checksums, and commits the generation. */
  async publish(content: Content): Promise<Manifest> {
    for (const file of this.writer.added) {
      this.#call.signal?.throwIfAborted();
      await checkFile(this.folder, file);
    }
    return this.writer.commit(content);
  }
}

/** What one segment is written from; `advance` counts its rows. */
interface Writing {
  readonly incoming: Incoming | null;
  readonly moved: Moved | null;
  readonly outcome: Outcome;
  advance(rows: number): void;
}

/** The content of a manifest before the generation is committed. */
export type Content = Omit<Manifest, 'generation' | 'previous' | 'checksum'>;
