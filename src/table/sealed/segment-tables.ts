/**
 * The files of a segment: rows in the order of their partitions, one record batch for each block;
 * the vectors in the same order; and a table of the places of blocks. Any Arrow reader opens them.
 * Here a block is read from the body of its batch alone (layout: docs/format.md), so that a search
 * reads one range of a file for a block of a partition.
 */

import { padded } from '../../base/arrays';
import { bytesPerCode, checkUnusedBits } from '../../codes/codes';
import { checksum } from '../../kernels/xxhash';
import type { Span } from '../arrow/messages';
import { asArrow } from '../arrow/source';
import { type BlockIds, BodyReader } from './body-reader';
import {
  checkSparse,
  type IndexHeader,
  type IndexRows,
  residualColumns,
  SPARSE_COLUMNS,
  sparseTable,
} from './index-rows';
import {
  type ColumnSchema,
  openTable,
  readNumbers,
  type TableBatch,
  TableWriter,
  writeTable,
} from './sealed-table';

/** Stands for the partition of rows without a code, after all others. */
export const NO_PARTITION = 0xffff_ffff;
/** Most rows of a block. */
export const MAX_BLOCK_ROWS = 65_536;

/** Rows of one partition, or rows without a code: ascending, with their numbers. */
export interface SegmentRows extends Omit<IndexRows, 'partitions'> {
  readonly rows: Uint32Array;
  readonly partition: number;
  /** Residual codes one after another, and their scales; null where there are none. */
  readonly residuals: Uint8Array | null;
  readonly residualScales: Float32Array | null;
  /** The low 32 bits of the checksum of each vector; null without vectors. */
  readonly checks: Uint32Array | null;
  /**
   * Where rows have copies: the second partition of each row or, of copies, the position of the row
   * in the file of rows. Null without copies.
   */
  readonly links?: Uint32Array | null;
}

/** Which columns the blocks of a segment have, and how wide they are. */
export interface SegmentLayout {
  readonly bits: number;
  readonly dimensions: number;
  /** How vectors are held: the option `vectors`. */
  readonly vectors: string;
  /** The type of the ids, as Arrow calls it; null where rows are the ids. */
  readonly id: string | null;
  /** True where rows may share codes, so that there is a column `first`. */
  readonly hasFirsts: boolean;
  /** Bytes of a residual code; 0 where there are none. */
  readonly residualBytes: number;
  /** The name of the column of links; null where rows have no copies. */
  readonly link: 'second' | 'at' | null;
}

/** Where the blocks of a segment are: element i of each array is of block i. */
export interface BlockTable {
  readonly layout: SegmentLayout;
  readonly count: number;
  readonly partitions: Uint32Array;
  readonly rows: Uint32Array;
  /** The position of the first row of each block in the file of rows. */
  readonly starts: Uint32Array;
  /** Where the body is in the file of rows, its bytes, and its checksum. */
  readonly at: Float64Array;
  readonly bytes: Uint32Array;
  readonly checksums: BigUint64Array;
  /** The same of the body in the file of vectors; 0 without vectors. */
  readonly vectorsAt: Float64Array;
  readonly vectorsBytes: Uint32Array;
  readonly vectorsChecksums: BigUint64Array;
  /** Checksums of what lies before the codes of each block, and of its codes. */
  readonly headChecksums: BigUint64Array;
  readonly codeChecksums: BigUint64Array;
}

/** The columns of a file of rows, in the order in which `readBlock` reads them. */
const ROWS = (layout: SegmentLayout): ColumnSchema[] => [
  { name: 'row', type: 'uint32' },
  { name: 'id', type: 'ids', isOptional: true },
  { name: 'first', type: 'uint32', isOptional: true },
  ...(layout.link === null ? [] : [{ name: layout.link, type: 'uint32' } as const]),
  ...residualColumns(layout.residualBytes),
  { name: 'vector_check', type: 'uint32', isOptional: true },
  { name: 'entries', type: 'uint32', isOptional: true },
  { name: 'code', type: { bytes: bytesPerCode(layout.bits) }, isNullable: true },
];

/** The columns of a file of vectors, in the order in which `readVectors` reads them. */
const VECTORS = ({ vectors, dimensions }: SegmentLayout): ColumnSchema[] =>
  vectors === 'sparse'
    ? SPARSE_COLUMNS.map((column) => ({ ...column, isOptional: false }))
    : [
        { name: 'vector', type: { vector: vectors as 'float32', width: dimensions } },
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
  // Of the two parts of a block, by which each can be read alone.
  { name: 'head_checksum', type: 'uint64' },
  { name: 'code_checksum', type: 'uint64' },
];

/** Writes the files of a segment block by block; a segment has one block at least. */
export class SegmentTables {
  readonly rows: TableWriter;
  /** Null where no vectors are held. */
  readonly vectors: TableWriter | null;
  readonly #layout: SegmentLayout;
  /** By block: its partition, its rows, and the checksum of its codes. */
  readonly #partitions: number[] = [];
  readonly #counts: number[] = [];
  readonly #codes: bigint[] = [];

  /** `header` is that of an index file, without a report. */
  constructor(header: Omit<IndexHeader, 'version'>, layout: SegmentLayout) {
    this.#layout = layout;
    const width = bytesPerCode(layout.bits);
    this.rows = new TableWriter(ROWS(layout), { kind: 'segment', ...header }, width);
    this.vectors =
      layout.vectors === 'none' || layout.link === 'at'
        ? null
        : new TableWriter(VECTORS(layout), { kind: 'vectors' });
  }

  /** How many blocks were added. */
  get count(): number {
    return this.#counts.length;
  }

  /**
   * Adds a block; returns bytes for the files of rows and of vectors, to be written before the
   * next.
   */
  add(block: SegmentRows): { rows: Uint8Array[]; vectors: Uint8Array[] } {
    this.#partitions.push(block.partition);
    this.#counts.push(block.count);
    this.#codes.push(checksum(block.codes));
    const vectors = this.vectors?.add(vectorsBatch(block)) ?? [];
    return { rows: this.rows.add(rowsBatch(block)), vectors };
  }

  /** The bytes of the table of blocks, once both files have ended. */
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
    return writeTable(BLOCKS, { kind: 'blocks', ...this.#layout }, [table]);
  }
}

function rowsBatch(block: SegmentRows): TableBatch {
  const { count, rows, ids, codes, validity, residuals, sparse, links = null } = block;
  const offsets = sparse?.offsets;
  return {
    count,
    rows: {
      ...{ row: rows, id: ids, first: block.firsts ?? null, second: links, at: links },
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

/** The low 32 bits of the checksum of each of `count` vectors; null where there are none. */
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

/** The same of one vector, whose parts are hashed one after another. */
export function vectorCheck(parts: readonly ArrayBufferView[]): number {
  let hash = 0n;
  for (const { buffer, byteOffset, byteLength } of parts) {
    hash = checksum(new Uint8Array(buffer, byteOffset, byteLength), hash);
  }
  return Number(hash & 0xffff_ffffn);
}

/** Reads a table of blocks; a FormatError names the file. */
export function blocksFromArrow(bytes: Uint8Array, file: string): BlockTable {
  const table = openTable(bytes, file, { kind: 'blocks' });
  return asArrow(file, () => {
    const [partitions, rows, at, sizes, checksums, ...others] = BLOCKS.map((column) =>
      readNumbers(table, column),
    );
    const [vectorsAt, vectorsBytes, vectorsChecksums, heads, codes] = others;
    const { bits, dimensions, vectors, id, hasFirsts, residualBytes, link } = table.header;
    const columns = { vectors, id, hasFirsts, residualBytes, link: checkLink(link) };
    const layout = { bits, dimensions, ...columns } as SegmentLayout;
    const positions = (values: unknown) => Float64Array.from(values as BigUint64Array, Number);
    return {
      ...{ layout, count: table.count, partitions: partitions as Uint32Array },
      ...{ rows: rows as Uint32Array, at: positions(at), bytes: sizes as Uint32Array },
      starts: sumsBefore(rows as Uint32Array),
      ...{ checksums: checksums as BigUint64Array, vectorsAt: positions(vectorsAt) },
      vectorsBytes: vectorsBytes as Uint32Array,
      vectorsChecksums: vectorsChecksums as BigUint64Array,
      headChecksums: heads as BigUint64Array,
      codeChecksums: codes as BigUint64Array,
    };
  });
}

function checkLink(link: unknown): unknown {
  if (link === null || link === 'second' || link === 'at') return link;
  throw new Error(`"link" cannot be ${link}`);
}

/** For each number the sum of those before it. */
function sumsBefore(counts: Uint32Array): Uint32Array {
  let sum = 0;
  return counts.map((count) => {
    sum += count;
    return sum - count;
  });
}

/** Fails where a table does not state where the bodies in the files of its segment lie. */
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

/** A block without its vectors: views of its body; texts are decoded when they are read. */
export interface BlockRows {
  readonly count: number;
  readonly partition: number;
  readonly rows: Uint32Array;
  readonly firsts: Uint32Array | null;
  readonly links: Uint32Array | null;
  readonly residuals: Uint8Array | null;
  readonly residualScales: Float32Array | null;
  readonly checks: Uint32Array | null;
  readonly entries: Uint32Array | null;
  /** Empty where only the head was read. */
  readonly codes: Uint8Array;
  /** Null where rows are the ids. */
  readonly ids: BlockIds | null;
}

/**
 * Whether a search by residual codes needs only the heads of blocks, which are all columns before
 * the codes. Rows with equal codes are found by their codes, so a column `first` rules that out.
 */
export function hasHeads({ layout }: BlockTable): boolean {
  return layout.residualBytes > 0 && !layout.hasFirsts;
}

/** Bytes of block `i` before its codes, which are the last column. */
export function headBytes({ layout, rows, bytes }: BlockTable, i: number): number {
  return Math.max(0, bytes[i] - padded(rows[i] * bytesPerCode(layout.bits)));
}

/**
 * The rows of block `i` from its body, or with `isHead` from the bytes before its codes; `body`
 * must begin on 8 bytes. Throws where it is too short, or unused bits of codes are not 0.
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
  const { id, hasFirsts, residualBytes, vectors, bits } = layout;
  const own = reader.uint32();
  const block = {
    ...{ count, partition, rows: own, ids: id === null ? null : reader.ids(id) },
    firsts: hasFirsts ? reader.uint32() : null,
    links: layout.link === null ? null : reader.uint32(),
    residuals: residualBytes > 0 ? reader.bytes(residualBytes) : null,
    residualScales: residualBytes > 0 ? reader.float32() : null,
    checks: vectors !== 'none' ? reader.uint32() : null,
    entries: vectors === 'sparse' ? reader.uint32() : null,
  };
  if (partition === NO_PARTITION || isHead) return { ...block, codes: new Uint8Array() };
  const codes = reader.bytes(bytesPerCode(bits));
  checkUnusedBits(codes, bits, block.rows[0] ?? 0);
  return { ...block, codes };
}

/** Fails unless the row numbers of a block ascend within `firstRow` to `nextRow - 1`. */
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

/**
 * The vectors of block `i` from its body in the file of vectors, views of it; sparse ones checked.
 */
export function readVectors(
  { layout, rows }: Pick<BlockTable, 'layout' | 'rows'>,
  i: number,
  body: Uint8Array,
): Pick<IndexRows, 'vectors' | 'scales' | 'sparse'> {
  const reader = new BodyReader(body, rows[i]);
  const { dimensions } = layout;
  if (layout.vectors === 'sparse') {
    const offsets = reader.offsets();
    const indices = reader.list(offsets, BigUint64Array);
    const sparse = { offsets, indices, weights: reader.list(reader.offsets(), Float32Array) };
    checkSparse(sparse, 0);
    return { vectors: null, scales: null, sparse };
  }
  if (layout.vectors === 'int8') {
    const bytes = reader.bytes(dimensions);
    const vectors = new Int8Array(bytes.buffer, bytes.byteOffset, bytes.length);
    return { vectors, scales: reader.float32(), sparse: null };
  }
  return { vectors: reader.float32(dimensions), scales: null, sparse: null };
}
