/**
 * A change of a folder whose rows stay on disk: new rows become segments, removed rows are listed,
 * segments are merged partition by partition. Memory holds some MiB of each file and, up to a
 * limit, of what is on its way. All or nothing, as every generation.
 */

import type { RowsToAdd } from '../index/add-rows';
import { afterChanges } from '../index/index-options';
import { reportOf, savedReport } from '../index/saved-report';
import { type IndexHeader, maxRowNumbers } from '../index/write-index';
import { maxBlockRows } from '../index/write-segment';
import type { StoredSegment } from '../stored/content';
import { hasLookUps } from '../stored/look-ups';
import {
  FOLDER_VERSION,
  type FolderFile,
  filesOf,
  filesOfSegment,
  type Manifest,
} from '../stored/manifest';
import { RowSet } from '../stored/row-set';
import type { RowBatch } from '../table/row-batch';
import type { SegmentLayout } from '../table/sealed/segment-tables';
import { removedToArrow } from '../table/sealed/small-tables';
import { merged, SegmentCursor, widestId } from './block-cursor';
import { columnsOfFile, liveColumns, type NewColumns, writeColumns } from './column-stream';
import { GenerationWriter } from './generations';
import type { NewSegments } from './new-segments';
import { OldRows } from './old-rows';
import { SegmentWriter } from './segment-writer';
import { keptSegments, rangeOf } from './segments';
import { checkFile } from './verify-index';

/** Rows to add, with their ids and carried columns. */
export interface NewBatch {
  readonly vectors: RowsToAdd;
  readonly ids?: unknown;
  readonly columns?: RowBatch | undefined;
}

/** A file of a segment has about so many bytes: what Node 20 can read in one piece. */
const FILE_BYTES = 3.75 * 2 ** 30;

/** New rows that are ready to be written. */
export interface Incoming {
  readonly segments: NewSegments;
  readonly columns: NewColumns;
  /** Pieces of each new segment, and its rows: `firstRow` to `nextRow - 1`. */
  readonly cuts: readonly Cut[];
}

export interface Cut {
  readonly firstPiece: number;
  readonly endPiece: number;
  readonly firstRow: number;
  readonly nextRow: number;
}

/** Whether a folder can be changed where it is. */
export function canStream(manifest: Manifest, rows = manifest.rows): boolean {
  if (manifest.version !== FOLDER_VERSION || !hasLookUps(manifest)) return false;
  return manifest.index.nextRow <= maxRowNumbers(rows);
}

/** What a change does to the manifest, next to its files. */
export interface Outcome {
  readonly index: IndexHeader;
  readonly rowsAdded: number;
  readonly columns: Manifest['columns'];
  /** Rows that the change removes, ascending. */
  readonly removed: Uint32Array;
}

export class FolderChange {
  readonly folder: string;
  readonly base: Manifest;
  readonly writer: GenerationWriter;
  readonly old: OldRows;
  readonly memory: number;
  readonly #removed = new RowSet();

  private constructor(folder: string, base: Manifest, old: OldRows, memory: number) {
    this.folder = folder;
    this.base = base;
    this.old = old;
    this.memory = memory;
    this.writer = new GenerationWriter(folder, base);
  }

  /** Runs a change of the generation `base`; what fails leaves the folder as it was. */
  static async run<T>(
    folder: string,
    base: Manifest,
    { memory, work }: { memory: number; work: (change: FolderChange) => Promise<T> },
  ): Promise<T> {
    const old = await OldRows.open(folder, base.generation);
    const change = new FolderChange(folder, base, old, memory);
    try {
      return await work(change);
    } catch (error) {
      throw await change.writer.abandon(error);
    } finally {
      await old.close();
    }
  }

  /** Rows that are there, after those that were removed by this change. */
  isLive = (row: number): boolean => !this.old.content.removed.has(row) && !this.#removed.has(row);

  /** Notes rows that are removed. */
  remove(rows: Uint32Array): void {
    for (const row of rows) this.#removed.add(row);
  }

  /** Rows of a segment, so that its files are not too large. */
  rowsPerFile(layout: SegmentLayout): number {
    const { bits, dimensions, keep, residualBytes } = layout;
    const vector = keep === 'float32' ? 4 * dimensions : keep === 'int8' ? dimensions + 4 : 0;
    const sparse = keep === 'sparse' ? this.#sparseBytes() : 0;
    const own = Math.ceil(bits / 8) + residualBytes + 64;
    return Math.max(1, Math.floor(FILE_BYTES / Math.max(own, vector, sparse)));
  }

  #sparseBytes(): number {
    const vectors = filesOf(this.base, 'vectors');
    const rows = vectors.reduce((sum, file) => sum + file.rows, 0);
    return vectors.reduce((sum, file) => sum + file.bytes, 0) / Math.max(1, rows) || 4096;
  }

  /** Writes segments and the manifest; without new rows, `isWhole` merges all that can be. */
  async commit(
    outcome: Outcome,
    { incoming = null, isWhole = false }: { incoming?: Incoming | null; isWhole?: boolean },
  ): Promise<Manifest> {
    const { segments } = this.old;
    const added = outcome.rowsAdded;
    const liveIn = (segment: StoredSegment) => segment.rows.rows - this.#removedIn(segment).length;
    const sample = incoming?.segments.layout ?? segments[0]?.table.layout;
    const rowsPerFile = sample === undefined ? 1 : this.rowsPerFile(sample);
    const keeps = isWhole
      ? this.#keptWhole(rowsPerFile, liveIn)
      : keptSegments(segments, { added, rowsPerFile, liveIn: liveIn as never });
    const files: FolderFile[] = [];
    const dropped = new RowSet();
    let group: StoredSegment[] = [];
    let groupRows = 0;
    const flush = async (cut: Cut | null) => {
      files.push(...(await this.#write(group, cut, { incoming, outcome })));
      for (const { rows } of group) dropped.addRange(rows.firstRow ?? 0, rows.nextRow ?? 0);
      group = [];
      groupRows = 0;
    };
    for (const [i, segment] of segments.entries()) {
      const rows = liveIn(segment);
      if (keeps[i] || groupRows + rows > rowsPerFile) await flush(null);
      if (keeps[i]) files.push(...filesOfSegment(segment));
      else {
        group.push(segment);
        groupRows += rows;
      }
    }
    for (const cut of incoming?.cuts ?? []) {
      if (groupRows + cut.nextRow - cut.firstRow > rowsPerFile) await flush(null);
      await flush(cut);
    }
    await flush(null);
    return this.#publish(outcome, files, dropped);
  }

  /** Segments that a compaction leaves: alone in their place, and without removed rows. */
  #keptWhole(rowsPerFile: number, liveIn: (segment: StoredSegment) => number): boolean[] {
    const { segments } = this.old;
    const counts = segments.map(liveIn);
    return segments.map(({ rows }, i) => {
      const neighbors = [counts[i - 1], counts[i + 1]].filter((count) => count !== undefined);
      const isAlone = neighbors.every((count) => count + counts[i] > rowsPerFile);
      return isAlone && counts[i] === rows.rows;
    });
  }

  #removedIn({ rows }: StoredSegment): Uint32Array {
    const { firstRow, nextRow } = rangeOf(rows);
    const before = this.old.content.removed.within(firstRow, nextRow);
    const now = this.#removed.within(firstRow, nextRow);
    return now.length === 0 ? before : Uint32Array.from(new Set([...before, ...now])).sort();
  }

  /** Writes one segment of old and new rows; none where no rows are left. */
  async #write(
    group: readonly StoredSegment[],
    cut: Cut | null,
    { incoming, outcome }: { incoming: Incoming | null; outcome: Outcome },
  ): Promise<FolderFile[]> {
    const old = group.reduce((sum, one) => sum + one.rows.rows - this.#removedIn(one).length, 0);
    const count = old + (cut === null ? 0 : cut.nextRow - cut.firstRow);
    if (count === 0) return [];
    const layouts = group.map(({ table }) => table.layout);
    if (cut !== null && incoming !== null) layouts.push(incoming.segments.layout);
    const layout = {
      ...layouts[0],
      id: widestId(layouts.map(({ id }) => id)),
      hasFirsts: layouts.some(({ hasFirsts }) => hasFirsts),
    };
    const firstRow = group[0]?.rows.firstRow ?? (cut as Cut).firstRow;
    const nextRow = cut?.nextRow ?? group.at(-1)?.rows.nextRow ?? 0;
    const held = group.map(() => new RowSet());
    const cursors = group.map((one, i) => new SegmentCursor(this.old.reader, one, held[i]));
    const fresh =
      cut && incoming?.segments.cursor(incoming.cuts.indexOf(cut), cut.firstPiece, cut.endPiece);
    const { report: _, distinct: __, shared: ___, ...header } = outcome.index;
    const place = { firstRow, nextRow, count, memory: this.memory / 4 };
    const segment = await SegmentWriter.open(this.writer, { header, layout }, place);
    const rowsPerBlock = maxBlockRows(this.old.content.parts, this.old.content.centroids !== null);
    const blocks = merged(fresh ? [...cursors, fresh] : cursors, {
      ...{ layout, rowsPerBlock, isLive: this.isLive, firstRow },
    });
    for await (const block of blocks) await segment.add(block);
    const files = await segment.end();
    if (outcome.columns.length === 0) return files;
    const batches = this.#columnsOf(group, held, cut, incoming);
    return [...files, await writeColumns(this.writer, batches, count)];
  }

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

  async #publish(outcome: Outcome, files: FolderFile[], dropped: RowSet): Promise<Manifest> {
    const { base, writer } = this;
    files.push(...filesOf(base, 'centres'));
    const all = new Set<number>(outcome.removed);
    for (const row of this.old.content.removed.within(0, base.index.nextRow)) all.add(row);
    const removed = Uint32Array.from(all)
      .sort()
      .filter((row) => !dropped.has(row));
    if (removed.length > 0) {
      files.push(await writer.add('removed', removedToArrow(removed), removed.length));
    }
    files.push(...filesOf(base, 'frequencies'));
    for (const file of writer.added) await checkFile(this.folder, file);
    const held = files.reduce((sum, { kind, rows }) => (kind === 'rows' ? sum + rows : sum), 0);
    const changes = { rowsAdded: outcome.rowsAdded, rowsRemoved: outcome.removed.length };
    const { report } = outcome.index;
    const index = {
      ...outcome.index,
      report: report && savedReport(afterChanges(reportOf(report), changes)),
    };
    const { columns } = outcome;
    return writer.commit({ rows: held - removed.length, index, text: base.text, columns, files });
  }
}
