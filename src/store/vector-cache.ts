/**
 * Vectors of a stored index in memory, up to a limit. Dense vectors lie in a WebAssembly memory,
 * where the kernel of an index in memory reads them. Each vector is compared with its checksum when
 * it is read. Dense vectors have a cell each; sparse ones are all given up by the first load that
 * begins above the limit.
 */

import { FormatError } from '../base/check';
import type { Query } from '../index/query';
import { similaritiesWith } from '../index/rows';
import type { RowVectors } from '../index/vectors/row-vectors';
import { NO_VECTORS, sparsePlaces, type VectorColumns, vectorCheck } from './blocks';
import { Cells } from './cells';
import { type Content, noVectorsOf } from './content';
import type { FolderFile } from './manifest';
import type { BlockName, Reader } from './reader';

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

export class VectorCache {
  readonly #content: Content;
  readonly #reader: Reader;
  readonly #limit: number;
  #vectors: RowVectors | null;
  /** By row. */
  readonly #cells: Cells;
  /** Cells that there was a vector in. */
  #filled = 0;

  constructor(content: Content, reader: Reader, limit: number) {
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

  /** Vectors that searches found here, and that were read. */
  get counts(): Cells['counts'] {
    return this.#cells.counts;
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
