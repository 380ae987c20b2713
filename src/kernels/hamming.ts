/**
 * Hamming distances: the contract of all kernels, and the scalar kernel in plain loops. A code is
 * `query.length` bytes, lowest bit first; unused high bits of the last byte are 0 in all codes.
 * Every kernel returns exactly these numbers in this order.
 */

/** Number of set bits of each byte value. */
const POPCOUNT = /* @__PURE__ */ Uint8Array.from({ length: 256 }, (_, byte) => {
  let count = 0;
  for (let rest = byte; rest > 0; rest >>= 1) count += rest & 1;
  return count;
});

/** Bytes of codes that are compared with all queries while they are in the second-level cache. */
const TILE_BYTES = 1 << 18;

export interface HammingKernel {
  readonly name: string;

  /**
   * Writes the rows from `first` to `first + count - 1` whose distance is below `limit`, in order,
   * as pairs (row, distance) from `hits[0]` on. Returns the number of pairs; `hits` must have room
   * for `count` of them.
   */
  hitsInto(
    codes: Uint8Array,
    first: number,
    count: number,
    query: Uint8Array,
    limit: number,
    hits: Uint32Array,
  ): number;

  /**
   * Finds the hits of many queries (`limits.length` codes, one after another), each with its own
   * limit: calls `take` for one hit at a time, rows of a query in order, queries in any order.
   * `take` may lower limits, which are read again for each block of rows; until then it may get
   * hits that are no longer below their limit. A query with the limit 0 has no hits.
   */
  hitsOfMany(
    codes: Uint8Array,
    first: number,
    count: number,
    queries: Uint8Array,
    limits: Uint32Array,
    take: (query: number, row: number, distance: number) => void,
  ): void;
}

/** Rows of the first step: few, since no limits are known yet. */
const FIRST_ROWS = 128;

/** Cuts rows into steps, each twice as long as the one before, up to `most`. */
export function inGrowingSteps(
  first: number,
  end: number,
  most: number,
  visit: (from: number, to: number) => void,
): void {
  for (let from = first, rows = FIRST_ROWS; from < end; rows *= 2) {
    const to = Math.min(end, from + Math.min(rows, most));
    visit(from, to);
    from = to;
  }
}

/** `hitsOfMany` by one `hitsInto` for each block of rows, which fits the cache, and each query. */
export function hitsByQuery(
  kernel: HammingKernel,
  ...[codes, first, count, queries, limits, take]: Parameters<HammingKernel['hitsOfMany']>
): void {
  const bytesPerCode = queries.length / limits.length;
  const rows = Math.max(1, Math.min(count, Math.floor(TILE_BYTES / bytesPerCode)));
  const hits = new Uint32Array(2 * rows);
  for (let row = first; row < first + count; row += rows) {
    const here = Math.min(rows, first + count - row);
    for (let query = 0; query < limits.length; query++) {
      if (limits[query] === 0) continue;
      const code = queries.subarray(query * bytesPerCode, (query + 1) * bytesPerCode);
      const found = kernel.hitsInto(codes, row, here, code, limits[query], hits);
      for (let i = 0; i < 2 * found; i += 2) take(query, hits[i], hits[i + 1]);
    }
  }
}

/** The distance in bits of `code` and one of equal length that begins at byte `from` of `bytes`. */
export function distance(code: Uint8Array, bytes: Uint8Array, from = 0): number {
  let sum = 0; // at most 8 * length; bits are capped at 65,535 so that it fits 16 bits
  for (let i = 0; i < code.length; i++) sum += POPCOUNT[code[i] ^ bytes[from + i]];
  return sum;
}

/** Number of set bits of a 32-bit word, by sums of neighbouring fields of 1, 2 and 4 bits. */
function bitCount(word: number): number {
  let a = word - ((word >>> 1) & 0x55555555);
  a = (a & 0x33333333) + ((a >>> 2) & 0x33333333);
  return Math.imul((a + (a >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}

/** The same of a code in 32-bit words, and of the one that begins at word `from` of others. */
export function distanceOfWords(code: Int32Array, words: Int32Array, from: number): number {
  let sum = 0;
  for (let i = 0; i < code.length; i++) sum += bitCount(code[i] ^ words[from + i]);
  return sum;
}

export const scalarHamming: HammingKernel = {
  name: 'scalar',

  hitsInto(codes, first, count, query, limit, hits) {
    const bytesPerCode = query.length;
    let found = 0;
    for (let row = first, at = first * bytesPerCode; row < first + count; row++) {
      let sum = 0;
      for (let b = 0; b < bytesPerCode; b++) sum += POPCOUNT[codes[at++] ^ query[b]];
      if (sum < limit) {
        hits[2 * found] = row;
        hits[2 * found++ + 1] = sum;
      }
    }
    return found;
  },

  hitsOfMany(...scan) {
    hitsByQuery(this, ...scan);
  },
};
