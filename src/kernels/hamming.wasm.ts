/**
 * The WebAssembly twins of hamming.scalar.ts: bits counted 64 at a time, or 16 bytes at a time. Codes
 * that live in a linear memory are read where they are; others pass through scratch in blocks.
 */

import type { HammingKernel } from './hamming.scalar';
import {
  type Distances,
  FREE_START,
  type Hits,
  type LinearMemory,
  residenceOf,
  scratch,
} from './memory';

const CODE_BYTES = 8192; // the widest code
const QUERY_AT = FREE_START;
/** Rows of one call: long enough to hide its cost, few enough for all to be hits. */
const BLOCK_ROWS = 8192;
const OUT_AT = QUERY_AT + CODE_BYTES;
const OUT_BYTES = BLOCK_ROWS * 8;
/** Where codes that do not live in a linear memory are copied, a block at a time. */
const COPIES_AT = OUT_AT + OUT_BYTES;
const COPIES_BYTES = 1 << 18;

export const popcnt64Hamming = wasmHamming('popcnt64', 'distances64', 'hits64');
export const popcnt8Hamming = wasmHamming('popcnt8', 'distances8', 'hits8');

function wasmHamming(
  name: string,
  distancesName: 'distances64' | 'distances8',
  hitsName: 'hits64' | 'hits8',
): HammingKernel {
  return {
    name,

    distancesInto(codes, count, query, out) {
      const bytesPerCode = query.length;
      inBlocks(codes, 0, count, query, (memory, at, row, rows) => {
        const distances: Distances = memory.kernels[distancesName];
        distances(at, rows, bytesPerCode, QUERY_AT, OUT_AT);
        out.set(new Uint16Array(memory.bytes.buffer, OUT_AT, rows), row);
      });
    },

    hitsInto(codes, first, count, query, limit, hits) {
      const bytesPerCode = query.length;
      let found = 0;
      inBlocks(codes, first, count, query, (memory, at, row, rows) => {
        const hitsOf: Hits = memory.kernels[hitsName];
        const end = hitsOf(at, row, rows, bytesPerCode, QUERY_AT, limit, OUT_AT);
        if (end === OUT_AT) return;
        const length = (end - OUT_AT) / 4;
        hits.set(new Uint32Array(memory.bytes.buffer, OUT_AT, length), 2 * found);
        found += length / 2;
      });
      return found;
    },
  };
}

/** Calls `visit` with the address of each block of rows, the query being in place. */
function inBlocks(
  codes: Uint8Array,
  first: number,
  count: number,
  query: Uint8Array,
  visit: (memory: LinearMemory, at: number, row: number, rows: number) => void,
): void {
  const bytesPerCode = query.length;
  const home = residenceOf(codes);
  const memory = home ?? scratch(COPIES_AT + COPIES_BYTES - FREE_START);
  memory.bytes.set(query, QUERY_AT);
  const most = home ? BLOCK_ROWS : Math.min(BLOCK_ROWS, Math.floor(COPIES_BYTES / bytesPerCode));
  const end = first + count;
  for (let row = first; row < end; row += most) {
    const rows = Math.min(most, end - row);
    let at = codes.byteOffset + row * bytesPerCode;
    if (home === undefined) {
      const from = row * bytesPerCode;
      memory.bytes.set(codes.subarray(from, from + rows * bytesPerCode), COPIES_AT);
      at = COPIES_AT;
    }
    visit(memory, at, row, rows);
  }
}
