/**
 * What a stored index holds of its rows, up to a limit: partitions and vectors, in WebAssembly
 * memories, where the kernels of an index in memory search them in place. Which of them stay is
 * decided by `Cells`.
 */

import type { Range } from '../base/arrays';
import { FormatError } from '../base/check';
import { bytesPerCode } from '../codes/codes';
import type { Query } from '../index/query';
import { similaritiesWith } from '../index/rows';
import type { Ranges } from '../index/searched';
import type { Probes } from '../index/space';
import type { RowVectors, VectorColumns } from '../index/vectors/row-vectors';
import { CodeMemory, mostCodes } from '../kernels/code-memory';
import { NO_ROW } from '../kernels/hits';
import { ResidualMemory } from '../kernels/residual-memory';
import { bytesOfRow } from '../kernels/residuals';
import { type BlockRows, NO_VECTORS, sparsePlaces, vectorCheck } from './blocks';
import { type Content, noVectorsOf } from './content';
import type { FolderFile } from './manifest';
import {
  type BlockName,
  bytesOfBlock,
  inGroups,
  type LoadedBlock,
  positionsIn,
  type Reader,
} from './reader';

/** Rows of a cell: those that the kernel of residual codes reads together. */
const CELL_ROWS = 16;
/** Bytes of a row in memory besides its code: where it is, and its share of ids. */
const ROW_BYTES = 32;

/** Places of the rows of a block, their ids, and whether they are copies. */
interface HeldBlock extends Range, Pick<BlockRows, 'ids' | 'isCopy'> {}

const cellsFor = (rows: number) => Math.ceil(rows / CELL_ROWS);

/**
 * Partitions in memory: residual codes, or codes where there are none. A partition has the rows of
 * all segments, one after another.
 */
export class PartitionCache {
  /** Bytes of memory that it takes when full. */
  readonly bytes: number;
  readonly #content: Content;
  readonly #reader: Reader;
  readonly #noteRows: (block: LoadedBlock) => void;
  /** Residual codes in a dense space, else codes; the other one has no rows. */
  readonly residuals: ResidualMemory | null;
  readonly codes: CodeMemory | null;
  /** Whether searches see the copies of rows alone, or all but these; null where they see both. */
  copies: boolean | null = null;
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
  constructor(reader: Reader, limit: number, noteRows: (block: LoadedBlock) => void) {
    this.#content = reader.content;
    this.#reader = reader;
    this.#noteRows = noteRows;
    const { space, parts, segments } = reader.content;
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
    const atOnce = this.#content.place.isFar ? Number.POSITIVE_INFINITY : undefined;
    const bytesOf = (p: number) =>
      this.#blocks[p].reduce((sum, name) => sum + bytesOfBlock(name, false), 0);
    for (const some of inGroups(missing, bytesOf, atOnce)) {
      const names = some.flatMap((p) => this.#blocks[p]);
      const part = this.residuals === null ? 'whole' : 'head';
      const blocks = await this.#reader.blocks(names, { part, signal });
      let next = 0;
      for (const p of some) {
        const own = blocks.slice(next, next + this.#blocks[p].length);
        next += own.length;
        this.#put(p, own);
      }
      this.#reader.giveBack(blocks);
    }
  }

  /** Copies the rows of a partition to its cells. */
  #put(p: number, blocks: readonly LoadedBlock[]): void {
    let next = CELL_ROWS * (this.#cells.firstOf(p) as number);
    const held = blocks.map((block): HeldBlock => {
      const { count, ids, isCopy } = block.rows;
      const first = next;
      next += CELL_ROWS * cellsFor(count);
      this.#write(block, first);
      return { first, end: first + count, ids: ids?.slice() ?? null, isCopy };
    });
    this.#held.set(p, held);
  }

  #write(loaded: LoadedBlock, first: number): void {
    const { rows, residuals, codes, checks } = loaded.rows;
    this.#rowOf.set(rows, first);
    if (this.residuals !== null && residuals !== null) {
      this.residuals.setAll(first, residuals);
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
      for (const { first, end, isCopy } of this.#held.get(partitions[i]) ?? []) {
        if (this.copies !== null && isCopy !== this.copies) continue;
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

const NO_KEY = 0xffff_ffff;

/**
 * Which keys have cells of a memory of a limited size: each key has its cells next to each other.
 * When it is full, keys give theirs up in turn, and one that was used since its last turn is spared
 * once (second chance).
 */
export class Cells {
  readonly count: number;
  readonly #sizeOf: (key: number) => number;
  readonly #onEvict: (key: number, first: number) => void;
  readonly #firstOf = new Map<number, number>();
  /** By cell the key whose cells begin there, and whether it was used since its last turn. */
  readonly #keyAt: Uint32Array;
  readonly #wasUsed: Uint8Array;
  #turn = 0;

  /** A key has `sizeOf(key)` cells, at least 1; `onEvict` is called before it loses them. */
  constructor(
    count: number,
    sizeOf: (key: number) => number,
    onEvict: (key: number, first: number) => void = () => undefined,
  ) {
    this.count = count;
    this.#sizeOf = sizeOf;
    this.#onEvict = onEvict;
    this.#keyAt = new Uint32Array(count).fill(NO_KEY);
    this.#wasUsed = new Uint8Array(count);
  }

  /** The first cell of a key; undefined where it has none. */
  firstOf(key: number): number | undefined {
    return this.#firstOf.get(key);
  }

  /**
   * Gives cells to all of these keys, which must fit together; returns those that had none. Their
   * cells must be filled, or given up by `drop`.
   */
  take(wanted: ReadonlySet<number>): number[] {
    let missing: number[] = [];
    for (const key of wanted) {
      const first = this.#firstOf.get(key);
      if (first === undefined) missing.push(key);
      else this.#wasUsed[first] = 1;
    }
    if (!missing.every((key) => this.#takeOne(key, wanted))) {
      // Those that are wanted lie so that another does not fit between them: all lose theirs.
      this.clear();
      missing = [...wanted];
      for (const key of missing) this.#takeOne(key, wanted);
    }
    return missing;
  }

  /** False where there is no room between keys that are wanted. */
  #takeOne(key: number, wanted: ReadonlySet<number>): boolean {
    const size = this.#sizeOf(key);
    let [first, end, rounds] = [this.#turn, this.#turn, 0];
    while (end - first < size) {
      if (first + size > this.count) {
        // After two rounds each key that may be evicted has had its turn.
        if (rounds++ === 2) return false;
        [first, end] = [0, 0];
        continue;
      }
      const old = this.#keyAt[end];
      if (old === NO_KEY) {
        end++;
        continue;
      }
      const isSpared = this.#wasUsed[end] === 1 || wanted.has(old);
      this.#wasUsed[end] = 0;
      end += this.#sizeOf(old);
      if (isSpared) first = end;
    }
    for (let at = first; at < end; at++) {
      if (this.#keyAt[at] !== NO_KEY) this.#evict(this.#keyAt[at], at);
    }
    this.#firstOf.set(key, first);
    this.#keyAt[first] = key;
    this.#wasUsed[first] = 1;
    this.#turn = first + size;
    return true;
  }

  #evict(key: number, first: number): void {
    this.#onEvict(key, first);
    this.#firstOf.delete(key);
    this.#keyAt[first] = NO_KEY;
  }

  /** Keys give up their cells, if they have some. */
  drop(keys: Iterable<number>): void {
    for (const key of keys) {
      const first = this.#firstOf.get(key);
      if (first !== undefined) this.#evict(key, first);
    }
  }

  clear(): void {
    this.drop([...this.#firstOf.keys()]);
    this.#turn = 0;
  }
}

/** What a cell takes besides the vector and its length. */
const CELL_BYTES = 64;
const MAX_CELLS = 2 ** 23;

/** Where the vector of a row is, and the low 32 bits of its checksum. */
export interface VectorPlace extends BlockName {
  readonly place: number;
  readonly check: number;
  /** Of sparse vectors how many entries each row of the block has. */
  readonly entries: Uint32Array | null;
}

/**
 * Vectors in memory, each of which is compared with its checksum when it is read. Dense ones have a
 * cell each; sparse ones are all given up by the first load that begins above the limit.
 */
export class VectorCache {
  readonly #content: Content;
  readonly #reader: Reader;
  readonly #limit: number;
  #vectors: RowVectors | null;
  /** By row. */
  readonly #cells: Cells;
  /** Cells that there was a vector in. */
  #filled = 0;

  constructor(reader: Reader, limit: number) {
    const { content } = reader;
    const { parts, manifest } = content;
    this.#content = content;
    this.#reader = reader;
    this.#limit = limit;
    const { dense } = parts;
    const bytes = (dense?.dimensions ?? 0) * (dense?.kind === 'float32' ? 4 : 1) + CELL_BYTES;
    const { nextRow } = manifest.index;
    const most = dense === null ? nextRow : Math.min(MAX_CELLS, Math.floor(limit / bytes), nextRow);
    this.#cells = new Cells(parts.vectors === null ? 0 : Math.max(1, most), () => 1);
    this.#vectors = noVectorsOf(content);
  }

  /** How many vectors fit in memory together. */
  get room(): number {
    return this.#cells.count;
  }

  /**
   * Reads the vectors of rows, `room` at most; all stay in memory until the next call. `placesOf`
   * says where those are that are not in memory.
   */
  async load(
    wanted: ReadonlySet<number>,
    placesOf: (missing: readonly number[]) => Promise<VectorPlace[]>,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    // Freed only here: the vectors of the last load must stay until the next one.
    if (this.#vectors?.kind === 'sparse' && this.#vectors.bytes > this.#limit) {
      this.#vectors = noVectorsOf(this.#content);
      this.#cells.clear();
      this.#filled = 0;
    }
    const missing = this.#cells.take(wanted);
    try {
      if (missing.length === 0) return;
      const read = await this.#read(await placesOf(missing), signal);
      for (const [i, row] of missing.entries()) {
        const cell = this.#cells.firstOf(row) as number;
        this.#vectors?.skip(Math.max(0, cell + 1 - this.#filled));
        this.#filled = Math.max(this.#filled, cell + 1);
        this.#vectors?.restore(read[i], Uint32Array.of(cell));
      }
      this.#content.place.giveBack?.(read.flatMap(({ vectors }) => vectors ?? []));
    } catch (error) {
      this.#cells.drop(missing);
      throw error;
    }
  }

  /** The vectors at some places, each compared with its checksum. */
  async #read(
    places: readonly VectorPlace[],
    signal: AbortSignal | undefined,
  ): Promise<VectorColumns[]> {
    const spans = places.map((place) => spansOf(place));
    const ranges = places.flatMap(({ segment }, i) =>
      spans[i].map((span) => ({ ...span, file: segment.files.vectors as FolderFile })),
    );
    const bytes = await this.#reader.ranges(ranges, signal);
    let next = 0;
    return places.map((place, i) => {
      const own = bytes.slice(next, next + spans[i].length);
      next += own.length;
      return this.#columnsOf(place, own);
    });
  }

  #columnsOf(
    { segment, block, place, check }: VectorPlace,
    bytes: readonly Uint8Array[],
  ): VectorColumns {
    const { vectors, dimensions } = segment.blocks.layout;
    if (vectorCheck(bytes) !== check) {
      const file = this.#reader.pathOf(segment.files.vectors as FolderFile);
      throw new FormatError(`damaged: vector ${place} of block ${block} fails its checksum`, file);
    }
    const [{ buffer, byteOffset, length }, second] = bytes;
    if (vectors === 'sparse') {
      const indices = new BigUint64Array(buffer, byteOffset, length / 8);
      const weights = new Float32Array(second.buffer, second.byteOffset, second.length / 4);
      const offsets = Int32Array.of(0, weights.length);
      return { ...NO_VECTORS, sparse: { offsets, indices, weights } };
    }
    if (vectors === 'float32') {
      return { ...NO_VECTORS, vectors: new Float32Array(buffer, byteOffset, dimensions) };
    }
    // Cosines do not depend on the scale, which lies elsewhere and is not read.
    const values = new Int8Array(buffer, byteOffset, dimensions);
    return { ...NO_VECTORS, vectors: values, scales: Float32Array.of(1) };
  }

  /** Where the vector of a row is that is in memory. */
  at(row: number): { readonly vectors: RowVectors; readonly position: number } {
    return { vectors: this.#vectors as RowVectors, position: this.#cells.firstOf(row) as number };
  }

  /** Exact similarities of rows whose vectors are in memory: valid until the next call. */
  similarities(rows: Uint32Array, query: Query): Float64Array {
    const cells = rows.map((row) => this.#cells.firstOf(row) as number);
    return similaritiesWith(this.#vectors as RowVectors, cells, query);
  }
}

/** The ranges of a vector: its values, or its dimensions and weights. */
function spansOf({ segment: { blocks: table }, block, place, entries }: VectorPlace) {
  const { vectors, dimensions } = table.layout;
  if (vectors === 'sparse') return sparsePlaces(table, block, entries as Uint32Array, place);
  const length = dimensions * (vectors === 'float32' ? 4 : 1);
  return [{ at: table.vectorsAt[block] + place * length, length }];
}
