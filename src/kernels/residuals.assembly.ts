// Cosines of a query with residual codes; the formulas and the layout are in residuals.ts.
//
// Fast because a table of 16 bytes fits a register: one swizzle looks up four bits of 16 rows (the
// method of "fast scan" in FAISS and of ScaNN). Sums of bytes are widened once in four bytes of a
// row, since 8 entries of at most 31 stay below 256. Two blocks at a time share the loads of the
// tables. Masks in float32 find the rows that the sides do not rule out, and of these the rows that
// may be within the limit; the second halves of codes are read only where there are such rows, and
// only rows of both masks are weighed one by one, in the operations of the scalar kernel.
//
// Blocks are read whole: space for them must exist up to a multiple of 16 rows.

import { END, HELD, HIT, NEXT, take, WANT } from './hits.assembly';

const ONE: i32 = 2048;
const BLOCK: u32 = 16;
/** Four bytes of each row of a block, in bytes: after these, sums of bytes are widened. */
const PART: usize = 64;
/** Bytes of four scales. */
const FOUR: usize = 16;

// Places in `work`: 16-bit sums of the sides of two blocks, those of the second halves of one, and
// the limit when the search came to the current centroid.
const SECOND: usize = 64;
const BEFORE: usize = 96;

// Places in `query`, as f32, and of the tables behind them.
const BASE: usize = 0;
const FACTOR: usize = 4;
const SIDE_BASE: usize = 8;
const SIDE_FACTOR: usize = 12;
const TABLES: usize = 16;

/** Bytes of a visit, and of a row that it holds; see heldOfResiduals. */
const VISIT_BYTES: usize = 16;
const HELD_BYTES: usize = 12;

@inline
function lowNibbles(bytes: v128, table: v128): v128 {
  return i8x16.swizzle(table, v128.and(bytes, i8x16.splat(15)));
}

@inline
function highNibbles(bytes: v128, table: v128): v128 {
  return i8x16.swizzle(table, v128.and(i16x8.shr_u(bytes, 4), i8x16.splat(15)));
}

/** What a byte of each of 16 rows adds to their sums. */
@inline
function addOf(block: usize, low: v128, high: v128): v128 {
  const bytes = v128.load(block);
  return i8x16.add(lowNibbles(bytes, low), highNibbles(bytes, high));
}

/**
 * Sums of the 16 rows of a block of `bytes` bytes as 16-bit integers, to `sums`. Entries are at
 * most 31, so four bytes add at most 248. The loop holds so little that no register is spilled.
 */
export function sumBlock(block: usize, bytes: usize, tables: usize, sums: usize): void {
  let first = i16x8.splat(0);
  let last = i16x8.splat(0);
  const end = block + bytes * BLOCK;
  while (block < end) {
    let some = i8x16.splat(0);
    const part = min(block + PART, end);
    do {
      some = i8x16.add(some, addOf(block, v128.load(tables), v128.load(tables, 16)));
      block += 16;
      tables += 32;
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
      const low = v128.load(tables);
      const high = v128.load(tables, 16);
      a = i8x16.add(a, addOf(block, low, high));
      b = i8x16.add(b, addOf(block + stride, low, high));
      block += 16;
      tables += 32;
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

/** Which of four rows have more than `least` as 2,048 times their cosine. */
@inline
function above(sums: v128, scales: usize, formula: usize, more: f32, least: f32): v128 {
  const products = f32x4.sub(f32x4.convert_i32x4_s(sums), v128.load32_splat(formula));
  const scaled = f32x4.mul(
    products, f32x4.mul(v128.load(scales), v128.load32_splat(formula, FACTOR)),
  );
  return f32x4.gt(f32x4.add(scaled, f32x4.splat(more)), f32x4.splat(least));
}

/** Bit i is set when that holds of row i. */
@inline
function maskOf(a: v128, b: v128, c: v128, d: v128): u32 {
  return i8x16.bitmask(
    i8x16.narrow_i16x8_s(i16x8.narrow_i32x4_s(a, b), i16x8.narrow_i32x4_s(c, d)),
  );
}

/** The rows whose sides do not rule out that they are within `limit`. */
function sidesMask(sums: usize, scales: usize, query: usize, more: f32, limit: i32): u32 {
  // The highest weight stands for all cosines below -1.
  const least = limit < 2 * ONE ? <f32>(ONE - limit - 1) : -f32.MAX_VALUE;
  const first = v128.load(sums);
  const last = v128.load(sums, 16);
  const formula = query + SIDE_BASE;
  return maskOf(
    above(i32x4.extend_low_i16x8_u(first), scales, formula, more, least),
    above(i32x4.extend_high_i16x8_u(first), scales + FOUR, formula, more, least),
    above(i32x4.extend_low_i16x8_u(last), scales + 2 * FOUR, formula, more, least),
    above(i32x4.extend_high_i16x8_u(last), scales + 3 * FOUR, formula, more, least),
  );
}

/** Twice the first sums and the second ones, of four rows. */
@inline
function wholeLow(first: v128, second: v128): v128 {
  const sides = i32x4.extend_low_i16x8_u(first);
  return i32x4.add(i32x4.add(sides, sides), i32x4.extend_low_i16x8_u(second));
}

@inline
function wholeHigh(first: v128, second: v128): v128 {
  const sides = i32x4.extend_high_i16x8_u(first);
  return i32x4.add(i32x4.add(sides, sides), i32x4.extend_high_i16x8_u(second));
}

/** Bit i is set when row i may be within the limit, and always when it is. */
function wholeMask(
  sums: usize, seconds: usize, scales: usize, query: usize, more: f32, limit: i32,
): u32 {
  // The highest weight stands for all cosines below -1.
  const least = limit < 2 * ONE ? <f32>(ONE - limit - 1) : -f32.MAX_VALUE;
  const a = v128.load(sums);
  const b = v128.load(sums, 16);
  const c = v128.load(seconds);
  const d = v128.load(seconds, 16);
  return maskOf(
    above(wholeLow(a, c), scales, query, more, least),
    above(wholeHigh(a, c), scales + FOUR, query, more, least),
    above(wholeLow(b, d), scales + 2 * FOUR, query, more, least),
    above(wholeHigh(b, d), scales + 3 * FOUR, query, more, least),
  );
}

/**
 * Of the 16 rows from `row` on those from `first` to `end - 1` that pass: their sides by `before`,
 * their whole codes by `limit`. Leaves the sums of the second halves behind those of the sides.
 */
function passing(
  row: u32, first: u32, end: u32, sums: usize, scales: usize, seconds: usize, bytes: usize,
  query: usize, more: f32, before: i32, limit: i32, second: usize,
): u32 {
  let mask = sidesMask(sums, scales, query, more, before);
  if (mask == 0) return 0;
  if (row < first) mask &= 0xffff << (first & 15);
  if (end - row < BLOCK) mask &= (1 << (end - row)) - 1;
  if (mask == 0) return 0;
  sumBlock(seconds, bytes, query + TABLES, second);
  return mask & wholeMask(sums, second, scales, query, more, limit);
}

/** The weight of the row of a lane, by both sums. */
@inline
function weightOf(
  lane: usize, sums: usize, second: usize, scale: f32, query: usize, more: f32,
): u32 {
  const sides = <u32>load<u16>(sums + (lane << 1));
  const whole: u32 = 2 * sides + <u32>load<u16>(second + (lane << 1));
  const factor = load<f32>(query, FACTOR);
  const cosine = <i32>((<f32>whole - load<f32>(query, BASE)) * (scale * factor) + more);
  return <u32>min(max(ONE - cosine, 0), 2 * ONE);
}

/** Appends the hits among the 16 rows from `row` on that belong to the range. */
function takeHits(
  range: usize, row: u32, sums: usize, scales: usize, seconds: usize, bytes: usize,
  query: usize, work: usize, state: usize,
): void {
  const more = load<f32>(range, 12);
  const first = load<u32>(range);
  const second = work + SECOND;
  let mask = passing(
    row, first, first + load<u32>(range, 8), sums, scales, seconds, bytes, query, more,
    load<i32>(work, BEFORE), load<i32>(state), second,
  );
  if (mask == 0) return;
  const codes = load<u32>(range, 4) - first;
  let next = load<u32>(state, NEXT);
  for (; mask != 0; mask &= mask - 1) {
    const lane = <usize>ctz<u32>(mask);
    const scale = load<f32>(scales + (lane << 2));
    if (scale == 0) continue;
    const weight = weightOf(lane, sums, second, scale, query, more);
    if (weight > load<u32>(state)) continue;
    take(state, next, codes + row + <u32>lane, weight);
    next += <u32>HIT;
  }
  store<u32>(state, next, NEXT);
}

/**
 * Hits among the rows of one range. False if the space for hits is full: the range is then changed
 * to begin where to continue.
 */
function takeRange(
  ranges: usize, full: u32, stride: usize, first: usize, second: usize, bytes: usize,
  query: usize, work: usize, state: usize,
): bool {
  const from = load<u32>(ranges);
  const end = from + load<u32>(ranges, 8);
  for (let row = from & ~15; row < end; row += 2 * BLOCK) {
    if (load<u32>(state, NEXT) > full) {
      const done = max(row, from) - from;
      store<u32>(ranges, from + done);
      store<u32>(ranges, load<u32>(ranges, 4) + done, 4);
      store<u32>(ranges, load<u32>(ranges, 8) - done, 8);
      return false;
    }
    const block = first + <usize>row * (bytes + 4);
    const scales = block + bytes * BLOCK;
    const half = second + <usize>row * bytes;
    if (end - row <= BLOCK) {
      sumBlock(block, bytes, query + TABLES, work);
      takeHits(ranges, row, work, scales, half, bytes, query, work, state);
    } else {
      sumTwoBlocks(block, stride, bytes, query + TABLES, work);
      takeHits(ranges, row, work, scales, half, bytes, query, work, state);
      const next = half + bytes * BLOCK;
      takeHits(
        ranges, row + BLOCK, work + 32, scales + stride, next, bytes, query, work, state,
      );
    }
  }
  return true;
}

/**
 * Hits among the rows of ranges (four 32-bit numbers each, see RANGE in residuals.ts), as
 * pairs of u32 (code, weight). `first` and `second` are the addresses of the halves of codes,
 * `bytes` the bytes of one, `query` those of the formulas and the tables, and `work` has 100 bytes
 * that stay as they are between calls of a search.
 *
 * Returns how many ranges are done: all, unless the space for hits is full, or a range's product
 * with the query is more than `gap` below the limit. Where it is full, the next range is changed to
 * begin where to continue; to tell the other case, the highest bit of the result is set. `begun` is
 * 1 when the first range continues one, or the product, of the call before, else 0.
 */
export function hitsOfResiduals(
  first: usize, second: usize, ranges: usize, rangeCount: u32, bytes: usize, query: usize,
  gap: f32, begun: u32, work: usize, state: usize,
): u32 {
  const full = load<u32>(state, END) - 2 * BLOCK * <u32>HIT;
  const stride = <usize>BLOCK * (bytes + 4);
  for (let i: u32 = 0; i < rangeCount; i++, ranges += 16) {
    if (i == 0 ? begun == 0 : load<u32>(ranges, 12) != load<u32>(ranges - 4)) {
      const limit = load<i32>(state);
      const isFull = load<u32>(state, HELD) >= load<u32>(state, WANT);
      if (isFull && <f32>(ONE - limit) - load<f32>(ranges, 12) > gap) return i | 0x80000000;
      store<i32>(work, limit, BEFORE);
    }
    if (!takeRange(ranges, full, stride, first, second, bytes, query, work, state)) return i;
  }
  return rangeCount;
}

/**
 * The same in rounds: the sides of an entry are compared with the limit that was there when the
 * round began, which the caller writes to `work` before each, so that what is ruled out does not
 * depend on the order of entries. Returns how many ranges are done, as `hitsOfResiduals`.
 */
export function entriesOfRound(
  first: usize, second: usize, ranges: usize, rangeCount: u32, bytes: usize, query: usize,
  work: usize, state: usize,
): u32 {
  const full = load<u32>(state, END) - 2 * BLOCK * <u32>HIT;
  const stride = <usize>BLOCK * (bytes + 4);
  for (let i: u32 = 0; i < rangeCount; i++, ranges += 16) {
    if (!takeRange(ranges, full, stride, first, second, bytes, query, work, state)) return i;
  }
  return rangeCount;
}

/**
 * Writes the rows of a block that a visit holds, as codes `codes` + row; returns the address behind
 * the last.
 */
function holdRows(
  visit: usize, row: u32, first: u32, end: u32, codes: u32, sums: usize, scales: usize,
  seconds: usize, bytes: usize, work: usize, held: usize,
): usize {
  const query = <usize>load<u32>(visit);
  const more = load<f32>(visit, 4);
  const limit = load<i32>(visit, 8);
  const second = work + SECOND;
  let mask = passing(
    row, first, end, sums, scales, seconds, bytes, query, more, limit, limit, second,
  );
  for (; mask != 0; mask &= mask - 1) {
    const lane = <usize>ctz<u32>(mask);
    const scale = load<f32>(scales + (lane << 2));
    if (scale == 0) continue;
    const weight = weightOf(lane, sums, second, scale, query, more);
    if (weight > <u32>limit) continue;
    const sides = <f32>(<u32>load<u16>(sums + (lane << 1)));
    const factor = scale * load<f32>(query, SIDE_FACTOR);
    store<u32>(held, codes + row + <u32>lane);
    store<u32>(held, weight, 4);
    store<f32>(held, (sides - load<f32>(query, SIDE_BASE)) * factor + more, 8);
    held += HELD_BYTES;
  }
  return held;
}

/**
 * Writes the rows from `from` to `end - 1`, those of one centroid, that pass the limits of some
 * visits: code, weight, and estimate by the sides as f32; the code of row `from` is `code`. A visit
 * has four 32-bit numbers: the address of the query's formulas and tables, 2,048 times its product
 * with the centroid as f32, its limit, and the address behind the last row that it holds, which is
 * written. `held` is the address of the first such row, `heldEnd` ends the space. Returns how many
 * visits are done: all, unless the space may be too small for the next.
 */
export function heldOfResiduals(
  firsts: usize, seconds: usize, from: u32, end: u32, code: u32, bytes: usize, visits: usize,
  visitCount: u32, work: usize, held: usize, heldEnd: usize,
): u32 {
  const codes = code - from;
  const stride = <usize>BLOCK * (bytes + 4);
  const most = <usize>(end - from) * HELD_BYTES;
  for (let i: u32 = 0; i < visitCount; i++, visits += VISIT_BYTES) {
    if (held + most > heldEnd) return i;
    const tables = <usize>load<u32>(visits) + TABLES;
    for (let row = from & ~15; row < end; row += 2 * BLOCK) {
      const block = firsts + <usize>row * (bytes + 4);
      const scales = block + bytes * BLOCK;
      const half = seconds + <usize>row * bytes;
      if (end - row <= BLOCK) {
        sumBlock(block, bytes, tables, work);
        held = holdRows(visits, row, from, end, codes, work, scales, half, bytes, work, held);
      } else {
        sumTwoBlocks(block, stride, bytes, tables, work);
        held = holdRows(visits, row, from, end, codes, work, scales, half, bytes, work, held);
        held = holdRows(
          visits, row + BLOCK, from, end, codes, work + 32, scales + stride, half + bytes * BLOCK,
          bytes, work, held,
        );
      }
    }
    store<u32>(visits, <u32>held, 12);
  }
  return visitCount;
}

/**
 * One of four steps that turn 16 x 16 bytes: rows i and i + 8, byte by byte in turn, become rows
 * 2 i and 2 i + 1.
 */
@inline
function turnStep(from: usize, stride: usize, to: usize): void {
  for (let i: usize = 0; i < 8; i++) {
    const a = v128.load(from + i * stride);
    const b = v128.load(from + (i + 8) * stride);
    v128.store(to, i8x16.shuffle(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23));
    v128.store(
      to, i8x16.shuffle(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31), 16,
    );
    to += 32;
  }
}

/**
 * Writes `bytes` bytes of each of 16 rows, `stride` bytes apart, as blocks hold them: byte 0 of all
 * rows, then byte 1. `work` is space for 512 bytes; up to 15 bytes behind those of a row are read.
 */
export function turnRows(from: usize, stride: usize, bytes: usize, to: usize, work: usize): void {
  const other = work + 256;
  for (let at: usize = 0; at < bytes; at += BLOCK) {
    turnStep(from + at, stride, work);
    turnStep(work, BLOCK, other);
    turnStep(other, BLOCK, work);
    turnStep(work, BLOCK, other);
    const length = min(bytes - at, <usize>BLOCK) * BLOCK;
    memory.copy(to + at * BLOCK, other, length);
  }
}
