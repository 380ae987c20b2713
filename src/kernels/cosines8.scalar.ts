/**
 * Nearness of vectors of 8-bit integers to a query of 16-bit ones, in plain loops: the reference
 * twin. A row's weight is 2,048 (1 - cosine), cut to an integer: its product with the query is an
 * exact integer, one float32 multiplication by the row's scale makes it a cosine.
 */

import { FallingLimit, type Search } from './hits';
import { UNIT } from './products.scalar';

/** Rows of `width` integers, a multiple of 8: those beyond the dimensions are 0. */
export interface ByteRows {
  readonly width: number;
  /** In blocks of four rows, 8 integers of each in turn: see `placeOf`. */
  readonly values: Int8Array;
  /** For each row 2,048 / (UNIT its length); 0 for none, which is passed over. */
  readonly scales: Float32Array;
}

/** Where integer `i` of a row is, of those of its block. */
export function placeOf(width: number, row: number, i: number): number {
  return (row & ~3) * width + (i >> 3) * 32 + (row & 3) * 8 + (i & 7);
}

export interface ByteSearch extends Search {
  /** Looks at the rows of ranges, pairs (first, end). */
  ranges(pairs: Uint32Array): void;
}

export interface Cosines8Kernel {
  readonly name: string;
  /** `query` has length UNIT, and `width` integers. */
  search(from: ByteRows, query: Int16Array, want: number): ByteSearch;
}

/** The weight of a right angle. */
export const ONE_WEIGHT = 2048;
export const MOST_BYTE_WEIGHT = 2 * ONE_WEIGHT;
/** Products of wider rows could overflow. */
export const MOST_BYTE_WIDTH = 2 ** 17;

/** The scale of a row of this length. */
export function byteScale(length: number): number {
  return length > 0 ? Math.fround(ONE_WEIGHT / (UNIT * length)) : 0;
}

export const scalarCosines8: Cosines8Kernel = {
  name: 'scalar',

  search({ width, values, scales }, query, want) {
    const hits = new FallingLimit(MOST_BYTE_WEIGHT, want);
    const look = (row: number): void => {
      if (scales[row] === 0) return;
      let sum = 0; // below 2^31 by the lengths, so exact
      for (let i = 0; i < width; i++) sum += values[placeOf(width, row, i)] * query[i];
      const cosine = Math.trunc(Math.fround(Math.fround(sum) * scales[row]));
      hits.take(row, Math.min(Math.max(ONE_WEIGHT - cosine, 0), MOST_BYTE_WEIGHT));
    };
    return {
      get limit() {
        return hits.limit;
      },
      get held() {
        return hits.held;
      },
      ranges(pairs) {
        for (let i = 0; i < pairs.length; i += 2) {
          for (let row = pairs[i]; row < pairs[i + 1]; row++) look(row);
        }
      },
      hits: () => hits.list,
    };
  },
};
