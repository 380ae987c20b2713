/**
 * Nearness of sketches to a query, in plain loops: the reference twin. A sketch has two bits of
 * each of many coordinates; four bits at a time look up an integer in a table of the query. The sum
 * less `base`, times the row's scale and `factor`, and what is added to all of a range, in float32,
 * is 2,048 times a cosine; a row's weight is 2,048 less that, cut to an integer.
 */

import { FallingLimit, type Search } from '../hits/hits';

/**
 * Rows of `bytesPerRow`, an even number, in blocks of 16: byte b of all 16 lies together, and
 * their scales, as float32, behind their last bytes. A row of scale 0 is passed over.
 */
export interface ResidualRows {
  readonly bytesPerRow: number;
  readonly bytes: Uint8Array;
  /** The same memory. */
  readonly floats: Float32Array;
}

export const BLOCK_ROWS = 16;
export const SCALE_BYTES = 4;

/** Where byte `i` of the row at a place is. */
export function residualByte(bytesPerRow: number, place: number, i: number): number {
  return (place & ~15) * (bytesPerRow + SCALE_BYTES) + i * BLOCK_ROWS + (place & 15);
}

/** Where the scale of the row at a place is, of the floats. */
export function residualScale(bytesPerRow: number, place: number): number {
  const block = (place & ~15) * (bytesPerRow + SCALE_BYTES) + bytesPerRow * BLOCK_ROWS;
  return block / SCALE_BYTES + (place & 15);
}

/** What a query says of the values of four bits: 16 entries for each four, at most 31. */
export interface ResidualTables {
  readonly tables: Uint8Array;
  readonly base: number;
  readonly factor: number;
}

/**
 * Numbers of a range: the first row's place, the code it stands for, how many rows, and, as the
 * bits of a float32, what is added to 2,048 times their cosines.
 */
export const RANGE = 4;

export interface ResidualSearch extends Search {
  /** Looks at the rows of ranges, `RANGE` numbers each. */
  ranges(ranges: Uint32Array): void;
}

export interface ResidualKernel {
  readonly name: string;
  search(from: ResidualRows, query: ResidualTables, want: number): ResidualSearch;
}

/** The weight of a right angle. */
export const ONE_WEIGHT = 2048;
export const MAX_RESIDUAL_WEIGHT = 2 * ONE_WEIGHT;
/** Sums of wider rows would not fit 16 bits. */
export const MAX_RESIDUAL_BYTES = 1024;

export const scalarResiduals: ResidualKernel = {
  name: 'scalar',

  search({ bytesPerRow, bytes, floats }, { tables, base, factor }, want) {
    const hits = new FallingLimit(MAX_RESIDUAL_WEIGHT, want);
    const [less, times] = [Math.fround(base), Math.fround(factor)];
    const weightOf = (place: number, more: number) => {
      let sum = 0;
      for (let i = 0; i < bytesPerRow; i++) {
        const byte = bytes[residualByte(bytesPerRow, place, i)];
        sum += tables[32 * i + (byte & 15)] + tables[32 * i + 16 + (byte >> 4)];
      }
      const scale = Math.fround(floats[residualScale(bytesPerRow, place)] * times);
      const product = Math.fround(Math.fround(sum - less) * scale);
      const cosine = Math.trunc(Math.fround(product + more));
      return Math.min(Math.max(ONE_WEIGHT - cosine, 0), MAX_RESIDUAL_WEIGHT);
    };
    return {
      get limit() {
        return hits.limit;
      },
      get held() {
        return hits.held;
      },
      ranges(ranges) {
        const floats32 = new Float32Array(ranges.buffer, ranges.byteOffset, ranges.length);
        for (let at = 0; at < ranges.length; at += RANGE) {
          const [first, code, count] = ranges.subarray(at, at + RANGE);
          const more = floats32[at + 3];
          for (let i = 0; i < count; i++) {
            const isThere = floats[residualScale(bytesPerRow, first + i)] !== 0;
            if (isThere) hits.take(code + i, weightOf(first + i, more));
          }
        }
      },
      hits: () => hits.list,
    };
  },
};
