/**
 * Weighted distances in plain loops: the reference twin. Each bit in which a code differs from the
 * query counts with an integer weight of its own; a table of 16 sums for each four bits holds them.
 */

import { FallingLimit, type HitSearch, NO_ROW, type RowCodes, searchOf } from '../hits/hits';

/**
 * Weights by four bits: entry 16 g + v is the weight of code bits 4 g to 4 g + 3 being v. Two
 * groups a byte, padded by zeros to 8 bytes; entries are at most 31, a code's sum at most `most`,
 * 65,535.
 */
export interface WeightTables {
  readonly tables: Uint8Array;
  readonly most: number;
}

export interface WeightedKernel {
  readonly name: string;
  search(from: RowCodes, weights: WeightTables, want: number): HitSearch;
}

/** Widest sums; beyond, entries have to be smaller. */
export const MAX_WEIGHT = 65_535;
export const MAX_ENTRY = 31;

export const scalarWeighted: WeightedKernel = {
  name: 'scalar',

  search({ bytesPerCode, codes, rows }, { tables, most }, want) {
    const hits = new FallingLimit(most, want);
    return searchOf(hits, (code) => {
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
