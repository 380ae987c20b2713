/**
 * Vectors of a stored index in memory, up to a limit. Dense vectors lie in a WebAssembly memory,
 * where the kernel of an index in memory reads them. Each vector is compared with its checksum when
 * it is read. When memory is full, dense vectors are evicted in turn, and one that was used since
 * its last turn is spared once (second chance). Sparse ones are all given up by the first load that
 * begins above the limit.
 */

import { FormatError } from '../base/format-error';
import type { Query } from '../index/query-parts';
import { similaritiesWith } from '../index/rows';
import type { RowVectors } from '../index/vectors/row-vectors';
import { NO_VECTORS, sparsePlaces, type VectorColumns, vectorCheck } from './blocks';
import { type Content, noVectorsOf } from './content';
import type { FolderFile } from './manifest';
import type { BlockName, Reader } from './reader';

/** Cells of a Map and of marks, besides the vector and its length. */
const CELL_BYTES = 64;
const MAX_CELLS = 2 ** 23;

/** Where the vector of a row is, and the low 32 bits of its checksum. */
export interface VectorPlace extends BlockName {
  readonly place: number;
  readonly check: number;
  /** Of sparse vectors how many entries each row of the block has. */
  readonly entries: Uint32Array | null;
}

export class VectorCache {
  readonly counts = { hits: 0, misses: 0 };
  readonly #content: Content;
  readonly #reader: Reader;
  readonly #limit: number;
  readonly #cellCount: number;
  #vectors: RowVectors | null;
  /** By row its cell, and by cell its row and whether it was used since its last turn. */
  readonly #cellOf = new Map<number, number>();
  readonly #rowOf: Uint32Array;
  readonly #wasUsed: Uint8Array;
  #filled = 0;
  #turn = 0;

  constructor(content: Content, reader: Reader, limit: number) {
    const { parts, manifest } = content;
    this.#content = content;
    this.#reader = reader;
    this.#limit = limit;
    const { dense } = parts;
    const bytes = (dense?.dimensions ?? 0) * (dense?.kind === 'float32' ? 4 : 1) + CELL_BYTES;
    const most = Math.min(MAX_CELLS, Math.floor(limit / bytes), manifest.index.nextRow);
    this.#cellCount = dense === null ? 0 : Math.max(1, most);
    this.#rowOf = new Uint32Array(this.#cellCount);
    this.#wasUsed = new Uint8Array(this.#cellCount);
    this.#vectors = noVectorsOf(content);
  }

  /** How many vectors fit in memory together. */
  get room(): number {
    return this.#vectors?.kind === 'sparse' ? Number.POSITIVE_INFINITY : this.#cellCount;
  }

  has(row: number): boolean {
    const cell = this.#cellOf.get(row);
    if (cell !== undefined && this.#cellCount > 0) this.#wasUsed[cell] = 1;
    return cell !== undefined;
  }

  /** Reads vectors, by row, `room` at most; all stay in memory until the next call. */
  async load(
    wanted: ReadonlyMap<number, VectorPlace>,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    // Freed only here: the vectors of the last load must stay until the next one.
    if (this.#vectors?.kind === 'sparse' && this.#vectors.bytes > this.#limit) {
      this.#vectors = noVectorsOf(this.#content);
      this.#cellOf.clear();
      this.#filled = 0;
    }
    const missing = [...wanted].filter(([row]) => !this.has(row));
    this.counts.hits += wanted.size - missing.length;
    this.counts.misses += missing.length;
    const places = missing.map(([, place]) => place);
    const read = await this.#read(places, signal);
    for (const [i, [row]] of missing.entries()) {
      const cell = this.#takeCell(wanted);
      this.#vectors?.restore(read[i], Uint32Array.of(cell));
      // Set last: a vector that fails its checksum can never be found.
      this.#cellOf.set(row, cell);
      if (this.#cellCount > 0) {
        this.#rowOf[cell] = row;
        this.#wasUsed[cell] = 1;
      }
    }
    this.#content.place.giveBack?.(read.flatMap(({ vectors }) => vectors ?? []));
  }

  /** A free cell, or that of an unwanted row that was not used since its last turn. */
  #takeCell(wanted: ReadonlyMap<number, unknown>): number {
    if (this.#cellCount === 0 || this.#filled < this.#cellCount) {
      this.#vectors?.skip(1);
      return this.#filled++;
    }
    for (;;) {
      const cell = this.#turn;
      this.#turn = (this.#turn + 1) % this.#cellCount;
      const isSpared = this.#wasUsed[cell] === 1;
      this.#wasUsed[cell] = 0;
      if (isSpared || wanted.has(this.#rowOf[cell])) continue;
      this.#cellOf.delete(this.#rowOf[cell]);
      return cell;
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
    { segment, list, block, place, check }: VectorPlace,
    bytes: readonly Uint8Array[],
  ): VectorColumns {
    const { vectors, dimensions } = list.table.layout;
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
    return { vectors: this.#vectors as RowVectors, position: this.#cellOf.get(row) as number };
  }

  /** Exact similarities of rows whose vectors are in memory: valid until the next call. */
  similarities(rows: Uint32Array, query: Query): Float64Array {
    const cells = rows.map((row) => this.#cellOf.get(row) as number);
    return similaritiesWith(this.#vectors as RowVectors, cells, query);
  }
}

/** The ranges of a vector: its values, or its dimensions and weights. */
function spansOf({ list: { table }, block, place, entries }: VectorPlace) {
  const { vectors, dimensions } = table.layout;
  if (vectors === 'sparse') return sparsePlaces(table, block, entries as Uint32Array, place);
  const length = dimensions * (vectors === 'float32' ? 4 : 1);
  return [{ at: table.vectorsAt[block] + place * length, length }];
}
