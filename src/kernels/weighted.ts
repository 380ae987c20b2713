/**
 * Weighted Hamming distances. Each bit in which a code differs from the query counts with its own
 * integer weight; the sum of the weights of four bits is looked up in a table of 16. Codes and rows
 * of a CodeMemory are read in place; others are copied to the scratch memory.
 */

import { type HitSearch, HitState, type RowCodes } from './hits';
import { CODES_START, memoryOf, SCAN_BYTES, scratch } from './memory';
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
    const { memory, codesAt, rowsAt } = placed(from);
    const kernels = searchKernels(memory);
    const state = new HitState(memory, kernels, maxWeight, want, tables.length);
    const { at, extraAt } = state;
    memory.bytes.set(tables, extraAt);
    const { weightedHits } = kernels;
    return state.search((first, end) =>
      weightedHits(codesAt, first, end, from.bytesPerCode, extraAt, rowsAt, at),
    );
  },
};

/** Bytes that the kernel reads behind the codes: 16 codes and 7 bytes. */
const BEHIND_CODES = 16;

/** The memory that has the codes and their rows, and where; a copy if no memory has both. */
function placed({ codes, rows, bytesPerCode }: RowCodes) {
  const home = memoryOf(codes);
  if (home !== undefined && rows.buffer === codes.buffer) {
    return { memory: home, codesAt: codes.byteOffset, rowsAt: rows.byteOffset };
  }
  const behind = codes.length + (BEHIND_CODES * bytesPerCode + 7);
  const rowsAt = CODES_START + ((behind + 3) & ~3);
  const memory = scratch(rowsAt + 4 * rows.length - CODES_START + SCAN_BYTES);
  memory.bytes.set(codes, CODES_START);
  new Uint32Array(memory.bytes.buffer, rowsAt, rows.length).set(rows);
  return { memory, codesAt: CODES_START, rowsAt };
}
