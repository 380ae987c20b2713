/**
 * Vectors of a stored index in memory, up to a limit. Dense vectors lie in one WebAssembly memory,
 * where the kernel of an index in memory reads them. Each vector is compared with its checksum when
 * it is read. When memory is full, vectors are evicted in turn; one that was used since its last
 * turn is spared once (second chance).
 */

import { padded, whereOf } from '../base/arrays';
import { FormatError } from '../base/format-error';
import { cosineOf, lengthOf } from '../base/length';
import type { UnitVector } from '../index/vectors/row-vectors';
import { SparseVectors } from '../index/vectors/sparse-vectors';
import { dotsKernel, type RowValues } from '../kernels/dots';
import { allocateCodes } from '../kernels/memory';
import { type BlockTable, vectorCheck } from '../table/sealed/segment-tables';
import type { SparseUnit } from '../vectors/sparse-unit';
import type { SparseMatrix } from '../vectors/vectors';
import type { BlockReader, PassedRow, RowPlace } from './block-reader';
import type { StoredContent } from './content';
import type { Store } from './needs';
import type { PartitionCache } from './partition-cache';
import { SecondChance } from './second-chance';

/** One WebAssembly memory has less than 4 GiB. */
const MAX_BYTES = 2 ** 32 - 2 ** 21;

/** Where vectors are read from, and the cache that receives the codes read with them. */
interface VectorSources {
  readonly content: StoredContent;
  readonly reader: BlockReader;
  readonly partitions: PartitionCache;
}

/** The vectors that searches rank. Each dense vector takes a numbered cell. */
export class VectorCache implements Store<RowPlace> {
  readonly #kind: string;
  /** Dimensions of dense vectors; 0 of sparse ones. */
  readonly #width: number;
  readonly #reader: BlockReader;
  readonly #sources: VectorSources;
  readonly #cellCount: number;
  readonly #values: RowValues;
  /** For each cell the length of its vector. */
  readonly #norms: Float64Array;
  /** For each cell the code of its row, if partitions are held without codes; else empty. */
  readonly #codes: Uint8Array;
  readonly #codeBytes: number;
  /** For each row its cell plus 1, or 0. Pages that no row touches take no memory. */
  readonly #cellOf: Uint32Array;
  /** The row number at index 0 of `#cellOf`: a gap before it takes no memory. */
  readonly #firstRow: number;
  /** For each cell its row. */
  readonly #rowOf: Uint32Array;
  readonly #uses: SecondChance;
  #filled = 0;
  /**
   * Sparse vectors, which are all freed at once when they take too much; and the index of each row
   * among them.
   */
  #sparse = new SparseVectors();
  readonly #sparseOf = new Map<number, number>();
  readonly #limit: number;
  /** Vectors that searches found here, and vectors that were read. */
  hits = 0;
  misses = 0;

  constructor(sources: VectorSources, limit: number) {
    const { content, reader } = sources;
    const { parts, header } = content;
    this.#sources = sources;
    this.#kind = parts.vectors?.kind ?? 'none';
    this.#width = parts.dense?.dimensions ?? 0;
    this.#reader = reader;
    this.#limit = limit;
    this.#codeBytes = reader.readsHeads ? parts.hasher.bytesPerCode : 0;
    // 24 bytes cover the norm, the row, the mark of use and the entry in `#cellOf`.
    const rowBytes = this.#rowBytes + this.#codeBytes + 24;
    const most = Math.floor(Math.min(limit, MAX_BYTES) / rowBytes);
    // Never more cells than row numbers; sparse vectors have no cells.
    this.#cellCount = this.#width === 0 ? 0 : Math.min(header.nextRow, most);
    const bytes = allocateCodes(this.#cellCount * this.#rowBytes);
    const { buffer, byteOffset } = bytes;
    const length = this.#cellCount * this.#width;
    this.#values =
      this.#kind === 'float32'
        ? new Float32Array(buffer, byteOffset, length)
        : new Int8Array(buffer, byteOffset, length);
    this.#norms = new Float64Array(this.#cellCount);
    this.#codes = new Uint8Array(this.#cellCount * this.#codeBytes);
    this.#firstRow = content.segments[0]?.rows.firstRow ?? 0;
    this.#cellOf = new Uint32Array(this.#width === 0 ? 0 : header.nextRow - this.#firstRow);
    this.#rowOf = new Uint32Array(this.#cellCount);
    this.#uses = new SecondChance(this.#cellCount);
  }

  get #rowBytes(): number {
    return this.#width * (this.#kind === 'float32' ? 4 : 1);
  }

  /** How many vectors may be read before it is certain that they are needed. */
  get ahead(): number {
    return this.#kind === 'sparse' ? Number.POSITIVE_INFINITY : this.#cellCount >> 1;
  }

  fits(wanted: ReadonlyMap<number, RowPlace>): boolean {
    return this.#kind === 'sparse' || wanted.size <= this.#cellCount;
  }

  /** The rows whose vectors are not in memory. Marks the others as used. */
  missing(rows: Uint32Array): Uint32Array {
    if (this.#kind === 'sparse') return rows.filter((row) => !this.#sparseOf.has(row));
    return whereOf(rows, (row) => {
      const cell = this.#cellOf[row - this.#firstRow];
      if (cell > 0) this.#uses.mark(cell - 1, true);
      return cell === 0;
    });
  }

  /** A view of the code of a row whose vector is in memory; null if partitions hold the codes. */
  codeOf(row: number): Uint8Array | null {
    if (this.#codeBytes === 0) return null;
    const at = (this.#cellOf[row - this.#firstRow] - 1) * this.#codeBytes;
    return this.#codes.subarray(at, at + this.#codeBytes);
  }

  /** Cosines with a query of length 1, equal to those of `RowVectors.cosinesOf`. */
  cosinesOf(rows: Uint32Array, query: UnitVector): Float64Array {
    if (this.#kind === 'sparse') {
      return this.#sparse.cosinesOf(this.#sparseRows(rows), query as SparseUnit);
    }
    const cosines = new Float64Array(rows.length);
    // All rows are in memory: callers wait for `load` first.
    const cells = rows.map((row) => this.#cellOf[row - this.#firstRow] - 1);
    dotsKernel.dotsOfRows(this.#values, cells, query as Float64Array, cosines);
    for (let i = 0; i < cosines.length; i++) {
      cosines[i] = cosineOf(cosines[i], this.#norms[cells[i]]);
    }
    return cosines;
  }

  /** Jaccard similarities with a set, the only row of `set`. */
  jaccardsOf(rows: Uint32Array, set: SparseMatrix): Float64Array {
    const queries = new SparseVectors();
    queries.append(set, 0, 1, () => true);
    const own = this.#sparseRows(rows);
    return Float64Array.from(own, (row) => this.#sparse.jaccardOf(row, queries, 0));
  }

  /** The indices of rows among the sparse vectors. */
  #sparseRows(rows: Uint32Array): Uint32Array {
    return rows.map((row) => this.#sparseOf.get(row) as number);
  }

  async load(
    wanted: ReadonlyMap<number, RowPlace>,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    if (!this.fits(wanted)) {
      throw new RangeError(
        `"memory" is too small: a search ranks vectors of ${wanted.size * this.#rowBytes} bytes, ` +
          `there is room for ${this.#cellCount * this.#rowBytes}`,
      );
    }
    // Freed only here: the vectors of the last load must stay until the next one.
    if (this.#kind === 'sparse' && this.#sparse.bytes > this.#limit) {
      this.#sparse = new SparseVectors();
      this.#sparseOf.clear();
    }
    const rows = this.missing(Uint32Array.from(wanted.keys()));
    const places = Array.from(rows, (row) => wanted.get(row) as RowPlace);
    this.misses += rows.length;
    if (this.#kind === 'sparse') return this.#loadSparse(rows, places, signal);
    // Vectors and codes are read in parallel, so that a search waits once for both.
    const [read, codes] = await Promise.all([
      readVectorsAt(this.#reader, places, this.#rowBytes, signal),
      this.#codeBytes > 0 ? readCodesAt(this.#sources, places, this.#codeBytes, signal) : null,
    ]);
    read.forEach((bytes, i) => {
      const { buffer, byteOffset } = bytes;
      const values =
        this.#kind === 'float32'
          ? new Float32Array(buffer, byteOffset, this.#width)
          : new Int8Array(buffer, byteOffset, this.#width);
      checkVector(this.#reader, places[i], [values]);
      const cell = this.#takeCell(wanted);
      this.#values.set(values, cell * this.#width);
      this.#norms[cell] = lengthOf(values);
      if (codes !== null) this.#codes.set(codes[i], cell * this.#codeBytes);
      // Set last: a vector that fails its checksum can never be found.
      this.#cellOf[rows[i] - this.#firstRow] = cell + 1;
      this.#rowOf[cell] = rows[i];
      this.#uses.mark(cell, true);
    });
  }

  /**
   * A free cell, or the cell of an unwanted row that was not used since its last turn. Ends because
   * all wanted rows fit.
   */
  #takeCell(wanted: ReadonlyMap<number, RowPlace>): number {
    if (this.#filled < this.#cellCount) return this.#filled++;
    const cell = this.#uses.evicted((one) => !wanted.has(this.#rowOf[one]));
    this.#cellOf[this.#rowOf[cell] - this.#firstRow] = 0;
    return cell;
  }

  /** Reads the dimensions and the weights of sparse rows, a range each. */
  async #loadSparse(
    rows: Uint32Array,
    places: readonly RowPlace[],
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const wanted = places.flatMap(({ segment, block, entries }) => {
      const file = segment.vectors as NonNullable<typeof segment.vectors>;
      const [before, own, all] = entries as readonly [number, number, number];
      // A body contains offsets, dimensions, offsets again and weights, each starting at a multiple
      // of 8.
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
      checkVector(this.#reader, places[i], [indices, weights]);
      const offsets = Int32Array.of(0, weights.length);
      const sparse = { offsets, indices, weights };
      this.#sparseOf.set(row, this.#sparseOf.size);
      this.#sparse.skip(1);
      const columns = { vectors: null, scales: null, sparse };
      this.#sparse.restore(columns, Uint32Array.of(this.#sparse.rowCount - 1));
    });
  }
}

/** Reads the bytes of dense vectors, one range each, in the order given. */
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

/**
 * The codes of rows that are not known yet. All codes of a block share one checksum, so they are
 * read together, and the partition cache gets them too.
 */
async function readCodesAt(
  { reader, partitions }: Pick<VectorSources, 'reader' | 'partitions'>,
  places: readonly RowPlace[],
  width: number,
  signal: AbortSignal | undefined,
): Promise<Uint8Array[]> {
  const known = places.map((place) => (place as Partial<PassedRow>).code);
  const names = new Map<BlockTable, Map<number, RowPlace>>();
  for (const [i, place] of places.entries()) {
    if (known[i]?.length) continue;
    const { table } = place.segment;
    if (!names.has(table)) names.set(table, new Map());
    names.get(table)?.set(place.block, place);
  }
  const wanted = [...names.values()].flatMap((blocks) => [...blocks.values()]);
  const read = await reader.codes(wanted, signal);
  wanted.forEach((name, i) => {
    partitions.takeCodes(name, read[i]);
  });
  const codesOf = new Map(wanted.map((name, i) => [name, read[i]]));
  return places.map(({ segment, block, place }, i) => {
    const own = known[i];
    if (own?.length) return own;
    const first = names.get(segment.table)?.get(block) as RowPlace;
    const codes = codesOf.get(first) as Uint8Array;
    return codes.subarray(place * width, (place + 1) * width);
  });
}

/** Throws unless the parts of a vector match the checksum in its row. */
export function checkVector(
  reader: BlockReader,
  { segment, block, place, check }: RowPlace,
  parts: readonly ArrayBufferView[],
): void {
  if (vectorCheck(parts) === check) return;
  const file = reader.pathOf(segment.vectors as { name: string });
  throw new FormatError(`damaged: vector ${place} of block ${block} fails its checksum`, file);
}
