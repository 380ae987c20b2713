/**
 * Copies the rows of a folder to temporary files, from which `optimize` assigns them to new
 * partitions. Segments are read in the order of their blocks; the rows are stored in the order of
 * their numbers. Numbers, ids, codes and vectors do not change; removed rows are left out. Memory
 * holds some blocks.
 */

import { ascending } from '../base/arrays';
import type { LongCall } from '../base/long-work';
import { RowSet } from '../stored/row-set';
import { joined, picked } from '../table/sealed/segment-pieces';
import { NO_PARTITION, type SegmentRows } from '../table/sealed/segment-tables';
import { SegmentCursor } from './block-cursor';
import type { GenerationWriter } from './generations';
import { NewRows, PIECE_ROWS } from './new-rows';
import type { OldRows } from './old-rows';
import { rangeOf } from './segments';

/** Most bytes of blocks that are sorted together. */
const ORDERED_BYTES = 2 ** 26;

/** A segment whose rows wait in pieces `firstPiece` to `endPiece - 1`. */
interface MovedSegment {
  readonly firstPiece: number;
  readonly endPiece: number;
  /** The numbers of its rows, removed ones included. */
  readonly held: RowSet;
}

/** All rows of a folder that wait, and the pieces of each segment. */
interface MovedRows {
  readonly rows: NewRows;
  readonly segments: readonly MovedSegment[];
}

/** Reads and checks all rows; progress counts them. */
export async function movedRows(
  writer: GenerationWriter,
  old: OldRows,
  { memory, call }: { memory: number; call: LongCall },
): Promise<MovedRows> {
  const { header, removed, manifest } = old.content;
  const rows = new NewRows(writer, { parts: old.parts, ids: header.ids, firstRow: 0, memory });
  rows.isForeign = header.isForeign;
  const limit = Math.min(ORDERED_BYTES, memory / 16);
  const segments: MovedSegment[] = [];
  for (const segment of old.segments) {
    const { firstRow, nextRow } = rangeOf(segment.rows);
    const firstPiece = rows.pieceCount;
    // Each piece has a fixed range of numbers, so that rows can be put into it in any order.
    for (let first = firstRow; first < nextRow; first += PIECE_ROWS) {
      rows.beginPiece(segment.table.layout.id, Math.min(nextRow, first + PIECE_ROWS));
    }
    const pieceOf = (row: number) => firstPiece + Math.floor((row - firstRow) / PIECE_ROWS);
    const cursor = new SegmentCursor(old.reader, segment, new RowSet());
    while (cursor.partition !== null) {
      call.signal?.throwIfAborted();
      for (const some of await blocksOf(cursor, limit, (row) => !removed.has(row))) {
        for (const piece of inPieces(some, pieceOf)) {
          rows.put(pieceOf(piece.rows[0]), piece);
        }
      }
      await rows.settle();
      call.onProgress?.(rows.count, manifest.rows);
    }
    segments.push({ firstPiece, endPiece: rows.pieceCount, held: cursor.held as RowSet });
  }
  // Numbers that were given once are never given again.
  rows.nextRow = header.nextRow;
  return { rows, segments };
}

/**
 * Reads the next blocks, about `limit` bytes of them. Returns their live rows, first those with a
 * code, then those without. Residual codes and first rows are dropped, since they change.
 */
async function blocksOf(
  cursor: SegmentCursor,
  limit: number,
  isLive: (row: number) => boolean,
): Promise<SegmentRows[]> {
  const coded: SegmentRows[] = [];
  const others: SegmentRows[] = [];
  for (let bytes = 0; cursor.partition !== null && bytes < limit; ) {
    const isNull = cursor.partition === NO_PARTITION;
    const block = await cursor.next();
    bytes += block.codes.byteLength + (block.vectors?.byteLength ?? 0);
    const live = picked(
      block,
      ascending(block.count).filter((i) => isLive(block.rows[i])),
    );
    if (live.count === 0) continue;
    const own = { ...live, firsts: null, links: null, residuals: null, residualScales: null };
    if (isNull) others.push(own);
    else coded.push({ ...own, partition: 0 });
  }
  return [coded, others].filter((some) => some.length > 0).map(joined);
}

/** Sorts the rows by number and splits them by piece. */
function* inPieces(all: SegmentRows, pieceOf: (row: number) => number): Generator<SegmentRows> {
  const { rows } = all;
  const order = ascending(all.count).sort((a, b) => rows[a] - rows[b]);
  for (let first = 0; first < order.length; ) {
    const piece = pieceOf(rows[order[first]]);
    let end = first + 1;
    while (end < order.length && pieceOf(rows[order[end]]) === piece) end++;
    yield picked(all, order.subarray(first, end));
    first = end;
  }
}
