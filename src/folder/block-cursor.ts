/**
 * Merges the blocks of several sources into the blocks of one segment, when segments are merged,
 * compacted or moved to other partitions. Blocks come partition by partition, rows ascending within
 * each. The row ranges of the sources follow one another, so reading the sources in order sorts the
 * rows; memory holds some MiB of each source.
 */

import type { Ids } from '../base/ids';
import type { BlockName, BlockReader } from '../stored/block-reader';
import type { StoredSegment } from '../stored/content';
import type { RowSet } from '../stored/row-set';
import { joined, NO_VECTORS, picked, range, rowsOfBlock } from '../table/sealed/segment-pieces';
import type { SegmentLayout, SegmentRows } from '../table/sealed/segment-tables';

/**
 * A stream of blocks in ascending order of partition; rows without a code (NO_PARTITION) come last.
 */
export interface BlockCursor {
  /** The partition of the block that `next` returns; null at the end. */
  readonly partition: number | null;
  next(): Promise<SegmentRows>;
}

/** A cursor reads blocks together until they have this many bytes, their vectors included. */
const TOGETHER_BYTES = 2 ** 22;

/**
 * Reads the blocks of one stored segment in file order and compares each with its checksum. A
 * damaged block throws a FormatError that names the file.
 */
export class SegmentCursor implements BlockCursor {
  readonly #reader: BlockReader;
  readonly #segment: StoredSegment;
  #at = 0;
  #ready: SegmentRows[] = [];

  /**
   * Adds the number of every row that it reads to `held`, if that is not null; removed rows too.
   */
  constructor(
    reader: BlockReader,
    segment: StoredSegment,
    readonly held: RowSet | null,
  ) {
    this.#reader = reader;
    this.#segment = segment;
  }

  get partition(): number | null {
    const { count, partitions } = this.#segment.table;
    return this.#at < count ? partitions[this.#at] : null;
  }

  async next(): Promise<SegmentRows> {
    if (this.#ready.length === 0) await this.#read();
    this.#at++;
    return this.#ready.shift() as SegmentRows;
  }

  /** Reads the next blocks, about TOGETHER_BYTES of them, and their vectors. */
  async #read(): Promise<void> {
    const segment = this.#segment;
    const { table } = segment;
    const names: BlockName[] = [];
    let bytes = 0;
    for (let block = this.#at; block < table.count && bytes < TOGETHER_BYTES; block++) {
      names.push({ segment, block });
      bytes += table.bytes[block] + table.vectorsBytes[block];
    }
    const blocks = await this.#reader.blocks(names);
    const vectors = segment.vectors && (await this.#reader.vectors(names));
    this.#ready = blocks.map(({ rows }, i) => {
      for (const row of rows.rows) this.held?.add(row);
      return rowsOfBlock(table.layout, rows, vectors?.[i] ?? NO_VECTORS);
    });
  }
}

/** How blocks are merged. */
interface Merging {
  /** The columns of the merged blocks. */
  readonly layout: SegmentLayout;
  /** Most rows of a merged block. */
  readonly rowsPerBlock: number;
  /** True for rows that go into the new segment. */
  readonly isLive: (row: number) => boolean;
  /** The lowest row number of all sources. */
  readonly firstRow: number;
}

/**
 * Yields the live rows of all sources as blocks, by partition, then row. The column `first` is
 * changed where the first row with a code was removed.
 */
export async function* merged(
  cursors: readonly BlockCursor[],
  { layout, rowsPerBlock, isLive, firstRow }: Merging,
): AsyncGenerator<SegmentRows> {
  const firsts = new FirstRows(isLive, firstRow);
  for (;;) {
    const ahead = cursors.flatMap(({ partition }) => partition ?? []);
    if (ahead.length === 0) return;
    const partition = Math.min(...ahead);
    let pieces: SegmentRows[] = [];
    let count = 0;
    // The sources ascend by row, so the rows of a partition ascend without a sort.
    for (const cursor of cursors) {
      while (cursor.partition === partition) {
        const piece = fitted(await cursor.next(), layout, firsts);
        if (piece.count === 0) continue;
        pieces.push(piece);
        count += piece.count;
        while (count > rowsPerBlock) {
          const all = joined(pieces);
          yield picked(all, range(0, rowsPerBlock));
          pieces = [picked(all, range(rowsPerBlock, count))];
          count -= rowsPerBlock;
        }
      }
    }
    if (count > 0) yield joined(pieces);
  }
}

/**
 * The live rows of a piece, with ids of the type of `layout`, and with the column `first` only
 * where `layout` has it.
 */
function fitted(piece: SegmentRows, layout: SegmentLayout, firsts: FirstRows): SegmentRows {
  if (piece.count === 0) return piece;
  // Removed rows are passed to `firsts` too: it learns which rows they shared a code with.
  const own = piece.rows.map((row, i) => firsts.of(row, piece.firsts?.[i] ?? row));
  const live = picked({ ...piece, firsts: own }, firsts.liveIn(piece.rows));
  const hasFirsts = layout.hasFirsts ? live.firsts : null;
  return { ...live, firsts: hasFirsts ?? null, ids: idsAs(live.ids, layout.id) };
}

/**
 * Keeps rows of equal codes linked when their first row was removed: the first live row takes its
 * place. Rows with one code must be given in ascending order.
 */
class FirstRows {
  /**
   * Maps a removed row to an earlier row with its code, and a removed first row to the live row
   * that took its place. Following the entries from a row leads to the row that must be named as
   * first.
   */
  readonly #instead = new Map<number, number>();

  constructor(
    readonly isLive: (row: number) => boolean,
    readonly firstRow: number,
  ) {}

  /**
   * The first row to name for `row`, where files name `given`. Must be called for every row,
   * removed ones included.
   */
  of(row: number, given: number): number {
    let first = given;
    for (;;) {
      const next = this.#instead.get(first);
      if (next === undefined) break;
      first = next;
    }
    if (!this.isLive(row)) {
      if (first !== row) this.#instead.set(row, first);
      return first;
    }
    // A first row in an earlier segment stays named even when it was removed: readers put the first
    // remaining row with the code in its place (docs/format.md).
    if (first === row || first < this.firstRow || this.isLive(first)) return first;
    this.#instead.set(first, row);
    return row;
  }

  /** Positions of the live ones among some rows, ascending. */
  liveIn(rows: Uint32Array): Uint32Array {
    const places = new Uint32Array(rows.length);
    let count = 0;
    rows.forEach((row, place) => {
      if (this.isLive(row)) places[count++] = place;
    });
    return places.subarray(0, count);
  }
}

/** The widest of some Arrow types of ids; null where rows are the ids. */
export function widestId(types: readonly (string | null)[]): string | null {
  for (const type of ['Uint64', 'Int64', 'Utf8', 'Uint32', 'Int32']) {
    if (types.includes(type)) return type;
  }
  return null;
}

/**
 * Ids as an array of the Arrow type `type`, which is at least as wide; the same array where it has
 * that type. A negative id that would become Uint64 throws a RangeError.
 */
export function idsAs(ids: Ids | null, type: string | null): Ids | null {
  if (type === 'Int64' && !(ids instanceof BigInt64Array)) {
    return BigInt64Array.from(ids as Int32Array, BigInt);
  }
  if (type !== 'Uint64' || ids instanceof BigUint64Array) return ids;
  return BigUint64Array.from(ids as BigInt64Array, (id) => {
    if (BigInt(id) >= 0n) return BigInt(id);
    throw new RangeError(`"ids" expected ids that one 64-bit type can hold, got ${id}`);
  });
}
