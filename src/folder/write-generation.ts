/**
 * Writes a generation of an index folder from an index in memory: files that are still true are
 * named again, what is new is written next to them. The index must not change meanwhile, which is
 * checked before each file and at the end.
 */

import { lowerBound } from '../base/arrays';
import type { LongCall } from '../base/long-work';
import type { IndexParts } from '../index/index-parts';
import { partsOf, type SimHashIndex } from '../index/simhash-index';
import { headerOf, SavedRows } from '../index/write-index';
import {
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
import { CarriedColumns } from './columns-to-save';
import { GenerationWriter } from './generations';
import type { Origin } from './origin';
import { SegmentWriter } from './segment-writer';
import { isSegment, planSegments, type Range, rangeOf } from './segments';
import { checkFile } from './verify-index';

export interface SaveIndexOptions extends LongCall {
  /** Columns to carry next to the rows: a row for each row of the index, in their order. */
  columns?: RowBatch;
  /**
   * How texts became vectors, so that the text of a query can become one. Kept when it is not given
   * again.
   */
  text?: TextSettings;
  /** The document frequencies that weighted the texts. Kept when it is not given again. */
  frequencies?: FrequencyTable;
  /** True to replace an index that this one was not opened from. */
  replace?: boolean;
}

/** What is saved, and over which generation. */
export interface SaveRequest {
  readonly folder: string;
  /** The newest generation; null where there is none. */
  readonly base: Manifest | null;
  /** Null where the index is new to the folder: none of its files stay. */
  readonly origin: Origin | null;
  readonly given: SaveIndexOptions;
  /** Columns of only the rows that no file has yet. */
  readonly addedColumns?: RowBatch | undefined;
  /** True to write all rows again. */
  readonly isWhole?: boolean;
}

/** Saves an index that was opened from a folder a moment ago as the folder's next generation. */
export type Commit = (changes: Partial<SaveRequest>) => Promise<void>;

/** A segment has about this many bytes in its largest file. */
const FILE_BYTES = 2 ** 30;
/** An allowance for a row's id and numbers, besides its code and its vector. */
const ROW_BYTES = 32;

/** Writes the next generation; an error deletes what was written. */
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

/** One save of an index. */
class Generation {
  readonly #index: SimHashIndex;
  readonly #parts: IndexParts;
  readonly #request: SaveRequest;
  readonly #writer: GenerationWriter;
  readonly #rows: SavedRows;
  /** State of the index at the beginning, with which later states are compared. */
  readonly #stamp: readonly unknown[];
  /** Segments that may stay; none where all rows are written again. */
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
    // Files stay true only with the same centroids, row numbers and carried columns.
    const isSame = origin?.centroids === centroids;
    const mayStay = isSame && !isWhole && !this.#rows.isRenumbered && given.columns === undefined;
    this.#segments = mayStay ? before : [];
    this.#carried = CarriedColumns.of({
      ...{ segments: before, origin, folder: request.folder, live: this.#rows.live },
      ...{ whole: given.columns, added: addedColumns },
    });
  }

  /** Writes and commits the files; returns what becomes the origin of the index. */
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
    // Read back before the commit: only what opens is published.
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

  /** One more than the last row, by the numbers of the index. */
  #end(): number {
    return this.#parts.distinctCodes.rowCount;
  }

  /** How many rows make a segment of about FILE_BYTES. */
  #rowsPerFile(): number {
    const { hasher, bytes, count } = this.#index;
    const vectorBytes = bytes.vectors / Math.max(1, count);
    return Math.max(1, Math.floor(FILE_BYTES / (hasher.bytesPerCode + vectorBytes + ROW_BYTES)));
  }

  /** Names the files of a segment again. */
  #keep(segment: Segment, { files, held }: Written): void {
    files.push(...filesOfSegment(segment));
    const { firstRow, nextRow } = rangeOf(segment.rows);
    for (const row of this.#request.origin?.held.within(firstRow, nextRow) ?? []) held.add(row);
  }

  /** Writes the live rows of a range as a segment. */
  async #add(range: Range, { files, held }: Written): Promise<void> {
    const { live, isRenumbered } = this.#rows;
    const [first, end] = [lowerBound(live, range.firstRow), lowerBound(live, range.nextRow)];
    // Renumbered rows are numbered in files by their positions among the live ones.
    const { firstRow, nextRow } = isRenumbered ? { firstRow: first, nextRow: end } : range;
    this.#refuseIfChanged();
    const count = end - first;
    const { report: _, ...header } = headerOf(this.#parts, this.#rows.nextRow);
    const { layout, blocks, copies } = this.#rows.segment(first, end);
    const place = { firstRow, nextRow, count };
    const segment = await SegmentWriter.open(this.#writer, { header, layout }, place);
    for (const block of blocks) await segment.add(block);
    for (const block of copies) await segment.addCopies(block);
    files.push(...(await segment.end()));
    for (let i = first; i < end; i++) held.add(live[i]);
    if (this.#carried === null) return;
    const columns = columnsToArrow(await this.#carried.rows(first, end));
    files.push(await this.#writer.add('columns', columns, count));
  }

  /**
   * The files of centroids, removed rows and frequencies; those that did not change are named
   * again.
   */
  async #others(held: RowSet): Promise<FolderFile[]> {
    const { origin, given } = this.#request;
    const files: FolderFile[] = [];
    const { partitions, distinctCodes } = this.#parts;
    if (partitions !== null) {
      const { centroids, count } = partitions;
      const isSame = origin !== null && origin.centroids === centroids;
      const [before] = isSame ? filesOf(origin.manifest, 'centroids') : [];
      const bytes = () => centroidsToArrow(centroids, centroids.length / count);
      files.push(before ?? (await this.#writer.add('centroids', bytes(), count)));
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

  /**
   * What differs after any change of the index: rows only come or go, so equal numbers of both mean
   * that nothing changed.
   */
  #now(): readonly unknown[] {
    const { distinctCodes, partitions } = this.#parts;
    return [distinctCodes.rowCount, distinctCodes.liveCount, distinctCodes, partitions];
  }

  #refuseIfChanged(): void {
    if (this.#now().every((value, i) => value === this.#stamp[i])) return;
    throw new Error('the index was changed while it was saved: nothing was written');
  }
}

/** What the generation has so far: its files, and the numbers of the rows in them. */
interface Written {
  readonly files: FolderFile[];
  readonly held: RowSet;
}
