/**
 * Dot products of rows with one query. Products and sums are float64: element i is added to partial
 * sum i % 8 in ascending order, and the result is ((p0 + p2) + (p4 + p6)) + ((p1 + p3) + (p5 +
 * p7)). Rows in a separate linear memory are read in place; others, and rows too wide for the
 * scratch space below the data, are copied in blocks.
 */

import { padded } from '../base/arrays';
import { type LinearMemory, memoryOf, SCAN_BYTES, Stage, scratch } from './memory';
import { searchKernels } from './search-kernels';

export type RowValues = Float32Array | Float64Array | Int8Array;

/** Bytes of rows, as float64, that are copied for one call: they stay in the second-level cache. */
const BLOCK_BYTES = 1 << 18;
/** Rows of one call that reads in place: their numbers and products fit the scratch space. */
const LIST_ROWS = 4096;

/** The memory in which rows are read in place, or undefined where they must be copied. */
function homeOf(values: RowValues, width: number): LinearMemory | undefined {
  const isNarrow = paddedBytes(width) + LIST_ROWS * 12 <= SCAN_BYTES;
  return isNarrow ? memoryOf(values) : undefined;
}

/** Bytes of a query padded to a multiple of 8 values, and of the 8 values behind it. */
function paddedBytes(width: number): number {
  return 8 * (padded(width) + 8);
}

/**
 * Writes the products of the listed rows, or without a list of all rows, each `query.length` values
 * wide, to `out[0]..`.
 */
export function dotsInto(
  values: RowValues,
  list: Uint32Array | null,
  query: Float64Array,
  out: Float64Array,
): void {
  const count = list?.length ?? values.length / query.length;
  const width = query.length;
  const home = homeOf(values, width);
  const { BYTES_PER_ELEMENT: type } = values;
  const most = home ? LIST_ROWS : Math.max(1, Math.floor(BLOCK_BYTES / (8 * width)));
  for (let from = 0; from < count; from += most) {
    const here = Math.min(most, count - from);
    const some = here === count ? list : (list?.subarray(from, from + here) ?? null);
    let own = values;
    if (home === undefined && some !== null) own = gather(values, some, width);
    else if (some === null) own = values.subarray(from * width, (from + here) * width);
    const bytes = paddedBytes(width) + 8 * here;
    const stage = new Stage(home ?? scratch(bytes + own.byteLength + 8));
    const { memory } = stage;
    const queryAt = stage.space(paddedBytes(width));
    const staged = new Float64Array(memory.bytes.buffer, queryAt, padded(width));
    staged.set(query);
    staged.fill(0, width);
    const outAt = stage.space(8 * here);
    const rowsAt = home === undefined ? stage.add(own) : own.byteOffset;
    const listAt = home === undefined || some === null ? 0 : stage.add(some);
    searchKernels(memory).dots(type, rowsAt, listAt, here, width, queryAt, outAt);
    out.set(new Float64Array(memory.bytes.buffer, outAt, here), from);
  }
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
