/**
 * Writes segments: of rows in memory, or of blocks that come from files. Blocks go straight to the
 * files of rows and vectors; hashes of ids are sorted at the end. Everything that creates segments
 * uses `SegmentWriter`.
 */

import type { Ids } from '../base/ids';
import type { Entries } from '../index/entries';
import type { Id } from '../index/ids';
import type { Rows } from '../index/rows';
import type { Segment } from '../index/segment';
import type { Space } from '../index/space';
import type { DenseVectors } from '../index/vectors/dense-vectors';
import {
  type BlockLayout,
  BlockWriter,
  type FileWriter,
  idColumn,
  idType,
  maxBlockRows,
  type NewBlock,
  NO_PARTITION,
  NO_VECTORS,
  vectorChecks,
} from './blocks';
import type { IndexHeader } from './header';
import { hashFiles, hashOfId, MIN_HASHED_ROWS } from './id-hashes';
import type { SegmentFiles } from './manifest';

/** Which rows a segment has. */
interface RowRange {
  /** Numbers of the rows are `firstRow` to `endRow - 1`. */
  readonly firstRow: number;
  readonly endRow: number;
  /** How many there are. */
  readonly count: number;
}

/** The files of one segment: `open`, `add` for each block, `addCopies`, `end`. */
export class SegmentWriter {
  readonly #writer: FileWriter;
  readonly #range: RowRange;
  readonly #rows: BlockWriter;
  readonly #copies: BlockWriter | null;
  /** By row, from the first of the segment on, its position; none without copies. */
  readonly #positions: Uint32Array;
  /** By position the hash of the id; null where there are too few. */
  readonly #hashes: BigUint64Array | null;

  private constructor(
    writer: FileWriter,
    range: RowRange,
    rows: BlockWriter,
    { copies, isHashed }: { copies: BlockWriter | null; isHashed: boolean },
  ) {
    this.#writer = writer;
    this.#range = range;
    this.#rows = rows;
    this.#copies = copies;
    this.#positions = new Uint32Array(copies === null ? 0 : range.endRow - range.firstRow);
    this.#hashes = isHashed ? new BigUint64Array(range.count) : null;
  }

  /** Begins the files of a segment. */
  static async open(
    writer: FileWriter,
    header: IndexHeader,
    layout: BlockLayout,
    range: RowRange,
  ): Promise<SegmentWriter> {
    const { bits, projection, seed, dimensions, texts } = header;
    const described = { bits, projection, seed, dimensions, texts, firstRow: range.firstRow };
    const rows = await BlockWriter.open(writer, described, layout);
    const copies =
      layout.link && (await BlockWriter.open(writer, described, { ...layout, link: 'at' }));
    const isHashed = layout.id !== null && range.count > MIN_HASHED_ROWS;
    return new SegmentWriter(writer, range, rows, { copies, isHashed });
  }

  /** Writes a block. Blocks come by partition, then row; those without a code last. */
  async add(block: NewBlock): Promise<void> {
    const { count, rows, ids } = block;
    for (let i = 0; i < count; i++) {
      const position = this.#rows.rowCount + i;
      if (this.#copies !== null) this.#positions[rows[i] - this.#range.firstRow] = position;
      if (this.#hashes !== null) this.#hashes[position] = hashOfId((ids as readonly Id[])[i]);
    }
    await this.#rows.add(block);
  }

  /** Writes a block of copies of rows that were added. Blocks come by partition, then row. */
  async addCopies(block: NewBlock): Promise<void> {
    const links = block.rows.map((row) => this.#positions[row - this.#range.firstRow]);
    await this.#copies?.add({ ...block, links, vectors: NO_VECTORS });
  }

  /** Ends the files, which have all rows but not their carried columns. */
  async end(): Promise<SegmentFiles> {
    const { firstRow, endRow, count } = this.#range;
    const files = { ...(await this.#rows.end()), ...(await this.#copies?.end()) };
    if (this.#hashes === null) return { firstRow, endRow, files };
    const made = hashFiles(this.#hashes);
    const output = await this.#writer.create('hashes');
    await output.write(made.hashes);
    const hashes = await output.end(count);
    const buckets = await this.#writer.add('buckets', made.buckets, made.bucketCount);
    return { firstRow, endRow, files: { ...files, hashes, buckets } };
  }
}

/** The columns of segments of an index with this header and space. */
export function layoutOf(
  { bits, dimensions, vectors, copies }: IndexHeader,
  space: Space | null,
  id: string | null,
): BlockLayout {
  return {
    bits,
    dimensions: dimensions ?? 0,
    vectors,
    id,
    residualBytes: space?.bytesPerEntry ?? 0,
    link: copies ? 'second' : null,
  };
}

/** Writes a segment of rows in memory, none of which is removed; its range of rows may be wider. */
export async function writeSegment(
  writer: FileWriter,
  header: IndexHeader,
  segment: Segment,
  space: Space | null,
  { firstRow, endRow }: Pick<RowRange, 'firstRow' | 'endRow'> = segment.rows,
): Promise<SegmentFiles> {
  const { rows } = segment;
  const ids = rows.hasIds ? Array.from({ length: rows.count }, (_, at) => rows.idAt(at, 0)) : null;
  const layout = layoutOf(header, space, ids === null ? null : idType(ids));
  const range = { firstRow, endRow, count: rows.count };
  const output = await SegmentWriter.open(writer, header, layout, range);
  const mostRows = maxBlockRows(layout, layout.residualBytes > 0 || segment.hasPartitions);
  const add = async (partition: number, positions: Uint32Array, isCopy: boolean) => {
    for (let first = 0, end = 0; first < positions.length; first = end) {
      const most = Math.min(positions.length, first + mostRows);
      end = rows.vectors?.endOf(positions, first, most) ?? most;
      const some = { partition, positions: positions.subarray(first, end), isCopy };
      const own = ids && Array.from(some.positions, (at) => ids[at]);
      const block = blockOf(segment, layout, some, own && idColumn(own, layout.id));
      await (isCopy ? output.addCopies(block) : output.add(block));
    }
  };
  const partitions = space?.count ?? 1;
  for (let p = 0; p <= partitions; p++) {
    const { first, end } = segment.positionsIn(p);
    const positions = Uint32Array.from({ length: end - first }, (_, i) => first + i);
    await add(p < partitions ? p : NO_PARTITION, positions, false);
  }
  for (let p = 0; header.copies && p < partitions; p++) {
    const { first, end } = segment.copiesIn(p);
    // Copies lie in the order of the rows' own partitions; a block has them by row.
    const positions = (segment.entries as Entries).positions as Uint32Array;
    const sorted = positions.slice(first, end).sort((a, b) => rows.rowAt(a) - rows.rowAt(b));
    await add(p, sorted, true);
  }
  return output.end();
}

/** Rows of one partition of a segment, by their positions, or copies of rows there. */
interface RowsOfBlock {
  readonly partition: number;
  readonly positions: Uint32Array;
  readonly isCopy: boolean;
}

function blockOf(
  segment: Segment,
  { residualBytes, link }: BlockLayout,
  { partition, positions, isCopy }: RowsOfBlock,
  ids: Ids | null,
): NewBlock {
  const { rows, entries } = segment;
  const count = positions.length;
  const vectors = rows.vectors?.gather(positions) ?? NO_VECTORS;
  const residuals = residualBytes > 0 ? new Uint8Array(count * residualBytes) : null;
  const scales = residualBytes > 0 ? new Float32Array(count) : null;
  const isNull = partition === NO_PARTITION;
  if (entries !== null && residuals !== null && scales !== null && !isNull) {
    for (let i = 0; i < count; i++) {
      const own = residuals.subarray(i * residualBytes, (i + 1) * residualBytes);
      scales[i] = entries.copyInto(segment.entryOf(positions[i], isCopy), own);
    }
  }
  return {
    count,
    partition,
    rows: positions.map((at) => rows.rowAt(at)),
    ids,
    codes: codesAt(rows, positions),
    residuals,
    scales,
    checks: vectorChecks(vectors, count),
    vectors: isCopy ? NO_VECTORS : vectors,
    links:
      link === null || isCopy ? null : positions.map((at) => (isNull ? 0 : segment.secondOf(at))),
  };
}

function codesAt(rows: Rows, positions: Uint32Array): Uint8Array {
  const { bytesPerCode } = rows.codes;
  const codes = new Uint8Array(positions.length * bytesPerCode);
  for (const [i, at] of positions.entries()) codes.set(rows.codeAt(at), i * bytesPerCode);
  return codes;
}

/** Bytes of a row in the largest file of a segment, about. */
export function fileBytesOfRow(
  { bits, dimensions, vectors, residualBytes }: BlockLayout,
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
export function memoryOfRow(layout: BlockLayout, vectors: DenseVectors | null): number {
  const held = vectors === null ? 512 : vectors.dimensions * (vectors.kind === 'int8' ? 1 : 4) + 16;
  const entries = (layout.link === null ? 1 : 2) * (layout.residualBytes + 12);
  return held + entries + Math.ceil(layout.bits / 8) + (layout.id === null ? 24 : 96);
}
