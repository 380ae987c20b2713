/**
 * A segment's blocks as rows in ascending order, as an index in memory takes them. What blocks say
 * is checked: each row is there once, within the limits of its segment.
 */

import type { Ids } from '../base/ids';
import type { IndexRows, SparseColumns } from '../table/sealed/index-rows';
import {
  type BlockRows,
  type BlockTable,
  NO_PARTITION,
  readBlock,
  readVectors,
} from '../table/sealed/segment-tables';

/** Rows that are put in order together. */
const RUN_ROWS = 65_536;
const NOT_THERE = 0xffff_ffff;

export interface SegmentContent {
  readonly table: BlockTable;
  /** The whole files. */
  readonly rows: Uint8Array;
  readonly vectors: Uint8Array | null;
  /** Numbers of the rows are `firstRow` to `nextRow - 1`. */
  readonly firstRow: number;
  readonly nextRow: number;
  readonly isPartitioned: boolean;
}

type Vectors = Pick<IndexRows, 'vectors' | 'scales' | 'sparse'>;
interface ReadBlock extends BlockRows {
  readonly own: Vectors;
}

/** The rows of a segment, ascending, in runs. */
export function* rowsInOrder(content: SegmentContent): Generator<IndexRows> {
  const { table, firstRow, nextRow } = content;
  const blocks = Array.from({ length: table.count }, (_, i) => blockAt(content, i));
  const blockOf = new Uint32Array(nextRow - firstRow).fill(NOT_THERE);
  const placeOf = new Uint32Array(nextRow - firstRow);
  blocks.forEach(({ rows }, i) => {
    for (let place = 0; place < rows.length; place++) {
      const at = rows[place] - firstRow;
      if (!(at >= 0 && at < blockOf.length) || (place > 0 && rows[place] <= rows[place - 1])) {
        throw new Error(`damaged: row ${rows[place]} is not where it can be`);
      }
      if (blockOf[at] !== NOT_THERE) throw new Error(`damaged: row ${rows[place]} is there twice`);
      blockOf[at] = i;
      placeOf[at] = place;
    }
  });
  for (let at = 0; at < blockOf.length; ) {
    const rows = new Uint32Array(Math.min(RUN_ROWS, blockOf.length - at));
    let count = 0;
    for (; at < blockOf.length && count < rows.length; at++) {
      if (blockOf[at] !== NOT_THERE) rows[count++] = firstRow + at;
    }
    if (count === 0) continue;
    const run = rows.subarray(0, count);
    const from = Array.from(run, (row) => blocks[blockOf[row - firstRow]]);
    yield gathered(content, { run, from, places: run.map((row) => placeOf[row - firstRow]) });
  }
}

function blockAt({ table, rows, vectors }: SegmentContent, i: number): ReadBlock {
  const block = readBlock(table, i, bodyOf(rows, table.at[i], table.bytes[i]));
  const own =
    vectors === null
      ? { vectors: null, scales: null, sparse: null }
      : readVectors(table, i, bodyOf(vectors, table.vectorsAt[i], table.vectorsBytes[i]));
  return { ...block, own };
}

function bodyOf(file: Uint8Array, at: number, length: number): Uint8Array {
  if (at % 8 === 0 && at + length <= file.length) return file.subarray(at, at + length);
  throw new Error(`damaged: no block can be at ${at}`);
}

/** Rows, and the block and the place there of each. */
interface Run {
  readonly run: Uint32Array;
  readonly from: readonly ReadBlock[];
  readonly places: Uint32Array;
}

/** Copies `width` values of each row, in a loop: to make a view of each takes longer. */
function copyRows<T extends Uint8Array | Int8Array | Float32Array>(
  all: T,
  width: number,
  { from, places }: Run,
  of: (block: ReadBlock) => T | null,
): T {
  for (let i = 0; i < from.length; i++) {
    const own = of(from[i]);
    if (own === null) continue;
    const first = places[i] * width;
    const to = i * width;
    for (let j = 0; j < width; j++) all[to + j] = own[first + j];
  }
  return all;
}

function gathered({ table, isPartitioned }: SegmentContent, { run, from, places }: Run): IndexRows {
  const { layout } = table;
  const count = run.length;
  const bytes = (width: number, of: (block: ReadBlock) => Uint8Array | null) =>
    copyRows(new Uint8Array(count * width), width, { run, from, places }, of);
  const numbers = (of: (block: ReadBlock) => ArrayLike<number> | null) =>
    from.map((block, i) => of(block)?.[places[i]] ?? 0);
  const codeBytes = Math.ceil(layout.bits / 8);
  return {
    ...{ count, rows: run, ids: idsOf(layout.id, { run, from, places }) },
    codes: bytes(codeBytes, ({ partition, codes }) => (partition === NO_PARTITION ? null : codes)),
    validity: validityOf(from),
    ...vectorsOf(layout, { run, from, places }),
    partitions: isPartitioned ? Uint32Array.from(from, ({ partition }) => partition) : null,
    firsts: layout.hasFirsts ? Uint32Array.from(numbers(({ firsts }) => firsts)) : null,
    residuals:
      layout.residualBytes === 0
        ? null
        : {
            bytesPerRow: layout.residualBytes,
            codes: bytes(layout.residualBytes, ({ residuals }) => residuals),
            scales: Float32Array.from(numbers(({ residualScales }) => residualScales)),
          },
  };
}

function validityOf(from: readonly ReadBlock[]): Uint8Array | null {
  if (from.every(({ partition }) => partition !== NO_PARTITION)) return null;
  const validity = new Uint8Array(Math.ceil(from.length / 8));
  from.forEach(({ partition }, i) => {
    if (partition !== NO_PARTITION) validity[i >> 3] |= 1 << (i & 7);
  });
  return validity;
}

function idsOf(type: string | null, { from, places }: Run): Ids | null {
  if (type === null) return null;
  const ids = from.map(({ idAt }, i) => idAt?.(places[i]));
  if (type === 'Int64') return BigInt64Array.from(ids as bigint[]);
  if (type === 'Uint64') return BigUint64Array.from(ids as bigint[]);
  if (type === 'Int32') return Int32Array.from(ids as number[]);
  return type === 'Uint32' ? Uint32Array.from(ids as number[]) : (ids as string[]);
}

function vectorsOf(
  { keep, dimensions }: BlockTable['layout'],
  { run, from, places }: Run,
): Vectors {
  if (keep === 'none') return { vectors: null, scales: null, sparse: null };
  if (keep === 'sparse') return { vectors: null, scales: null, sparse: sparseOf(from, places) };
  const length = run.length * dimensions;
  const values = keep === 'int8' ? new Int8Array(length) : new Float32Array(length);
  const rows = { run, from, places };
  copyRows(values, dimensions, rows, ({ own }) => own.vectors as typeof values);
  if (keep === 'float32') return { vectors: values, scales: null, sparse: null };
  const scales = Float32Array.from(from, ({ own }, i) => own.scales?.[places[i]] ?? 0);
  return { vectors: values, scales, sparse: null };
}

function sparseOf(from: readonly ReadBlock[], places: Uint32Array): SparseColumns {
  const rangeOf = (i: number) => {
    const sparse = from[i].own.sparse as SparseColumns;
    return { sparse, start: sparse.offsets[places[i]], end: sparse.offsets[places[i] + 1] };
  };
  const offsets = new Int32Array(from.length + 1);
  from.forEach((_, i) => {
    const { start, end } = rangeOf(i);
    offsets[i + 1] = offsets[i] + end - start;
  });
  const indices = new BigUint64Array(offsets[from.length]);
  const weights = new Float32Array(offsets[from.length]);
  from.forEach((_, i) => {
    const { sparse, start, end } = rangeOf(i);
    indices.set(sparse.indices.subarray(start, end), offsets[i]);
    weights.set(sparse.weights.subarray(start, end), offsets[i]);
  });
  return { offsets, indices, weights };
}
