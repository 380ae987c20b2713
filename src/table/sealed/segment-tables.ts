/**
 * The files of a segment: rows in the order of their partitions, a record batch for each block; the
 * vectors in the same order; and where the blocks are. Any Arrow reader opens them. Here a block is
 * read from the body of its batch alone, whose layout docs/format.md states, so that one range of a
 * file is all that a search needs of a partition.
 */

import { bytesPerCode, checkUnusedBits } from '../../codes/codes';
import { checksum } from '../../kernels/kernels';
import type { Span } from '../arrow/bodies';
import { asArrow } from '../arrow/source';
import { type BlockIds, BodyReader } from './body-reader';
import {
  checkSparse,
  type IndexHeader,
  type IndexRows,
  SPARSE_COLUMNS,
  sparseTable,
} from './index-rows';
import { type ColumnSchema, openTable, readNumbers, type TableBatch } from './sealed-table';
import { padded, TableWriter, writeTable } from './table-writer';

/** In place of a partition, of rows without a code. */
export const NO_PARTITION = 0xffff_ffff;
/** Rows of a block, at most. */
export const MAX_BLOCK_ROWS = 65_536;

/** Rows of one partition, or without a code: ascending, with their numbers. */
export interface SegmentRows extends Omit<IndexRows, 'partitions'> {
  readonly rows: Uint32Array;
  readonly partition: number;
  /** Residual codes one after another, and their scales. */
  readonly residuals: Uint8Array | null;
  readonly residualScales: Float32Array | null;
  /** The low half of the checksum of each vector. */
  readonly checks: Uint32Array | null;
}

/** What the bodies of a segment are made of. */
export interface SegmentLayout {
  readonly bits: number;
  readonly dimensions: number;
  readonly keep: string;
  /** Type of the ids, as Arrow calls it; null where rows are the ids. */
  readonly id: string | null;
  readonly hasFirsts: boolean;
  /** Bytes of a residual code; 0 where there are none. */
  readonly residualBytes: number;
}

/** Where the blocks of a segment are: an entry a block. */
export interface BlockTable {
  readonly layout: SegmentLayout;
  readonly count: number;
  readonly partitions: Uint32Array;
  readonly rows: Uint32Array;
  readonly at: Float64Array;
  readonly bytes: Uint32Array;
  readonly checksums: BigUint64Array;
  readonly vectorsAt: Float64Array;
  readonly vectorsBytes: Uint32Array;
  readonly vectorsChecksums: BigUint64Array;
  /** Of what lies before the codes of each block, and of its codes; null in early folders. */
  readonly headChecksums: BigUint64Array | null;
  readonly codeChecksums: BigUint64Array | null;
}

const ROWS = (layout: SegmentLayout): ColumnSchema[] => [
  { name: 'row', type: 'uint32' },
  { name: 'id', type: 'ids', isOptional: true },
  { name: 'first', type: 'uint32', isOptional: true },
  { name: 'residual', type: { bytes: layout.residualBytes }, isOptional: true },
  { name: 'residual_scale', type: 'float32', isOptional: true },
  { name: 'vector_check', type: 'uint32', isOptional: true },
  { name: 'entries', type: 'uint32', isOptional: true },
  { name: 'code', type: { bytes: bytesPerCode(layout.bits) }, isNullable: true },
];

const VECTORS = ({ keep, dimensions }: SegmentLayout): ColumnSchema[] =>
  keep === 'sparse'
    ? SPARSE_COLUMNS.map((column) => ({ ...column, isOptional: false }))
    : [
        { name: 'vector', type: { vector: keep as 'float32', width: dimensions } },
        { name: 'scale', type: 'float32', isOptional: true },
      ];

const BLOCKS: readonly ColumnSchema[] = [
  { name: 'partition', type: 'uint32' },
  { name: 'rows', type: 'uint32' },
  { name: 'at', type: 'uint64' },
  { name: 'bytes', type: 'uint32' },
  { name: 'checksum', type: 'uint64' },
  { name: 'vectors_at', type: 'uint64' },
  { name: 'vectors_bytes', type: 'uint32' },
  { name: 'vectors_checksum', type: 'uint64' },
];

/** By which parts of a block can be read. */
const PARTS: readonly ColumnSchema[] = [
  { name: 'head_checksum', type: 'uint64', isOptional: true },
  { name: 'code_checksum', type: 'uint64', isOptional: true },
];

/** The files of a segment as they grow, a block at a time; a segment has one block or more. */
export class SegmentTables {
  readonly rows: TableWriter;
  /** Null where no vectors are held. */
  readonly vectors: TableWriter | null;
  readonly #layout: SegmentLayout;
  readonly #partitions: number[] = [];
  readonly #counts: number[] = [];
  readonly #codes: bigint[] = [];

  /** `header` is that of an index file. */
  constructor(header: Omit<IndexHeader, 'version'>, layout: SegmentLayout) {
    this.#layout = layout;
    const width = bytesPerCode(layout.bits);
    this.rows = new TableWriter(ROWS(layout), { kind: 'segment', ...header }, width);
    this.vectors =
      layout.keep === 'none' ? null : new TableWriter(VECTORS(layout), { kind: 'vectors' });
  }

  /** Blocks so far. */
  get count(): number {
    return this.#counts.length;
  }

  /** Bytes of the files of rows and of vectors. */
  add(block: SegmentRows): { rows: Uint8Array[]; vectors: Uint8Array[] } {
    this.#partitions.push(block.partition);
    this.#counts.push(block.count);
    this.#codes.push(checksum(block.codes));
    const vectors = this.vectors?.add(vectorsBatch(block)) ?? [];
    return { rows: this.rows.add(rowsBatch(block)), vectors };
  }

  /** The file that says where blocks are, when the others have ended. */
  blocks(): Uint8Array {
    const { count } = this;
    const [rows, vectors] = [this.rows.bodies, this.vectors?.bodies];
    const big = (of: (i: number) => number | bigint) =>
      BigUint64Array.from({ length: count }, (_, i) => BigInt(of(i)));
    const table: TableBatch = {
      count,
      rows: {
        partition: Uint32Array.from(this.#partitions),
        rows: Uint32Array.from(this.#counts),
        at: big((i) => rows[i].at),
        bytes: Uint32Array.from(rows, ({ length }) => length),
        checksum: big((i) => rows[i].checksum),
        vectors_at: big((i) => vectors?.[i].at ?? 0),
        vectors_bytes: Uint32Array.from(rows, (_, i) => vectors?.[i].length ?? 0),
        vectors_checksum: big((i) => vectors?.[i].checksum ?? 0),
        head_checksum: big((i) => rows[i].headChecksum),
        code_checksum: big((i) => this.#codes[i]),
      },
    };
    const { bits, dimensions, keep, id, hasFirsts, residualBytes } = this.#layout;
    const told = { kind: 'blocks', bits, dimensions, keep, id, hasFirsts, residualBytes };
    return writeTable([...BLOCKS, ...PARTS], told, [table]);
  }
}

function rowsBatch(block: SegmentRows): TableBatch {
  const { count, rows, ids, codes, validity, residuals, sparse } = block;
  const offsets = sparse?.offsets;
  return {
    count,
    rows: {
      ...{ row: rows, id: ids, first: block.firsts ?? null },
      residual: residuals && { bytes: residuals, validity: null },
      ...{ residual_scale: block.residualScales, vector_check: block.checks },
      entries: offsets && Uint32Array.from(rows, (_, i) => offsets[i + 1] - offsets[i]),
      code: { bytes: codes, validity },
    },
  };
}

function vectorsBatch({ count, vectors, scales, sparse }: SegmentRows): TableBatch {
  const rows = sparse === null ? { vector: vectors, scale: scales } : sparseTable(sparse);
  return { count, rows };
}

/** The low half of the checksum of each of some vectors. */
export function vectorChecks(
  { vectors, sparse }: Pick<IndexRows, 'vectors' | 'sparse'>,
  count: number,
) {
  if (vectors === null && sparse === null) return null;
  const width = vectors === null ? 0 : vectors.length / count;
  return Uint32Array.from({ length: count }, (_, i) => {
    if (vectors !== null) return vectorCheck([vectors.subarray(i * width, (i + 1) * width)]);
    const { offsets, indices, weights } = sparse as NonNullable<typeof sparse>;
    const [from, to] = [offsets[i], offsets[i + 1]];
    return vectorCheck([indices.subarray(from, to), weights.subarray(from, to)]);
  });
}

/** Of the parts of one vector. */
export function vectorCheck(parts: readonly ArrayBufferView[]): number {
  let hash = 0n;
  for (const { buffer, byteOffset, byteLength } of parts) {
    hash = checksum(new Uint8Array(buffer, byteOffset, byteLength), hash);
  }
  return Number(hash & 0xffff_ffffn);
}

/** Reads a `blocks` file; a FormatError names the file. */
export function blocksFromArrow(bytes: Uint8Array, file: string): BlockTable {
  const table = openTable(bytes, file, { kind: 'blocks' });
  return asArrow(file, () => {
    const [partitions, rows, at, sizes, checksums, vectorsAt, vectorsBytes, vectorsChecksums] =
      BLOCKS.map((column) => readNumbers(table, column));
    const hasParts = table.schema.fields.some(({ name }) => name === PARTS[0].name);
    const [heads, codes] = PARTS.map((column) => (hasParts ? readNumbers(table, column) : null));
    const { bits, dimensions, keep, id, hasFirsts, residualBytes } = table.header;
    const layout = { bits, dimensions, keep, id, hasFirsts, residualBytes } as SegmentLayout;
    const positions = (values: unknown) => Float64Array.from(values as BigUint64Array, Number);
    return {
      ...{ layout, count: table.count, partitions: partitions as Uint32Array },
      ...{ rows: rows as Uint32Array, at: positions(at), bytes: sizes as Uint32Array },
      ...{ checksums: checksums as BigUint64Array, vectorsAt: positions(vectorsAt) },
      vectorsBytes: vectorsBytes as Uint32Array,
      vectorsChecksums: vectorsChecksums as BigUint64Array,
      headChecksums: heads as BigUint64Array | null,
      codeChecksums: codes as BigUint64Array | null,
    };
  });
}

/** Fails where a table does not say where the bodies of the files of its segment lie. */
export function checkBlocks(
  table: BlockTable,
  { rows, vectors }: { rows: readonly Span[]; vectors: readonly Span[] | null },
): void {
  const said = [
    [rows, table.at, table.bytes],
    [vectors, table.vectorsAt, table.vectorsBytes],
  ] as const;
  for (const [bodies, at, lengths] of said) {
    if (bodies === null) continue;
    if (bodies.length !== table.count) {
      throw new Error(`${table.count} blocks, the files have ${bodies.length}`);
    }
    const other = bodies.findIndex((body, i) => body.at !== at[i] || body.length !== lengths[i]);
    if (other >= 0) throw new Error(`block ${other} is not in the files as it says`);
  }
}

/** What a block says of its rows, without vectors: views of its body; ids are read when asked. */
export interface BlockRows {
  readonly count: number;
  readonly partition: number;
  readonly rows: Uint32Array;
  readonly firsts: Uint32Array | null;
  readonly residuals: Uint8Array | null;
  readonly residualScales: Float32Array | null;
  readonly checks: Uint32Array | null;
  readonly entries: Uint32Array | null;
  /** Empty where only the head was read. */
  readonly codes: Uint8Array;
  /** Null where rows are the ids. */
  readonly ids: BlockIds | null;
}

/** Whether blocks can be searched by residual codes alone, and their codes be read later. */
export function hasHeads({ layout, headChecksums }: BlockTable): boolean {
  return headChecksums !== null && layout.residualBytes > 0 && !layout.hasFirsts;
}

/** Bytes of block `i` before its codes, which are the last column. */
export function headBytes({ layout, rows, bytes }: BlockTable, i: number): number {
  return Math.max(0, bytes[i] - padded(rows[i] * bytesPerCode(layout.bits)));
}

/**
 * The rows of block `i` from its body, which begins on 8 bytes, or from what lies before the codes.
 * Throws where it is too short.
 */
export function readBlock(
  { layout, rows, partitions }: Pick<BlockTable, 'layout' | 'rows' | 'partitions'>,
  i: number,
  body: Uint8Array,
  isHead = false,
): BlockRows {
  const count = rows[i];
  const reader = new BodyReader(body, count);
  const partition = partitions[i];
  const { id, hasFirsts, residualBytes, keep, bits } = layout;
  const own = reader.uint32();
  const block = {
    ...{ count, partition, rows: own, ids: id === null ? null : reader.ids(id) },
    firsts: hasFirsts ? reader.uint32() : null,
    residuals: residualBytes > 0 ? reader.bytes(residualBytes) : null,
    residualScales: residualBytes > 0 ? reader.float32() : null,
    checks: keep !== 'none' ? reader.uint32() : null,
    entries: keep === 'sparse' ? reader.uint32() : null,
  };
  if (partition === NO_PARTITION || isHead) return { ...block, codes: new Uint8Array() };
  const codes = reader.bytes(bytesPerCode(bits));
  checkUnusedBits(codes, bits, block.rows[0] ?? 0);
  return { ...block, codes };
}

/** Fails unless numbers ascend and are those of rows `firstRow` to `nextRow - 1`. */
export function checkRows(
  { rows }: BlockRows,
  { firstRow = 0, nextRow = 0 }: { firstRow?: number; nextRow?: number },
): void {
  for (let i = 0; i < rows.length; i++) {
    const least = i === 0 ? firstRow : rows[i - 1] + 1;
    if (rows[i] < least || rows[i] >= nextRow) {
      throw new Error(`damaged: row ${rows[i]} is not where it can be`);
    }
  }
}

/** All vectors of block `i`. */
export function readVectors(
  { layout, rows }: Pick<BlockTable, 'layout' | 'rows'>,
  i: number,
  body: Uint8Array,
): Pick<IndexRows, 'vectors' | 'scales' | 'sparse'> {
  const reader = new BodyReader(body, rows[i]);
  const { keep, dimensions } = layout;
  if (keep === 'sparse') {
    const offsets = reader.offsets();
    const indices = reader.list(offsets, BigUint64Array);
    const sparse = { offsets, indices, weights: reader.list(reader.offsets(), Float32Array) };
    checkSparse(sparse, 0);
    return { vectors: null, scales: null, sparse };
  }
  if (keep === 'int8') {
    const bytes = reader.bytes(dimensions);
    const vectors = new Int8Array(bytes.buffer, bytes.byteOffset, bytes.length);
    return { vectors, scales: reader.float32(), sparse: null };
  }
  return { vectors: reader.float32(dimensions), scales: null, sparse: null };
}
