/**
 * Makes searches of rows in files fast at a wanted recall, as `index/optimize.ts` says: rows are
 * placed in a space segment by segment, and the setting is chosen and measured with the new files
 * before they are published. Memory holds the rows of a segment, or of a part of one.
 */

import { checkOptions, wrongType, wrongValue } from '../base/check';
import { LongWork } from '../base/long-work';
import type { IndexCore } from '../index/index-core';
import type { OptimizeOptions, RecallReport } from '../index/index-options';
import { type Layout, MemoryIndex } from '../index/memory-index';
import { checkWanted, optimized, type Wanted } from '../index/optimize';
import type { Space } from '../index/space';
import type { FolderChange, NextSegment } from './change';
import { type Content, noVectorsOf, openContent, RowSet, type StoredSegment } from './content';
import { FolderPlace } from './folder-place';
import { loadSegment } from './load-index';
import type { SegmentFiles } from './manifest';
import { mergeSegments } from './merge-segments';
import type { Place } from './place';
import { Reader } from './reader';
import { StoredEvaluable } from './stored-evaluable';
import { layoutOf, memoryOfRow, writeSegment } from './write-segment';

const OPTIMIZED = ['recall', 'k', 'partitions', 'copies', 'seed', 'queries'];
/**
 * The part of the memory limit that loaded rows of a segment may take; while they are placed they
 * are in memory twice.
 */
const LOAD_SHARE = 0.4;

/** Checks the options of `optimize` for rows that stay in files: these need dense vectors. */
export function checkWantedInFiles(core: IndexCore, options: OptimizeOptions): Wanted {
  checkOptions('optimize', options, OPTIMIZED);
  if (core.dense === null) {
    const kind = core.vectors?.kind ?? 'none';
    throw wrongValue('vectors', "'float32' or 'int8' to optimize rows in files", kind);
  }
  if (options.queries !== undefined && typeof options.queries !== 'number') {
    throw wrongType('queries', 'a number of rows, where rows stay in files', options.queries);
  }
  return checkWanted(core, options);
}

/**
 * Optimizes the rows of a change, whose segments become others; returns the report. `given` is the
 * space in whose partitions rows are already: then only the setting is chosen and measured, by the
 * files at `far` where these are not in the folder.
 */
export async function optimizeStored(
  change: FolderChange,
  wanted: Wanted,
  given: Space | null = null,
  far: Place | null = null,
): Promise<RecallReport> {
  const work = new LongWork(change.call);
  const place = far ?? new FolderPlace(change.folder, change.base?.generation ?? null);
  try {
    const content = await change.opened(place);
    const before = new StoredEvaluable(content, change.memory / 4, async (layout, own) => {
      await placeAll(change, content, layout, own);
      const placed = await change.opened(place);
      return new StoredEvaluable(placed, change.memory / 2, neverAgain);
    });
    const asked = { ...wanted, given: null, space: given };
    return (await optimized(before, change.core.origin, asked, work)).report;
  } finally {
    await place.close();
  }
}

const neverAgain = () => Promise.reject(new Error('rows are placed once'));

/** Places all rows in a space; neighbours that fit into one segment become one. */
async function placeAll(
  change: FolderChange,
  content: Content,
  to: Layout,
  work: LongWork,
): Promise<void> {
  const { core, memory } = change;
  const { space } = to;
  core.rows = new MemoryIndex(core.rows.options, to, core.rows.nextRow);
  await change.writeSpace(space);
  const layout = layoutOf(change.header, space, 'Utf8');
  const mostRows = Math.max(1, Math.floor((LOAD_SHARE * memory) / memoryOfRow(layout, core.dense)));
  const placed: NextSegment[] = [];
  const reader = new Reader(content);
  for (const group of change.groups('whole')) {
    const segments = group.map((i) => content.segments[i]);
    const pieces: SegmentFiles[] = [];
    for (const part of segments.flatMap((segment) => cut(segment, mostRows))) {
      const held = await loadSegment(content, reader, part, noVectorsOf(content), work.call.signal);
      const own = MemoryIndex.of(core.rows.options, layoutIn(content), [held], part.endRow);
      const index = await own.placed(to, work);
      for (const made of index.sealed()) {
        made.rows.cover(part.firstRow, part.endRow);
        pieces.push(await writeSegment(change.writer, change.header, made, space));
      }
    }
    const files = await joined(change, pieces);
    if (files === null) continue;
    const live = files.files.rows?.rows ?? 0;
    placed.push({ files: await change.mergeColumns(files, segments, content), live });
  }
  change.replaceSegments(placed);
}

/** The layout that rows have in files. */
function layoutIn({ space, manifest }: Content): Layout {
  return { space, hasCopies: manifest.index.copies };
}

/** A segment in parts of some blocks each, with about so many rows. */
function cut(segment: StoredSegment, mostRows: number): StoredSegment[] {
  if (segment.count <= mostRows) return [segment];
  const { table, file } = segment.rows;
  const parts: StoredSegment[] = [];
  for (let first = 0, end = 0; first < table.count; first = end) {
    let rows = 0;
    while (end < table.count && (rows === 0 || rows + table.rows[end] <= mostRows)) {
      rows += table.rows[end++];
    }
    const of = <T extends { subarray(first: number, end: number): T }>(values: T): T =>
      values.subarray(first, end);
    const start = table.starts[first];
    const own = {
      layout: table.layout,
      count: end - first,
      partitions: of(table.partitions),
      rows: of(table.rows),
      starts: of(table.starts).map((at) => at - start),
      at: of(table.at),
      bytes: of(table.bytes),
      checksums: of(table.checksums),
      vectorsAt: of(table.vectorsAt),
      vectorsBytes: of(table.vectorsBytes),
      vectorsChecksums: of(table.vectorsChecksums),
      headChecksums: of(table.headChecksums),
    };
    parts.push({ ...segment, count: rows, rows: { file, table: own }, copies: null });
  }
  return parts;
}

/** Pieces as one segment; null where no row is left. */
async function joined(
  change: FolderChange,
  pieces: readonly SegmentFiles[],
): Promise<SegmentFiles | null> {
  if (pieces.length < 2) return pieces[0] ?? null;
  const place = new FolderPlace(change.folder, null);
  try {
    const manifest = { ...change.provisional(), columns: [], segments: pieces };
    const content = await openContent(place, manifest);
    const merging = {
      content,
      reader: new Reader(content),
      segments: content.segments,
      removed: new RowSet(),
      signal: change.call.signal,
    };
    return await mergeSegments(change.writer, change.header, merging);
  } finally {
    await place.close();
  }
}
