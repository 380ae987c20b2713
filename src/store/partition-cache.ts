/**
 * Partitions in memory, up to a limit. When memory is full, partitions are evicted in turn; one
 * that was searched since its last turn is spared once (second chance). Residual codes, or codes
 * where there are none, lie in a WebAssembly memory, in pages of 64 rows or more, so that the
 * kernels of an index in memory search them in place. A partition has the rows of all segments.
 */

import type { Range } from '../base/arrays';
import { bytesPerCode } from '../codes/codes';
import type { Ranges } from '../index/entries';
import type { Probes } from '../index/space';
import { CodeMemory, mostCodes } from '../kernels/code-memory';
import { NO_ROW } from '../kernels/hits';
import { ResidualMemory } from '../kernels/residual-memory';
import { bytesOfRow } from '../kernels/residuals';
import type { BlockRows } from './blocks';
import type { Content } from './content';
import type { BlockName, LoadedBlock, Reader } from './reader';

/** Rows of a page at least: a multiple of the 16 rows that the kernel reads together. */
const MIN_PAGE = 64;
/** Pages of a usual partition: with more, it lies in many places once others were evicted. */
const PAGES = 8;
/** Blocks are read together until they reach this many bytes. */
const READ_BYTES = 2 ** 22;
/** Bytes of a row in memory besides its code: its number, and its share of ids. */
const ROW_BYTES = 24;

interface Partition {
  readonly pages: readonly number[];
  /** Runs of cells, in which its rows lie one after another. */
  readonly runs: readonly Range[];
  /** Of each block how many rows it has, and their ids. */
  readonly blocks: readonly Pick<BlockRows, 'count' | 'ids'>[];
  wasUsed: boolean;
}

export class PartitionCache {
  /** Bytes of memory that it takes when full. */
  readonly bytes: number;
  /** Partitions that searches found here, that were read, and that were evicted. */
  readonly counts = { hits: 0, misses: 0, evictions: 0 };
  readonly #content: Content;
  readonly #reader: Reader;
  readonly #noteRows: (block: LoadedBlock) => void;
  /** Residual codes in a dense space, else codes; the other one has no rows. */
  readonly residuals: ResidualMemory | null;
  readonly codes: CodeMemory | null;
  /** By cell its row; NO_ROW where it is free, or its row removed. */
  readonly #rowOf: Uint32Array;
  /** Of each partition its blocks, and its rows. */
  readonly #blocks: BlockName[][];
  readonly #counts: Uint32Array;
  /** By number those in memory, whose numbers are in `#held`. */
  readonly #partitions: (Partition | undefined)[];
  readonly #held: number[] = [];
  /** Where in `#held` the next one is that may be evicted. */
  #turn = 0;
  readonly #free: number[] = [];
  /** Rows of a page, how many bytes it takes, and how many pages there are. */
  readonly #page: number;
  readonly #pageBytes: number;
  readonly #pageCount: number;
  /** Bytes that pages may take, for the error where they are too few. */
  readonly #limit: number;
  /** What the last `load` was for: these partitions are not evicted. */
  #wanted: ReadonlySet<number> = new Set();

  /** `noteRows` is called with each block of rows that is read. */
  constructor(
    content: Content,
    reader: Reader,
    limit: number,
    noteRows: (block: LoadedBlock) => void,
  ) {
    this.#content = content;
    this.#reader = reader;
    this.#noteRows = noteRows;
    const { space, parts, segments } = content;
    const count = space?.count ?? 0;
    this.#blocks = Array.from({ length: count }, () => []);
    this.#counts = new Uint32Array(count);
    this.#partitions = new Array(count);
    for (const segment of segments) {
      for (const list of [segment.rows, segment.copies]) {
        list?.table.partitions.forEach((p, block) => {
          if (p >= count) return;
          this.#blocks[p].push({ segment, list, block });
          this.#counts[p] += list.table.rows[block];
        });
      }
    }
    const rows = this.#counts.reduce((sum, own) => sum + own, 0);
    const usual = Math.floor(rows / (PAGES * Math.max(1, count)));
    this.#page = Math.max(MIN_PAGE, 2 ** (31 - Math.clz32(usual)));
    const all = this.#counts.reduce((sum, _, p) => sum + this.#pagesOf(p), 0);
    const residualBytes = space?.bytesPerEntry ?? 0;
    const width = residualBytes > 0 ? bytesOfRow(residualBytes) : bytesPerCode(parts.bits);
    const rowBytes = width + ROW_BYTES;
    const most = Math.min(this.#page * all, Math.floor(limit / rowBytes), mostCodes(width));
    this.#pageCount = Math.floor(most / this.#page);
    const cells = this.#page * this.#pageCount;
    this.bytes = cells * rowBytes;
    this.#pageBytes = this.#page * rowBytes;
    this.#limit = Math.floor(limit);
    this.residuals = residualBytes > 0 ? new ResidualMemory(residualBytes, cells) : null;
    this.codes = residualBytes > 0 || count === 0 ? null : new CodeMemory(width, cells);
    this.#rowOf = this.codes?.rows ?? new Uint32Array(cells).fill(NO_ROW);
    for (let page = this.#pageCount - 1; page >= 0; page--) this.#free.push(page);
  }

  rowAt(cell: number): number {
    return this.#rowOf[cell];
  }

  #pagesOf(p: number): number {
    return Math.ceil(this.#counts[p] / this.#page);
  }

  /** Partitions in groups that fit into memory one at a time; those in memory come first. */
  groupsOf({ partitions, products }: Probes): Probes[] {
    const order = [...partitions.keys()];
    const isHere = (i: number) => this.#partitions[partitions[i]] !== undefined;
    const groups: number[][] = [[]];
    let pages = 0;
    for (const i of [...order.filter(isHere), ...order.filter((i) => !isHere(i))]) {
      const own = this.#pagesOf(partitions[i]);
      if (pages + own > this.#pageCount && groups[groups.length - 1].length > 0) {
        groups.push([]);
        pages = 0;
      }
      groups[groups.length - 1].push(i);
      pages += own;
    }
    return groups.map((group) => ({
      partitions: Uint32Array.from(group, (i) => partitions[i]),
      products: Float64Array.from(group, (i) => products[i]),
    }));
  }

  /** Whether all of these can be in memory at the same time. */
  fits(partitions: Iterable<number>): boolean {
    let pages = 0;
    for (const p of partitions) pages += this.#pagesOf(p);
    return pages <= this.#pageCount;
  }

  /** Reads partitions that are not in memory. All stay there until the next call. */
  async load(partitions: ReadonlySet<number>, signal: AbortSignal | undefined): Promise<void> {
    this.#wanted = partitions;
    const missing: number[] = [];
    for (const p of partitions) {
      const known = this.#partitions[p];
      if (known === undefined) missing.push(p);
      else known.wasUsed = true;
    }
    this.counts.hits += partitions.size - missing.length;
    this.counts.misses += missing.length;
    const largest = Math.max(0, ...missing.map((p) => this.#pagesOf(p)));
    if (largest > this.#pageCount) {
      throw new RangeError(
        `"memory" is too small: a partition takes ${largest * this.#pageBytes} bytes, ` +
          `there is room for ${this.#limit}`,
      );
    }
    // Reads are copied to cells, so only a few bytes are read at a time, unless each read is a
    // round trip.
    const atOnce = this.#content.place.isFar ? Number.POSITIVE_INFINITY : READ_BYTES;
    for (let first = 0, end = 0; first < missing.length; first = end) {
      let bytes = 0;
      while (end < missing.length && bytes < atOnce) bytes += this.#bytesOf(missing[end++]);
      const some = missing.slice(first, end);
      const names = some.flatMap((p) => this.#blocks[p]);
      const part = this.residuals === null ? 'whole' : 'head';
      const blocks = await this.#reader.blocks(names, part, signal);
      let next = 0;
      for (const p of some) {
        const own = blocks.slice(next, next + this.#blocks[p].length);
        next += own.length;
        this.#put(p, own);
      }
      this.#reader.giveBack(blocks);
    }
  }

  #bytesOf(p: number): number {
    return this.#blocks[p].reduce((sum, { list, block }) => sum + list.table.bytes[block], 0);
  }

  /** Takes pages for a partition, and copies its rows there. */
  #put(p: number, blocks: readonly LoadedBlock[]): void {
    const pages = this.#take(this.#pagesOf(p));
    const runs = this.#runsOf(pages, this.#counts[p]);
    let [run, cell] = [0, runs[0]?.first ?? 0];
    for (const block of blocks) {
      this.#noteRows(block);
      const { rows } = block;
      for (let first = 0; first < rows.count; ) {
        const { end } = runs[run];
        const length = Math.min(rows.count - first, end - cell);
        this.#write(rows, first, first + length, cell);
        first += length;
        cell += length;
        if (cell === end) cell = runs[++run]?.first ?? 0;
      }
    }
    const kept = blocks.map(({ rows: { count, ids } }) => ({ count, ids: ids?.slice() ?? null }));
    this.#partitions[p] = { pages, runs, blocks: kept, wasUsed: true };
    this.#held.push(p);
  }

  #runsOf(pages: readonly number[], count: number): Range[] {
    const runs: { first: number; end: number }[] = [];
    pages.forEach((page, i) => {
      const first = this.#page * page;
      const end = first + Math.min(this.#page, count - this.#page * i);
      const last = runs.at(-1);
      if (last?.end === first) last.end = end;
      else runs.push({ first, end });
    });
    return runs;
  }

  /** Copies rows `first` to `end - 1` of a block to the cells from `cell` on. */
  #write(block: BlockRows, first: number, end: number, cell: number): void {
    const rows = block.rows.subarray(first, end);
    this.#rowOf.set(rows, cell);
    if (this.residuals !== null && block.residuals !== null && block.scales !== null) {
      const width = this.residuals.bytesPerRow;
      const own = block.residuals.subarray(first * width, end * width);
      this.residuals.setRows(cell, own, block.scales.subarray(first, end));
    }
    if (this.codes !== null) {
      const width = this.codes.bytesPerCode;
      this.codes.codes.set(block.codes.subarray(first * width, end * width), cell * width);
    }
    const { removed } = this.#content;
    if (removed.isEmpty) return;
    for (let i = 0; i < rows.length; i++) {
      if (!removed.has(rows[i])) continue;
      this.#rowOf[cell + i] = NO_ROW;
      this.residuals?.setScale(cell + i, 0);
    }
  }

  /** Takes pages, evicting others. Ends because everything that `load` wants fits into memory. */
  #take(count: number): number[] {
    while (this.#free.length < count) {
      if (this.#turn >= this.#held.length) this.#turn = 0;
      const p = this.#held[this.#turn];
      const oldest = this.#partitions[p] as Partition;
      if (oldest.wasUsed || this.#wanted.has(p)) {
        oldest.wasUsed = false;
        this.#turn++;
        continue;
      }
      this.counts.evictions++;
      this.#partitions[p] = undefined;
      // The last one takes its place.
      const last = this.#held.pop() as number;
      if (last !== p) this.#held[this.#turn] = last;
      for (const page of oldest.pages) {
        this.#rowOf.fill(NO_ROW, this.#page * page, this.#page * (page + 1));
        this.#free.push(page);
      }
    }
    // Pages of an evicted partition are freed one after another: sorted, most of them are adjacent.
    return this.#free.splice(this.#free.length - count).sort((a, b) => a - b);
  }

  /** Adds the entries of partitions in memory to the ranges of a call of the kernel. */
  addEntries({ partitions, products }: Probes, to: Ranges): void {
    for (let i = 0; i < partitions.length; i++) {
      for (const { first, end } of this.#partitions[partitions[i]]?.runs ?? []) {
        to.add(first, end - first, products[i]);
      }
    }
  }

  /** The cells of partitions in memory. */
  cellsIn(partitions: Uint32Array): Range[] {
    const runs: Range[] = [];
    for (const p of partitions) runs.push(...(this.#partitions[p]?.runs ?? []));
    return runs;
  }

  /** The id of a row in a partition that is in memory; undefined where it is not. */
  idIn(p: number, row: number): string | number | bigint | undefined {
    const partition = this.#partitions[p];
    if (partition === undefined) return undefined;
    let before = 0; // rows of earlier runs
    for (const { first, end } of partition.runs) {
      const cell = this.#rowOf.subarray(first, end).indexOf(row);
      if (cell < 0) {
        before += end - first;
        continue;
      }
      let place = before + cell;
      for (const { count, ids } of partition.blocks) {
        if (place < count) return ids?.at(place) ?? row;
        place -= count;
      }
    }
    return undefined;
  }
}
