/**
 * What a stored index holds of its rows, up to a limit: partitions and vectors, in WebAssembly
 * memories, where the kernels of an index in memory search them in place. Which of them stay is
 * decided by `Cells`.
 */

import { concatenated, lowerBound, padded } from '../base/arrays';
import { FormatError } from '../base/check';
import { bytesPerCode } from '../codes/codes';
import type { Query } from '../index/query';
import { similaritiesWith } from '../index/rows';
import type { CodeRange, Ranges } from '../index/searched';
import type { Probes } from '../index/space';
import type { RowVectors, VectorColumns } from '../index/vectors/row-vectors';
import { CODES_BEHIND } from '../kernels/code-memory';
import { NO_ROW, type RowCodes } from '../kernels/hits';
import { Arena, MAX_DATA_BYTES } from '../kernels/memory';
import { bytesOfRow, type EntryList, secondHalfAt, setScale } from '../kernels/residuals';
import { checksum } from '../kernels/xxhash';
import {
  type BlockTable,
  columnsIn,
  NO_VECTORS,
  numbersAt,
  sparsePlaces,
  vectorCheck,
} from './blocks';
import { type Content, noVectorsOf, type StoredSegment } from './content';
import type { FolderFile } from './manifest';
import { allEnded, type TargetRange } from './place';
import { type BlockName, inGroups, type Reader } from './reader';

/** Partitions lie in memory from a multiple of so many bytes on. */
const CELL_BYTES = 256;
const CELL_WORDS = CELL_BYTES / 4;
/** What a cell takes besides, in `Cells`. */
const CELL_TABLE_BYTES = 5;

/** The blocks of a partition that one segment has: they lie in its file one after another. */
interface Run extends TargetRange {
  /** Numbers of the blocks: `first` to `end - 1`. */
  readonly first: number;
  readonly end: number;
}

/**
 * Partitions in memory: the bytes of their blocks as the files have them, which kernels read in
 * place. A partition has the blocks of all segments. The place of a row is that of its number among
 * the 32-bit words of the memory.
 */
export class PartitionCache {
  /** Bytes of memory that it takes when full. */
  readonly bytes: number;
  readonly #content: Content;
  readonly #reader: Reader;
  /** Residual codes in a dense space, else codes and rows; the other one is null. */
  readonly residuals: EntryList['memory'] | null;
  readonly codes: RowCodes | null;
  /** Whether searches see the copies of rows alone, or all but these; null where they see both. */
  copies: boolean | null = null;
  readonly #memory: Uint8Array;
  readonly #words: Uint32Array;
  /** By segment the first block of each partition; last the end. */
  readonly #firsts: readonly Uint32Array[];
  /** By segment where the bytes of each block are that is in memory. */
  readonly #heldAt: readonly Uint32Array[];
  readonly #cellCounts: Uint32Array;
  /** By number the partitions in memory. */
  readonly #cells: Cells;

  constructor(reader: Reader, limit: number) {
    this.#content = reader.content;
    this.#reader = reader;
    const { space, parts, segments } = reader.content;
    const count = space?.count ?? 0;
    this.#firsts = segments.map(({ blocks }) => firstBlocks(blocks, count));
    this.#heldAt = segments.map(({ blocks }) => new Uint32Array(blocks.count));
    this.#cellCounts = new Uint32Array(count);
    let all = 0;
    for (let p = 0; p < count; p++) {
      let bytes = 0;
      for (let i = 0; i < segments.length; i++) bytes += padded(this.#bytesOf(i, p));
      this.#cellCounts[p] = Math.max(1, Math.ceil(bytes / CELL_BYTES));
      all += this.#cellCounts[p];
    }
    const width = bytesPerCode(parts.bits);
    const behind = CODES_BEHIND * width + CELL_BYTES;
    const room = Math.min(limit, MAX_DATA_BYTES - behind);
    const most = Math.floor(room / (CELL_BYTES + CELL_TABLE_BYTES));
    this.#cells = new Cells(Math.min(all, most), count, (p) => this.#cellCounts[p]);
    this.bytes = this.#cells.count * (CELL_BYTES + CELL_TABLE_BYTES);
    const byteLength = count === 0 ? 0 : CELL_BYTES * this.#cells.count + behind;
    this.#memory = new Arena(byteLength).bytes;
    const { buffer, byteOffset } = this.#memory;
    this.#words = new Uint32Array(buffer, byteOffset, byteLength / 4);
    const bytesPerRow = space?.bytesPerEntry ?? 0;
    const isOfCodes = count > 0 && bytesPerRow === 0;
    this.residuals = bytesPerRow > 0 ? { bytes: this.#memory, bytesPerRow } : null;
    this.codes = isOfCodes ? { bytesPerCode: width, codes: this.#memory, rows: this.#words } : null;
  }

  /** The bytes from the first to the last of the blocks of a partition that a segment has. */
  #bytesOf(segment: number, p: number): number {
    const [first, end] = [this.#firsts[segment][p], this.#firsts[segment][p + 1]];
    if (first === end) return 0;
    const { at, bytes } = this.#content.segments[segment].blocks.bodies.rows;
    return at[end - 1] + bytes[end - 1] - at[first];
  }

  /** The runs of partitions that a segment has; their bytes go to `to`, which moves behind them. */
  #runsOf(segment: number, partitions: readonly number[], to: number[]): Run[] {
    const { at } = this.#content.segments[segment].blocks.bodies.rows;
    const runs: Run[] = [];
    for (let i = 0; i < partitions.length; i++) {
      const partition = partitions[i];
      const first = this.#firsts[segment][partition];
      const end = this.#firsts[segment][partition + 1];
      if (first === end) continue;
      const length = this.#bytesOf(segment, partition);
      runs.push({ first, end, at: at[first], length, to: to[i] });
      to[i] += padded(length);
    }
    return runs;
  }

  /** The number of the row at a place. */
  rowAt(place: number): number {
    return this.#words[place];
  }

  /** Where the row at a place is; throws where it cannot be there. */
  at(place: number): Located {
    const { segment, block, at } = this.#blockOf(place);
    const { blocks, firstRow, endRow } = segment;
    const { position: positions, check: checks } = numbersAt(blocks, block);
    const words = this.#words;
    const row = words[place];
    const i = place - at / 4;
    const position =
      i < blocks.rows[block] ? blocks.starts[block] + i : words[place + positions / 4];
    if (row < firstRow || row >= endRow || position >= segment.count) {
      const what = `damaged: row ${row} of block ${block} is not where it can be`;
      throw new FormatError(what, this.#reader.pathOf(segment.files.rows as FolderFile));
    }
    return { segment, block, at, position, check: words[place + checks / 4] };
  }

  /** The block of a place: of those of its partition the last one that begins before it. */
  #blockOf(place: number): HeldBlock {
    const p = this.#cells.keyAt(Math.floor(place / CELL_WORDS));
    for (let i = this.#firsts.length - 1; i >= 0; i--) {
      const [firsts, starts] = [this.#firsts[i], this.#heldAt[i]];
      for (let block = firsts[p + 1] - 1; block >= firsts[p]; block--) {
        if (starts[block] > 4 * place) continue;
        return { segment: this.#content.segments[i], block, at: starts[block] };
      }
    }
    throw new Error(`no block has the place ${place}`);
  }

  /** The blocks of a partition that is in memory; none of another. */
  #blocksOf(p: number): HeldBlock[] {
    if (this.#cells.firstOf(p) < 0) return [];
    return this.#content.segments.flatMap((segment, i) => {
      const first = this.#firsts[i][p];
      const length = this.#firsts[i][p + 1] - first;
      return Array.from({ length }, (_, n) => {
        return { segment, block: first + n, at: this.#heldAt[i][first + n] };
      });
    });
  }

  /** Partitions in groups that fit into memory one at a time; those in memory come first. */
  groupsOf(probes: Probes): Probes[] {
    const { partitions, products } = probes;
    if (this.holds(partitions)) return [probes];
    const order = [...partitions.keys()];
    const isHere = (i: number) => this.#cells.firstOf(partitions[i]) >= 0;
    const inOrder = [...order.filter(isHere), ...order.filter((i) => !isHere(i))];
    const cellsOf = (i: number) => this.#cellCounts[partitions[i]];
    return inGroups(inOrder, cellsOf, this.#cells.count).map((group) => ({
      partitions: Uint32Array.from(group, (i) => partitions[i]),
      products: Float32Array.from(group, (i) => products[i]),
    }));
  }

  /** How many cells a partition takes, and how many there are. */
  cellsOf(p: number): number {
    return this.#cellCounts[p];
  }

  get room(): number {
    return this.#cells.count;
  }

  /** Whether all of these are in memory. */
  holds(partitions: Uint32Array): boolean {
    for (const p of partitions) if (this.#cells.firstOf(p) < 0) return false;
    return true;
  }

  /** Reads partitions that are not in memory. All stay there until the next call. */
  async load(partitions: Uint32Array, signal: AbortSignal | undefined): Promise<void> {
    let largest = 0;
    for (const p of partitions) largest = Math.max(largest, this.#cellCounts[p]);
    if (largest > this.room) {
      throw new RangeError(
        `"memory" is too small: a partition takes ${largest * CELL_BYTES} bytes, ` +
          `there is room for ${this.bytes}`,
      );
    }
    const missing = this.#cells.take(partitions);
    try {
      if (missing.length > 0) await this.#read(missing, signal);
    } catch (error) {
      this.#cells.drop(missing);
      throw error;
    }
  }

  async #read(missing: readonly number[], signal: AbortSignal | undefined): Promise<void> {
    const { segments } = this.#content;
    const to = missing.map((p) => CELL_BYTES * this.#cells.firstOf(p));
    const runs = segments.map((_, i) => this.#runsOf(i, missing, to));
    const files = segments.map(({ files }) => files.rows as FolderFile);
    await allEnded(runs.map((own, i) => this.#reader.into(this.#memory, files[i], own, signal)));
    for (const [i, segment] of segments.entries()) {
      for (const run of runs[i]) this.#hold(segment, run, this.#heldAt[i]);
    }
  }

  /** Notes where the blocks of a run are in memory, once checksums were compared. */
  #hold(segment: StoredSegment, { first, end, at: start, to }: Run, starts: Uint32Array): void {
    const { at, bytes, checksums } = segment.blocks.bodies.rows;
    for (let block = first; block < end; block++) {
      const own = to + at[block] - start;
      if (checksum(this.#memory.subarray(own, own + bytes[block])) !== checksums[block]) {
        const file = segment.files.rows as FolderFile;
        throw this.#reader.damaged({ file, name: 'block', number: block });
      }
      starts[block] = own;
      if (!this.#content.removed.isEmpty) this.#remove(segment, block, own);
    }
  }

  /** Lets searches skip the removed rows of a block at `at`. */
  #remove({ blocks }: StoredSegment, block: number, at: number): void {
    const { removed } = this.#content;
    const { residualBytes } = blocks.layout;
    const { count, codes } = numbersAt(blocks, block);
    const bytes = this.#memory.subarray(at + codes).subarray(0, count * bytesOfRow(residualBytes));
    const residuals = { bytesPerRow: residualBytes, capacity: count, bytes };
    for (let i = 0; i < count; i++) {
      const row = this.#words[at / 4 + i];
      if (!removed.has(row)) continue;
      if (this.residuals === null) this.#words[at / 4 + i] = NO_ROW;
      else setScale(residuals, i, 0);
    }
  }

  /** Adds the entries of partitions in memory to the ranges of a call of the kernel. */
  addEntries({ partitions, products }: Probes, to: Ranges): void {
    const { segments } = this.#content;
    const { byteOffset } = this.#memory;
    for (let i = 0; i < partitions.length; i++) {
      const p = partitions[i];
      for (let n = 0; n < segments.length; n++) {
        const { blocks } = segments[n];
        for (let block = this.#firsts[n][p]; block < this.#firsts[n][p + 1]; block++) {
          const { count, codes } = numbersAt(blocks, block);
          const at = this.#heldAt[n][block];
          const from = this.copies === true ? blocks.rows[block] : 0;
          const end = this.copies === false ? blocks.rows[block] : count;
          if (from === end) continue;
          const sides = byteOffset + at + codes;
          const bytesPerRow = blocks.layout.residualBytes;
          const seconds = sides + secondHalfAt({ bytesPerRow, capacity: count }, 0);
          to.add(sides, seconds, count, from, end - from, products[i], at / 4 + from);
        }
      }
    }
  }

  /** The places of the codes of partitions in memory. */
  codesIn(partitions: Uint32Array): CodeRange[] {
    const { bytesPerCode } = this.codes as RowCodes;
    return Array.from(partitions).flatMap((p) =>
      this.#blocksOf(p).map(({ segment, block, at }) => {
        const { count, codes } = numbersAt(segment.blocks, block);
        const first = at / 4;
        const codesAt = this.#memory.byteOffset + at + codes - first * bytesPerCode;
        return { first, end: first + count, codesAt };
      }),
    );
  }

  /** The ids of a block, and how many entries its sparse vectors have. */
  columnsIn({ segment: { blocks }, block, at }: HeldBlock) {
    return columnsIn(
      blocks,
      block,
      this.#memory.subarray(at, at + blocks.bodies.rows.bytes[block]),
    );
  }

  /** The id of a row in a partition that is in memory; undefined where it is not. */
  idIn(p: number, row: number): string | number | bigint | undefined {
    for (const held of this.#blocksOf(p)) {
      const { count } = numbersAt(held.segment.blocks, held.block);
      const first = held.at / 4;
      const place = this.#words.subarray(first, first + count).indexOf(row);
      if (place >= 0) return this.columnsIn(held).ids?.at(place) ?? row;
    }
    return undefined;
  }
}

/** A block in memory, and where its bytes are. */
interface HeldBlock extends BlockName {
  readonly at: number;
}

/** Where a row that a search found is in its segment. */
interface Located extends HeldBlock {
  readonly position: number;
  /** The checksum of its vector. */
  readonly check: number;
}

/** The first block of each of `count` partitions; last, their end. */
function firstBlocks({ partitions }: BlockTable, count: number): Uint32Array {
  return Uint32Array.from({ length: count + 1 }, (_, p) => lowerBound(partitions, p));
}

const NO_KEY = 0xffff_ffff;

/** How a key was used: by the last call of `take`, else since its last turn, or not. */
const WANTED = 2;
const USED = 1;
const UNUSED = 0;

/**
 * Which keys have cells of a memory of a limited size: each key has its cells next to each other.
 * When it is full, keys give theirs up in turn, and one that was used since its last turn is spared
 * once (second chance).
 */
export class Cells {
  readonly count: number;
  readonly #sizeOf: (key: number) => number;
  /** By cell its key, and in the first one of each how it was used. */
  readonly #keyAt: Uint32Array;
  readonly #use: Uint8Array;
  /**
   * First cells by the lowest bits of their keys, in chains; each plus 1, 0 is the end of one.
   * Where chains are of one key nothing is next.
   */
  readonly #chains: Uint32Array;
  readonly #next: Uint32Array;
  /** Whether each chain is of one key. */
  readonly #isDirect: boolean;
  /** First cells of what was wanted last. */
  #wanted: number[] = [];
  #turn = 0;

  /** Keys are integers below `keys`; each takes `sizeOf(key)` cells, at least 1. */
  constructor(count: number, keys: number, sizeOf: (key: number) => number) {
    this.count = count;
    this.#sizeOf = sizeOf;
    this.#keyAt = new Uint32Array(count).fill(NO_KEY);
    this.#use = new Uint8Array(count);
    const chains = 2 ** (32 - Math.clz32(Math.max(0, Math.min(count, keys) - 1)));
    this.#isDirect = keys <= chains;
    this.#chains = new Uint32Array(chains);
    this.#next = new Uint32Array(this.#isDirect ? 0 : count);
  }

  /** The key that has a cell. */
  keyAt(cell: number): number {
    return this.#keyAt[cell];
  }

  /** The first cell of a key; -1 where it has none. */
  firstOf(key: number): number {
    let at = this.#chains[key & (this.#chains.length - 1)];
    if (this.#isDirect) return at - 1;
    while (at > 0 && this.#keyAt[at - 1] !== key) at = this.#next[at - 1];
    return at - 1;
  }

  /**
   * Gives cells to all of these keys, which must fit together; returns those that had none. Their
   * cells must be filled, or given up by `drop`.
   */
  take(wanted: Uint32Array): number[] {
    for (const first of this.#wanted) this.#use[first] = Math.min(this.#use[first], USED);
    this.#wanted = [];
    let missing: number[] = [];
    for (const key of wanted) {
      const first = this.firstOf(key);
      if (first < 0) missing.push(key);
      else this.#want(first);
    }
    if (!missing.every((key) => this.#takeOne(key))) {
      // Those that are wanted lie so that another does not fit between them: all lose theirs.
      this.clear();
      missing = [...wanted];
      for (const key of missing) this.#takeOne(key);
    }
    return missing;
  }

  #want(first: number): void {
    this.#use[first] = WANTED;
    this.#wanted.push(first);
  }

  /** False where there is no room between keys that are wanted. */
  #takeOne(key: number): boolean {
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
      const use = this.#use[end];
      if (use === USED) this.#use[end] = UNUSED;
      end += this.#sizeOf(old);
      if (use !== UNUSED) first = end;
    }
    for (let at = first; at < end; ) {
      const old = this.#keyAt[at];
      if (old === NO_KEY) at++;
      else {
        this.#evict(old, at);
        at += this.#sizeOf(old);
      }
    }
    this.#keyAt.fill(key, first, first + size);
    const chain = key & (this.#chains.length - 1);
    this.#next[first] = this.#chains[chain];
    this.#chains[chain] = first + 1;
    this.#want(first);
    this.#turn = first + size;
    return true;
  }

  #evict(key: number, first: number): void {
    const chain = key & (this.#chains.length - 1);
    let before = this.#chains[chain];
    if (before === first + 1) this.#chains[chain] = this.#next[first];
    else {
      while (this.#next[before - 1] !== first + 1) before = this.#next[before - 1];
      this.#next[before - 1] = this.#next[first];
    }
    this.#use[first] = UNUSED;
    this.#keyAt.fill(NO_KEY, first, first + this.#sizeOf(key));
  }

  /** Keys give up their cells, if they have some. */
  drop(keys: Iterable<number>): void {
    for (const key of keys) {
      const first = this.firstOf(key);
      if (first >= 0) this.#evict(key, first);
    }
  }

  clear(): void {
    for (const array of [this.#use, this.#chains]) array.fill(0);
    this.#keyAt.fill(NO_KEY);
    this.#turn = 0;
  }
}

/** What a vector takes besides its values. */
const VECTOR_BYTES = 32;
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
    const bytes = (dense?.dimensions ?? 0) * (dense?.kind === 'float32' ? 4 : 1) + VECTOR_BYTES;
    const { nextRow } = manifest.index;
    const most = dense === null ? nextRow : Math.min(MAX_CELLS, Math.floor(limit / bytes), nextRow);
    this.#cells = new Cells(parts.vectors === null ? 0 : Math.max(1, most), nextRow, () => 1);
    this.#vectors = noVectorsOf(content);
  }

  get isSparse(): boolean {
    return this.#vectors?.kind === 'sparse';
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
    wanted: Uint32Array,
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
      const cells = Uint32Array.from(missing, (row) => this.#cells.firstOf(row));
      const end = cells.reduce((most, cell) => Math.max(most, cell + 1), this.#filled);
      this.#vectors?.skip(end - this.#filled);
      this.#filled = end;
      this.#vectors?.restore(read, cells);
    } catch (error) {
      this.#cells.drop(missing);
      throw error;
    }
  }

  /** The vectors at some places, each compared with its checksum. */
  async #read(
    places: readonly VectorPlace[],
    signal: AbortSignal | undefined,
  ): Promise<VectorColumns> {
    const ranges = places.flatMap((place) => {
      const file = place.segment.files.vectors as FolderFile;
      return spansOf(place).map((span) => ({ ...span, file }));
    });
    const bytes = await this.#reader.ranges(ranges, signal);
    const kind = this.#vectors?.kind;
    // Of dense ones the scale lies elsewhere and is not read: cosines do not depend on it.
    const [each, Kind] = [kind === 'sparse' ? 2 : 1, kind === 'int8' ? Int8Array : Float32Array];
    const counts = places.map(({ segment, block, place, check }, i) => {
      const own = bytes.slice(each * i, each * (i + 1));
      const { buffer, byteOffset, length } = own[each - 1];
      const values = new Kind(buffer as ArrayBuffer, byteOffset, length / Kind.BYTES_PER_ELEMENT);
      const isRight = vectorCheck(own) === check;
      if (isRight && values.some((value) => value !== 0)) return values.length;
      const what = isRight ? 'is that of a row with a code, and 0' : 'fails its checksum';
      const file = this.#reader.pathOf(segment.files.vectors as FolderFile);
      throw new FormatError(`damaged: vector ${place} of block ${block} ${what}`, file);
    });
    const parts = (part: number) => bytes.filter((_, i) => i % each === part);
    const values = new Kind(concatenated(parts(each - 1)).buffer as ArrayBuffer);
    const indices = kind === 'sparse' ? new BigUint64Array(concatenated(parts(0)).buffer) : null;
    if (indices === null) {
      const scales = kind === 'int8' ? new Float32Array(places.length).fill(1) : null;
      return { ...NO_VECTORS, vectors: values, scales };
    }
    let end = 0;
    const offsets = Int32Array.of(0, ...counts.map((count) => (end += count)));
    return { ...NO_VECTORS, sparse: { offsets, indices, weights: values as Float32Array } };
  }

  /** Whether the vector of a row is in memory. */
  has(row: number): boolean {
    return this.#cells.firstOf(row) >= 0;
  }

  /** Where the vector of a row is that is in memory. */
  at(row: number): { readonly vectors: RowVectors; readonly position: number } {
    return { vectors: this.#vectors as RowVectors, position: this.#cells.firstOf(row) };
  }

  /** Exact similarities of rows whose vectors are in memory: valid until the next call. */
  similarities(rows: Uint32Array, query: Query): Float64Array {
    const cells = rows.map((row) => this.#cells.firstOf(row));
    return similaritiesWith(this.#vectors as RowVectors, cells, query);
  }
}

/** The ranges of a vector: its values, or its dimensions and weights. */
function spansOf({ segment: { blocks: table }, block, place, entries }: VectorPlace) {
  const { vectors, dimensions } = table.layout;
  if (vectors === 'sparse') return sparsePlaces(table, block, entries as Uint32Array, place);
  const length = dimensions * (vectors === 'float32' ? 4 : 1);
  return [{ at: table.bodies.vectors.at[block] + place * length, length }];
}
