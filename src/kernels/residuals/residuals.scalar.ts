/**
 * Cosines of a query with residual codes, the scalar kernel. A residual code has two bits of each
 * coordinate of a row's rotated difference from its centroid: on which side of zero, and whether
 * far from it. Four bits at a time look up an integer in a table made for the query. Then
 *
 *     cosine x 2,048 = (sum - base) x (scale x factor) + the product of query and centroid
 *
 * in float32, each operation rounded in this order, so that every kernel gives equal results; the
 * weight of a row is 2,048 less that, truncated to an integer within 0..4,096.
 */

import { FallingLimit, type Hits, sortedHits } from '../hits/hits';

/**
 * Rows in blocks of 16, so that a register holds the same byte of all 16: first byte 0 of each row,
 * then byte 1, ..., behind the last bytes their 16 scales as float32. A row of scale 0 is skipped.
 * `bytesPerRow` is even, because kernels take two bytes of each row at a time.
 */
export interface ResidualRows {
  readonly bytesPerRow: number;
  readonly bytes: Uint8Array;
  /** The same bytes as float32, to read scales. */
  readonly floats: Float32Array;
}

export const BLOCK_ROWS = 16;
export const SCALE_BYTES = 4;

/** Index of byte `i` of a row in `bytes`. */
export function residualByte(bytesPerRow: number, row: number, i: number): number {
  return (row & ~15) * (bytesPerRow + SCALE_BYTES) + i * BLOCK_ROWS + (row & 15);
}

/** Index of the scale of a row in `floats`. */
export function residualScale(bytesPerRow: number, row: number): number {
  const block = (row & ~15) * (bytesPerRow + SCALE_BYTES) + bytesPerRow * BLOCK_ROWS;
  return block / SCALE_BYTES + (row & 15);
}

/** For each four bits of a residual code, 16 integers of 0..31: what each value adds to the sum. */
export interface ResidualTables {
  readonly tables: Uint8Array;
  readonly base: number;
  readonly factor: number;
}

/**
 * 32-bit numbers of a range of rows, those of one centroid: its first row, the code that this row
 * stands for (the next row stands for the next code), how many rows, and, as the bits of a float32,
 * 2,048 times the product of query and centroid.
 */
export const RANGE = 4;

/** A search whose limit falls, see hits.ts; it holds all rows seen within the limit. */
export interface ResidualSearch {
  readonly limit: number;
  readonly held: number;
  /**
   * Looks at the rows of some ranges, `RANGE` numbers each, those of the largest products first.
   * Ends before a range whose product with the query is more than the search's `gap` below the
   * limit, both in units of 1 / 2,048, once `want` rows are held, but never between two ranges of
   * equal products: those of one centroid are seen together. Returns how many ranges were seen.
   */
  ranges(ranges: Uint32Array): number;
  /** Ends the search: the rows within the limit by weight, equal ones as they were seen. */
  hits(): Hits;
}

export interface ResidualKernel {
  readonly name: string;
  /** A search for the `want` rows of the largest cosines. */
  search(from: ResidualRows, query: ResidualTables, want: number, gap?: number): ResidualSearch;
}

/** The weight of a right angle; a weight is 2,048 (1 - cosine). */
export const ONE_WEIGHT = 2048;
export const MAX_RESIDUAL_WEIGHT = 2 * ONE_WEIGHT;
/** A gap that ends no search. */
export const NO_GAP = 2 ** 20;
/** 2 x 1,024 entries of at most 31 fit a 16-bit sum. */
export const MAX_RESIDUAL_BYTES = 1024;

export const scalarResiduals: ResidualKernel = {
  name: 'scalar',

  search({ bytesPerRow, bytes, floats }, { tables, base, factor }, want, gap = NO_GAP) {
    const hits = new FallingLimit(MAX_RESIDUAL_WEIGHT, want);
    const [less, times] = [Math.fround(base), Math.fround(factor)];
    const reach = Math.fround(gap);
    const weightOf = (row: number, more: number) => {
      let sum = 0;
      for (let i = 0; i < bytesPerRow; i++) {
        const byte = bytes[residualByte(bytesPerRow, row, i)];
        sum += tables[32 * i + (byte & 15)] + tables[32 * i + 16 + (byte >> 4)];
      }
      const scale = Math.fround(floats[residualScale(bytesPerRow, row)] * times);
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
          const isOther = at === 0 || ranges[at + 3] !== ranges[at - 1];
          const below = Math.fround(ONE_WEIGHT - hits.limit - more);
          if (isOther && hits.held >= want && below > reach) return at / RANGE;
          for (let i = 0; i < count; i++) {
            const isThere = floats[residualScale(bytesPerRow, first + i)] !== 0;
            if (isThere) hits.take(code + i, weightOf(first + i, more));
          }
        }
        return ranges.length / RANGE;
      },
      hits: () => sortedHits(hits.list, hits.limit),
    };
  },
};
