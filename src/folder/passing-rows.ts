/**
 * Rows in files that pass, some at a time, while searches of them are measured: rows that wait for
 * a build, or those of segments that stay where they are.
 */

import type { LongCall } from '../base/long-work';
import type { QueryParts } from '../index/query-parts';
import { BlockReader } from '../stored/block-reader';
import type { StoredContent, StoredSegment } from '../stored/content';
import { RowSet } from '../stored/row-set';
import { joined } from '../table/sealed/segment-pieces';
import { NO_PARTITION, type SegmentRows } from '../table/sealed/segment-tables';
import { SegmentCursor } from './block-cursor';
import type { SharedCodes } from './compared-rows';
import { TOGETHER_ROWS } from './new-segments';

export interface PassingRows {
  readonly parts: QueryParts;
  /** Rows have numbers from here on. */
  readonly firstRow: number;
  readonly count: number;
  /** Rows that have a code. */
  readonly codedCount: number;
  /** Their numbers, ascending. */
  rowsWithCodes(): Uint32Array;
  /** All rows, with their vectors, in any order. */
  passing(): AsyncIterable<SegmentRows>;
}

/** All rows that have a code, some at a time, without their ids. */
export async function* pieces(rows: PassingRows, call: LongCall): AsyncGenerator<SegmentRows> {
  let some: SegmentRows[] = [];
  let count = 0;
  for await (const piece of rows.passing()) {
    call.signal?.throwIfAborted();
    if (piece.partition === NO_PARTITION) continue;
    some.push({ ...piece, ...WITHOUT });
    count += piece.count;
    if (count < TOGETHER_ROWS) continue;
    yield joined(some);
    some = [];
    count = 0;
  }
  if (count > 0) yield joined(some);
}

/** What segments may have of different types, or in some of them only. */
const WITHOUT = {
  ...{ ids: null, firsts: null, residuals: null, residualScales: null, checks: null },
  links: null,
};

/**
 * The rows of segments of which none was removed. Memory holds two bytes of each row number, and
 * four more where rows share codes.
 */
export class RowsInSegments implements PassingRows {
  readonly parts: QueryParts;
  readonly firstRow: number;
  readonly count: number;
  codedCount = 0;
  readonly shared: SharedCodes;
  readonly #content: StoredContent;
  readonly #coded = new RowSet();
  readonly #partitions: Uint16Array;
  /** Null without copies. */
  readonly #seconds: Uint16Array | null;

  private constructor(content: StoredContent) {
    const { parts, manifest, header, segments } = content;
    this.#content = content;
    this.parts = parts;
    this.count = manifest.rows;
    this.firstRow = segments[0]?.rows.firstRow ?? 0;
    const numbers = header.nextRow - this.firstRow;
    this.#partitions = new Uint16Array(numbers);
    this.#seconds = header.copies ? new Uint16Array(numbers) : null;
    const firsts = header.shared
      ? Uint32Array.from({ length: numbers }, (_, i) => this.firstRow + i)
      : null;
    this.shared = { firsts, partitions: new Map(), distinct: header.distinct ?? 0 };
  }

  /** Reads codes once, and no vectors. */
  static async of(content: StoredContent, { signal }: LongCall): Promise<RowsInSegments> {
    const all = new RowsInSegments(content);
    for (const segment of content.segments) {
      for await (const block of all.#blocks({ ...segment, vectors: null })) {
        signal?.throwIfAborted();
        all.#note(block);
      }
    }
    return all;
  }

  #note({ rows, partition, firsts, links }: SegmentRows): void {
    rows.forEach((row, i) => {
      const at = row - this.firstRow;
      if (this.shared.firsts !== null) this.shared.firsts[at] = firsts?.[i] ?? row;
      if (partition === NO_PARTITION) return;
      this.#partitions[at] = partition;
      if (this.#seconds !== null) this.#seconds[at] = links?.[i] ?? partition;
      this.#coded.add(row);
      this.codedCount++;
    });
  }

  /** The partition of a row that has a code. */
  partitionOf(row: number): number {
    return this.#partitions[row - this.firstRow];
  }

  /** Its second partition; the same one without copies. */
  secondOf(row: number): number {
    return this.#seconds?.[row - this.firstRow] ?? this.partitionOf(row);
  }

  rowsWithCodes(): Uint32Array {
    return this.#coded.within(this.firstRow, this.firstRow + this.#partitions.length);
  }

  async *passing(): AsyncGenerator<SegmentRows> {
    for (const segment of this.#content.segments) yield* this.#blocks(segment);
  }

  async *#blocks(segment: StoredSegment): AsyncGenerator<SegmentRows> {
    const cursor = new SegmentCursor(new BlockReader(this.#content), segment, null);
    while (cursor.partition !== null) yield await cursor.next();
  }
}
