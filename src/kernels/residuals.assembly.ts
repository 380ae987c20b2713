// Cosines of a query with residual codes; the formulas and the layout are in residuals.ts.
//
// Fast because a table of 16 bytes fits a register: one swizzle looks up four bits of 16 rows (the
// method of "fast scan" in FAISS and of ScaNN). Sums of bytes are widened once in four bytes of a
// row, since 8 entries of at most 31 stay below 256. Products of 16-bit integers, eight at a time,
// find the rows that their sides do not rule out; only of these blocks the second halves of codes
// are read, and only rows that a mask in float32 leaves are weighed one by one, in the operations
// of the scalar kernel.
//
// Registers are loaded whole, so up to 15 bytes behind the last row are read.

import { nibbleMask } from './weighted.assembly';

const ONE: i32 = 2048;
const BLOCK: u32 = 16;
/** Bytes of the coarse scales of a block, and of its scales. */
const COARSE: usize = 32;
const SCALES: usize = 64;
/** Bytes of four scales. */
const FOUR: usize = 16;

// In `work` are 16-bit sums of the sides of a block, and behind them those of the second halves.
const SECOND: usize = 32;

// Places in `query`: the base and the factor as f32; of sides the base and the shift as i32, and
// what makes a cut of a difference of cosines, as f32; the address of the state of the search.
// Behind them lie the tables.
const BASE: usize = 0;
const FACTOR: usize = 4;
const SIDE_BASE: usize = 8;
const SHIFT: usize = 12;
const CUT: usize = 16;
const STATE: usize = 20;
const TABLES: usize = 32;

// The state of a search, as u32 at these byte offsets: 0 the limit (inclusive), the end of a bin of
// weights, which at least `want` of the entries seen do not exceed; `want`; the number of hits
// within the limit; where its hits begin, where the next one goes, and the end of their space; from
// COUNTS on the number of hits of each bin. Hits that were appended while the limit was higher stay
// until the space is full.
const WANT: usize = 4;
const HELD: usize = 8;
const HITS: usize = 12;
const NEXT: usize = 16;
const END: usize = 20;
const COUNTS: usize = 32;
/** Bytes of a hit: code and weight, as u32. */
const HIT: usize = 8;
/** Weights of a bin, as a shift: by single weights the limit would fall with nearly every hit. */
const BIN: u32 = 4;
/** Bytes for hits that must be free for a block. */
const BLOCK_HITS: u32 = BLOCK * <u32>HIT;

/** Lowers the limit while at least `want` hits remain within it. */
function lower(state: usize): void {
  const counts = state + COUNTS;
  const want = load<u32>(state, WANT);
  let held = load<u32>(state, HELD);
  let bin = load<u32>(state) >> BIN;
  for (; bin > 0; bin--) {
    const rest = held - load<u32>(counts + (<usize>bin << 2));
    if (rest < want) break;
    held = rest;
  }
  store<u32>(state, min(load<u32>(state), (bin << BIN) | ((1 << BIN) - 1)));
  store<u32>(state, held, HELD);
}

/** Takes out the hits above the limit. True where there is space for those of a block then. */
function thin(state: usize): bool {
  const limit = load<u32>(state);
  const end = <usize>load<u32>(state, NEXT);
  let next = <usize>load<u32>(state, HITS);
  for (let at = next; at < end; at += HIT) {
    store<u64>(next, load<u64>(at));
    next += load<u32>(at, 4) <= limit ? HIT : 0;
  }
  store<u32>(state, <u32>next, NEXT);
  return <u32>next + BLOCK_HITS <= load<u32>(state, END);
}

/** What a byte of each of 16 rows adds to their sums; `mask` is that of `nibbleMask`. */
@inline
function addOf(bytes: v128, tables: usize, mask: v128): v128 {
  return i8x16.add(
    i8x16.relaxed_swizzle(v128.load(tables), v128.and(bytes, mask)),
    i8x16.relaxed_swizzle(v128.load(tables, 16), v128.and(i16x8.shr_u(bytes, 4), mask)),
  );
}

/**
 * Sums of the rows of a block of `bytes` bytes, of which it has `lanes`, as 16-bit integers of 16
 * rows, to `sums`. Entries are at most 31, so four bytes add at most 248: these are written out,
 * and the others follow one by one.
 */
function sumBlock(block: usize, lanes: usize, bytes: usize, tables: usize, sums: usize): void {
  const mask = nibbleMask(bytes);
  let first = i16x8.splat(0);
  let last = i16x8.splat(0);
  const end = block + bytes * lanes;
  const step = lanes << 2;
  for (const whole = block + (bytes >> 2) * step; block < whole; block += step, tables += 128) {
    let some = addOf(v128.load(block), tables, mask);
    some = i8x16.add(some, addOf(v128.load(block + lanes), tables + 32, mask));
    some = i8x16.add(some, addOf(v128.load(block + 2 * lanes), tables + 64, mask));
    some = i8x16.add(some, addOf(v128.load(block + 3 * lanes), tables + 96, mask));
    first = i16x8.add(first, i16x8.extend_low_i8x16_u(some));
    last = i16x8.add(last, i16x8.extend_high_i8x16_u(some));
  }
  let some = i8x16.splat(0);
  for (; block < end; block += lanes, tables += 32) {
    some = i8x16.add(some, addOf(v128.load(block), tables, mask));
  }
  v128.store(sums, i16x8.add(first, i16x8.extend_low_i8x16_u(some)));
  v128.store(sums, i16x8.add(last, i16x8.extend_high_i8x16_u(some)), 16);
}

/** Which of eight rows have more than `cut` as the product of their sides and coarse scale. */
@inline
function sidesAbove(sums: usize, scales: usize, base: v128, shift: i32, cut: v128): v128 {
  const sides = i16x8.sub_sat_s(i16x8.shl(v128.load(sums), shift), base);
  return i16x8.gt_s(i16x8.q15mulr_sat_s(sides, v128.load(scales)), cut);
}

/** Bit i is set when the sides of row i of a block do not rule it out. */
@inline
function sidesMask(sums: usize, scales: usize, base: v128, shift: i32, cut: v128): u32 {
  return i8x16.bitmask(i8x16.narrow_i16x8_s(
    sidesAbove(sums, scales, base, shift, cut),
    sidesAbove(sums + FOUR, scales + FOUR, base, shift, cut),
  ));
}

/**
 * A product that the sides of a row exceed where they do not rule it out, whose centroid has
 * `more`: one less than follows from the formula, in place of rounding as `sideWeightOf` does.
 */
@inline
function cutOf(query: usize, more: f32, limit: i32): i32 {
  const factor = load<f32>(query, CUT);
  // The highest weight stands for all cosines below -1.
  if (limit >= 2 * ONE || factor == 0) return i16.MIN_VALUE;
  const cut = (<f32>(ONE - limit - 1) - more) * factor - 1;
  return <i32>min(max(cut, <f32>i16.MIN_VALUE), <f32>i16.MAX_VALUE);
}

/** The lowest limit by which the sides of a row of this sum and coarse scale do not rule it out. */
@inline
function sideWeightOf(sides: i32, coarse: i32, query: usize, more: f32): u32 {
  const factor = load<f32>(query, CUT);
  if (factor == 0) return 0;
  const above = min((sides << load<i32>(query, SHIFT)) - load<i32>(query, SIDE_BASE), 0x7fff);
  const product = (above * coarse + 0x4000) >> 15;
  const below = <f32>Math.floor(<f32>(ONE - 1) - more - <f32>product / factor);
  return <u32>min(max(below + 1, 0), 2 * <f32>ONE);
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
@inline
function wholeMask(
  sums: usize, seconds: usize, scales: usize, query: usize, more: f32, limit: i32,
): u32 {
  // The highest weight stands for all cosines below -1.
  const least = limit < 2 * ONE ? <f32>(ONE - limit - 1) : -f32.MAX_VALUE;
  const a = v128.load(sums);
  const b = v128.load(sums, 16);
  const c = v128.load(seconds);
  const d = v128.load(seconds, 16);
  return i8x16.bitmask(i8x16.narrow_i16x8_s(
    i16x8.narrow_i32x4_s(
      above(wholeLow(a, c), scales, query, more, least),
      above(wholeHigh(a, c), scales + FOUR, query, more, least),
    ),
    i16x8.narrow_i32x4_s(
      above(wholeLow(b, d), scales + 2 * FOUR, query, more, least),
      above(wholeHigh(b, d), scales + 3 * FOUR, query, more, least),
    ),
  ));
}

/** The weight of the row of a lane, by both sums. */
@inline
function wholeWeightOf(
  lane: usize, sums: usize, second: usize, scale: f32, query: usize, more: f32,
): u32 {
  const sides = <u32>load<u16>(sums + (lane << 1));
  const whole: u32 = 2 * sides + <u32>load<u16>(second + (lane << 1));
  const factor = load<f32>(query, FACTOR);
  const cosine = <i32>((<f32>whole - load<f32>(query, BASE)) * (scale * factor) + more);
  return <u32>min(max(ONE - cosine, 0), 2 * ONE);
}

/**
 * Appends the hits among the rows of a block that `mask` leaves. `second` is the address of the
 * second halves of their codes, `coarse` that of their coarse scales, `sums` that of the sums of
 * their sides, `lanes` is how many rows the block has, and `code` stands for the first of them.
 */
function takeHits(
  mask: u32, code: u32, second: usize, coarse: usize, sums: usize, lanes: usize, bytes: usize,
  query: usize, more: f32, work: usize,
): void {
  const state = <usize>load<u32>(query, STATE);
  const seconds = work + SECOND;
  const scales = second + bytes * lanes;
  sumBlock(second, lanes, bytes, query + TABLES, seconds);
  const limit = load<u32>(state);
  mask &= wholeMask(sums, seconds, scales, query, more, <i32>limit);
  let next = <usize>load<u32>(state, NEXT);
  let held = load<u32>(state, HELD);
  for (; mask != 0; mask &= mask - 1) {
    const lane = <usize>ctz<u32>(mask);
    const scale = load<f32>(scales + (lane << 2));
    const weight = max(
      wholeWeightOf(lane, sums, seconds, scale, query, more),
      sideWeightOf(load<u16>(sums + (lane << 1)), load<i16>(coarse + (lane << 1)), query, more),
    );
    store<u32>(next, code + <u32>lane);
    store<u32>(next, weight, 4);
    const isHit = <u32>(weight <= limit && scale != 0);
    const place = state + COUNTS + (<usize>(weight >> BIN) << 2);
    store<u32>(place, load<u32>(place) + isHit);
    next += isHit ? HIT : 0;
    held += isHit;
  }
  store<u32>(state, <u32>next, NEXT);
  store<u32>(state, held, HELD);
  const last = load<u32>(state + COUNTS + (<usize>(limit >> BIN) << 2));
  if (held - last >= load<u32>(state, WANT)) lower(state);
}

/**
 * Hits among the rows of one range. False if the space for hits is full: the range is then changed
 * to begin where to continue.
 */
function takeRange(ranges: usize, bytes: usize, query: usize, work: usize): bool {
  const state = <usize>load<u32>(query, STATE);
  const full = load<u32>(state, END) - BLOCK_HITS;
  const sides = <usize>load<u32>(ranges);
  const secondHalves = <usize>load<u32>(ranges, 4);
  const capacity = load<u32>(ranges, 8);
  const from = load<u32>(ranges, 12);
  const codes = load<u32>(ranges, 16) - from;
  const end = from + load<u32>(ranges, 20);
  const more = load<f32>(ranges, 24);
  const shift = load<i32>(query, SHIFT);
  const base = v128.load16_splat(query, SIDE_BASE);
  let limit = load<i32>(state);
  let cut = i16x8.splat(<i16>cutOf(query, more, limit));
  const scalesAt = bytes * BLOCK;
  const stride = scalesAt + COARSE;
  const secondStride = scalesAt + SCALES;
  for (let row = from & ~15; row < end; row += BLOCK) {
    const block = sides + <usize>(row / BLOCK) * stride;
    const lanes = min<u32>(BLOCK, capacity - row);
    const coarse = block + bytes * lanes;
    sumBlock(block, lanes, bytes, query + TABLES, work);
    let mask = sidesMask(work, coarse, base, shift, cut);
    if (row < from) mask &= -1 << (from & 15);
    if (end - row < BLOCK) mask &= (1 << (end - row)) - 1;
    if (mask == 0) continue;
    if (load<u32>(state, NEXT) > full && !thin(state)) {
      const done = max(row, from) - from;
      store<u32>(ranges, from + done, 12);
      store<u32>(ranges, load<u32>(ranges, 16) + done, 16);
      store<u32>(ranges, load<u32>(ranges, 20) - done, 20);
      return false;
    }
    const second = secondHalves + <usize>(row / BLOCK) * secondStride;
    takeHits(mask, codes + row, second, coarse, work, lanes, bytes, query, more, work);
    if (load<i32>(state) == limit) continue;
    limit = load<i32>(state);
    cut = i16x8.splat(<i16>cutOf(query, more, limit));
  }
  return true;
}

/**
 * Hits among the rows of ranges (eight 32-bit numbers each, see RANGE in residuals.ts), as pairs of
 * u32 (code, weight). `bytes` are the bytes of half a code, `query` is the address of the formulas
 * and the tables of the first search, and `work` is space for 64 bytes.
 *
 * Returns how many ranges are done: all, unless the space for hits of a search is full. Then the
 * next range is changed to begin where to continue.
 */
export function weighEntries(
  ranges: usize, rangeCount: u32, bytes: usize, query: usize, work: usize,
): u32 {
  for (let i: u32 = 0; i < rangeCount; i++, ranges += 32) {
    const own = query + load<u32>(ranges, 28);
    if (!takeRange(ranges, bytes, own, work)) return i;
  }
  return rangeCount;
}

/** Bits of a weight that hits are sorted by at a time, and bytes of their counts. */
const DIGIT: u32 = 7;
const DIGIT_MASK: u32 = (1 << DIGIT) - 1;
const DIGIT_BYTES: usize = 4 << DIGIT;

/** Copies hits to `to` in the order of some bits of their weights, and then in their own. */
function sortBy(hits: usize, end: usize, shift: u32, to: usize, counts: usize): void {
  memory.fill(counts, 0, DIGIT_BYTES);
  for (let at = hits; at < end; at += HIT) {
    const place = counts + (<usize>((load<u32>(at, 4) >> shift) & DIGIT_MASK) << 2);
    store<u32>(place, load<u32>(place) + <u32>HIT);
  }
  for (const last = counts + DIGIT_BYTES; counts < last; counts += 4) {
    const bytes = load<u32>(counts);
    store<u32>(counts, <u32>to);
    to += bytes;
  }
  counts -= DIGIT_BYTES;
  for (let at = hits; at < end; at += HIT) {
    const place = counts + (<usize>((load<u32>(at, 4) >> shift) & DIGIT_MASK) << 2);
    const own = load<u32>(place);
    store<u64>(own, load<u64>(at));
    store<u32>(place, own + <u32>HIT);
  }
}

/**
 * Takes out the hits of a search above the limit, and sorts the others by weight and then as they
 * were seen: false where there is no space for a copy behind them. Overwrites the counts of bins,
 * so the search must have ended.
 */
export function sortHits(state: usize): bool {
  thin(state);
  const hits = <usize>load<u32>(state, HITS);
  const end = <usize>load<u32>(state, NEXT);
  if (end - hits > <usize>load<u32>(state, END) - end) return false;
  sortBy(hits, end, 0, end, state + COUNTS);
  sortBy(end, 2 * end - hits, DIGIT, hits, state + COUNTS);
  return true;
}
