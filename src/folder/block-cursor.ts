/**
 * Rows of several sources in the order of a segment: partition by partition, ascending within each.
 * The sources follow one another by their rows, so that nothing is sorted; memory holds some MiB of
 * each.
 */

import { FormatError } from '../base/format-error';
import type { Ids } from '../base/ids';
import { checksum } from '../kernels/kernels';
import type { BlockName, BlockReader } from '../stored/block-reader';
import type { StoredSegment } from '../stored/content';
import type { RowSet } from '../stored/row-set';
import { joined, NO_VECTORS, picked, range, rowsOfBlock } from '../table/sealed/segment-pieces';
import { readVectors, type SegmentLayout, type SegmentRows } from '../table/sealed/segment-tables';

/** Blocks by partition, one after another. */
export interface BlockCursor {
  /** Of the next block; null at the end. */
  readonly partition: number | null;
  next(): Promise<SegmentRows>;
}

/** Bytes of a segment that are read together. */
const TOGETHER_BYTES = 2 ** 22;

/** The blocks of a segment, each compared with its checksums. */
export class SegmentCursor implements BlockCursor {
  readonly #reader: BlockReader;
  readonly #segment: StoredSegment;
  #at = 0;
  #ready: SegmentRows[] = [];

  /** Notes the rows that it passes in `held`. */
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

  async #read(): Promise<void> {
    const segment = this.#segment;
    const { table, vectors } = segment;
    const names: BlockName[] = [];
    let bytes = 0;
    for (let block = this.#at; block < table.count && bytes < TOGETHER_BYTES; block++) {
      names.push({ segment, block });
      bytes += table.bytes[block] + table.vectorsBytes[block];
    }
    const blocks = await this.#reader.blocks(names);
    const bodies =
      vectors === null
        ? null
        : await this.#reader.ranges(
            names.map(({ block }) => {
              const [at, length] = [table.vectorsAt[block], table.vectorsBytes[block]];
              return { file: vectors, range: { at, length } };
            }),
          );
    this.#ready = blocks.map(({ block, rows }, i) => {
      for (const row of rows.rows) this.held?.add(row);
      if (bodies === null || vectors === null) return rowsOfBlock(table.layout, rows, NO_VECTORS);
      if (checksum(bodies[i]) !== table.vectorsChecksums[block]) {
        const path = this.#reader.pathOf(vectors);
        throw new FormatError(`damaged: block ${block} fails its checksum`, path);
      }
      return rowsOfBlock(table.layout, rows, readVectors(table, block, bodies[i]));
    });
  }
}

interface Merging {
  /** Of the blocks that are made. */
  readonly layout: SegmentLayout;
  /** Rows of a block, at most. */
  readonly rowsPerBlock: number;
  readonly isLive: (row: number) => boolean;
  /** Of all sources. */
  readonly firstRow: number;
}

/** The rows that are there, as blocks. */
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

/** The rows of a piece that are there, with the columns of a layout. */
function fitted(piece: SegmentRows, layout: SegmentLayout, firsts: FirstRows): SegmentRows {
  if (piece.count === 0) return piece;
  const own = piece.rows.map((row, i) => firsts.of(row, piece.firsts?.[i] ?? row));
  const live = picked({ ...piece, firsts: own }, firsts.liveIn(piece.rows));
  const hasFirsts = layout.hasFirsts ? live.firsts : null;
  return { ...live, firsts: hasFirsts ?? null, ids: idsAs(live.ids, layout.id) };
}

/** By which rows equal codes are known, when the first of them were removed. */
class FirstRows {
  /** By a removed first row the row that took over; by another removed row its first. */
  readonly #instead = new Map<number, number>();

  constructor(
    readonly isLive: (row: number) => boolean,
    readonly firstRow: number,
  ) {}

  /** The first row that is there of those with a code; rows of a code come in ascending order. */
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
    // Of a removed row of an earlier segment, readers know who took over.
    if (first === row || first < this.firstRow || this.isLive(first)) return first;
    this.#instead.set(first, row);
    return row;
  }

  liveIn(rows: Uint32Array): Uint32Array {
    const places = new Uint32Array(rows.length);
    let count = 0;
    rows.forEach((row, place) => {
      if (this.isLive(row)) places[count++] = place;
    });
    return places.subarray(0, count);
  }
}

/** The widest of some types of ids. */
export function widestId(types: readonly (string | null)[]): string | null {
  for (const type of ['Uint64', 'Int64', 'Utf8', 'Uint32', 'Int32']) {
    if (types.includes(type)) return type;
  }
  return null;
}

/** Ids as the array of a type that holds them. */
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
