// Cosines of a query with residual codes; the formula and the layout are in residuals.scalar.ts.
//
// Fast because a table of 16 bytes fits a register: one swizzle looks up four bits of 16 rows (the
// method of "fast scan" in FAISS and of ScaNN). Sums of bytes are widened once in four bytes of a
// row, since 8 entries of at most 31 stay below 256. Two blocks at a time share the loads of the
// tables. A mask in float32 finds the rows that may be within the limit; only those are weighed one
// by one, in the operations of the scalar kernel.
//
// Blocks are read whole: space for them must exist up to a multiple of 16 rows.

import { END, HELD, HIT, NEXT, take, WANT } from '../hits/hits.assembly';

const ONE: i32 = 2048;
const BLOCK: u32 = 16;
/** Four bytes of each row of a block, in bytes: after these, sums of bytes are widened. */
const PART: usize = 64;
/** Bytes of four scales. */
const FOUR: usize = 16;

@inline
function lowNibbles(bytes: v128, table: v128): v128 {
  return i8x16.swizzle(table, v128.and(bytes, i8x16.splat(15)));
}

@inline
function highNibbles(bytes: v128, table: v128): v128 {
  return i8x16.swizzle(table, v128.and(i16x8.shr_u(bytes, 4), i8x16.splat(15)));
}

/** What two bytes of each of 16 rows add to their sums. */
@inline
function addOf(block: usize, t0: v128, t1: v128, t2: v128, t3: v128): v128 {
  const a = v128.load(block);
  const b = v128.load(block, 16);
  return i8x16.add(
    i8x16.add(lowNibbles(a, t0), highNibbles(a, t1)),
    i8x16.add(lowNibbles(b, t2), highNibbles(b, t3)),
  );
}

/**
 * Sums of the 16 rows of a block as 16-bit integers, to `sums`. Entries are at most 31, so four
 * bytes add at most 248. The loop holds so little that no register is spilled.
 */
export function sumBlock(block: usize, bytes: usize, tables: usize, sums: usize): void {
  let first = i16x8.splat(0);
  let last = i16x8.splat(0);
  const end = block + bytes * BLOCK;
  while (block < end) {
    let some = i8x16.splat(0);
    const part = min(block + PART, end);
    do {
      some = i8x16.add(
        some,
        addOf(
          block,
          v128.load(tables),
          v128.load(tables, 16),
          v128.load(tables, 32),
          v128.load(tables, 48),
        ),
      );
      block += 32;
      tables += 64;
    } while (block < part);
    first = i16x8.add(first, i16x8.extend_low_i8x16_u(some));
    last = i16x8.add(last, i16x8.extend_high_i8x16_u(some));
  }
  v128.store(sums, first);
  v128.store(sums, last, 16);
}

/** The same for two blocks `stride` bytes apart; the tables are loaded once for both. */
export function sumTwoBlocks(
  block: usize, stride: usize, bytes: usize, tables: usize, sums: usize,
): void {
  let first = i16x8.splat(0);
  let second = i16x8.splat(0);
  let third = i16x8.splat(0);
  let fourth = i16x8.splat(0);
  const end = block + bytes * BLOCK;
  while (block < end) {
    let a = i8x16.splat(0);
    let b = i8x16.splat(0);
    const part = min(block + PART, end);
    do {
      const t0 = v128.load(tables);
      const t1 = v128.load(tables, 16);
      const t2 = v128.load(tables, 32);
      const t3 = v128.load(tables, 48);
      a = i8x16.add(a, addOf(block, t0, t1, t2, t3));
      b = i8x16.add(b, addOf(block + stride, t0, t1, t2, t3));
      block += 32;
      tables += 64;
    } while (block < part);
    first = i16x8.add(first, i16x8.extend_low_i8x16_u(a));
    second = i16x8.add(second, i16x8.extend_high_i8x16_u(a));
    third = i16x8.add(third, i16x8.extend_low_i8x16_u(b));
    fourth = i16x8.add(fourth, i16x8.extend_high_i8x16_u(b));
  }
  v128.store(sums, first);
  v128.store(sums, second, 16);
  v128.store(sums, third, 32);
  v128.store(sums, fourth, 48);
}

/** 2,048 times the cosines of four rows. */
@inline
function cosinesOf(sums: v128, scales: usize, base: f32, factor: f32, more: f32): v128 {
  const products = f32x4.sub(f32x4.convert_i32x4_s(sums), f32x4.splat(base));
  const scaled = f32x4.mul(products, f32x4.mul(v128.load(scales), f32x4.splat(factor)));
  return f32x4.add(scaled, f32x4.splat(more));
}

/** Bit i is set when row i may be within the limit, and always when it is. */
@inline
function maskOf(sums: usize, scales: usize, base: f32, factor: f32, more: f32, limit: i32): u32 {
  const least = f32x4.splat(<f32>(ONE - limit - 1));
  const first = v128.load(sums);
  const last = v128.load(sums, 16);
  const s0 = i32x4.extend_low_i16x8_u(first);
  const s1 = i32x4.extend_high_i16x8_u(first);
  const s2 = i32x4.extend_low_i16x8_u(last);
  const s3 = i32x4.extend_high_i16x8_u(last);
  const a = f32x4.gt(cosinesOf(s0, scales, base, factor, more), least);
  const b = f32x4.gt(cosinesOf(s1, scales + FOUR, base, factor, more), least);
  const c = f32x4.gt(cosinesOf(s2, scales + 2 * FOUR, base, factor, more), least);
  const d = f32x4.gt(cosinesOf(s3, scales + 3 * FOUR, base, factor, more), least);
  return i8x16.bitmask(
    i8x16.narrow_i16x8_s(i16x8.narrow_i32x4_s(a, b), i16x8.narrow_i32x4_s(c, d)),
  );
}

/** Appends the hits among the 16 rows from `row` on that belong to the range. */
function takeHits(
  range: usize, row: u32, sums: usize, scales: usize, base: f32, factor: f32, state: usize,
): void {
  const more = load<f32>(range, 12);
  let mask = maskOf(sums, scales, base, factor, more, load<i32>(state));
  if (mask == 0) return;
  const first = load<u32>(range);
  const end = first + load<u32>(range, 8);
  const codes = load<u32>(range, 4) - first;
  if (row < first) mask &= 0xffff << (first & 15);
  if (end - row < BLOCK) mask &= (1 << (end - row)) - 1;
  let next = load<u32>(state, NEXT);
  for (; mask != 0; mask &= mask - 1) {
    const lane = ctz<u32>(mask);
    const scale = load<f32>(scales + (<usize>lane << 2));
    if (scale == 0) continue;
    const sum = <f32>load<u16>(sums + (<usize>lane << 1));
    const cosine = <i32>((sum - base) * (scale * factor) + more);
    const weight = <u32>min(max(ONE - cosine, 0), 2 * ONE);
    if (weight > load<u32>(state)) continue;
    take(state, next, codes + row + lane, weight);
    next += <u32>HIT;
  }
  store<u32>(state, next, NEXT);
}

/**
 * Hits among the rows of ranges (four 32-bit numbers each, see RANGE in residuals.scalar.ts), as
 * pairs of u32 (code, weight). Returns how many ranges are done: all, unless the space for hits is
 * full, or a range's product with the query is more than `gap` below the limit. Where it is full,
 * the next range is changed to begin where to continue; to tell the other case, the highest bit of
 * the result is set. `begun` is 1 when the first range continues one, or the product, of the call
 * before, else 0. `sums` has 64 bytes.
 */
export function hitsOfResiduals(
  residuals: usize, ranges: usize, rangeCount: u32, bytes: usize, tables: usize, base: f32,
  factor: f32, gap: f32, begun: u32, sums: usize, state: usize,
): u32 {
  const full = load<u32>(state, END) - 2 * BLOCK * <u32>HIT;
  const stride = BLOCK * (bytes + 4);
  for (let i: u32 = 0; i < rangeCount; i++, ranges += 16) {
    const below = <f32>(ONE - load<i32>(state)) - load<f32>(ranges, 12);
    const isFull = load<u32>(state, HELD) >= load<u32>(state, WANT);
    const isOther = i == 0 ? begun == 0 : load<u32>(ranges, 12) != load<u32>(ranges - 4);
    if (below > gap && isFull && isOther) return i | 0x80000000;
    const first = load<u32>(ranges);
    const end = first + load<u32>(ranges, 8);
    for (let row = first & ~15; row < end; row += 2 * BLOCK) {
      if (load<u32>(state, NEXT) > full) {
        const done = max(row, first) - first;
        store<u32>(ranges, first + done);
        store<u32>(ranges, load<u32>(ranges, 4) + done, 4);
        store<u32>(ranges, load<u32>(ranges, 8) - done, 8);
        return i;
      }
      const block = residuals + <usize>row * (bytes + 4);
      const scales = block + bytes * BLOCK;
      if (end - row <= BLOCK) {
        sumBlock(block, bytes, tables, sums);
        takeHits(ranges, row, sums, scales, base, factor, state);
      } else {
        sumTwoBlocks(block, stride, bytes, tables, sums);
        takeHits(ranges, row, sums, scales, base, factor, state);
        takeHits(ranges, row + BLOCK, sums + 32, scales + stride, base, factor, state);
      }
    }
  }
  return rangeCount;
}
