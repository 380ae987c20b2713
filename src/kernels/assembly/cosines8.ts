// How far vectors of 8-bit integers are from a query of 16-bit ones: 2,048 (1 - cosine), cut to an
// integer. Products and their sums are exact integers; one float32 multiplication by the row's
// scale makes them cosines, so that every engine gives the same. Rows lie in blocks of four, 8
// integers of each in turn, so that a block is read from one end to the other.

import { END, HIT, NEXT, ROOM, take } from './hits';
import { totals } from './products';

const ONE: i32 = 2048;
const ROWS: u32 = 4;
/** Bytes of a block that hold 8 integers of each row. */
const TURN: usize = 32;

@inline
function eight(at: usize, x: v128): v128 {
  return i32x4.dot_i16x8_s(v128.load8x8_s(at), x);
}

/** Products of the rows of a block with the query of `width` integers, a multiple of 8. */
@inline
function ofBlock(at: usize, width: usize, query: usize): v128 {
  let s0 = i32x4.splat(0);
  let s1 = i32x4.splat(0);
  let s2 = i32x4.splat(0);
  let s3 = i32x4.splat(0);
  for (const end = query + (width << 1); query < end; query += 16, at += TURN) {
    const x = v128.load(query);
    s0 = i32x4.add(s0, eight(at, x));
    s1 = i32x4.add(s1, i32x4.dot_i16x8_s(v128.load8x8_s(at, 8), x));
    s2 = i32x4.add(s2, i32x4.dot_i16x8_s(v128.load8x8_s(at, 16), x));
    s3 = i32x4.add(s3, i32x4.dot_i16x8_s(v128.load8x8_s(at, 24), x));
  }
  return totals(s0, s1, s2, s3);
}

@inline
function weightsOf(products: v128, scales: v128): v128 {
  const cosines = i32x4.trunc_sat_f32x4_s(
    f32x4.mul(f32x4.convert_i32x4_s(products), scales),
  );
  const weights = i32x4.sub(i32x4.splat(ONE), cosines);
  return i32x4.min_s(i32x4.max_s(weights, i32x4.splat(0)), i32x4.splat(2 * ONE));
}

/** Takes the rows of `mask`, `first` and on, whose scale is not 0. */
function takeRows(
  mask: u32,
  weights: v128,
  scales: v128,
  first: u32,
  state: usize,
): void {
  v128.store(state, weights, ROOM);
  v128.store(state, scales, ROOM + 16);
  let next = load<u32>(state, NEXT);
  for (; mask != 0; mask &= mask - 1) {
    const lane = <usize>ctz<u32>(mask) << 2;
    const weight = load<u32>(state + lane, ROOM);
    if (weight > load<u32>(state) || load<f32>(state + lane, ROOM + 16) == 0) continue;
    take(state, next, first + <u32>(lane >> 2), weight);
    next += <u32>HIT;
  }
  store<u32>(state, next, NEXT);
}

/** Rows `first` to `end - 1`; returns the row to go on with: `end`, unless the hits were full. */
@inline
function hitsOfRange(
  rows: usize,
  scales: usize,
  first: u32,
  end: u32,
  width: usize,
  query: usize,
  state: usize,
): u32 {
  const full = load<u32>(state, END) - ROWS * <u32>HIT;
  let limit = i32x4.splat(load<u32>(state));
  for (let row = first & ~3; row < end; row += ROWS) {
    const some = ofBlock(rows + <usize>row * width, width, query);
    const scale = v128.load(scales + (<usize>row << 2));
    const weights = weightsOf(some, scale);
    let mask = <u32>i32x4.bitmask(i32x4.le_s(weights, limit));
    if (mask == 0) continue;
    if (row < first) mask &= 15 << (first & 3);
    if (end - row < ROWS) mask &= (1 << (end - row)) - 1;
    if (load<u32>(state, NEXT) > full) return max(row, first);
    takeRows(mask, weights, scale, row, state);
    limit = i32x4.splat(load<u32>(state));
  }
  return end;
}

const PAGE: usize = 4096;
const LINE: usize = 64;

/** Reads the first lines of each page of a range, so that memory brings them, and what follows. */
function touchRange(rows: usize, first: u32, end: u32, width: usize): u32 {
  let sum: u32 = 0;
  const last = rows + <usize>end * width;
  for (let at = rows + <usize>(first & ~3) * width; at < last; at = (at & ~(PAGE - 1)) + PAGE) {
    sum += load<u8>(at) + load<u8>(at, LINE) + load<u8>(at, 2 * LINE);
  }
  return sum;
}

/**
 * Hits among the rows of ranges, pairs of u32 (first, end), as pairs of u32 (row, weight) in order.
 * A row of scale 0 is passed over. Returns how many ranges are done: all, unless the hits were
 * full; the next then begins where it is to be gone on with. Reads whole blocks.
 */
export function hitsOfRanges8(
  rows: usize,
  scales: usize,
  ranges: usize,
  rangeCount: u32,
  width: usize,
  query: usize,
  state: usize,
): u32 {
  for (let i: u32 = 0; i < rangeCount; i++, ranges += 8) {
    if (i + 1 < rangeCount) {
      // The sum is of no use but to keep the reads; it is overwritten.
      const touched = touchRange(rows, load<u32>(ranges, 8), load<u32>(ranges, 12), width);
      store<u32>(state, touched, ROOM);
    }
    const end = load<u32>(ranges, 4);
    const next = hitsOfRange(rows, scales, load<u32>(ranges), end, width, query, state);
    if (next < end) {
      store<u32>(ranges, next);
      return i;
    }
  }
  return rangeCount;
}
