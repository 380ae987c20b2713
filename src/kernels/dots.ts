/**
 * Dot products of rows with one query. Products and sums are float64: element i is added to partial
 * sum i % 8 in ascending order, and the result is ((p0 + p2) + (p4 + p6)) + ((p1 + p3) + (p5 +
 * p7)). Rows in a separate linear memory are read in place; others, and rows too wide for the
 * scratch space below the data, are copied in blocks.
 */

import { padded } from '../base/arrays';
import { type LinearMemory, memoryOf, SCAN_BYTES, scratch } from './memory';
import { searchKernels } from './search-kernels';

export type RowValues = Float32Array | Float64Array | Int8Array;

/** Bytes of rows, as float64, that are copied for one call: they stay in the second-level cache. */
const BLOCK_BYTES = 1 << 18;
/** Rows of one call that reads in place: their numbers and products fit the scratch space. */
const LIST_ROWS = 4096;

export const dotsKernel = {
  /**
   * Writes the products of rows `first` to `first + count - 1`, each `query.length` values wide, to
   * `out[0]..out[count - 1]`.
   */
  dotsInto(
    values: RowValues,
    first: number,
    count: number,
    query: Float64Array,
    out: Float64Array,
  ): void {
    const width = query.length;
    const home = homeOf(values, width);
    const block = Math.max(1, Math.floor(BLOCK_BYTES / (8 * width)));
    for (let row = 0; row < count; row += block) {
      const here = Math.min(block, count - row);
      const from = (first + row) * width;
      const some = values.subarray(from, from + here * width);
      if (home === undefined) dotsOfCopy(some, query, out.subarray(row, row + here));
      else dotsInPlace(home, some, null, query, out.subarray(row, row + here));
    }
  },

  /** Writes the products of the listed rows to `out[0]..out[rows.length - 1]`. */
  dotsOfRows(values: RowValues, rows: Uint32Array, query: Float64Array, out: Float64Array): void {
    const width = query.length;
    const home = homeOf(values, width);
    if (home !== undefined) {
      dotsInPlace(home, values, rows, query, out);
      return;
    }
    const block = Math.max(1, Math.floor(BLOCK_BYTES / (8 * width)));
    for (let from = 0; from < rows.length; from += block) {
      const list = rows.subarray(from, from + block);
      dotsOfCopy(gather(values, list, width), query, out.subarray(from, from + list.length));
    }
  },
};

export type DotsKernel = typeof dotsKernel;

/** The memory in which rows are read in place, or undefined where they must be copied. */
function homeOf(values: RowValues, width: number): LinearMemory | undefined {
  const isNarrow = paddedBytes(width) + LIST_ROWS * 12 <= SCAN_BYTES;
  return isNarrow ? memoryOf(values) : undefined;
}

/** Bytes of a query padded to a multiple of 8 values, and of the 8 values behind it. */
function paddedBytes(width: number): number {
  return 8 * (padded(width) + 8);
}

/** Copies the query to the start of the scratch space, padded by zeros. */
function stageQuery({ bytes, free }: LinearMemory, query: Float64Array): void {
  const width = query.length;
  const staged = new Float64Array(bytes.buffer, free, padded(width));
  staged.set(query);
  staged.fill(0, width);
}

/**
 * Products of the listed rows, or if `list` is null of the first `out.length` rows of `values`, in
 * blocks of LIST_ROWS. The scratch space has the query, the products, and the list.
 */
function dotsInPlace(
  home: LinearMemory,
  values: RowValues,
  list: Uint32Array | null,
  query: Float64Array,
  out: Float64Array,
): void {
  const { free } = home;
  const outAt = free + paddedBytes(query.length);
  const listAt = outAt + 8 * LIST_ROWS;
  stageQuery(home, query);
  const kernels = searchKernels(home);
  const { buffer } = home.bytes;
  const { byteOffset, BYTES_PER_ELEMENT: type } = values;
  const width = query.length;
  for (let from = 0; from < out.length; from += LIST_ROWS) {
    const count = Math.min(LIST_ROWS, out.length - from);
    if (list === null) {
      kernels.dots(type, byteOffset + from * width * type, 0, count, width, free, outAt);
    } else {
      const some = count < list.length ? list.subarray(from, from + count) : list;
      new Uint32Array(buffer, listAt, count).set(some);
      kernels.dots(type, byteOffset, listAt, count, width, free, outAt);
    }
    out.set(new Float64Array(buffer, outAt, count), from);
  }
}

/** Products of all rows of `values`, which are copied to the scratch memory behind the products. */
function dotsOfCopy(values: RowValues, query: Float64Array, out: Float64Array): void {
  const width = query.length;
  const outBytes = paddedBytes(width);
  const rowsBytes = outBytes + 8 * out.length;
  const memory = scratch(rowsBytes + values.byteLength);
  const { free } = memory;
  const [outAt, rowsAt] = [free + outBytes, free + rowsBytes];
  stageQuery(memory, query);
  const { buffer, byteOffset, byteLength } = values;
  memory.bytes.set(new Uint8Array(buffer, byteOffset, byteLength), rowsAt);
  const type = values.BYTES_PER_ELEMENT;
  searchKernels(memory).dots(type, rowsAt, 0, out.length, width, free, outAt);
  out.set(new Float64Array(memory.bytes.buffer, outAt, out.length));
}

/** Copies the listed rows, one after another. */
function gather(values: RowValues, rows: Uint32Array, width: number): RowValues {
  const Type = values.constructor as Float32ArrayConstructor;
  const gathered = new Type(rows.length * width);
  rows.forEach((row, i) => {
    gathered.set(values.subarray(row * width, (row + 1) * width), i * width);
  });
  return gathered;
}
