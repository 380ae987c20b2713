/**
 * Weighs the codes of a CodeMemory by a query: each bit in which a code differs from the query
 * counts with its own integer weight. The sum of the weights of four bits is looked up in a table
 * of 16.
 */

import type { Range } from '../base/arrays';
import { inGrowingSteps } from './hamming';
import { NO_ROW, type RowCodes } from './hits';
import { homeOf, Stage } from './memory';
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

/** Codes of one call: so few that there is space for all as hits. */
const MOST_CODES = 4096;

/**
 * Passes the codes of a range whose weight is at most the limit to `take`, in order, but those that
 * stand for no row. Code 0 is at the address `codesAt`. The limit is read again for each of some
 * blocks, short ones first.
 */
export function eachWithin(
  { codes, rows, bytesPerCode }: RowCodes,
  { first, end, codesAt = codes.byteOffset }: Range & { readonly codesAt?: number },
  tables: Uint8Array,
  limit: () => number,
  take: (code: number, weight: number) => void,
): void {
  const stage = new Stage(homeOf(codes));
  const { memory } = stage;
  const [sums, tablesAt] = [stage.space(32), stage.add(tables)];
  const hitsAt = stage.space(8 * MOST_CODES);
  const hits = new Uint32Array(memory.bytes.buffer, hitsAt, 2 * MOST_CODES);
  const { weightedHits } = searchKernels(memory);
  inGrowingSteps(first, end, MOST_CODES, (from, to) => {
    const given = [bytesPerCode, tablesAt, limit(), sums, hitsAt] as const;
    const found = (weightedHits(codesAt, from, to, ...given) - hitsAt) / 4;
    for (let i = 0; i < found; i += 2) {
      if (rows[hits[i]] !== NO_ROW) take(hits[i], hits[i + 1]);
    }
  });
}
