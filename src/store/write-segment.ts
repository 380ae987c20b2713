/**
 * Writes segments: of rows in memory, or of blocks that come from files. Blocks go straight to the
 * files of rows and vectors; hashes of ids are sorted at the end. Everything that creates segments
 * uses `SegmentWriter`.
 */

import { Entries } from '../index/entries';
import type { Id } from '../index/ids';
import type { Rows } from '../index/rows';
import type { Segment } from '../index/segment';
import type { Space } from '../index/space';
import type { DenseVectors } from '../index/vectors/dense-vectors';
import {
  BlockTables,
  idColumn,
  idType,
  type Layout,
  maxBlockRows,
  type NewBlock,
  NO_PARTITION,
  NO_VECTORS,
  vectorChecks,
} from './blocks';
import type { IndexHeader } from './header';
import { hashFiles, hashOfId, MIN_HASHED_ROWS } from './id-hashes';
import type { FileKind, FolderFile, SegmentFiles } from './manifest';

/** A file of a generation that is being written. */
export interface OpenFile {
  /** Appends bytes, which may change once the promise resolves. */
  write(chunks: readonly Uint8Array[]): Promise<void>;
  /** Ends the file, which has `rows` rows; returns its entry for the manifest. */
  end(rows: number): Promise<FolderFile>;
}

/** Writes the files of a generation, in a folder or a directory of a browser. */
export interface FileWriter {
  /** Begins a file that is written in pieces. */
  create(kind: FileKind): Promise<OpenFile>;
  /** Writes a whole file. */
  add(kind: FileKind, bytes: Uint8Array, rows: number): Promise<FolderFile>;
}

/** Which rows a segment has. */
export interface SegmentRange {
  /** Numbers of the rows are `firstRow` to `endRow - 1`. */
  readonly firstRow: number;
  readonly endRow: number;
  /** How many there are. */
  readonly count: number;
}

/** The files of one segment: `open`, `add` for each block, `addCopies`, `end`. */
export class SegmentWriter {
  readonly layout: Layout;
  readonly #writer: FileWriter;
  readonly #range: SegmentRange;
  readonly #rows: BlockTables;
  readonly #rowsFile: OpenFile;
  readonly #vectorsFile: OpenFile | null;
  readonly #copies: { readonly tables: BlockTables; readonly file: OpenFile } | null;
  /** By row, from the first of the segment on, its position; null without copies. */
  readonly #positions: Uint32Array | null;
  /** By position the hash of the id; null where there are too few. */
  readonly #hashes: BigUint64Array | null;
  #count = 0;
  #copyCount = 0;

  private constructor(
    writer: FileWriter,
    layout: Layout,
    range: SegmentRange,
    made: {
      rows: BlockTables;
      files: readonly [OpenFile, OpenFile | null];
      copies: { readonly tables: BlockTables; readonly file: OpenFile } | null;
    },
  ) {
    this.#writer = writer;
    this.layout = layout;
    this.#range = range;
    this.#rows = made.rows;
    [this.#rowsFile, this.#vectorsFile] = made.files;
    this.#copies = made.copies;
    this.#positions = made.copies && new Uint32Array(range.endRow - range.firstRow);
    const isHashed = layout.id !== null && range.count > MIN_HASHED_ROWS;
    this.#hashes = isHashed ? new BigUint64Array(range.count) : null;
  }

  /** Begins the files of a segment. */
  static async open(
    writer: FileWriter,
    header: IndexHeader,
    layout: Layout,
    range: SegmentRange,
  ): Promise<SegmentWriter> {
    const { bits, projection, seed, dimensions, texts } = header;
    const described = { bits, projection, seed, dimensions, texts, firstRow: range.firstRow };
    const rows = new BlockTables(described, layout);
    const rowsFile = await writer.create('rows');
    const vectorsFile = rows.vectors && (await writer.create('vectors'));
    const copies =
      layout.link === null ? null : new BlockTables(described, { ...layout, link: 'at' });
    return new SegmentWriter(writer, layout, range, {
      rows,
      files: [rowsFile, vectorsFile],
      copies: copies && { tables: copies, file: await writer.create('copies') },
    });
  }

  /** Writes a block. Blocks come by partition, then row; those without a code last. */
  async add(block: NewBlock): Promise<void> {
    const bytes = this.#rows.add(block);
    await this.#rowsFile.write(bytes.rows);
    await this.#vectorsFile?.write(bytes.vectors);
    const { count, rows, ids } = block;
    for (let i = 0; i < count; i++) {
      const position = this.#count + i;
      if (this.#positions !== null) this.#positions[rows[i] - this.#range.firstRow] = position;
      if (this.#hashes !== null) this.#hashes[position] = hashOfId((ids as readonly Id[])[i]);
    }
    this.#count += count;
  }

  /** Writes a block of copies of rows that were added. Blocks come by partition, then row. */
  async addCopies(block: NewBlock): Promise<void> {
    if (this.#copies === null || this.#positions === null) return;
    const { tables, file } = this.#copies;
    const positions = this.#positions;
    const links = block.rows.map((row) => positions[row - this.#range.firstRow]);
    await file.write(tables.add({ ...block, links, vectors: NO_VECTORS }).rows);
    this.#copyCount += block.count;
  }

  /** Ends the files, which have all rows but not their carried columns. */
  async end(): Promise<SegmentFiles> {
    const { firstRow, endRow, count } = this.#range;
    // A file has one block at least: where no row is left, or rows without codes have no copies.
    if (this.#rows.count === 0) await this.add(emptyBlock(this.layout));
    if (this.#copies?.tables.count === 0) await this.addCopies(emptyBlock(this.layout));
    const files: { [kind in FileKind]?: FolderFile } = {};
    const add = async (kind: FileKind, bytes: Uint8Array, rows: number) => {
      files[kind] = await this.#writer.add(kind, bytes, rows);
    };
    // A sealed file holds its last batch back until its end, so only now all blocks have places.
    await this.#rowsFile.write(this.#rows.rows.end());
    files.rows = await this.#rowsFile.end(count);
    if (this.#vectorsFile !== null) {
      await this.#vectorsFile.write(this.#rows.vectors?.end() ?? []);
      files.vectors = await this.#vectorsFile.end(count);
    }
    await add('blocks', this.#rows.blocks(), this.#rows.count);
    if (this.#copies !== null) {
      const { tables, file } = this.#copies;
      await file.write(tables.rows.end());
      files.copies = await file.end(this.#copyCount);
      await add('places', tables.blocks(), tables.count);
    }
    if (this.#hashes !== null) {
      const made = hashFiles(this.#hashes);
      const output = await this.#writer.create('hashes');
      await output.write(made.hashes);
      files.hashes = await output.end(count);
      await add('buckets', made.buckets, made.bucketCount);
    }
    return { firstRow, endRow, files };
  }
}

/** The columns of segments of an index with this header and space. */
export function layoutOf(
  { bits, dimensions, vectors, copies }: IndexHeader,
  space: Space | null,
  id: string | null,
): Layout {
  return {
    bits,
    dimensions: dimensions ?? 0,
    vectors,
    id,
    residualBytes: space?.bytesPerEntry ?? 0,
    link: copies ? 'second' : null,
  };
}

/** A block without rows. */
function emptyBlock({ id, residualBytes, vectors, link }: Layout): NewBlock {
  const dense = vectors === 'int8' ? new Int8Array() : new Float32Array();
  const sparse = {
    offsets: new Int32Array(1),
    indices: new BigUint64Array(),
    weights: new Float32Array(),
  };
  return {
    count: 0,
    partition: NO_PARTITION,
    rows: new Uint32Array(),
    ids: idColumn([], id),
    codes: new Uint8Array(),
    residuals: residualBytes > 0 ? new Uint8Array() : null,
    scales: residualBytes > 0 ? new Float32Array() : null,
    checks: vectors === 'none' ? null : new Uint32Array(),
    links: link === null ? null : new Uint32Array(),
    vectors: {
      vectors: vectors === 'int8' || vectors === 'float32' ? dense : null,
      scales: vectors === 'int8' ? new Float32Array() : null,
      sparse: vectors === 'sparse' ? sparse : null,
    },
  };
}

/** Writes a segment of rows in memory, none of which is removed. */
export async function writeSegment(
  writer: FileWriter,
  header: IndexHeader,
  segment: Segment,
  space: Space | null,
): Promise<SegmentFiles> {
  const { rows } = segment;
  const ids = rows.hasIds ? Array.from({ length: rows.count }, (_, at) => rows.idAt(at, 0)) : null;
  const layout = layoutOf(header, space, ids === null ? null : idType(ids));
  const range = { firstRow: rows.firstRow, endRow: rows.endRow, count: rows.count };
  const output = await SegmentWriter.open(writer, header, layout, range);
  const source = new SegmentBlocks(segment, layout, ids);
  const partitions = space?.count ?? 1;
  for (let p = 0; p <= partitions; p++) {
    const { first, end } = segment.positionsIn(p);
    const positions = Uint32Array.from({ length: end - first }, (_, i) => first + i);
    for (const block of source.blocks(p < partitions ? p : NO_PARTITION, positions, false)) {
      await output.add(block());
    }
  }
  for (let p = 0; header.copies && p < partitions; p++) {
    const { first, end } = segment.copiesIn(p);
    // Copies lie in the order of the rows' own partitions; a block has them by row.
    const positions = (segment.entries as Entries).positions as Uint32Array;
    const sorted = positions.slice(first, end).sort((a, b) => rows.rowAt(a) - rows.rowAt(b));
    for (const block of source.blocks(p, sorted, true)) await output.addCopies(block());
  }
  return output.end();
}

/** Makes blocks of rows of a segment in memory. */
class SegmentBlocks {
  readonly #segment: Segment;
  readonly #layout: Layout;
  readonly #ids: readonly Id[] | null;
  readonly #mostRows: number;

  constructor(segment: Segment, layout: Layout, ids: readonly Id[] | null) {
    this.#segment = segment;
    this.#layout = layout;
    this.#ids = ids;
    this.#mostRows = maxBlockRows(layout, layout.residualBytes > 0 || segment.hasPartitions);
  }

  /** Of rows of one partition, in blocks that are made when they are called. */
  blocks(partition: number, positions: Uint32Array, isCopy: boolean): (() => NewBlock)[] {
    const { vectors } = this.#segment.rows;
    const made: (() => NewBlock)[] = [];
    for (let first = 0; first < positions.length; ) {
      const wanted = Math.min(positions.length, first + this.#mostRows);
      const end = vectors?.endOf(positions, first, wanted) ?? wanted;
      const some = positions.subarray(first, end);
      made.push(() => this.block(partition, some, isCopy));
      first = end;
    }
    return made;
  }

  block(partition: number, positions: Uint32Array, isCopy: boolean): NewBlock {
    const { rows } = this.#segment;
    const count = positions.length;
    const vectors = rows.vectors?.gather(positions) ?? NO_VECTORS;
    const { link } = this.#layout;
    return {
      count,
      partition,
      rows: positions.map((at) => rows.rowAt(at)),
      ids:
        this.#ids &&
        idColumn(
          Array.from(positions, (at) => (this.#ids as Id[])[at]),
          this.#layout.id,
        ),
      codes: codesAt(rows, positions),
      ...this.#residuals(partition, positions, isCopy),
      checks: vectorChecks(vectors, count),
      vectors: isCopy ? NO_VECTORS : vectors,
      links:
        link === null || isCopy
          ? null
          : positions.map((at) => (partition === NO_PARTITION ? 0 : this.#segment.secondOf(at))),
    };
  }

  #residuals(partition: number, positions: Uint32Array, isCopy: boolean) {
    const { residualBytes } = this.#layout;
    const { entries } = this.#segment;
    if (residualBytes === 0) return { residuals: null, scales: null };
    const residuals = new Uint8Array(positions.length * residualBytes);
    const scales = new Float32Array(positions.length);
    if (entries instanceof Entries && partition !== NO_PARTITION) {
      for (let i = 0; i < positions.length; i++) {
        const own = residuals.subarray(i * residualBytes, (i + 1) * residualBytes);
        scales[i] = entries.copyInto(this.#segment.entryOf(positions[i], isCopy), own);
      }
    }
    return { residuals, scales };
  }
}

function codesAt(rows: Rows, positions: Uint32Array): Uint8Array {
  const { bytesPerCode } = rows.codes;
  const codes = new Uint8Array(positions.length * bytesPerCode);
  for (const [i, at] of positions.entries()) codes.set(rows.codeAt(at), i * bytesPerCode);
  return codes;
}

/** Bytes of a row in the largest file of a segment, about. */
export function fileBytesOfRow(
  { bits, dimensions, vectors, residualBytes }: Layout,
  sparseBytes: number,
): number {
  const held =
    vectors === 'sparse'
      ? sparseBytes
      : vectors === 'none'
        ? 0
        : dimensions * (vectors === 'int8' ? 1 : 4);
  return Math.max(held, Math.ceil(bits / 8) + residualBytes + 64);
}

/** Bytes of a row in memory while a segment is made of it, about. */
export function memoryOfRow(layout: Layout, vectors: DenseVectors | null): number {
  const held = vectors === null ? 512 : vectors.dimensions * (vectors.kind === 'int8' ? 1 : 4) + 16;
  const entries = (layout.link === null ? 1 : 2) * (layout.residualBytes + 12);
  return held + entries + Math.ceil(layout.bits / 8) + (layout.id === null ? 24 : 96);
}
