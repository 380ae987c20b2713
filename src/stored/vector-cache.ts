/**
 * Vectors of a stored index in memory, up to a limit. Dense ones lie in one WebAssembly memory,
 * where the kernel of an index in memory reads them. A vector is compared with its checksum when it
 * is read; those that were not used since the longest time make room, by second chance.
 */

import { FormatError } from '../base/format-error';
import { lengthOf } from '../base/length';
import type { UnitVector } from '../index/vectors/row-vectors';
import { cosineOf, SparseVectors } from '../index/vectors/sparse-vectors';
import type { RowValues } from '../kernels/dots/dots.scalar';
import { dotsKernel, type KernelName } from '../kernels/kernels';
import { allocateCodes } from '../kernels/memory';
import { vectorCheck } from '../table/sealed/segment-tables';
import type { SparseUnit } from '../vectors/sparse-unit';
import type { SparseMatrix } from '../vectors/vectors';
import type { BlockReader, RowPlace } from './block-reader';
import type { StoredContent } from './content';

/** Thrown where vectors are not in memory: read them, and rank again. */
export class MissingVectors extends Error {
  constructor(readonly rows: Uint32Array) {
    super('vectors are not in memory');
  }
}

/** One memory holds less than 4 GiB. */
const MAX_BYTES = 2 ** 32 - 2 ** 21;

export class VectorCache {
  readonly #kind: string;
  readonly #width: number;
  readonly #kernel: KernelName | undefined;
  readonly #reader: BlockReader;
  readonly #cellCount: number;
  readonly #values: RowValues;
  readonly #norms: Float64Array;
  /** By row its cell and 1; pages of it that no row touches take no memory. */
  readonly #cellOf: Uint32Array;
  readonly #rowOf: Uint32Array;
  /** The search that used a cell last; 0 once the hand has passed it. */
  readonly #usedBy: Float64Array;
  #hand = 0;
  #filled = 0;
  /** Sparse vectors of the present search, and by row where they are among them. */
  #sparse = new SparseVectors();
  readonly #sparseOf = new Map<number, number>();
  #search = 1;
  hits = 0;
  misses = 0;

  constructor(content: StoredContent, reader: BlockReader, limit: number) {
    const { parts, header } = content;
    this.#kind = parts.vectors?.kind ?? 'none';
    this.#width = parts.dense?.dimensions ?? 0;
    this.#kernel = parts.kernel;
    this.#reader = reader;
    const rowBytes = this.#rowBytes + 24;
    const most = Math.floor(Math.min(limit, MAX_BYTES) / rowBytes);
    this.#cellCount = this.#width === 0 ? 0 : Math.min(header.nextRow, most);
    const bytes = allocateCodes(this.#cellCount * this.#rowBytes);
    const { buffer, byteOffset } = bytes;
    const length = this.#cellCount * this.#width;
    this.#values =
      this.#kind === 'float32'
        ? new Float32Array(buffer, byteOffset, length)
        : new Int8Array(buffer, byteOffset, length);
    this.#norms = new Float64Array(this.#cellCount);
    this.#cellOf = new Uint32Array(this.#width === 0 ? 0 : header.nextRow);
    this.#rowOf = new Uint32Array(this.#cellCount);
    this.#usedBy = new Float64Array(this.#cellCount);
  }

  get #rowBytes(): number {
    return this.#width * (this.#kind === 'float32' ? 4 : 1);
  }

  /** Vectors that were used by searches before may make room from now on. */
  begin(): void {
    this.#search++;
    this.#sparse = new SparseVectors();
    this.#sparseOf.clear();
  }

  /** Those of some rows that are not here. */
  missing(rows: Uint32Array): Uint32Array {
    if (this.#kind === 'sparse') return rows.filter((row) => !this.#sparseOf.has(row));
    return rows.filter((row) => {
      const cell = this.#cellOf[row];
      if (cell === 0) return true;
      this.#usedBy[cell - 1] = this.#search;
      return false;
    });
  }

  /** Cosines with a query of length 1, as RowVectors.cosinesOf gives them. */
  cosinesOf(rows: Uint32Array, query: UnitVector): Float64Array {
    this.#refuseMissing(rows);
    if (this.#kind === 'sparse') {
      return this.#sparse.cosinesOf(this.#sparseRows(rows), query as SparseUnit);
    }
    const cosines = new Float64Array(rows.length);
    const cells = rows.map((row) => this.#cellOf[row] - 1);
    dotsKernel(this.#kernel).dotsOfRows(this.#values, cells, query as Float64Array, cosines);
    for (let i = 0; i < cosines.length; i++) {
      cosines[i] = cosineOf(cosines[i], this.#norms[cells[i]]);
    }
    return cosines;
  }

  /** Jaccard similarities with a set, the only row of a matrix. */
  jaccardsOf(rows: Uint32Array, set: SparseMatrix): Float64Array {
    this.#refuseMissing(rows);
    const queries = new SparseVectors();
    queries.append(set, 0, 1, () => true);
    const own = this.#sparseRows(rows);
    return Float64Array.from(own, (row) => this.#sparse.jaccardOf(row, queries, 0));
  }

  #refuseMissing(rows: Uint32Array): void {
    const missing = this.missing(rows);
    if (missing.length > 0) throw new MissingVectors(missing);
    this.hits += rows.length;
  }

  #sparseRows(rows: Uint32Array): Uint32Array {
    return rows.map((row) => this.#sparseOf.get(row) as number);
  }

  /** Reads vectors; `rows[i]` is at `places[i]`. */
  async load(rows: Uint32Array, places: readonly RowPlace[], signal?: AbortSignal): Promise<void> {
    this.misses += rows.length;
    if (this.#kind === 'sparse') return this.#loadSparse(rows, places, signal);
    if (rows.length > this.#cellCount) {
      const wanted = rows.length * this.#rowBytes;
      throw new RangeError(
        `"memory" is too small: a search ranks vectors of ${wanted} bytes, there is room for ` +
          `${this.#cellCount * this.#rowBytes}`,
      );
    }
    const read = await readVectorsAt(this.#reader, places, this.#rowBytes, signal);
    read.forEach((bytes, i) => {
      const { buffer, byteOffset } = bytes;
      const values =
        this.#kind === 'float32'
          ? new Float32Array(buffer, byteOffset, this.#width)
          : new Int8Array(buffer, byteOffset, this.#width);
      this.#checkVector(places[i], [values]);
      const cell = this.#takeCell();
      this.#values.set(values, cell * this.#width);
      this.#norms[cell] = lengthOf(values);
      this.#cellOf[rows[i]] = cell + 1;
      this.#rowOf[cell] = rows[i];
      this.#usedBy[cell] = this.#search;
    });
  }

  #checkVector(
    { segment, block, place, check }: RowPlace,
    parts: readonly ArrayBufferView[],
  ): void {
    if (vectorCheck(parts) === check) return;
    const file = this.#reader.pathOf(segment.vectors as { name: string });
    throw new FormatError(`damaged: vector ${place} of block ${block} fails its checksum`, file);
  }

  /** A cell that the present search does not use; cells used since the hand passed stay once. */
  #takeCell(): number {
    if (this.#filled < this.#cellCount) return this.#filled++;
    for (let tries = 0; tries <= 2 * this.#cellCount; tries++) {
      const cell = this.#hand;
      this.#hand = (this.#hand + 1) % this.#cellCount;
      if (this.#usedBy[cell] === this.#search) continue;
      if (this.#usedBy[cell] === 0) {
        this.#cellOf[this.#rowOf[cell]] = 0;
        return cell;
      }
      this.#usedBy[cell] = 0;
    }
    throw new RangeError('"memory" is too small for the vectors that one search ranks');
  }

  async #loadSparse(
    rows: Uint32Array,
    places: readonly RowPlace[],
    signal?: AbortSignal,
  ): Promise<void> {
    const wanted = places.flatMap(({ segment, block, entries }) => {
      const file = segment.vectors as NonNullable<typeof segment.vectors>;
      const [before, own, all] = entries as readonly [number, number, number];
      const padded = (bytes: number) => 8 * Math.ceil(bytes / 8);
      const indices = segment.table.vectorsAt[block] + padded(4 * (segment.table.rows[block] + 1));
      const weights = indices + 8 * all + padded(4 * (segment.table.rows[block] + 1));
      return [
        { file, range: { at: indices + 8 * before, length: 8 * own } },
        { file, range: { at: weights + 4 * before, length: 4 * own } },
      ];
    });
    const read = await this.#reader.ranges(wanted, signal);
    rows.forEach((row, i) => {
      const indices = new BigUint64Array(read[2 * i].slice().buffer);
      const weights = new Float32Array(read[2 * i + 1].slice().buffer);
      this.#checkVector(places[i], [indices, weights]);
      const offsets = Int32Array.of(0, weights.length);
      const sparse = { offsets, indices, weights };
      this.#sparseOf.set(row, this.#sparseOf.size);
      this.#sparse.restore({ vectors: null, scales: null, sparse }, 0, 1);
    });
  }
}

/** The values of dense vectors, one range each. */
export function readVectorsAt(
  reader: BlockReader,
  places: readonly RowPlace[],
  rowBytes: number,
  signal?: AbortSignal,
): Promise<Uint8Array[]> {
  const wanted = places.map(({ segment, block, place }) => ({
    file: segment.vectors as NonNullable<typeof segment.vectors>,
    range: { at: segment.table.vectorsAt[block] + place * rowBytes, length: rowBytes },
  }));
  return reader.ranges(wanted, signal);
}
