/**
 * Rows of segments on their way into other segments: taken from a block, cut, joined, and stored in
 * temporary files in the layout of a block's bodies. Nothing here depends on what the rows are.
 */

import { concatenated, padded } from '../../base/arrays';
import type { Ids } from '../../base/ids';
import { bytesPerCode } from '../../codes/codes';
import type { SparseColumns } from './index-rows';
import {
  type BlockRows,
  NO_PARTITION,
  readBlock,
  readVectors,
  type SegmentLayout,
  type SegmentRows,
} from './segment-tables';

type Vectors = Pick<SegmentRows, 'vectors' | 'scales' | 'sparse'>;
/** The vectors of rows that have none. */
export const NO_VECTORS: Vectors = { vectors: null, scales: null, sparse: null };

/** A block that was read, with its vectors, in the form in which blocks are written. */
export function rowsOfBlock(
  layout: SegmentLayout,
  block: BlockRows,
  vectors: Vectors,
): SegmentRows {
  const { count, partition, rows, firsts, links, residuals, residualScales, checks } = block;
  // Files have zeros for codes that are missing, and a bitmap in which no row is present.
  const isNull = partition === NO_PARTITION;
  return {
    ...{ count, partition, rows, firsts, links, residuals, residualScales, checks, ...vectors },
    ids: block.ids?.all() ?? null,
    codes: isNull ? new Uint8Array(count * bytesPerCode(layout.bits)) : block.codes,
    validity: isNull ? new Uint8Array(Math.ceil(count / 8)) : null,
  };
}

/** The numbers `first` to `end - 1`. */
export function range(first: number, end: number): Uint32Array {
  return Uint32Array.from({ length: end - first }, (_, i) => first + i);
}

/** The rows at some positions, in the order given; `given` itself where these are all in order. */
export function picked(given: SegmentRows, places: Uint32Array): SegmentRows {
  const { count, partition, ids, firsts, residualScales, checks, scales, sparse } = given;
  if (places.length === count && places.every((place, i) => place === i)) return given;
  // All rows have the same number of elements.
  const wide = <T extends Joinable>(from: T | null | undefined): T | null => {
    if (!from) return null;
    const width = from.length / count;
    const to = new (from.constructor as new (length: number) => T)(places.length * width);
    places.forEach((p, i) => {
      to.set(from.subarray(p * width, (p + 1) * width) as never, i * width);
    });
    return to;
  };
  return {
    ...{ count: places.length, partition, rows: wide(given.rows) as Uint32Array },
    ids: Array.isArray(ids) ? Array.from(places, (p) => ids[p]) : wide(ids as Int32Array | null),
    ...{ firsts: wide(firsts), residualScales: wide(residualScales), checks: wide(checks) },
    links: wide(given.links),
    ...{ scales: wide(scales), sparse: sparse && pickedSparse(sparse, places) },
    ...{ codes: wide(given.codes) as Uint8Array, residuals: wide(given.residuals) },
    vectors: wide(given.vectors as Int8Array | null),
    validity: given.validity && new Uint8Array(Math.ceil(places.length / 8)),
  };
}

/** The entries of some sparse rows. */
function pickedSparse({ offsets, indices, weights }: SparseColumns, places: Uint32Array) {
  return joinedSparse(
    Array.from(places, (p) => {
      const [from, to] = [offsets[p], offsets[p + 1]];
      return {
        offsets: Int32Array.of(0, to - from),
        indices: indices.subarray(from, to),
        weights: weights.subarray(from, to),
      };
    }),
  );
}

/**
 * Rows of one partition, one after another: copies, unless it is one piece. All have its columns.
 */
export function joined(pieces: readonly SegmentRows[]): SegmentRows {
  const [first] = pieces;
  if (pieces.length === 1) return first;
  const count = pieces.reduce((sum, piece) => sum + piece.count, 0);
  // What the first piece has, all of them have: callers join pieces of one layout.
  const all = <T extends Joinable>(of: (piece: SegmentRows) => T | null | undefined) =>
    of(first) ? concatenated(pieces.map((piece) => of(piece) as T)) : null;
  return {
    ...{ count, partition: first.partition, rows: all(({ rows }) => rows) as Uint32Array },
    ids: Array.isArray(first.ids)
      ? pieces.flatMap(({ ids }) => ids as string[])
      : all(({ ids }) => ids as Int32Array),
    ...{ firsts: all(({ firsts }) => firsts), codes: all(({ codes }) => codes) as Uint8Array },
    ...{ residuals: all((one) => one.residuals), checks: all(({ checks }) => checks) },
    links: all(({ links }) => links),
    ...{ residualScales: all((one) => one.residualScales), scales: all(({ scales }) => scales) },
    vectors: all((piece) => piece.vectors as Int8Array),
    sparse: first.sparse && joinedSparse(pieces.map(({ sparse }) => sparse as SparseColumns)),
    validity: first.validity && new Uint8Array(Math.ceil(count / 8)),
  };
}

/** Arrays that `picked` and `joined` copy. */
type Joinable = Uint8Array | Int8Array | Uint32Array | Int32Array | Float32Array | BigUint64Array;

/** Sparse rows one after another; the offsets of each part begin at 0. */
function joinedSparse(parts: readonly SparseColumns[]): SparseColumns {
  const rows = parts.reduce((sum, { offsets }) => sum + offsets.length - 1, 0);
  const offsets = new Int32Array(rows + 1);
  let at = 0;
  for (const part of parts) {
    // The offsets of each part continue those before it.
    const before = offsets[at];
    for (let i = 1; i < part.offsets.length; i++) offsets[++at] = before + part.offsets[i];
  }
  return {
    offsets,
    indices: concatenated(parts.map(({ indices }) => indices)),
    weights: concatenated(parts.map(({ weights }) => weights)),
  };
}

/** Numbers of 32 bits before a piece: its rows, its partition, the bytes of both bodies. */
const HEAD = 4;

/**
 * Encodes rows as bytes, a multiple of 8: the bodies that a block of these rows would have. Columns
 * come in the order in which `readBlock` and `readVectors` read them.
 */
export function pieceBytes(given: SegmentRows): Uint8Array {
  const { count, partition, rows, ids, firsts, residuals, residualScales, checks, sparse } = given;
  const { codes, vectors, scales } = given;
  const entries = sparse && rows.map((_, i) => sparse.offsets[i + 1] - sparse.offsets[i]);
  const own = [rows, ...idBuffers(ids), firsts, given.links];
  own.push(residuals, residualScales, checks, entries);
  if (partition !== NO_PARTITION) own.push(codes);
  const others = sparse
    ? [sparse.offsets, sparse.indices, sparse.offsets, sparse.weights]
    : [vectors, scales];
  const [first, second] = [sizeOf(own), sizeOf(others)];
  const bytes = new Uint8Array(4 * HEAD + first + second);
  new Uint32Array(bytes.buffer, 0, HEAD).set([count, partition, first, second]);
  let at = 4 * HEAD;
  for (const part of [...own, ...others]) {
    if (!part) continue;
    // Each buffer begins at a multiple of 8 bytes, as in a body.
    bytes.set(new Uint8Array(part.buffer, part.byteOffset, part.byteLength), at);
    at += padded(part.byteLength);
  }
  return bytes;
}

type Buffers = readonly (ArrayBufferView | null | undefined)[];
const sizeOf = (parts: Buffers) =>
  parts.reduce((sum, part) => sum + padded(part?.byteLength ?? 0), 0);

/** The buffers of ids: integers as they are, of texts offsets and bytes. */
function idBuffers(ids: Ids | null): (ArrayBufferView | null)[] {
  if (!Array.isArray(ids)) return [ids as ArrayBufferView | null];
  const texts = (ids as readonly string[]).map((id) => Buffer.from(id));
  const offsets = new Int32Array(texts.length + 1);
  texts.forEach((text, i) => {
    offsets[i + 1] = offsets[i] + text.length;
  });
  return [offsets, concatenated(texts)];
}

/**
 * Decodes the pieces that `pieceBytes` made, in order: views of `bytes`, which must start at a
 * multiple of 8.
 */
export function* piecesIn(layout: SegmentLayout, bytes: Uint8Array): Generator<SegmentRows> {
  for (let at = 0; at < bytes.length; ) {
    const [count, partition, first, second] = new Uint32Array(
      bytes.buffer,
      bytes.byteOffset + at,
      HEAD,
    );
    // After the four numbers: the body of the rows, then the body of their vectors.
    at += 4 * HEAD;
    const table = {
      ...{ layout, rows: Uint32Array.of(count), partitions: Uint32Array.of(partition) },
    };
    const block = readBlock(table, 0, bytes.subarray(at, at + first));
    const body = bytes.subarray(at + first, at + first + second);
    yield rowsOfBlock(layout, block, second === 0 ? NO_VECTORS : readVectors(table, 0, body));
    at += first + second;
  }
}
