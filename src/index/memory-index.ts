/**
 * The rows of an index in memory: segments and a tail that share one space. Adding appends to the
 * tail, which becomes a segment when it is long; neighbours of similar size are merged, so that
 * there are at most a logarithm of the rows of them. Removed rows are freed before there are
 * more than a quarter as many as rows.
 */

import { concatenated } from '../base/arrays';
import type { LongWork } from '../base/long-work';
import { mostCodes } from '../kernels/code-memory';
import { mostRows } from '../kernels/residual-memory';
import { BLOCK_ROWS } from '../kernels/residuals';
import type { Id } from './ids';
import { type NewRows, Rows } from './rows';
import type { Searched } from './searched';
import { merged, type Placed, type Segment, Tail } from './segment';
import type { Space } from './space';
import { chunksOf, type TakeChunks } from './truth';
import type { RowVectors } from './vectors/row-vectors';

/** Rows with which the tail becomes a segment; with fewer, scoring them one by one costs little. */
const TAIL_ROWS = 4096;
/** Segments are not merged to larger ones, so that a merge takes some seconds at most. */
const MAX_SEGMENT_ROWS = 2 ** 22;
/**
 * A part is copied without its removed rows when it has lost more than this share of the rows that
 * are left in it, and more than this share of the mean of all parts: so there are at most a quarter
 * as many removed rows as rows, and a removal costs eight copies of a row at most.
 */
const MAX_REMOVED = 1 / 8;
/** Fewer removed rows than this stay until their part is merged. */
const MIN_FREED = 16;

/** What all rows of an index have in common. */
interface MemoryOptions {
  readonly bits: number;
  readonly bytesPerCode: number;
  /** Makes an empty place for vectors; returns null where the index holds none. */
  readonly newVectors: () => RowVectors | null;
  /**
   * How many rows make the tail a segment, and how many a segment has at most. Tests set small
   * numbers.
   */
  readonly tailRows?: number | undefined;
  readonly maxSegmentRows?: number | undefined;
}

export class MemoryIndex {
  readonly options: MemoryOptions;
  readonly space: Space | null;
  /** Replaced and never changed, since a search may hold it. */
  #segments: readonly Segment[];
  #tail: Tail;

  /** Segments in the order of their rows; the next row will be number `nextRow`. */
  constructor(
    options: MemoryOptions,
    space: Space | null = null,
    nextRow = 0,
    segments: readonly Segment[] = [],
  ) {
    this.options = options;
    this.space = space;
    this.#segments = segments;
    this.#tail = this.#newTail(nextRow);
  }

  #newTail(firstRow: number): Tail {
    const { bytesPerCode, newVectors } = this.options;
    const rows = new Rows(firstRow, bytesPerCode, newVectors());
    return new Tail(rows, this.space);
  }

  /** The number of the next row. */
  get nextRow(): number {
    return this.#tail.rows.endRow;
  }

  /** Rows that are there, null ones included. */
  get count(): number {
    return this.parts.reduce((sum, { rows }) => sum + rows.liveCount, 0);
  }

  get segmentCount(): number {
    return this.#segments.length;
  }

  /** Segments in the order of their rows, then the tail. */
  get parts(): readonly Placed[] {
    return [...this.#segments, this.#tail];
  }

  get bytes(): number {
    const { tree } = this.space?.parts ?? {};
    const centroids = tree ? tree.centroids.byteLength + tree.coarse.byteLength : 0;
    return this.parts.reduce((sum, { rows, entries }) => {
      return sum + rows.bytes + (entries?.bytes ?? 0);
    }, centroids);
  }

  /** What a search reads; rows of the tail get their partitions first. */
  searched(): Searched {
    this.#tail.assign();
    const parts = this.#tail.rows.count > 0 ? this.parts : this.#segments;
    return searchedOf(this.options.bits, this.space, parts);
  }

  /**
   * Appends new rows `first` to `end - 1`. A long call passes `isLast` false, and lets `settle`
   * make a segment of the tail.
   */
  append(rows: NewRows, isLast = true, first = 0, end = rows.count): void {
    if (this.#tail.rows.count + end - first > this.#roomOfMemory) this.#seal();
    this.#tail.rows.append(rows, first, end);
    if (isLast && this.#tail.rows.count >= this.#tailRows) this.#seal();
  }

  /**
   * How many rows fit in a segment: their codes must fit in one linear memory, and their entries in
   * another.
   */
  get #roomOfMemory(): number {
    const { space } = this;
    const codes = mostCodes(this.options.bytesPerCode);
    if (space === null || space.bytesPerEntry === 0) return codes;
    // Each partition begins a block, whose rest may stay empty.
    const entries = mostRows(space.bytesPerEntry) - BLOCK_ROWS * space.count;
    return Math.min(codes, Math.floor(entries / space.entriesPerRow));
  }

  /** How many rows neighbours may have to become one segment. */
  get mostRows(): number {
    return Math.min(this.options.maxSegmentRows ?? MAX_SEGMENT_ROWS, this.#roomOfMemory);
  }

  /**
   * How many rows the tail may have. Without a space it has no limit, since a segment would make no
   * search faster.
   */
  get #tailRows(): number {
    const usual = this.space === null ? Number.POSITIVE_INFINITY : TAIL_ROWS;
    return this.options.tailRows ?? usual;
  }

  /** After rows of a long call were appended: gives them partitions and makes a segment of them. */
  async settle(work: LongWork, isAlways = false): Promise<void> {
    if (this.#tail.rows.count < (isAlways ? 1 : this.#tailRows)) return;
    await this.#tail.assignAll(work);
    this.#seal();
  }

  /** Makes a segment of the tail, and merges it with smaller neighbours. */
  #seal(): void {
    this.#tail.assign();
    const end = this.nextRow;
    const most = this.mostRows;
    let parts: Placed[] = [this.#tail];
    let rows = this.#tail.rows.liveCount;
    for (let last = this.#segments.at(-1); last !== undefined; last = this.#segments.at(-1)) {
      const { liveCount } = last.rows;
      if (liveCount >= 2 * rows || liveCount + rows > most) break;
      rows += liveCount;
      parts = [last, ...parts];
      this.#segments = this.#segments.slice(0, -1);
    }
    if (rows > 0) this.#segments = [...this.#segments, this.#merged(parts)];
    this.#tail = this.#newTail(end);
  }

  #merged(parts: readonly Placed[]): Segment {
    const { bytesPerCode, newVectors } = this.options;
    return merged(parts, { bytesPerCode, vectors: newVectors(), space: this.space });
  }

  /** Removes a row that is there. */
  remove(row: number): void {
    const { part, position } = this.find(row) as { part: Placed; position: number };
    part.remove(position);
    const { count, liveCount } = part.rows;
    const removed = count - liveCount;
    if (removed <= MIN_FREED || removed <= MAX_REMOVED * liveCount) return;
    if (removed * (this.segmentCount + 1) <= MAX_REMOVED * this.count) return;
    const at = this.#segments.indexOf(part as Segment);
    if (at < 0) this.#seal();
    else {
      const left = liveCount === 0 ? [] : [this.#merged([part])];
      this.#segments = [...this.#segments.slice(0, at), ...left, ...this.#segments.slice(at + 1)];
    }
  }

  /** Where a row is that is there. */
  find(row: number): { part: Placed; position: number } | null {
    for (const part of this.#segments) {
      const position = part.rows.positionOf(row);
      if (position >= 0) return { part, position };
    }
    const position = this.#tail.rows.positionOf(row);
    return position < 0 ? null : { part: this.#tail, position };
  }

  /** The row of an id. */
  rowOf(id: Id): number | undefined {
    const row = this.#tail.rows.rowOf(id);
    if (row !== undefined) return row;
    for (let i = this.#segments.length - 1; i >= 0; i--) {
      const row = this.#segments[i].rows.rowOf(id);
      if (row !== undefined) return row;
    }
    return undefined;
  }

  idOf(row: number): Id | undefined {
    const found = this.find(row);
    return found === null ? undefined : found.part.rows.idAt(found.position, row);
  }

  /** How many rows have codes. */
  get codedCount(): number {
    return this.parts.reduce((sum, { rows }) => {
      return sum + rows.livePositions().filter((at) => !rows.isNull(at)).length;
    }, 0);
  }

  /** The rows that are there, ascending. */
  liveRows(): Uint32Array {
    return concatenated(
      this.parts.map(({ rows }) => rows.livePositions().map((at) => rows.rowAt(at))),
    );
  }

  /** Takes all rows, those of a part in one call. */
  async eachChunks(take: TakeChunks): Promise<void> {
    for (const { rows } of this.parts) {
      await take(chunksOf(rows.codes, rows.vectors, rows.count));
    }
  }

  /** A copy whose rows are in the partitions of another space, as one segment if they fit. */
  async placed(space: Space | null, work: LongWork): Promise<MemoryIndex> {
    const copy = new MemoryIndex(this.options, space, this.nextRow);
    const groups: Tail[][] = [];
    let room = 0;
    for (const { rows } of this.parts) {
      if (rows.liveCount === 0) continue;
      const own = new Tail(rows, space);
      await own.assignAll(work);
      if (rows.liveCount > room) {
        groups.push([]);
        room = copy.#roomOfMemory;
      }
      groups[groups.length - 1].push(own);
      room -= rows.liveCount;
    }
    copy.#segments = groups.map((group) => copy.#merged(group));
    return copy;
  }

  /** Makes segments of all rows, of which none is removed: what files have. */
  sealed(): readonly Segment[] {
    if (this.#tail.rows.count > 0) this.#seal();
    return this.#segments;
  }

  /** The same segment without removed rows, which takes its place. */
  compacted(segment: Segment): Segment {
    if (segment.rows.liveCount === segment.rows.count) return segment;
    const whole = this.#merged([segment]);
    this.#segments = this.#segments.map((one) => (one === segment ? whole : one));
    return whole;
  }
}

/** What a search reads of parts that are all at hand. */
export function searchedOf(bits: number, space: Space | null, parts: readonly Placed[]): Searched {
  return {
    bits,
    space,
    parts,
    blockCount: parts.length,
    blockAt: (i) => ({ codes: parts[i].codes, first: 0, end: parts[i].rows.count, part: parts[i] }),
    groupsOf: (probes) => [probes],
    vectorsAhead: null,
  };
}
