/**
 * Searches for the codes of a CodeMemory that are nearest to a query: by Hamming distance, or by a
 * weighted one. There each bit in which a code differs from the query counts with its own integer
 * weight; the sum of the weights of four bits is looked up in a table of 16.
 */

import { type HitSearch, HitState, type RowCodes } from './hits';
import { countsWords } from './kernels';
import { homeOf } from './memory';
import { searchKernels } from './search-kernels';

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

/** The largest sum that 16 bits hold. */
export const MAX_WEIGHT = 65_535;
/** Sums of 8 entries stay below 256, so that kernels add them as bytes before they widen them. */
export const MAX_ENTRY = 31;

export const weightedKernel = {
  /** A search for the `want` lightest of the codes, see hits.ts. */
  search(from: RowCodes, { tables, maxWeight }: WeightTables, want: number): HitSearch {
    const { codes, rows, bytesPerCode } = from;
    const memory = homeOf(codes);
    const state = new HitState(memory, maxWeight, want, tables.length);
    const { at, extraAt } = state;
    memory.bytes.set(tables, extraAt);
    const { weightedHits } = searchKernels(memory);
    const rowsAt = rows.byteOffset;
    return state.search((first, end, codesAt = codes.byteOffset) =>
      weightedHits(codesAt, first, end, bytesPerCode, extraAt, rowsAt, at),
    );
  },

  /** A search for the `want` nearest of the codes within `maxDistance`, see hits.ts. */
  nearest(from: RowCodes, query: Uint8Array, want: number, maxDistance: number): HitSearch {
    const { codes, rows, bytesPerCode } = from;
    const memory = homeOf(codes);
    const state = new HitState(memory, maxDistance, want, bytesPerCode);
    const { at, extraAt } = state;
    memory.bytes.set(query, extraAt);
    const { nearestHits } = memory.kernels;
    const [codesAt, rowsAt, is64] = [codes.byteOffset, rows.byteOffset, countsWords()];
    return state.search((first, end) =>
      nearestHits(is64, codesAt, first, end, bytesPerCode, extraAt, rowsAt, at),
    );
  },
};
