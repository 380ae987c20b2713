/**
 * Weighted Hamming distances: the contract, and the scalar kernel. Each bit in which a code differs
 * from the query counts with its own integer weight. The sum of the weights of four bits is looked
 * up in a table of 16. Sums are integers, so every kernel gives equal weights.
 */

import { FallingLimit, type HitSearch, NO_ROW, type RowCodes } from '../hits/hits';

export interface WeightTables {
  /**
   * Entry 16 g + v is the weight of a code whose bits 4 g to 4 g + 3 (lowest first) have the value
   * v, at most `MAX_ENTRY`. There are two groups a byte of the code, and zeros for the bytes up to
   * a multiple of 8.
   */
  readonly tables: Uint8Array;
  /** No code weighs more; at most `MAX_WEIGHT`. */
  readonly maxWeight: number;
}

export interface WeightedKernel {
  readonly name: string;

  /** A search for the `want` lightest of the codes, see hits.ts. */
  search(from: RowCodes, weights: WeightTables, want: number): HitSearch;
}

/** The largest sum that 16 bits hold. */
export const MAX_WEIGHT = 65_535;
/** Sums of 8 entries stay below 256, so that kernels add them as bytes before they widen them. */
export const MAX_ENTRY = 31;

export const scalarWeighted: WeightedKernel = {
  name: 'scalar',

  search({ bytesPerCode, codes, rows }, { tables, maxWeight }, want) {
    const hits = new FallingLimit(maxWeight, want);
    return hits.search((code) => {
      if (rows[code] === NO_ROW) return;
      let weight = 0;
      let at = code * bytesPerCode;
      for (let group = 0; group < bytesPerCode * 32; group += 32, at++) {
        weight += tables[group + (codes[at] & 15)] + tables[group + 16 + (codes[at] >> 4)];
      }
      hits.take(code, weight);
    });
  },
};
