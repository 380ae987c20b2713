/**
 * The WebAssembly kernels of Hamming distances, see hamming.assembly.ts: 'popcnt64' and 'popcnt8'
 * differ in how they count bits. Many queries at once are compared with 128 codes at a time, see
 * slices.assembly.ts. Codes in a separate linear memory are read in place; others are
 * copied to the scratch memory in blocks.
 */

import { type HammingKernel, hitsByQuery } from './hamming';
import { type LinearMemory, memoryOf, SCAN_BYTES, scratch } from './memory';

/** Rows of one call: enough to hide its cost, few enough that the space for hits fits all. */
const BLOCK_ROWS = 8192;
/** The scratch space begins with the query, then has the hits. */
const QUERY_BYTES = 8192; // the widest code
const HITS_AT = QUERY_BYTES;
/** Behind the hits are copies of codes, or the areas of a scan by planes. */
const REST_AT = HITS_AT + BLOCK_ROWS * 8;
const COPIES_BYTES = SCAN_BYTES - REST_AT;

export const popcnt64Hamming = /* @__PURE__ */ wasmHamming('popcnt64', true);
export const popcnt8Hamming = /* @__PURE__ */ wasmHamming('popcnt8', false);

/** The kernel that counts bits of 64-bit words (`is64`), or of 16 bytes at once. */
function wasmHamming(name: string, is64: boolean): HammingKernel {
  return {
    name,

    hitsInto(codes, first, count, query, limit, hits) {
      let found = 0;
      inBlocks(codes, first, count, query, (memory, at, row, rows) => {
        const { free, kernels } = memory;
        const hitsAt = free + HITS_AT;
        const end = kernels.hitsBelow(is64, at, row, rows, query.length, free, limit, hitsAt) >>> 0;
        if (end === hitsAt) return;
        const length = (end - hitsAt) / 4;
        hits.set(new Uint32Array(memory.bytes.buffer, hitsAt, length), 2 * found);
        found += length / 2;
      });
      return found;
    },

    hitsOfMany(codes, first, count, queries, limits, take) {
      const enough = is64
        ? Math.max(32, queries.length / limits.length) * limits.length >= MIN_QUERY_BYTES
        : limits.length >= MIN_QUERIES;
      const byPlanes = enough ? hitsByPlanes(codes, first, count, queries, limits, take) : 0;
      if (byPlanes === count) return;
      hitsByQuery(this, codes, first + byPlanes, count - byPlanes, queries, limits, take);
    },
  };
}

/**
 * Copies the query to the scratch space, and calls `visit` for each block of at most BLOCK_ROWS
 * rows with its address `at`, which is in the codes themselves or in a copy, and its first row.
 */
function inBlocks(
  codes: Uint8Array,
  first: number,
  count: number,
  query: Uint8Array,
  visit: (memory: LinearMemory, at: number, row: number, rows: number) => void,
): void {
  const bytesPerCode = query.length;
  const home = memoryOf(codes);
  const memory = home ?? scratch(SCAN_BYTES);
  memory.bytes.set(query, memory.free);
  const copiesAt = memory.free + REST_AT;
  const most = home ? BLOCK_ROWS : Math.min(BLOCK_ROWS, Math.floor(COPIES_BYTES / bytesPerCode));
  const end = first + count;
  for (let row = first; row < end; row += most) {
    const rows = Math.min(most, end - row);
    let at = codes.byteOffset + row * bytesPerCode;
    if (home === undefined) {
      const from = row * bytesPerCode;
      memory.bytes.set(codes.subarray(from, from + rows * bytesPerCode), copiesAt);
      at = copiesAt;
    }
    visit(memory, at, row, rows);
  }
}

/** Codes of a tile: each is one bit of a register. */
const TILE_ROWS = 128;
/**
 * For fewer queries making planes does not pay. Where bits of words are counted, 8 queries of 256
 * bits take 2.3 times as long by planes, 48 as long, 100 .8 times; 24 of 512 bits .7 times.
 */
const MIN_QUERIES = 8;
const MIN_QUERY_BYTES = 48 * 32;
/** More do not fit the scratch space. */
const MAX_QUERIES = 128;
/** Bytes of a code; wider ones would need planes beyond the second-level cache. */
const MAX_PLANE_BYTES = 256;
/** Binary digits of a distance that the kernel holds in registers. */
const HELD_PLANES = 5;

/**
 * Compares whole tiles with all queries where that pays. Returns the number of rows done: 0, or all
 * but the up to 127 that do not fill a tile.
 */
function hitsByPlanes(
  ...[codes, first, count, queries, limits, take]: Parameters<HammingKernel['hitsOfMany']>
): number {
  const bytesPerCode = queries.length / limits.length;
  const memory = memoryOf(codes);
  const whole = count - (count % TILE_ROWS);
  if (memory === undefined || bytesPerCode > MAX_PLANE_BYTES || whole === 0) return 0;
  const at = codes.byteOffset + first * bytesPerCode;
  for (let from = 0; from < limits.length; from += MAX_QUERIES) {
    const to = Math.min(limits.length, from + MAX_QUERIES);
    const some = queries.subarray(from * bytesPerCode, to * bytesPerCode);
    hitsOfTiles(memory, at, first, whole, some, limits.subarray(from, to), (query, ...hit) =>
      take(from + query, ...hit),
    );
  }
  return whole;
}

/**
 * Finds the hits of up to MAX_QUERIES queries among `count` codes, whole tiles, from address `at`
 * on. Limits are read again for each tile.
 */
function hitsOfTiles(
  { kernels, bytes, free: limitsAt }: LinearMemory,
  at: number,
  first: number,
  count: number,
  queries: Uint8Array,
  limits: Uint32Array,
  take: (query: number, row: number, distance: number) => void,
): void {
  const queryCount = limits.length;
  const bytesPerCode = queries.length / queryCount;
  // Groups of three bits, padded to a multiple of 8; digits of the largest limit beyond registers.
  const groups = 8 * Math.ceil((8 * bytesPerCode) / 24);
  const restPlanes = Math.max(0, bitLength(8 * bytesPerCode + 1) - HELD_PLANES);

  // Addresses in the scratch space: limits and digits in place of the query and the hits of a scan
  // by words, then slices (with 512 bytes to transpose in), planes, queries, choices and hits.
  const restAt = limitsAt + MAX_QUERIES * 4;
  const slicesAt = limitsAt + REST_AT;
  const planesAt = slicesAt + groups * 48 + 512;
  const queriesAt = planesAt + groups * 256;
  const choicesAt = queriesAt + queries.length;
  const hitsAt = (choicesAt + queryCount * groups + 15) & ~15;

  bytes.set(queries, queriesAt);
  const choices = bytes.subarray(choicesAt, choicesAt + queryCount * groups);
  for (let query = 0; query < queryCount; query++) {
    const code = queries.subarray(query * bytesPerCode, (query + 1) * bytesPerCode);
    planeChoicesInto(code, choices.subarray(query * groups, (query + 1) * groups));
  }
  const staged = new Uint32Array(bytes.buffer, limitsAt, queryCount);
  const hits = new Uint32Array(bytes.buffer, hitsAt, 3 * queryCount * TILE_ROWS);
  for (let row = 0; row < count; row += TILE_ROWS) {
    const tile = at + row * bytesPerCode;
    staged.set(limits);
    kernels.planesInto(tile, bytesPerCode, groups, slicesAt, planesAt);
    const restEnd = restAt + 16 * restPlanes;
    const end = kernels.hitsOfTile(
      tile,
      first + row,
      bytesPerCode,
      queriesAt,
      limitsAt,
      queryCount,
      choicesAt,
      groups,
      planesAt,
      restAt,
      restEnd,
      hitsAt,
    );
    for (let i = 0; i < ((end >>> 0) - hitsAt) / 4; i += 3) take(hits[i], hits[i + 1], hits[i + 2]);
  }
}

/**
 * Writes for each three bits of a query the offset of their pair of planes, 32 bytes, among the 8
 * pairs of a group. Bits behind the code are 0, as those of the slices are.
 */
function planeChoicesInto(code: Uint8Array, choices: Uint8Array): void {
  for (let group = 0, bit = 0; group < choices.length; group++, bit += 3) {
    const pair = code[bit >> 3] | ((code[(bit >> 3) + 1] ?? 0) << 8);
    choices[group] = ((pair >> (bit & 7)) & 7) << 5;
  }
}

/** Binary digits of a positive integer below 2^32. */
function bitLength(value: number): number {
  return 32 - Math.clz32(value);
}
