/**
 * One generation of an index folder, written: the files that stay are named again, what is new is
 * written next to them. The index must not change meanwhile; that is looked at after every file.
 */

import { lowerBound } from '../base/arrays';
import type { LongCall } from '../base/steps';
import type { IndexParts } from '../index/index-parts';
import { partsOf, type SimHashIndex } from '../index/simhash-index';
import { headerOf, SavedRows } from '../index/write-index';
import {
  FOLDER_VERSION,
  type FolderFile,
  filesOf,
  filesOfSegment,
  type Manifest,
  type Segment,
  segmentsOf,
  type TextSettings,
} from '../stored/manifest';
import { RowSet } from '../stored/row-set';
import type { RowBatch } from '../table/row-batch';
import { columnsToArrow } from '../table/sealed/carried-columns';
import { centroidsToArrow, removedToArrow } from '../table/sealed/small-tables';
import { frequenciesToArrow } from '../text/frequency-file';
import type { FrequencyTable } from '../text/frequency-table';
import { CarriedColumns } from './carried-columns';
import { GenerationWriter } from './generations';
import type { Origin } from './origin';
import { SegmentWriter } from './segment-writer';
import { isSegment, planSegments, type Range, rangeOf } from './segments';
import { checkFile } from './verify-index';

export interface SaveIndexOptions extends LongCall {
  /** Columns to carry next to the rows: a row for each row that is there, in their order. */
  columns?: RowBatch;
  /** How texts became vectors, so that a query's text can. Kept when it is not given again. */
  text?: TextSettings;
  /** The document frequencies that weighted the texts. Kept when it is not given again. */
  frequencies?: FrequencyTable;
  /** True to put the index in place of one that it was not opened from. */
  replace?: boolean;
}

/** What to save, and over what. */
export interface SaveRequest {
  readonly folder: string;
  readonly base: Manifest | null;
  /** Null where the index is new to the folder: nothing there is kept. */
  readonly origin: Origin | null;
  readonly given: SaveIndexOptions;
  /** Columns of the rows that were added only. */
  readonly addedColumns?: RowBatch | undefined;
  /** True to write all rows. */
  readonly isWhole?: boolean;
}

/** Saves an index that was opened from a folder a moment ago as the folder's next generation. */
export type Commit = (wish: Partial<SaveRequest>) => Promise<void>;

/** A segment has about so many bytes. */
const FILE_BYTES = 2 ** 30;
/** What a row takes next to its code and its vector: an id, numbers. */
const ROW_BYTES = 32;

export async function writeGeneration(
  index: SimHashIndex,
  request: SaveRequest,
): Promise<Omit<Origin, 'path'>> {
  const writer = new GenerationWriter(request.folder, request.base);
  try {
    return await new Generation(index, request, writer).write();
  } catch (error) {
    throw await writer.abandon(error);
  }
}

class Generation {
  readonly #index: SimHashIndex;
  readonly #parts: IndexParts;
  readonly #request: SaveRequest;
  readonly #writer: GenerationWriter;
  readonly #rows: SavedRows;
  readonly #stamp: readonly unknown[];
  /** Files that may stay. */
  readonly #segments: readonly Segment[];
  readonly #carried: CarriedColumns | null;

  constructor(index: SimHashIndex, request: SaveRequest, writer: GenerationWriter) {
    const { origin, given, addedColumns, isWhole = false } = request;
    this.#index = index;
    this.#parts = partsOf(index);
    this.#request = request;
    this.#writer = writer;
    this.#rows = new SavedRows(this.#parts);
    this.#stamp = this.#now();
    const before = origin === null ? [] : segmentsOf(origin.manifest);
    const centroids = this.#parts.partitions?.centroids ?? null;
    const isSame = origin?.centroids === centroids;
    const isOfNow = origin?.manifest.version === FOLDER_VERSION;
    const mayStay =
      isOfNow && isSame && !isWhole && !this.#rows.isRenumbered && given.columns === undefined;
    this.#segments = mayStay ? before : [];
    this.#carried = CarriedColumns.of({
      ...{ segments: before, origin, folder: request.folder, live: this.#rows.live },
      ...{ whole: given.columns, added: addedColumns },
    });
  }

  async write(): Promise<Omit<Origin, 'path'>> {
    const { live, nextRow, isRenumbered } = this.#rows;
    const rowsPerFile = this.#rowsPerFile();
    const segments = this.#segments;
    const { parts } = planSegments({ segments, live, nextRow: this.#end(), rowsPerFile });
    const files: FolderFile[] = [];
    const held = new RowSet();
    let done = 0;
    for (const part of parts) {
      this.#request.given.signal?.throwIfAborted();
      if (isSegment(part)) this.#keep(part, { files, held });
      else await this.#add(part, { files, held });
      done = lowerBound(live, isSegment(part) ? rangeOf(part.rows).nextRow : part.nextRow);
      this.#request.given.onProgress?.(done, live.length);
    }
    files.push(...(await this.#others(held)));
    this.#refuseIfChanged();
    // What was written is read back before it becomes the index: only what opens is published.
    for (const file of this.#writer.added) await checkFile(this.#request.folder, file);
    const { count, emptyCount, hasDuplicates: shared } = this.#parts.distinctCodes;
    const distinct = count - emptyCount;
    const manifest = await this.#writer.commit({
      ...{ rows: live.length, index: { ...headerOf(this.#parts, nextRow), distinct, shared } },
      text: this.#request.given.text ?? this.#request.origin?.manifest.text ?? null,
      ...{ columns: this.#carried?.columns ?? [], files },
    });
    const centroids = this.#parts.partitions?.centroids ?? null;
    return { manifest, held, centroids, isAligned: !isRenumbered };
  }

  /** Behind the last row, by the index's own numbers. */
  #end(): number {
    return this.#parts.distinctCodes.rowCount;
  }

  #rowsPerFile(): number {
    const { hasher, bytes, count } = this.#index;
    const vectorBytes = bytes.vectors / Math.max(1, count);
    return Math.max(1, Math.floor(FILE_BYTES / (hasher.bytesPerCode + vectorBytes + ROW_BYTES)));
  }

  #keep(segment: Segment, { files, held }: Written): void {
    files.push(...filesOfSegment(segment));
    const { firstRow, nextRow } = rangeOf(segment.rows);
    for (const row of this.#request.origin?.held.within(firstRow, nextRow) ?? []) held.add(row);
  }

  async #add(range: Range, { files, held }: Written): Promise<void> {
    const { live, isRenumbered } = this.#rows;
    const [first, end] = [lowerBound(live, range.firstRow), lowerBound(live, range.nextRow)];
    const { firstRow, nextRow } = isRenumbered ? { firstRow: first, nextRow: end } : range;
    this.#refuseIfChanged();
    const count = end - first;
    const { report: _, ...header } = headerOf(this.#parts, this.#rows.nextRow);
    const { layout, blocks } = this.#rows.segment(first, end);
    const place = { firstRow, nextRow, count };
    const segment = await SegmentWriter.open(this.#writer, { header, layout }, place);
    for (const block of blocks) await segment.add(block);
    files.push(...(await segment.end()));
    for (let i = first; i < end; i++) held.add(live[i]);
    if (this.#carried === null) return;
    const columns = columnsToArrow(await this.#carried.rows(first, end));
    files.push(await this.#writer.add('columns', columns, count));
  }

  /** Centroids, removed rows and frequencies: those of before stay where nothing changed. */
  async #others(held: RowSet): Promise<FolderFile[]> {
    const { origin, given } = this.#request;
    const files: FolderFile[] = [];
    const { partitions, distinctCodes } = this.#parts;
    if (partitions !== null) {
      const { centroids, count } = partitions;
      const isSame = origin !== null && origin.centroids === centroids;
      const [before] = isSame ? filesOf(origin.manifest, 'centres') : [];
      const bytes = () => centroidsToArrow(centroids, centroids.length / count);
      files.push(before ?? (await this.#writer.add('centres', bytes(), count)));
    }
    const removed = this.#rows.isRenumbered
      ? new Uint32Array()
      : held.within(0, distinctCodes.rowCount).filter((row) => !distinctCodes.isLive(row));
    if (removed.length > 0) {
      files.push(await this.#writer.add('removed', removedToArrow(removed), removed.length));
    }
    if (given.frequencies !== undefined) {
      const { frequencies } = given;
      files.push(
        await this.#writer.add('frequencies', frequenciesToArrow(frequencies), frequencies.size),
      );
    } else if (origin !== null) {
      files.push(...filesOf(origin.manifest, 'frequencies'));
    }
    return files;
  }

  /** Rows only come or go: as many of both as before means that nothing did. */
  #now(): readonly unknown[] {
    const { distinctCodes, partitions } = this.#parts;
    return [distinctCodes.rowCount, distinctCodes.liveCount, distinctCodes, partitions];
  }

  #refuseIfChanged(): void {
    if (this.#now().every((value, i) => value === this.#stamp[i])) return;
    throw new Error('the index was changed while it was saved: nothing was written');
  }
}

interface Written {
  readonly files: FolderFile[];
  readonly held: RowSet;
}
