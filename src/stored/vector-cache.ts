/**
 * Vectors of a stored index in memory, up to a limit. Dense ones lie in one WebAssembly memory,
 * where the kernel of an index in memory reads them. A vector is compared with its checksum when it
 * is read; those that were not used since the longest time make room, by second chance.
 */

import { whereOf } from '../base/arrays';
import { FormatError } from '../base/format-error';
import { cosineOf, lengthOf } from '../base/length';
import type { UnitVector } from '../index/vectors/row-vectors';
import { SparseVectors } from '../index/vectors/sparse-vectors';
import type { RowValues } from '../kernels/dots/dots.scalar';
import { dotsKernel, type KernelName } from '../kernels/kernels';
import { allocateCodes } from '../kernels/memory';
import { type BlockTable, vectorCheck } from '../table/sealed/segment-tables';
import type { SparseUnit } from '../vectors/sparse-unit';
import type { SparseMatrix } from '../vectors/vectors';
import type { BlockReader, PassedRow, RowPlace } from './block-reader';
import type { StoredContent } from './content';
import type { Store } from './needs';
import type { PartitionCache } from './partition-cache';

/** One memory holds less than 4 GiB. */
const MAX_BYTES = 2 ** 32 - 2 ** 21;

/** Where vectors are read, and what takes the codes that are read with them. */
interface VectorSources {
  readonly content: StoredContent;
  readonly reader: BlockReader;
  readonly partitions: PartitionCache;
}

export class VectorCache implements Store<RowPlace> {
  readonly #kind: string;
  readonly #width: number;
  readonly #kernel: KernelName | undefined;
  readonly #reader: BlockReader;
  readonly #sources: VectorSources;
  readonly #cellCount: number;
  readonly #values: RowValues;
  readonly #norms: Float64Array;
  /** Codes of the same rows, where partitions are held without; else empty. */
  readonly #codes: Uint8Array;
  readonly #codeBytes: number;
  /** By row its cell and 1; pages of it that no row touches take no memory. */
  readonly #cellOf: Uint32Array;
  /** Its number comes before those of all rows: a gap in front takes no memory. */
  readonly #firstRow: number;
  readonly #rowOf: Uint32Array;
  /** 1 where a cell was used since the hand has passed it. */
  readonly #isUsed: Uint8Array;
  #hand = 0;
  #filled = 0;
  /** Sparse vectors, all forgotten at once where they are too many; and where each row's is. */
  #sparse = new SparseVectors();
  readonly #sparseOf = new Map<number, number>();
  readonly #limit: number;
  hits = 0;
  misses = 0;

  constructor(sources: VectorSources, limit: number) {
    const { content, reader } = sources;
    const { parts, header } = content;
    this.#sources = sources;
    this.#kind = parts.vectors?.kind ?? 'none';
    this.#width = parts.dense?.dimensions ?? 0;
    this.#kernel = parts.kernel;
    this.#reader = reader;
    this.#limit = limit;
    this.#codeBytes = reader.readsHeads ? parts.distinctCodes.bytesPerCode : 0;
    const rowBytes = this.#rowBytes + this.#codeBytes + 24;
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
    this.#codes = new Uint8Array(this.#cellCount * this.#codeBytes);
    this.#firstRow = content.segments[0]?.rows.firstRow ?? 0;
    this.#cellOf = new Uint32Array(this.#width === 0 ? 0 : header.nextRow - this.#firstRow);
    this.#rowOf = new Uint32Array(this.#cellCount);
    this.#isUsed = new Uint8Array(this.#cellCount);
  }

  get #rowBytes(): number {
    return this.#width * (this.#kind === 'float32' ? 4 : 1);
  }

  /** Vectors that may well be read before it is known that they are needed. */
  get ahead(): number {
    return this.#kind === 'sparse' ? Number.POSITIVE_INFINITY : this.#cellCount >> 1;
  }

  fits(wanted: ReadonlyMap<number, RowPlace>): boolean {
    return this.#kind === 'sparse' || wanted.size <= this.#cellCount;
  }

  /** Those of some rows that are not here. */
  missing(rows: Uint32Array): Uint32Array {
    if (this.#kind === 'sparse') return rows.filter((row) => !this.#sparseOf.has(row));
    return whereOf(rows, (row) => {
      const cell = this.#cellOf[row - this.#firstRow];
      if (cell > 0) this.#isUsed[cell - 1] = 1;
      return cell === 0;
    });
  }

  /** The code of a row whose vector is here; null where partitions have it. */
  codeOf(row: number): Uint8Array | null {
    if (this.#codeBytes === 0) return null;
    const at = (this.#cellOf[row - this.#firstRow] - 1) * this.#codeBytes;
    return this.#codes.subarray(at, at + this.#codeBytes);
  }

  /** Cosines with a query of length 1, as RowVectors.cosinesOf gives them. */
  cosinesOf(rows: Uint32Array, query: UnitVector): Float64Array {
    this.hits += rows.length;
    if (this.#kind === 'sparse') {
      return this.#sparse.cosinesOf(this.#sparseRows(rows), query as SparseUnit);
    }
    const cosines = new Float64Array(rows.length);
    const cells = rows.map((row) => this.#cellOf[row - this.#firstRow] - 1);
    dotsKernel(this.#kernel).dotsOfRows(this.#values, cells, query as Float64Array, cosines);
    for (let i = 0; i < cosines.length; i++) {
      cosines[i] = cosineOf(cosines[i], this.#norms[cells[i]]);
    }
    return cosines;
  }

  /** Jaccard similarities with a set, the only row of a matrix. */
  jaccardsOf(rows: Uint32Array, set: SparseMatrix): Float64Array {
    this.hits += rows.length;
    const queries = new SparseVectors();
    queries.append(set, 0, 1, () => true);
    const own = this.#sparseRows(rows);
    return Float64Array.from(own, (row) => this.#sparse.jaccardOf(row, queries, 0));
  }

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
    if (this.#kind === 'sparse' && this.#sparse.bytes > this.#limit) {
      this.#sparse = new SparseVectors();
      this.#sparseOf.clear();
    }
    const rows = this.missing(Uint32Array.from(wanted.keys()));
    const places = Array.from(rows, (row) => wanted.get(row) as RowPlace);
    this.misses += rows.length;
    if (this.#kind === 'sparse') return this.#loadSparse(rows, places, signal);
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
      this.#cellOf[rows[i] - this.#firstRow] = cell + 1;
      this.#rowOf[cell] = rows[i];
      this.#isUsed[cell] = 1;
    });
  }

  /** A cell of none of these rows; those that were used since the hand passed stay once. */
  #takeCell(wanted: ReadonlyMap<number, RowPlace>): number {
    if (this.#filled < this.#cellCount) return this.#filled++;
    for (;;) {
      const cell = this.#hand;
      this.#hand = (this.#hand + 1) % this.#cellCount;
      if (wanted.has(this.#rowOf[cell])) continue;
      if (this.#isUsed[cell] === 0) {
        this.#cellOf[this.#rowOf[cell] - this.#firstRow] = 0;
        return cell;
      }
      this.#isUsed[cell] = 0;
    }
  }

  async #loadSparse(
    rows: Uint32Array,
    places: readonly RowPlace[],
    signal: AbortSignal | undefined,
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

/**
 * The codes of rows, where they are not known: those of their whole blocks are read, by whose
 * checksums they are compared, and given to the cache of partitions.
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

/** Fails unless a vector, of one part or more, is the one that was written. */
export function checkVector(
  reader: BlockReader,
  { segment, block, place, check }: RowPlace,
  parts: readonly ArrayBufferView[],
): void {
  if (vectorCheck(parts) === check) return;
  const file = reader.pathOf(segment.vectors as { name: string });
  throw new FormatError(`damaged: vector ${place} of block ${block} fails its checksum`, file);
}
