/**
 * A column as readers take it, and the checks before its values are read: bitmaps and offsets must
 * stay within their memory, lists within their children, and what is allocated for a column within
 * what the file justifies.
 */

import { type Data, Type } from 'apache-arrow';
import { bitmapOf } from '../../base/arrays';

/** Rows of a column. */
export interface Chunk {
  readonly data: Data;
  /** The number of the first row in its source; for errors. */
  readonly firstRow: number;
}

/**
 * Fails where a bitmap is shorter than its column; readers rely on it. Children are checked too.
 */
export function checkBitmaps(data: Data): void {
  // A column of type Null has no bitmap.
  const needed = data.nullCount > 0 && data.typeId !== Type.Null ? data.offset + data.length : 0;
  if ((data.nullBitmap?.length ?? 0) * 8 < needed) {
    throw new Error('a validity bitmap is shorter than its column');
  }
  for (const child of data.children ?? []) checkBitmaps(child);
}

/** Bytes of a column; of texts and lists only those of its rows, since slices share memory. */
export function bytesOf({ length, valueOffsets, children, byteLength }: Data): number {
  if (!valueOffsets || length === 0) {
    return children.length === 0
      ? byteLength
      : children.reduce((sum, child) => sum + bytesOf(child), 0);
  }
  const values = Number(valueOffsets[length]) - Number(valueOffsets[0]);
  const [items] = children;
  const perValue = items === undefined ? 1 : bytesOf(items) / Math.max(1, items.length);
  return valueOffsets.byteLength + values * perValue;
}

/**
 * Null rows take a bit in a file and a whole row here, so memory may be this many times the bytes
 * in the file.
 */
const MAX_EXPANSION = 64;
/** Bytes that are allowed however few the file has. */
const FREE_BYTES = 1 << 22;

/** Fails for rows that would take far more memory than the bytes of their column justify. */
export function checkExpansion({ data }: Chunk, bytesPerRow: number): void {
  const { length: count, byteLength: held } = data;
  if (count * bytesPerRow <= Math.max(FREE_BYTES, MAX_EXPANSION * held)) return;
  throw new Error(`${count} rows of ${bytesPerRow} bytes cannot come from ${held}`);
}

/** Fails unless offsets of elements of any length ascend and stay within `elements`. */
function checkOffsets({ data, firstRow }: Chunk, elements: number): void {
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

/** Where the items or bytes of each row begin and end in the column's child or its values. */
export interface Ranges {
  start(row: number): number;
  end(row: number): number;
}

/** The ranges of a column of lists, Maps or bytes, which are checked against its items first. */
export function rangesOf(chunk: Chunk): Ranges {
  const { data, firstRow } = chunk;
  const { typeId, stride, valueOffsets, length } = data;
  const [child] = data.children;
  const childLength = child?.length ?? data.values?.length ?? 0;
  if (typeId === Type.FixedSizeList) {
    // The length of a child is only a claim; for numbers their bytes are counted too.
    const isNumber = child?.typeId === Type.Float || child?.typeId === Type.Int;
    if (length * stride > (isNumber ? Math.min(childLength, child.values.length) : childLength))
      throw new Error(`row ${firstRow}: a list without values`);
    return { start: (row) => row * stride, end: (row) => (row + 1) * stride };
  }
  checkOffsets(chunk, childLength);
  const offsets = valueOffsets as unknown as Int32Array | BigInt64Array;
  return { start: (row) => Number(offsets[row]), end: (row) => Number(offsets[row + 1]) };
}

/** A validity bitmap over the rows of all chunks; null where no row is null. */
export function validityOf(chunks: readonly Chunk[]): Uint8Array | null {
  if (chunks.every(({ data }) => data.nullCount === 0)) return null;
  const count = chunks.reduce((sum, { data }) => sum + data.length, 0);
  let at = 0;
  let row = -1;
  return bitmapOf(count, () => {
    for (row++; row >= chunks[at].data.length; row = 0) at++;
    return chunks[at].data.getValid(row);
  });
}

/** Fails where an item from `start` to `end - 1`, all of row `row`, is null. */
export function refuseNullItems(
  child: Data,
  { start, end, row, what = 'list' }: { start: number; end: number; row: number; what?: string },
): void {
  if (child.nullCount === 0) return;
  for (let i = start; i < end; i++) {
    if (!child.getValid(i)) throw new Error(`row ${row}: a null within the ${what}`);
  }
}
