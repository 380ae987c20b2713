// Weighted Hamming distances. weighted.ts states the contract and the tables. Codes are `bytes`
// bytes each, one after another, at any address.
//
// Fast because a table of 16 bytes fits a register: one swizzle looks up four bits of 16 codes.
// For this, 8 bytes of 16 codes are transposed so that a register holds the same byte of each.
// An entry is at most 31, so that sums of 8 entries stay below 256 and are widened to 16 bits once.
// Reads up to 16 codes and 7 bytes behind the last; a CodeMemory has this space.

const BLOCK: usize = 16;

/** 8 bytes of a code, and of the code 8 codes behind it. */
@inline
function pairOf(code: usize, bytes: usize): v128 {
  return v128.load64_lane(code + (bytes << 3), v128.load64_zero(code), 1);
}

/** Interleaves the lower halves of two registers byte by byte. */
@inline
function lows(a: v128, b: v128): v128 {
  return i8x16.shuffle(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
}

/** Interleaves the upper halves of two registers byte by byte. */
@inline
function highs(a: v128, b: v128): v128 {
  return i8x16.shuffle(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
}

/**
 * 15 in each byte: all bits shifted by 4, since shifts are modulo 8, whatever `any` is. Were it a
 * constant, the engine of Node 24 would load it again at each use: loops took up to 1.5 times as
 * long.
 */
@inline
export function nibbleMask(any: usize): v128 {
  return i8x16.shr_u(i8x16.splat(-1), (<i32>any << 3) | 4);
}

/** Looks up the low four bits of each byte. */
@inline
function lowNibbles(bytes: v128, table: usize, mask: v128): v128 {
  return i8x16.relaxed_swizzle(v128.load(table), v128.and(bytes, mask));
}

/** Looks up the high four bits of each byte in the table behind. */
@inline
function highNibbles(bytes: v128, table: usize, mask: v128): v128 {
  return i8x16.relaxed_swizzle(v128.load(table, 16), v128.and(i16x8.shr_u(bytes, 4), mask));
}

/**
 * The weights of two bytes of 16 codes, by the low four bits of each or by the high ones. `low` has
 * both bytes of codes 0..7, first all first ones, `high` those of codes 8..15.
 */
@inline
function twoBytes(low: v128, high: v128, tables: usize, isHigh: bool, mask: v128): v128 {
  const first = i64x2.shuffle(low, high, 0, 2);
  const second = i64x2.shuffle(low, high, 1, 3);
  return isHigh
    ? i8x16.add(highNibbles(first, tables, mask), highNibbles(second, tables + 32, mask))
    : i8x16.add(lowNibbles(first, tables, mask), lowNibbles(second, tables + 32, mask));
}

/** Adds the weights of 8 bytes of each of 16 codes to their 16-bit sums. */
@inline
function addEightBytes(
  code: usize, bytes: usize, tables: usize, sums: usize, mask: v128,
): void {
  // A register holds 8 bytes of codes i and i + 8. Three rounds interleave them until a half holds
  // one byte of eight codes: x0 bytes 0 and 1 of codes 0..7, y0 the same of codes 8..15.
  const r0 = pairOf(code, bytes);
  const r1 = pairOf(code + bytes, bytes);
  const r2 = pairOf(code + bytes * 2, bytes);
  const r3 = pairOf(code + bytes * 3, bytes);
  const r4 = pairOf(code + bytes * 4, bytes);
  const r5 = pairOf(code + bytes * 5, bytes);
  const r6 = pairOf(code + bytes * 6, bytes);
  const r7 = pairOf(code + bytes * 7, bytes);
  const a04 = lows(r0, r4);
  const a15 = lows(r1, r5);
  const a26 = lows(r2, r6);
  const a37 = lows(r3, r7);
  const b04 = highs(r0, r4);
  const b15 = highs(r1, r5);
  const b26 = highs(r2, r6);
  const b37 = highs(r3, r7);
  const x0 = lows(lows(a04, a26), lows(a15, a37));
  const x1 = highs(lows(a04, a26), lows(a15, a37));
  const x2 = lows(highs(a04, a26), highs(a15, a37));
  const x3 = highs(highs(a04, a26), highs(a15, a37));
  const y0 = lows(lows(b04, b26), lows(b15, b37));
  const y1 = highs(lows(b04, b26), lows(b15, b37));
  const y2 = lows(highs(b04, b26), highs(b15, b37));
  const y3 = highs(highs(b04, b26), highs(b15, b37));
  let low = twoBytes(x0, y0, tables, false, mask);
  let high = twoBytes(x0, y0, tables, true, mask);
  low = i8x16.add(low, twoBytes(x1, y1, tables + 64, false, mask));
  high = i8x16.add(high, twoBytes(x1, y1, tables + 64, true, mask));
  low = i8x16.add(low, twoBytes(x2, y2, tables + 128, false, mask));
  high = i8x16.add(high, twoBytes(x2, y2, tables + 128, true, mask));
  low = i8x16.add(low, twoBytes(x3, y3, tables + 192, false, mask));
  high = i8x16.add(high, twoBytes(x3, y3, tables + 192, true, mask));
  const first = i16x8.add(i16x8.extend_low_i8x16_u(low), i16x8.extend_low_i8x16_u(high));
  const last = i16x8.add(i16x8.extend_high_i8x16_u(low), i16x8.extend_high_i8x16_u(high));
  v128.store(sums, i16x8.add(v128.load(sums), first));
  v128.store(sums, i16x8.add(v128.load(sums, 16), last), 16);
}

/** Weighs a block of 16 codes; bit i of the result is set where code i is within the limit. */
@inline
function blockMask(code: usize, bytes: usize, tables: usize, sums: usize, limit: v128): u32 {
  const mask = nibbleMask(bytes);
  v128.store(sums, i16x8.splat(0));
  v128.store(sums, i16x8.splat(0), 16);
  for (let at: usize = 0; at < bytes; at += 8) {
    addEightBytes(code + at, bytes, tables + (at << 5), sums, mask);
  }
  const first = i16x8.le_u(v128.load(sums), limit);
  const last = i16x8.le_u(v128.load(sums, 16), limit);
  return i8x16.bitmask(i8x16.narrow_i16x8_s(first, last));
}

/**
 * Writes the codes `first` to `end - 1` whose weight is at most `limit` to `hits` as pairs of u32
 * (code, weight) in order, and returns their end; there must be room for all. `sums` is space for
 * 32 bytes.
 */
export function weightedHits(
  codes: usize, first: u32, end: u32, bytes: usize, tables: usize, limit: u32, sums: usize,
  hits: usize,
): usize {
  const most = i16x8.splat(<i16>limit);
  for (let code = first; code < end; code += <u32>BLOCK) {
    let mask = blockMask(codes + <usize>code * bytes, bytes, tables, sums, most);
    if (end - code < <u32>BLOCK) mask &= (1 << (end - code)) - 1;
    for (; mask != 0; mask &= mask - 1, hits += 8) {
      const lane = ctz<u32>(mask);
      store<u32>(hits, code + lane);
      store<u32>(hits, load<u16>(sums + (<usize>lane << 1)), 4);
    }
  }
  return hits;
}
