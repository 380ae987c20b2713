/**
 * Partitions in memory, up to a limit. Residual codes, or codes where there are none, lie in a
 * WebAssembly memory, so that the kernels of an index in memory search them in place. A partition
 * has the rows of all segments, one after another.
 */

import type { Range } from '../base/arrays';
import { bytesPerCode } from '../codes/codes';
import type { Ranges } from '../index/entries';
import type { Probes } from '../index/space';
import { CodeMemory, mostCodes } from '../kernels/code-memory';
import { NO_ROW } from '../kernels/hits';
import { ResidualMemory } from '../kernels/residual-memory';
import { bytesOfRow, copyResiduals } from '../kernels/residuals';
import type { BlockRows } from './blocks';
import { Cells } from './cells';
import type { Content } from './content';
import { type BlockName, type LoadedBlock, positionsIn, type Reader } from './reader';

/** Rows of a cell: those that the kernel of residual codes reads together. */
const CELL_ROWS = 16;
/** Blocks are read together until they reach this many bytes. */
const READ_BYTES = 2 ** 22;
/** Bytes of a row in memory besides its code: where it is, and its share of ids. */
const ROW_BYTES = 32;

/** Places of the rows of a block, and their ids. */
interface HeldBlock extends Range {
  readonly ids: BlockRows['ids'];
}

const cellsFor = (rows: number) => Math.ceil(rows / CELL_ROWS);

export class PartitionCache {
  /** Bytes of memory that it takes when full. */
  readonly bytes: number;
  readonly #content: Content;
  readonly #reader: Reader;
  readonly #noteRows: (block: LoadedBlock) => void;
  /** Residual codes in a dense space, else codes; the other one has no rows. */
  readonly residuals: ResidualMemory | null;
  readonly codes: CodeMemory | null;
  /** By place in `residuals` or `codes` the row; NO_ROW where none is, or it was removed. */
  readonly #rowOf: Uint32Array;
  /** The same of its position in the segment, and the checksum of its vector; of entries only. */
  readonly #positions: Uint32Array;
  readonly #checks: Uint32Array;
  /** Of each partition its blocks, each of which begins with a cell, and how many cells it has. */
  readonly #blocks: BlockName[][];
  readonly #cellCounts: Uint32Array;
  readonly #cells: Cells;
  /** By number the partitions in memory: of each block where its rows are, and their ids. */
  readonly #held = new Map<number, readonly HeldBlock[]>();
  readonly #cellBytes: number;

  /** `noteRows` is called with each block of codes that is read. */
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
    const cellCounts = new Uint32Array(count);
    for (const segment of segments) {
      segment.blocks.partitions.forEach((p, block) => {
        if (p >= count) return;
        this.#blocks[p].push({ segment, block });
        cellCounts[p] += cellsFor(segment.blocks.rows[block]);
      });
    }
    this.#cellCounts = cellCounts.map((cells) => Math.max(1, cells));
    const all = this.#cellCounts.reduce((sum, cells) => sum + cells, 0);
    const residualBytes = space?.bytesPerEntry ?? 0;
    const width = residualBytes > 0 ? bytesOfRow(residualBytes) : bytesPerCode(parts.bits);
    this.#cellBytes = CELL_ROWS * (width + ROW_BYTES);
    const most = Math.min(limit / this.#cellBytes, mostCodes(width) / CELL_ROWS);
    this.#cells = new Cells(
      Math.min(all, Math.floor(most)),
      (p) => this.#cellCounts[p],
      (p, first) => {
        this.#held.delete(p);
        this.#rowOf.fill(NO_ROW, CELL_ROWS * first, CELL_ROWS * (first + this.#cellCounts[p]));
      },
    );
    const places = CELL_ROWS * this.#cells.count;
    this.bytes = this.#cells.count * this.#cellBytes;
    this.residuals = residualBytes > 0 ? new ResidualMemory(residualBytes, places) : null;
    this.codes = residualBytes > 0 || count === 0 ? null : new CodeMemory(width, places);
    this.#rowOf = this.codes?.rows ?? new Uint32Array(places).fill(NO_ROW);
    this.#positions = new Uint32Array(this.residuals === null ? 0 : places);
    this.#checks = new Uint32Array(this.#positions.length);
  }

  /** Partitions that searches found here, that were read, and that were evicted. */
  get counts(): Cells['counts'] {
    return this.#cells.counts;
  }

  /** The row of an entry, its position, and the checksum of its vector. */
  at(place: number): { row: number; position: number; check: number } {
    return {
      row: this.#rowOf[place],
      position: this.#positions[place],
      check: this.#checks[place],
    };
  }

  /** Partitions in groups that fit into memory one at a time; those in memory come first. */
  groupsOf(probes: Probes): Probes[] {
    const { partitions, products } = probes;
    if (this.holds(partitions)) return [probes];
    const order = [...partitions.keys()];
    const isHere = (i: number) => this.#held.has(partitions[i]);
    const groups: number[][] = [[]];
    let cells = 0;
    for (const i of [...order.filter(isHere), ...order.filter((i) => !isHere(i))]) {
      const own = this.#cellCounts[partitions[i]];
      if (cells + own > this.#cells.count && groups[groups.length - 1].length > 0) {
        groups.push([]);
        cells = 0;
      }
      groups[groups.length - 1].push(i);
      cells += own;
    }
    return groups.map((group) => ({
      partitions: Uint32Array.from(group, (i) => partitions[i]),
      products: Float64Array.from(group, (i) => products[i]),
    }));
  }

  /** Whether all of these can be in memory at the same time. */
  fits(partitions: Iterable<number>): boolean {
    let cells = 0;
    for (const p of partitions) cells += this.#cellCounts[p];
    return cells <= this.#cells.count;
  }

  /** Whether all of these are in memory. */
  holds(partitions: Iterable<number>): boolean {
    for (const p of partitions) if (!this.#held.has(p)) return false;
    return true;
  }

  /** Reads partitions that are not in memory. All stay there until the next call. */
  async load(partitions: ReadonlySet<number>, signal: AbortSignal | undefined): Promise<void> {
    const largest = Math.max(0, ...Array.from(partitions, (p) => this.#cellCounts[p]));
    if (largest > this.#cells.count) {
      throw new RangeError(
        `"memory" is too small: a partition takes ${largest * this.#cellBytes} bytes, ` +
          `there is room for ${this.bytes}`,
      );
    }
    const missing = this.#cells.take(partitions);
    try {
      await this.#read(missing, signal);
    } catch (error) {
      this.#cells.drop(missing);
      throw error;
    }
  }

  async #read(missing: readonly number[], signal: AbortSignal | undefined): Promise<void> {
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
    return this.#blocks[p].reduce(
      (sum, { segment, block }) => sum + segment.blocks.bytes[block],
      0,
    );
  }

  /** Copies the rows of a partition to its cells. */
  #put(p: number, blocks: readonly LoadedBlock[]): void {
    let next = CELL_ROWS * (this.#cells.firstOf(p) as number);
    const held = blocks.map((block): HeldBlock => {
      const { count, ids } = block.rows;
      const first = next;
      next += CELL_ROWS * cellsFor(count);
      this.#write(block, first);
      return { first, end: first + count, ids: ids?.slice() ?? null };
    });
    this.#held.set(p, held);
  }

  #write(loaded: LoadedBlock, first: number): void {
    const { rows, residuals, codes, checks } = loaded.rows;
    this.#rowOf.set(rows, first);
    if (this.residuals !== null && residuals !== null) {
      copyResiduals(residuals, 0, this.residuals, first, rows.length);
      this.#positions.set(positionsIn(loaded), first);
      this.#checks.set(checks as Uint32Array, first);
    } else this.#noteRows(loaded);
    if (this.codes !== null) this.codes.codes.set(codes, first * this.codes.bytesPerCode);
    const { removed } = this.#content;
    if (removed.isEmpty) return;
    for (let i = 0; i < rows.length; i++) {
      if (!removed.has(rows[i])) continue;
      this.#rowOf[first + i] = NO_ROW;
      this.residuals?.setScale(first + i, 0);
    }
  }

  /** Adds the entries of partitions in memory to the ranges of a call of the kernel. */
  addEntries({ partitions, products }: Probes, to: Ranges): void {
    for (let i = 0; i < partitions.length; i++) {
      for (const { first, end } of this.#held.get(partitions[i]) ?? []) {
        if (end > first) to.add(first, end - first, products[i]);
      }
    }
  }

  /** The places of partitions in memory. */
  placesIn(partitions: Uint32Array): Range[] {
    return Array.from(partitions).flatMap((p) => this.#held.get(p) ?? []);
  }

  /** The id of a row in a partition that is in memory; undefined where it is not. */
  idIn(p: number, row: number): string | number | bigint | undefined {
    for (const { first, end, ids } of this.#held.get(p) ?? []) {
      const place = this.#rowOf.subarray(first, end).indexOf(row);
      if (place >= 0) return ids?.at(place) ?? row;
    }
    return undefined;
  }
}
