/**
 * The part of a column that one record batch holds, and the checks that come before its values are
 * read: bitmaps and offsets stay within their memory, lists within their children, and what is
 * allocated for a column is bounded by what the file holds.
 */

import { type Data, Type } from 'apache-arrow';
import { bitmapOf } from '../../base/bitmap';

/** A column of one batch. */
export interface Chunk {
  readonly data: Data;
  /** Row of the source, from 0, at which the batch starts; for messages. */
  readonly firstRow: number;
}

/** Rows of all chunks. */
export function rowsOf(chunks: readonly Chunk[]): number {
  return chunks.reduce((sum, { data }) => sum + data.length, 0);
}

/** Where there are nulls, the bitmap covers all elements; later code relies on it. */
export function checkBitmaps(data: Data): void {
  // A column of type Null has no bitmap.
  const needed = data.nullCount > 0 && data.typeId !== Type.Null ? data.offset + data.length : 0;
  if ((data.nullBitmap?.length ?? 0) * 8 < needed) {
    throw new Error('a validity bitmap is shorter than its column');
  }
  for (const child of data.children ?? []) checkBitmaps(child);
}

/** Null rows take no memory in a file and a row's here: so many times more may be allocated. */
const MAX_EXPANSION = 64;
/** Allowed whatever the file holds. */
const FREE_BYTES = 1 << 22;

/** Refuses rows that would take far more memory than the column's bytes justify. */
export function checkExpansion(chunks: readonly Chunk[], bytesPerRow: number): void {
  const count = rowsOf(chunks);
  const held = chunks.reduce((sum, { data }) => sum + data.byteLength, 0);
  if (count * bytesPerRow <= Math.max(FREE_BYTES, MAX_EXPANSION * held)) return;
  throw new Error(`${count} rows of ${bytesPerRow} bytes cannot come from ${held}`);
}

/** Offsets of variable-length elements ascend and stay within `elements`. */
export function checkOffsets({ data, firstRow }: Chunk, elements: number): void {
  if (data.length === 0) return;
  const offsets = data.valueOffsets as unknown as Int32Array | BigInt64Array;
  if (offsets.length < data.length + 1) throw new Error('a column without offsets');
  let before = 0;
  for (let row = 0; row <= data.length; row++) {
    const offset = Number(offsets[row]);
    if (offset < before || offset > elements) {
      throw new Error(`row ${firstRow + row}: an element lies outside of its column's values`);
    }
    before = offset;
  }
}

/** Where the elements of each row of a list column lie in its child. */
export interface Ranges {
  start(row: number): number;
  end(row: number): number;
}

/** The ranges of a list or Map column, checked against its items. */
export function rangesOf(chunk: Chunk): Ranges {
  const { data, firstRow } = chunk;
  const { typeId, stride, valueOffsets, length } = data;
  const [child] = data.children;
  const childLength = child?.length ?? 0;
  if (typeId === Type.FixedSizeList) {
    // A length is a claim; of numbers the bytes are there or not.
    const isNumber = child?.typeId === Type.Float || child?.typeId === Type.Int;
    if (length * stride > (isNumber ? Math.min(childLength, child.values.length) : childLength))
      throw new Error(`row ${firstRow}: a list without values`);
    return { start: (row) => row * stride, end: (row) => (row + 1) * stride };
  }
  checkOffsets(chunk, childLength);
  const offsets = valueOffsets as unknown as Int32Array | BigInt64Array;
  return { start: (row) => Number(offsets[row]), end: (row) => Number(offsets[row + 1]) };
}

/** A validity bitmap over all chunks, or null when every row is present. */
export function validityOf(chunks: readonly Chunk[]): Uint8Array | null {
  if (chunks.every(({ data }) => data.nullCount === 0)) return null;
  let at = 0;
  let row = -1;
  return bitmapOf(rowsOf(chunks), () => {
    for (row++; row >= chunks[at].data.length; row = 0) at++;
    return chunks[at].data.getValid(row);
  });
}

/** Fails where one of the items `start` to `end - 1`, which are those of row `row`, is null. */
export function refuseNullItems(
  child: Data,
  { start, end, row, what = 'list' }: { start: number; end: number; row: number; what?: string },
): void {
  if (child.nullCount === 0) return;
  for (let i = start; i < end; i++) {
    if (!child.getValid(i)) throw new Error(`row ${row}: a null within the ${what}`);
  }
}
