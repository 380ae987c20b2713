// Sketches: two bits of each of many coordinates, on which side of a hyperplane a vector lies and
// whether far from it. Four bits at a time look up what the two coordinates add to the product with
// a query, in a table of 16 bytes, for 16 rows at a time: byte b of all 16 lies together, and their
// scales, as f32, behind their last bytes. The sum times the row's scale is a cosine; a weight is
// 2,048 (1 - cosine), cut to an integer.

import { END, HIT, NEXT, ROOM, take } from './hits';

const ONE: i32 = 2048;
const BLOCK: u32 = 16;
const FOUR: usize = 16;

@inline
function lowNibbles(bytes: v128, table: v128): v128 {
  return i8x16.swizzle(table, v128.and(bytes, i8x16.splat(15)));
}

@inline
function highNibbles(bytes: v128, table: v128): v128 {
  return i8x16.swizzle(table, v128.and(i16x8.shr_u(bytes, 4), i8x16.splat(15)));
}

/** Sums of 16 rows as 16-bit integers, to `sums`. Loops are short so that nothing is spilled. */
export function sumBlock(block: usize, bytes: usize, tables: usize, sums: usize): void {
  let first = i16x8.splat(0);
  let last = i16x8.splat(0);
  const end = block + bytes * BLOCK;
  while (block < end) {
    let low = i8x16.splat(0);
    let high = i8x16.splat(0);
    const part = block + 128; // eight bytes of each: entries are at most 31, sums at most 248
    do {
      const a = v128.load(block);
      low = i8x16.add(low, lowNibbles(a, v128.load(tables)));
      high = i8x16.add(high, highNibbles(a, v128.load(tables, 16)));
      const b = v128.load(block, 16);
      low = i8x16.add(low, lowNibbles(b, v128.load(tables, 32)));
      high = i8x16.add(high, highNibbles(b, v128.load(tables, 48)));
      block += 32;
      tables += 64;
    } while (block < part);
    first = i16x8.add(
      first,
      i16x8.add(i16x8.extend_low_i8x16_u(low), i16x8.extend_low_i8x16_u(high)),
    );
    last = i16x8.add(
      last,
      i16x8.add(i16x8.extend_high_i8x16_u(low), i16x8.extend_high_i8x16_u(high)),
    );
  }
  v128.store(sums, first);
  v128.store(sums, last, 16);
}

/** 2,048 times the cosines of four rows. */
@inline
function cosinesOf(sums: v128, scales: usize, base: f32, factor: f32): v128 {
  const products = f32x4.sub(f32x4.convert_i32x4_s(sums), f32x4.splat(base));
  return f32x4.mul(products, f32x4.mul(v128.load(scales), f32x4.splat(factor)));
}

/** Bit i: row i of the block is about within the limit; all that are within it are. */
@inline
function maskOf(sums: usize, scales: usize, base: f32, factor: f32, limit: i32): u32 {
  const least = f32x4.splat(<f32>(ONE - limit - 1));
  const first = v128.load(sums);
  const last = v128.load(sums, 16);
  const a = f32x4.gt(cosinesOf(i32x4.extend_low_i16x8_u(first), scales, base, factor), least);
  const b = f32x4.gt(
    cosinesOf(i32x4.extend_high_i16x8_u(first), scales + FOUR, base, factor),
    least,
  );
  const c = f32x4.gt(
    cosinesOf(i32x4.extend_low_i16x8_u(last), scales + 2 * FOUR, base, factor),
    least,
  );
  const d = f32x4.gt(
    cosinesOf(i32x4.extend_high_i16x8_u(last), scales + 3 * FOUR, base, factor),
    least,
  );
  return i8x16.bitmask(
    i8x16.narrow_i16x8_s(i16x8.narrow_i32x4_s(a, b), i16x8.narrow_i32x4_s(c, d)),
  );
}

@inline
function weightOf(sum: u16, scale: f32, base: f32, factor: f32): u32 {
  const cosine = <i32>((<f32>sum - base) * (scale * factor));
  return <u32>min(max(ONE - cosine, 0), 2 * ONE);
}

/**
 * Hits among the rows of ranges, as pairs of u32 (code, weight). A range is four u32: the place of
 * its first row, the code that this row stands for, how many rows, and 0. A row of scale 0 is
 * passed over. Returns how many ranges are done: all, unless the hits were full; the next then
 * begins where it is to be gone on with. `sums` is room for 32
 * bytes.
 */
export function hitsOfSketches(
  sketches: usize,
  ranges: usize,
  rangeCount: u32,
  bytes: usize,
  tables: usize,
  base: f32,
  factor: f32,
  sums: usize,
  state: usize,
): u32 {
  const full = load<u32>(state, END) - BLOCK * <u32>HIT;
  for (let i: u32 = 0; i < rangeCount; i++, ranges += 16) {
    const first = load<u32>(ranges);
    const end = first + load<u32>(ranges, 8);
    const codes = load<u32>(ranges, 4) - first;
    for (let place = first & ~15; place < end; place += BLOCK) {
      const block = sketches + <usize>place * (bytes + 4);
      const scale = block + bytes * BLOCK;
      sumBlock(block, bytes, tables, sums);
      let mask = maskOf(sums, scale, base, factor, load<i32>(state));
      if (mask == 0) continue;
      if (place < first) mask &= 0xffff << (first & 15);
      if (end - place < BLOCK) mask &= (1 << (end - place)) - 1;
      let next = load<u32>(state, NEXT);
      if (next > full) {
        const done = max(place, first) - first;
        store<u32>(ranges, first + done);
        store<u32>(ranges, load<u32>(ranges, 4) + done, 4);
        store<u32>(ranges, load<u32>(ranges, 8) - done, 8);
        return i;
      }
      for (; mask != 0; mask &= mask - 1) {
        const lane = ctz<u32>(mask);
        const own = load<f32>(scale + (<usize>lane << 2));
        const weight = weightOf(load<u16>(sums + (<usize>lane << 1)), own, base, factor);
        if (weight > load<u32>(state) || own == 0) continue;
        take(state, next, codes + place + lane, weight);
        next += <u32>HIT;
      }
      store<u32>(state, next, NEXT);
    }
  }
  return rangeCount;
}
