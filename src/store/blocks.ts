/**
 * The files of a segment: rows in the order of their partitions, one record batch for each block;
 * the vectors, and codes that searches of residual codes do not read, in the same order; and a
 * table of the places of blocks. Any Arrow reader opens them. Here a block is read from the body of
 * its batch alone (layout: docs/format.md), so that a search reads one range of a file for a
 * partition of a segment, and the kernel scores the bytes as they were read.
 */

import { concatenated, padded } from '../base/arrays';
import { checkInteger, type Ids } from '../base/check';
import { bytesPerCode, checkUnusedBits } from '../codes/codes';
import type { Id } from '../index/ids';
import type { Space } from '../index/space';
import type { VectorColumns } from '../index/vectors/row-vectors';
import { bytesOfRow, type Residuals } from '../kernels/residuals';
import { checksum } from '../kernels/xxhash';
import { asArrow } from '../table/arrow/batches';
import type { ByteRange } from '../table/arrow/messages';
import type { NumberArray } from '../table/columns/types';
import { SPARSE_COLUMNS, type SparseColumns, vectorsOfTable } from '../table/sealed/index-rows';
import {
  type BlockIds,
  type Body,
  type ColumnSchema,
  openTable,
  readBody,
  readNumbers,
  type TableBatch,
  type TableRows,
  writeTable,
} from '../table/sealed/sealed-table';
import type { FileKind, FolderFile, IndexHeader, SegmentFiles } from './manifest';

/** A file of a generation that is being written. */
export interface OpenFile {
  /** Appends bytes, which may change once the promise resolves. */
  write(chunks: readonly Uint8Array[]): Promise<void>;
  /** Ends the file; returns its entry for the manifest. */
  end(): Promise<FolderFile>;
}

/** Writes the files of a generation. */
export interface FileWriter {
  /** Begins a file that is written in pieces. */
  create(kind: FileKind): Promise<OpenFile>;
  /** Writes a whole file. */
  add(kind: FileKind, bytes: Uint8Array): Promise<FolderFile>;
}

/** Stands for the partition of rows without a code, after all others. */
export const NO_PARTITION = 0xffff_ffff;
/** Most rows of a block. */
const MAX_BLOCK_ROWS = 65_536;
/** Bytes of codes of a block in an index without partitions. */
const BLOCK_BYTES = 2 ** 20;
/** Most bytes of the vectors of a block: far below the 2 GiB that Arrow's library can write. */
const VECTOR_BYTES = 2 ** 30;
/** As many bytes a sparse vector may have on average, and a block have `VECTOR_BYTES`. */
const SPARSE_BYTES = 2 ** 17;

export const NO_VECTORS: VectorColumns = { vectors: null, scales: null, sparse: null };

/**
 * Rows of one partition, and copies there of rows that have it as their second one; or rows without
 * a code.
 */
export interface BlockRows {
  readonly partition: number;
  /** How many rows there are, without copies. */
  readonly count: number;
  /** The rows, ascending. */
  readonly rows: Uint32Array;
  /** The rows that have copies here, ascending. */
  readonly copies: Uint32Array;
  /** Of rows, then of copies, the positions of the rows in the segment; null without copies. */
  readonly positions: Uint32Array | null;
  /** Of rows, then of copies; null where rows are the ids. */
  readonly ids: BlockIds | null;
  /** Codes of rows one after another; empty where they have none, or were not read. */
  readonly codes: Uint8Array;
  /** Of rows, then of copies, as the kernel reads them; null where there are none. */
  readonly residuals: Residuals | null;
  /**
   * The low 32 bits of the checksum of each vector, of rows, then of copies; null without vectors.
   */
  readonly checks: Uint32Array | null;
  /** Of sparse vectors how many entries each has, else null. */
  readonly entries: Uint32Array | null;
}

/** A block to be written, with the vectors of its rows. */
export interface NewBlock extends Omit<BlockRows, 'ids' | 'entries'> {
  readonly ids: Ids | null;
  readonly vectors: VectorColumns;
}

/** Which columns the blocks of a segment have, and how wide they are. */
export interface BlockLayout {
  readonly bits: number;
  /** 0 where vectors have no fixed width. */
  readonly dimensions: number;
  /** How vectors are held: the option `vectors`. */
  readonly vectors: string;
  /** The type of the ids, as Arrow calls it; null where rows are the ids. */
  readonly id: string | null;
  /** Bytes of a residual code; 0 where there are none. */
  readonly residualBytes: number;
  /** True where rows have copies. */
  readonly copies: boolean;
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
    copies,
  };
}

/** The files that have a body for each block; those of buckets of hashes count as rows. */
export const BODY_KINDS = ['rows', 'vectors', 'codes'] as const;
export type BodyKind = (typeof BODY_KINDS)[number];

/** Where bodies are in their file, their bytes and checksums; all 0 where there is no such file. */
export interface Bodies {
  readonly at: Float64Array;
  readonly bytes: Uint32Array;
  readonly checksums: BigUint64Array;
}

/** Where blocks, or buckets of hashes, are: element i of each array is of block i. */
export interface BlockTable {
  readonly layout: BlockLayout;
  /** The columns of the rows. */
  readonly columns: readonly ColumnSchema[];
  readonly count: number;
  /** Of buckets their numbers. */
  readonly partitions: Uint32Array;
  /** How many rows each has, and how many copies. */
  readonly rows: Uint32Array;
  readonly copies: Uint32Array;
  /** How many rows the segment has before each block: the position of its first row. */
  readonly starts: Uint32Array;
  readonly bodies: Readonly<Record<BodyKind, Bodies>>;
}

/** Most rows of a block; it may have as many copies besides. */
export function maxBlockRows(layout: BlockLayout, hasPartitions: boolean): number {
  const isSparse = layout.vectors === 'sparse';
  const vectorBytes = isSparse ? SPARSE_BYTES : 4 * Math.max(1, layout.dimensions);
  const byVectors = Math.floor(VECTOR_BYTES / vectorBytes);
  const width = bytesPerCode(layout.bits);
  const byCodes = hasPartitions ? MAX_BLOCK_ROWS : Math.ceil(BLOCK_BYTES / (width + 8));
  return Math.max(1, Math.min(MAX_BLOCK_ROWS, byVectors, byCodes));
}

/**
 * The columns of a file of rows. Before the residual codes are numbers alone, and codes are last,
 * so that it is known where a block has them.
 */
export function columnsOfRows(layout: BlockLayout): ColumnSchema[] {
  const { id, residualBytes, copies, vectors } = layout;
  const columns: ColumnSchema[] = [{ name: 'row', type: 'uint32' }];
  if (copies) columns.push({ name: 'position', type: 'uint32' });
  if (residualBytes > 0) {
    columns.push({ name: 'residual', type: { bytes: bytesOfRow(residualBytes) } });
  }
  if (vectors !== 'none') columns.push({ name: 'vector_check', type: 'uint32' });
  if (vectors === 'sparse') columns.push({ name: 'entries', type: 'uint32' });
  if (id !== null) columns.push({ name: 'id', type: 'ids' });
  if (residualBytes === 0) columns.push(...columnsOfCodes(layout));
  return columns;
}

/** The column of codes: in a file of its own where an index has residual codes. */
export function columnsOfCodes({ bits }: BlockLayout): readonly ColumnSchema[] {
  return [{ name: 'code', type: { bytes: bytesPerCode(bits) }, isNullable: true }];
}

/** The columns of vectors, if any are held. */
export function columnsOfVectors(layout: BlockLayout): readonly ColumnSchema[] {
  const { vectors, dimensions } = layout;
  if (vectors === 'none') return [];
  if (vectors === 'sparse') return SPARSE_COLUMNS;
  const type = { vector: vectors as 'float32' | 'int8', width: dimensions };
  const scale: ColumnSchema[] = vectors === 'int8' ? [{ name: 'scale', type: 'float32' }] : [];
  return [{ name: 'vector', type }, ...scale];
}

const BLOCKS: readonly ColumnSchema[] = [
  { name: 'partition', type: 'uint32' },
  { name: 'rows', type: 'uint32' },
  { name: 'copies', type: 'uint32' },
  ...BODY_KINDS.flatMap((kind): ColumnSchema[] => [
    { name: `${kind}_at`, type: 'uint64' },
    { name: `${kind}_bytes`, type: 'uint32' },
    { name: `${kind}_checksum`, type: 'uint64' },
  ]),
];

/** A block or bucket that was written, with its bodies in its files. */
export interface WrittenBlock {
  readonly partition: number;
  readonly rows: number;
  readonly copies: number;
  readonly bodies: Partial<Record<BodyKind, Body | undefined>>;
}

/** The bytes of a table of blocks, as they are in their file, and then of buckets of hashes. */
export function blocksToArrow(
  layout: BlockLayout,
  blocks: readonly WrittenBlock[],
  buckets: readonly WrittenBlock[],
): Uint8Array {
  const all = [...blocks, ...buckets];
  const rows: Record<string, NumberArray> = {
    partition: Uint32Array.from(all, ({ partition }) => partition),
    rows: Uint32Array.from(all, ({ rows }) => rows),
    copies: Uint32Array.from(all, ({ copies }) => copies),
  };
  for (const kind of BODY_KINDS) {
    const bodies = all.map((block) => block.bodies[kind]);
    rows[`${kind}_at`] = BigUint64Array.from(bodies, (body) => BigInt(body?.at ?? 0));
    rows[`${kind}_bytes`] = Uint32Array.from(bodies, (body) => body?.length ?? 0);
    rows[`${kind}_checksum`] = BigUint64Array.from(bodies, (body) => body?.checksum ?? 0n);
  }
  const header = { kind: 'blocks', ...layout, buckets: buckets.length };
  return writeTable(BLOCKS, header, [{ count: all.length, rows }]);
}

/** A block as a batch of a file of rows. */
export function rowsBatch(block: NewBlock, layout: BlockLayout): TableBatch {
  const { rows, copies, positions, ids, residuals, vectors, checks } = block;
  const offsets = vectors.sparse?.offsets;
  return {
    count: rows.length + copies.length,
    rows: {
      row: concatenated([rows, copies]),
      position: positions,
      residual: residuals && { bytes: residuals.bytes, validity: null },
      vector_check: checks,
      entries: offsets && Uint32Array.from(rows, (_, i) => offsets[i + 1] - offsets[i]),
      id: ids,
      ...(residuals === null && codesBatch(block, layout).rows),
    },
  };
}

/** A block as a batch of a file of codes. */
export function codesBatch({ count, partition, codes }: NewBlock, { bits }: BlockLayout) {
  const isNull = partition === NO_PARTITION;
  const bytes = isNull ? new Uint8Array(count * bytesPerCode(bits)) : codes;
  const validity = isNull ? new Uint8Array((count + 7) >> 3) : null;
  return { count, rows: { code: { bytes, validity } } };
}

/** The low 32 bits of the checksum of each of `count` vectors; null where there are none. */
export function vectorChecks({ vectors, sparse }: VectorColumns, count: number) {
  if (vectors === null && sparse === null) return null;
  const width = vectors === null ? 0 : vectors.length / count;
  return Uint32Array.from({ length: count }, (_, i) => {
    if (vectors !== null) return vectorCheck([vectors.subarray(i * width, (i + 1) * width)]);
    const { offsets, indices, weights } = sparse as SparseColumns;
    const [from, to] = [offsets[i], offsets[i + 1]];
    return vectorCheck([indices.subarray(from, to), weights.subarray(from, to)]);
  });
}

/** The same of one vector, whose parts are hashed one after another. */
export function vectorCheck(parts: readonly ArrayBufferView[]): number {
  let hash = 0n;
  for (const { buffer, byteOffset, byteLength } of parts) {
    hash = checksum(new Uint8Array(buffer, byteOffset, byteLength), hash);
  }
  return Number(hash & 0xffff_ffffn);
}

/** Reads a table of blocks, and of buckets of hashes. A FormatError names the file. */
export function blocksFromArrow(bytes: Uint8Array, file: string) {
  const table = openTable(bytes, file, { kind: 'blocks' });
  return asArrow(file, () => {
    const values = BLOCKS.map((column) => [column.name, readNumbers(table, column)]);
    const { partition, rows, copies, ...numbers } = Object.fromEntries(values);
    const { bits, dimensions, vectors, id, residualBytes, copies: hasCopies } = table.header;
    const layout = {
      ...{ bits, dimensions, vectors, id, residualBytes },
      copies: hasCopies,
    } as BlockLayout;
    const bodiesOf = (kind: BodyKind): Bodies => ({
      at: Float64Array.from(numbers[`${kind}_at`], Number),
      bytes: numbers[`${kind}_bytes`],
      checksums: numbers[`${kind}_checksum`],
    });
    const all: BlockTable = {
      layout,
      columns: columnsOfRows(layout),
      count: table.count,
      partitions: partition,
      rows,
      copies,
      starts: new Uint32Array(table.count),
      bodies: {
        rows: bodiesOf('rows'),
        vectors: bodiesOf('vectors'),
        codes: bodiesOf('codes'),
      },
    };
    const end = all.count - checkInteger('buckets', table.header.buckets, 0, all.count);
    return { blocks: blocksIn(all, 0, end), buckets: blocksIn(all, end, all.count) };
  });
}

/** Blocks `from` to `end - 1` of a table, as if there were no others. */
export function blocksIn(table: BlockTable, from: number, end: number): BlockTable {
  const part = <T extends object>(values: T): T => {
    const entries = Object.entries(values).map(([name, all]) => {
      return [name, ArrayBuffer.isView(all) ? (all as Uint32Array).subarray(from, end) : all];
    });
    return Object.fromEntries(entries);
  };
  const { rows, vectors, codes } = table.bodies;
  const bodies = { rows: part(rows), vectors: part(vectors), codes: part(codes) };
  const starts = new Uint32Array(end - from);
  for (let i = 1; i < starts.length; i++) starts[i] = starts[i - 1] + table.rows[from + i - 1];
  return { ...part(table), count: end - from, bodies, starts };
}

/**
 * How many rows and copies block `i` has, and where its body has what searches read besides the
 * rows, which come first: positions, residual codes (else codes), and checksums of vectors.
 */
export function numbersAt({ layout, rows, copies, bodies }: BlockTable, i: number) {
  const { bits, residualBytes } = layout;
  const count = rows[i] + copies[i];
  const position = padded(4 * count);
  const before = layout.copies ? 2 * position : position;
  const residuals = residualBytes > 0 ? count * bytesOfRow(residualBytes) : 0;
  const codes = residuals > 0 ? before : bodies.rows.bytes[i] - padded(count * bytesPerCode(bits));
  return { count, position, codes, check: before + padded(residuals) };
}

/** Throws where the body of block `i`, of rows with codes, is too short for what kernels read. */
export function checkNumbers(table: BlockTable, i: number): void {
  const { count, codes, check } = numbersAt(table, i);
  const { layout, bodies } = table;
  const end = check + (layout.vectors === 'none' ? 0 : 4 * count);
  if (end <= (layout.residualBytes > 0 ? bodies.rows.bytes[i] : codes)) return;
  throw new Error(`damaged: block ${i} is too short`);
}

/** The columns of block `i` of rows, which are not null, as views of its body. */
export function columnsIn(table: BlockTable, i: number, body: Uint8Array) {
  const { layout, columns, rows, copies } = table;
  const { id, entries } = readBody(columns, body, rows[i] + copies[i], layout.id);
  return { ids: (id ?? null) as BlockIds | null, entries: (entries ?? null) as Uint32Array | null };
}

/**
 * The rows of block `i` from its body, views of it, which must begin on 8 bytes; the codes are in
 * `codesBody` where they lie apart, null where they are not read. Throws where a body is too short,
 * rows do not ascend within the limits, or unused bits of codes are not 0.
 */
export function readBlock(
  table: BlockTable,
  i: number,
  body: Uint8Array,
  codesBody: Uint8Array | null,
  { firstRow, endRow }: Pick<SegmentFiles, 'firstRow' | 'endRow'>,
): BlockRows {
  const { layout, columns } = table;
  const [count, partition] = [table.rows[i], table.partitions[i]];
  const all = count + table.copies[i];
  const isNull = partition === NO_PARTITION;
  // The codes of rows without one are not read.
  const some = isNull ? columns.filter(({ isNullable }) => !isNullable) : columns;
  const read = readBody(some, body, all, layout.id);
  const column = <T>(name: string) => (read[name] ?? null) as T | null;
  const rows = read.row as Uint32Array;
  for (let at = 0; at < all; at++) {
    const least = at === 0 || at === count ? firstRow : rows[at - 1] + 1;
    if (rows[at] >= least && rows[at] < endRow) continue;
    throw new Error(`damaged: row ${rows[at]} is not where it can be`);
  }
  const apart = codesBody !== null && !isNull && readBody(columnsOfCodes(layout), codesBody, count);
  const codes = ((apart || read).code ?? new Uint8Array()) as Uint8Array;
  checkUnusedBits(codes, layout.bits, rows[0] ?? 0);
  const bytes = column<Uint8Array>('residual');
  return {
    partition,
    count,
    rows: rows.subarray(0, count),
    copies: rows.subarray(count),
    positions: column<Uint32Array>('position'),
    codes,
    ids: column<BlockIds>('id'),
    residuals: bytes && { bytesPerRow: layout.residualBytes, capacity: all, bytes },
    checks: column<Uint32Array>('vector_check'),
    entries: column<Uint32Array>('entries'),
  };
}

/**
 * The vectors of block `i` from its body in the file of vectors, views of it. Throws where a row
 * with a code has no value other than 0, or a sparse row is not as `add` requires it.
 */
export function readVectors(table: BlockTable, i: number, body: Uint8Array): VectorColumns {
  const { layout, rows, partitions } = table;
  const columns = readBody(columnsOfVectors(layout), body, rows[i]) as TableRows;
  const found = vectorsOfTable(columns, 0);
  if (partitions[i] === NO_PARTITION) return found;
  const { vectors, sparse } = found;
  const values = sparse?.weights ?? (vectors as Float32Array | Int8Array);
  for (let row = 0; row < rows[i]; row++) {
    let at = sparse?.offsets[row] ?? row * layout.dimensions;
    const end = sparse?.offsets[row + 1] ?? at + layout.dimensions;
    while (at < end && values[at] === 0) at++;
    if (at === end) throw new Error(`damaged: row ${row} of block ${i} has a code and no vector`);
  }
  return found;
}

/** Where in a body of sparse vectors are the parts of one: its dimensions, and its weights. */
export function sparsePlaces(
  { rows, bodies }: BlockTable,
  i: number,
  entries: Uint32Array,
  place: number,
): readonly [ByteRange, ByteRange] {
  // A body contains offsets, dimensions, offsets again and weights, each from a multiple of 8 on.
  let [before, all] = [0, 0];
  for (let at = 0; at < entries.length; at++) {
    if (at < place) before += entries[at];
    all += entries[at];
  }
  const offsets = padded(4 * (rows[i] + 1));
  const indices = bodies.vectors.at[i] + offsets;
  const weights = indices + 8 * all + offsets;
  return [
    { at: indices + 8 * before, length: 8 * entries[place] },
    { at: weights + 4 * before, length: 4 * entries[place] },
  ];
}

/** The narrowest type of a column that can hold all of these ids; null, no column, for none. */
export function idType(ids: readonly Id[]): string | null {
  if (ids.length === 0) return null;
  if (typeof ids[0] === 'string') return 'Utf8';
  return ids.every((id) => typeof id === 'number' && id === (id | 0)) ? 'Int32' : 'Int64';
}

/** The type that can hold what two types hold; null is that of no rows. */
export function widerType(a: string | null, b: string | null): string | null {
  const order = [null, 'Utf8', 'Int32', 'Int64'];
  return order.indexOf(a) > order.indexOf(b) ? a : b;
}

/** Ids as the values of a column of this type. */
export function idColumn(ids: readonly Id[], type: string | null): Ids | null {
  if (type === null) return null;
  if (type === 'Utf8') return ids as readonly string[];
  if (type === 'Int32') return Int32Array.from(ids as readonly number[]);
  return BigInt64Array.from(ids, (id) => BigInt(id));
}

/** Ids of a block as the index names them: numbers where it was given numbers. */
export function idAt(ids: BlockIds | null, place: number, row: number, isNumber: boolean): Id {
  if (ids === null) return row;
  const id = ids.at(place) as Id;
  return isNumber ? Number(id) : id;
}
