/**
 * Writes segments: of rows in memory, or of blocks that come from files. Blocks go straight to the
 * files of rows and vectors; hashes of ids are sorted at the end. Everything that creates segments
 * uses `SegmentWriter`.
 */

import { concatenated } from '../base/arrays';
import type { Id } from '../index/ids';
import type { Rows } from '../index/rows';
import type { Segment } from '../index/segment';
import type { Space } from '../index/space';
import { newResiduals } from '../kernels/residuals';
import type { RowBatch } from '../table/row-batch';
import { tableOfVectors } from '../table/sealed/index-rows';
import { type TableBatch, TableWriter } from '../table/sealed/sealed-table';
import {
  type BlockLayout,
  blocksToArrow,
  codesBatch,
  columnsOfCodes,
  columnsOfRows,
  columnsOfVectors,
  type FileWriter,
  idColumn,
  idType,
  layoutOf,
  maxBlockRows,
  type NewBlock,
  NO_PARTITION,
  NO_VECTORS,
  type OpenFile,
  rowsBatch,
  vectorChecks,
  type WrittenBlock,
} from './blocks';
import { columnsFile } from './columns';
import { hashFile, hashOfId, MIN_HASHED_ROWS } from './id-hashes';
import type { FileKind, IndexHeader, SegmentFiles } from './manifest';

/** Which rows a segment has. */
interface RowRange {
  /** Numbers of the rows are `firstRow` to `endRow - 1`. */
  readonly firstRow: number;
  readonly endRow: number;
  /** How many there are. */
  readonly count: number;
}

/** A file of blocks that is being written. */
interface BlockFile {
  readonly table: TableWriter;
  readonly file: OpenFile;
}

/** The files of one segment: `open`, `add` for each block, `end`. */
export class SegmentWriter {
  readonly #blocks: Omit<WrittenBlock, 'bodies'>[] = [];
  /** By position the hash of the id; null where there are too few. */
  readonly #hashes: BigUint64Array | null;
  /** Rows of the blocks that were added. */
  #count = 0;

  /** `vectors` is null where none are held, and `codes` where they lie with the rows. */
  private constructor(
    private readonly writer: FileWriter,
    private readonly layout: BlockLayout,
    private readonly range: RowRange,
    private readonly rows: BlockFile,
    private readonly vectors: BlockFile | null,
    private readonly codes: BlockFile | null,
  ) {
    const isHashed = layout.id !== null && range.count > MIN_HASHED_ROWS;
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
    const { firstRow } = range;
    const about = { bits, projection, seed, dimensions, texts, firstRow };
    const begin = async (kind: FileKind, table: TableWriter) => {
      return { table, file: await writer.create(kind) };
    };
    const ofRows = new TableWriter(columnsOfRows(layout), { kind: 'segment', ...about });
    const rows = await begin('rows', ofRows);
    const ofVectors = new TableWriter(columnsOfVectors(layout), { kind: 'vectors' });
    const vectors = layout.vectors === 'none' ? null : await begin('vectors', ofVectors);
    const ofCodes = new TableWriter(columnsOfCodes(layout), { kind: 'codes', ...about });
    const codes = layout.residualBytes === 0 ? null : await begin('codes', ofCodes);
    return new SegmentWriter(writer, layout, range, rows, vectors, codes);
  }

  /** Writes a block. Blocks come by partition; rows without a code come last. */
  async add(block: NewBlock): Promise<void> {
    const { partition, count, copies, ids, vectors } = block;
    this.#blocks.push({ partition, rows: count, copies: copies.length });
    const add = ({ file, table }: BlockFile, batch: TableBatch) => file.write(table.add(batch));
    await add(this.rows, rowsBatch(block, this.layout));
    for (let i = 0; this.#hashes !== null && i < count; i++) {
      this.#hashes[this.#count + i] = hashOfId((ids as readonly Id[])[i]);
    }
    this.#count += count;
    if (this.vectors !== null) await add(this.vectors, { count, rows: tableOfVectors(vectors) });
    if (this.codes !== null) await add(this.codes, codesBatch(block, this.layout));
  }

  /** Ends the files, which have all rows but not their carried columns. */
  async end(): Promise<SegmentFiles> {
    const ended = async ({ file, table }: BlockFile) => {
      await file.write(table.end());
      return file.end();
    };
    const rows = await ended(this.rows);
    const vectors = this.vectors && (await ended(this.vectors));
    const codes = this.codes && (await ended(this.codes));
    const hashed = this.#hashes && hashFile(this.#hashes);
    const output = hashed && (await this.writer.create('hashes'));
    await output?.write(hashed?.bytes ?? []);
    const hashes = await output?.end();
    // A sealed file holds its last batch back until its end, so only now all blocks have places.
    const written = this.#blocks.map((block, i) => ({
      ...block,
      bodies: {
        rows: this.rows.table.bodies[i],
        vectors: this.vectors?.table.bodies[i],
        codes: this.codes?.table.bodies[i],
      },
    }));
    const bytes = blocksToArrow(this.layout, written, hashed?.buckets ?? []);
    const blocks = await this.writer.add('blocks', bytes);
    const files = {
      rows,
      ...(vectors && { vectors }),
      ...(codes && { codes }),
      blocks,
      ...(hashes && { hashes }),
    };
    return { ...this.range, files };
  }
}

/**
 * Writes a segment of rows in memory, none of which is removed, and the columns that they carry;
 * its range of rows may be wider.
 */
export async function writeSegment(
  writer: FileWriter,
  header: IndexHeader,
  segment: Segment,
  space: Space | null,
  columns: RowBatch | null = null,
  { firstRow, endRow }: Pick<RowRange, 'firstRow' | 'endRow'> = segment.rows,
): Promise<SegmentFiles> {
  const { rows } = segment;
  const ids = rows.hasIds ? Array.from({ length: rows.count }, (_, at) => rows.idAt(at, 0)) : null;
  const layout = layoutOf(header, space, ids === null ? null : idType(ids));
  const range = { firstRow, endRow, count: rows.count };
  const output = await SegmentWriter.open(writer, header, layout, range);
  const most = maxBlockRows(layout, space !== null);
  const partitions = space?.count ?? 1;
  const copied = segment.entries?.positions ?? null;
  for (let p = 0; p <= partitions; p++) {
    const { first, end } = segment.positionsIn(p);
    const own = Uint32Array.from({ length: end - first }, (_, i) => first + i);
    // Copies lie in the order of the rows' own partitions; a block has them by row.
    const those = p < partitions && copied ? segment.copiesIn(p) : { first: 0, end: 0 };
    const others = copied?.slice(those.first, those.end) ?? new Uint32Array();
    others.sort((a, b) => rows.rowAt(a) - rows.rowAt(b));
    for (let at = 0; at < own.length || at < others.length; at += most) {
      const some = [own, others].map((all) => all.subarray(at, at + most));
      await output.add(blockOf(segment, layout, p < partitions ? p : NO_PARTITION, some, ids));
    }
  }
  const made = await output.end();
  if (columns === null) return made;
  const file = await columnsFile(writer);
  await file.add(columns);
  return { ...made, files: { ...made.files, columns: await file.end() } };
}

/** Rows of a partition of a segment as a block, by positions, and copies of others. */
function blockOf(
  segment: Segment,
  { id, residualBytes, copies }: BlockLayout,
  partition: number,
  [own, copied]: readonly Uint32Array[],
  idsOfRows: readonly Id[] | null,
): NewBlock {
  const { rows, entries } = segment;
  const count = own.length;
  const all = concatenated([own, copied]);
  const numbers = all.map((at) => rows.rowAt(at));
  const ids = idsOfRows && Array.from(all, (at) => idsOfRows[at]);
  const vectors = rows.vectors?.gather(own) ?? NO_VECTORS;
  const ofCopies = vectorChecks(rows.vectors?.gather(copied) ?? NO_VECTORS, copied.length);
  const checks = vectorChecks(vectors, count);
  const residuals = residualBytes > 0 ? newResiduals(residualBytes, all.length) : null;
  if (residuals !== null && partition !== NO_PARTITION) {
    const those = all.map((at, i) => segment.entryOf(at, i >= count));
    entries?.copyTo(residuals, 0, those);
  }
  return {
    partition,
    count,
    rows: numbers.subarray(0, count),
    copies: numbers.subarray(count),
    positions: copies ? all : null,
    ids: ids && idColumn(ids, id),
    codes: codesAt(rows, own),
    residuals,
    checks: checks && concatenated([checks, ofCopies as Uint32Array]),
    vectors,
  };
}

function codesAt(rows: Rows, positions: Uint32Array): Uint8Array {
  const { bytesPerCode } = rows.codes;
  const codes = new Uint8Array(positions.length * bytesPerCode);
  for (const [i, at] of positions.entries()) codes.set(rows.codeAt(at), i * bytesPerCode);
  return codes;
}

/** What a sparse vector takes, about, where nothing is known of it. */
const SPARSE_BYTES = 1024;

/** Bytes of the vector of a row, about. */
function vectorBytes({ vectors, dimensions }: BlockLayout): number {
  if (vectors === 'sparse') return SPARSE_BYTES;
  return vectors === 'none' ? 0 : dimensions * (vectors === 'int8' ? 1 : 4);
}

/** Bytes of a row in the largest file of a segment, about. */
export function fileBytesOfRow(layout: BlockLayout): number {
  return Math.max(vectorBytes(layout), Math.ceil(layout.bits / 8) + layout.residualBytes + 64);
}

/** Bytes of a row in memory while a segment is made of it, about. */
export function memoryOfRow(layout: BlockLayout): number {
  const entries = (layout.copies ? 2 : 1) * (layout.residualBytes + 12);
  const ids = layout.id === null ? 24 : 96;
  return vectorBytes(layout) + 16 + entries + Math.ceil(layout.bits / 8) + ids;
}
