/**
 * Partitions in memory, up to a limit. When memory is full, partitions are evicted in turn; one
 * that was searched since its last turn is spared once (second chance). Codes, row numbers and
 * residual codes lie in WebAssembly memories, in pages of 64 rows or more, so that the kernels of
 * an index in memory search them in place. A partition has the rows of all segments; the first of
 * several rows with equal codes stands for all, as in an index in memory.
 */

import { whereOf } from '../base/arrays';
import { bytesPerCode } from '../codes/codes';
import { CodeMemory, mostCodes } from '../kernels/code-memory';
import { NO_ROW } from '../kernels/hits';
import { ResidualMemory } from '../kernels/residual-memory';
import {
  type BlockName,
  type BlockReader,
  keptRows,
  type LoadedBlock,
  type PassedRow,
  placeIn,
  type RowPlace,
  rowPlace,
} from './block-reader';
import { CellRuns } from './cell-runs';
import type { StoredContent } from './content';
import { distinctRows, type Further } from './distinct-rows';
import type { PassedStore } from './needs';

/** Rows of a page at least: a multiple of the 16 rows that the kernel reads together. */
const MIN_PAGE = 64;
/** Pages of a usual partition: with more, it lies in many places once others were evicted. */
const PAGES = 8;
/** Blocks are read together until they reach this many bytes. */
const READ_BYTES = 2 ** 22;
/** The least share of a limit that partitions get; */
const LEAST_SHARE = 0.75;
/**
 * and the share of vectors that do not all fit, or what so many take: few are ranked by several
 * searches, but partitions are visited again and again.
 */
const VECTOR_SHARE = 0.05;
const MIN_VECTORS = 4096;

/** A partition in memory. A cell is the place of one code in these memories. */
interface Entry {
  /** Blocks whose codes were not read yet. */
  readonly codeless: Set<LoadedBlock>;
  readonly pages: Uint32Array;
  readonly blocks: readonly LoadedBlock[];
  /** For each cell, in order, the position of its row among the rows of all blocks. */
  readonly sources: Uint32Array;
  /** By cell, the further rows that have its code. */
  readonly further: Map<number, Further[]>;
}

/** Partitions that searches found here, that were read, and that were evicted. */
interface CacheCounts {
  hits: number;
  misses: number;
  evictions: number;
}

/** The partitions that are wanted, and whether their codes are needed too. */
type Wanted = ReadonlyMap<number, boolean>;

export class PartitionCache implements PassedStore<boolean> {
  readonly codes: CodeMemory;
  readonly residuals: ResidualMemory | null;
  /** Bytes of memory that it takes when full. */
  readonly bytes: number;
  /** Whether all partitions fit into memory together. */
  readonly holdsAll: boolean;
  readonly counts: CacheCounts = { hits: 0, misses: 0, evictions: 0 };
  readonly #content: StoredContent;
  readonly #reader: BlockReader;
  /** Rows of each partition, including removed ones and those with equal codes. */
  readonly rows: Uint32Array;
  /** Blocks of each partition. */
  readonly #blocks: BlockName[][];
  /** By partition; undefined if it is not in memory. */
  readonly #entries: (Entry | undefined)[];
  readonly runs: CellRuns;
  /** What the last `load` was for; these partitions are not evicted. */
  #wanted: Wanted = new Map();
  readonly #free: number[] = [];
  /** Rows of a page, a power of two. */
  readonly #page: number;
  readonly #pageCount: number;
  /** For each page its entry, and the position of the page's first cell in that entry. */
  readonly #owners: (Entry | null)[];
  readonly #firsts: Uint32Array;

  /** `limit` in bytes. */
  constructor(content: StoredContent, reader: BlockReader, limit: number, partitions: number) {
    this.#content = content;
    this.#reader = reader;
    this.#blocks = Array.from({ length: partitions }, () => []);
    this.#entries = new Array(partitions).fill(undefined);
    this.runs = new CellRuns(partitions);
    this.rows = new Uint32Array(partitions);
    let [rows, bytes] = [0, 0];
    for (const segment of [...content.segments, ...content.copies]) {
      segment.table.partitions.forEach((partition, block) => {
        if (partition >= partitions) return;
        this.#blocks[partition].push({ segment, block });
        rows += segment.table.rows[block];
        this.rows[partition] += segment.table.rows[block];
        bytes += segment.table.bytes[block];
      });
    }
    const usual = Math.floor(rows / (PAGES * Math.max(1, partitions)));
    this.#page = Math.max(MIN_PAGE, 2 ** (31 - Math.clz32(usual)));
    const width = bytesPerCode(content.parts.bits);
    const residualBytes = content.segments[0]?.table.layout.residualBytes ?? 0;
    // Estimate for one cell: the mean bytes of a row in the blocks, plus 12.
    const rowBytes = Math.ceil(Math.max(bytes / Math.max(1, rows), width) + 12);
    const all = this.rows.reduce((sum, _, partition) => sum + this.#pagesOf(partition), 0);
    // Codes lie in one memory and residual codes in another; each limits the number of rows.
    const most = mostCodes(Math.max(width, residualBytes));
    this.#pageCount = Math.floor(Math.min(this.#page * all, limit / rowBytes, most) / this.#page);
    this.holdsAll = all <= this.#pageCount;
    this.bytes = this.#page * rowBytes * this.#pageCount;
    this.codes = new CodeMemory(width, this.#page * this.#pageCount);
    this.residuals =
      residualBytes > 0 ? new ResidualMemory(residualBytes, this.#page * this.#pageCount) : null;
    this.#owners = new Array(this.#pageCount).fill(null);
    this.#firsts = new Uint32Array(this.#pageCount);
    for (let page = this.#pageCount - 1; page >= 0; page--) this.#free.push(page);
  }

  /** The cell at position `local` of a partition that has these pages. */
  #cellAt(pages: Uint32Array, local: number): number {
    return this.#page * pages[Math.floor(local / this.#page)] + (local % this.#page);
  }

  #pagesOf(partition: number): number {
    return Math.ceil(this.rows[partition] / this.#page);
  }

  /** The partitions that are not in memory, or whose codes are needed but were not read. */
  missing(partitions: Uint32Array, needsCodes: boolean): Uint32Array {
    return whereOf(partitions, (partition) => !this.#has(partition, needsCodes));
  }

  #has(partition: number, needsCodes: boolean): boolean {
    if (!this.runs.has(partition)) return false;
    return !needsCodes || this.#entries[partition]?.codeless.size === 0;
  }

  fits(wanted: Wanted): boolean {
    let pages = 0;
    for (const partition of wanted.keys()) pages += this.#pagesOf(partition);
    return pages <= this.#pageCount;
  }

  /**
   * Splits an order of partitions into groups that fit into memory one at a time. Partitions with
   * equal products stay together unless they alone do not fit.
   */
  groupsOf(order: Uint32Array, products: ArrayLike<number>): { first: number; end: number }[] {
    if (this.holdsAll) return [{ first: 0, end: order.length }];
    const groups = [{ first: 0, end: 0 }];
    let [pages, tied] = [0, 0];
    order.forEach((partition, i) => {
      if (i === 0 || products[i] !== products[i - 1]) tied = i;
      const own = this.#pagesOf(partition);
      const last = groups[groups.length - 1];
      if (pages + own > this.#pageCount && i > 0) {
        last.end = tied > last.first ? tied : i;
        groups.push({ first: last.end, end: i });
        pages = 0;
        for (let j = last.end; j < i; j++) pages += this.#pagesOf(order[j]);
      }
      pages += own;
      groups[groups.length - 1].end = i + 1;
    });
    return groups;
  }

  partsOf(wanted: Wanted): Wanted[] {
    const [here, others]: number[][] = [[], []];
    for (const [partition, needsCodes] of wanted) {
      (this.#has(partition, needsCodes) ? here : others).push(partition);
    }
    const all = [...here, ...others.sort((a, b) => a - b)];
    return this.groupsOf(Uint32Array.from(all), all).map(({ first, end }) => {
      return new Map(all.slice(first, end).map((one) => [one, wanted.get(one) ?? false]));
    });
  }

  async load(wanted: Wanted, signal: AbortSignal | undefined): Promise<void> {
    const missing: number[] = [];
    for (const [partition, needsCodes] of wanted) {
      if (!this.#has(partition, needsCodes)) missing.push(partition);
    }
    const most = Math.max(0, ...missing.map((partition) => this.#pagesOf(partition)));
    if (most > this.#pageCount) {
      const bytes = (this.codes.bytesPerCode + (this.residuals?.bytesPerRow ?? 0) + 8) * this.#page;
      throw new RangeError(
        `"memory" is too small: a partition has ${most * bytes} bytes, there is room for ` +
          `${this.#pageCount * bytes}`,
      );
    }
    this.#wanted = wanted;
    this.counts.misses += missing.length;
    const isHead = this.#reader.readsHeads && !missing.some((partition) => wanted.get(partition));
    // Reads are copied to cells, so only a few bytes are read at a time, unless each read is a
    // round trip.
    const atOnce = this.#content.files.isFar ? Number.POSITIVE_INFINITY : READ_BYTES;
    for (let first = 0, end = 0; first < missing.length; first = end) {
      let bytes = 0;
      while (end < missing.length && bytes < atOnce) bytes += this.#bytesOf(missing[end++]);
      const some = missing.slice(first, end);
      const names = some.map((partition) => this.#blocks[partition]);
      const blocks = await this.#reader.blocks(names.flat(), signal, isHead);
      // Blocks come in the order of `names`, those of one partition after another.
      let next = 0;
      some.forEach((partition, i) => {
        const own = blocks.slice(next, next + names[i].length);
        next += names[i].length;
        const before = this.#entries[partition];
        if (before !== undefined) this.#drop(partition, before);
        this.#put(partition, own, !isHead);
      });
      this.#reader.giveBack(blocks);
    }
  }

  #bytesOf(partition: number): number {
    const bytesOf = ({ segment, block }: BlockName) => segment.table.bytes[block];
    return this.#blocks[partition].reduce((sum, one) => sum + bytesOf(one), 0);
  }

  /** Takes pages for a partition, and copies its blocks there. */
  #put(partition: number, blocks: readonly LoadedBlock[], hasCodes: boolean): void {
    const pathOf = ({ segment }: BlockName) => this.#reader.pathOf(segment.rows);
    const { sources, further } = distinctRows(blocks, this.#content.removed, pathOf);
    const pages = this.#take(Math.ceil(sources.length / this.#page));
    const byFirst = new Map<number, Further[]>();
    const runs: number[] = [];
    pages.forEach((page, i) => {
      const count = Math.min(this.#page, sources.length - this.#page * i);
      if (i > 0 && page === pages[i - 1] + 1) runs[runs.length - 1] += count;
      else runs.push(this.#page * page, count);
    });
    const kept = blocks.map((block) => ({ ...block, rows: keptRows(block) }));
    const codeless = new Set(hasCodes ? [] : kept);
    const entry = { pages, sources, further: byFirst, codeless, blocks: kept };
    this.#entries[partition] = entry;
    this.runs.set(partition, runs);
    pages.forEach((page, i) => {
      this.#owners[page] = entry;
      this.#firsts[page] = this.#page * i;
    });
    for (const [local, others] of further) byFirst.set(this.#cellAt(pages, local), others);
    this.#write(blocks, sources, pages);
  }

  /** Copies rows to their cells in runs that are adjacent in both places. */
  #write(blocks: readonly LoadedBlock[], sources: Uint32Array, pages: Uint32Array): void {
    const width = this.codes.bytesPerCode;
    for (let first = 0, end = 0; first < sources.length; first = end) {
      const { block, place } = placeIn(blocks, sources[first]);
      const cell = this.#cellAt(pages, first);
      const most = Math.min(sources.length, first + block.rows.count - place);
      do end++;
      while (
        end < most &&
        sources[end] === sources[end - 1] + 1 &&
        (end % this.#page !== 0 || this.#cellAt(pages, end) === cell + end - first)
      );
      const { rows, codes, residuals, residualScales } = block.rows;
      const last = place + end - first;
      this.codes.codes.set(codes.subarray(place * width, last * width), cell * width);
      this.codes.rows.set(rows.subarray(place, last), cell);
      if (this.residuals === null || residuals === null || residualScales === null) continue;
      const bytes = this.residuals.bytesPerRow;
      const own = residuals.subarray(place * bytes, last * bytes);
      this.residuals.setRows(cell, own, residualScales.subarray(place, last));
    }
  }

  /** Takes pages, evicting others. Ends because everything that `load` wants fits into memory. */
  #take(count: number): Uint32Array {
    while (this.#free.length < count) {
      const partition = this.runs.evicted(this.#wanted);
      this.counts.evictions++;
      this.#drop(partition, this.#entries[partition] as Entry);
    }
    // Those of one partition come back in turn: sorted, most of them are next to each other again.
    return Uint32Array.from({ length: count }, () => this.#free.pop() as number).sort();
  }

  /**
   * Stores the codes of a block that was read without them, if its partition is still in memory.
   */
  takeCodes({ segment, block }: BlockName, codes: Uint8Array): void {
    const entry = this.#entries[segment.table.partitions[block]];
    const own = entry?.blocks.find((one) => one.segment === segment && one.block === block);
    // The partition may have been evicted while its codes were read.
    if (entry === undefined || own === undefined || !entry.codeless.delete(own)) return;
    const width = this.codes.bytesPerCode;
    entry.sources.forEach((at, local) => {
      const { block: found, place } = placeIn(entry.blocks, at);
      if (found !== own) return;
      const cell = this.#cellAt(entry.pages, local);
      this.codes.codes.set(codes.subarray(place * width, (place + 1) * width), cell * width);
    });
  }

  /** Frees the pages of a partition. */
  #drop(partition: number, { pages }: Entry): void {
    this.#entries[partition] = undefined;
    this.runs.delete(partition);
    for (const page of pages) {
      this.#owners[page] = null;
      this.codes.rows.fill(NO_ROW, this.#page * page, this.#page * (page + 1));
      this.#free.push(page);
    }
  }

  /** Further rows of the code at a cell, ascending. */
  furtherAt(cell: number): readonly Further[] {
    return this.#ownerOf(cell).further.get(cell) ?? [];
  }

  /** The id of a row at a cell, or of a further row of it. */
  idAt(cell: number, further?: Further): string | number | bigint {
    const { block, place } = this.locate(cell, further);
    return block.rows.ids?.at(place) ?? block.rows.rows[place];
  }

  placeAt(cell: number, further?: Further): RowPlace {
    const { block, place } = this.locate(cell, further);
    return rowPlace(block, place);
  }

  /** A copy of what is known about a row. Its code is empty if it was not read. */
  rowAt(cell: number, further?: Further): PassedRow {
    const { block, place } = this.locate(cell, further);
    const { ids, rows } = block.rows;
    const width = this.codes.bytesPerCode;
    return {
      ...rowPlace(block, place),
      ...{ row: rows[place], id: ids && (() => ids.at(place)) },
      code: this.#ownerOf(cell).codeless.has(block)
        ? new Uint8Array()
        : this.codes.codes.slice(cell * width, (cell + 1) * width),
    };
  }

  /** The block of a row, and its position there. */
  locate(cell: number, further?: Further) {
    const page = Math.floor(cell / this.#page);
    const { blocks, sources } = this.#ownerOf(cell);
    return placeIn(blocks, further?.at ?? sources[this.#firsts[page] + (cell % this.#page)]);
  }

  #ownerOf(cell: number): Entry {
    return this.#owners[Math.floor(cell / this.#page)] as Entry;
  }
}

/** How much of a limit is for partitions, next to the vectors of so many rows; all in bytes. */
export function partitionShare(limit: number, vectorBytes: number, rows: number): number {
  const all = 1.25 * vectorBytes + 24 * rows;
  const some = (all / Math.max(1, rows)) * MIN_VECTORS;
  return Math.max(LEAST_SHARE * limit, limit - Math.min(all, Math.max(VECTOR_SHARE * limit, some)));
}
