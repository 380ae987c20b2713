// Cosines of a query with residual codes; the formulas and the layout are in residuals.ts.
//
// Fast because a table of 16 bytes fits a register: one swizzle looks up four bits of 16 rows (the
// method of "fast scan" in FAISS and of ScaNN). Sums of bytes are widened once in four bytes of a
// row, since 8 entries of at most 31 stay below 256. Products of 16-bit integers, eight at a time,
// find the rows that their sides do not rule out; only of these blocks the second halves of codes
// are read, and only rows that a mask in float32 leaves are weighed one by one, in the operations
// of the scalar kernel. The blocks of a chunk take each of these steps together, with no branch on
// what was found for one of them, which an engine often guesses wrong. Searches that look
// at the same rows sum their sides together, so that bytes are split once for all of them.
//
// Registers are loaded whole, so up to 15 bytes behind the last row are read.

import { nibbleMask } from './weighted.assembly';

const ONE: i32 = 2048;
const BLOCK: u32 = 16;
/** Bytes of the coarse scales of a block, and of its scales. */
const COARSE_BYTES: usize = 32;
const SCALE_BYTES: usize = 64;
/** Bytes of four scales. */
const FOUR: usize = 16;
/** Rows that take each step together; any space for hits holds as many. */
const CHUNK: u32 = 256;
/** Bytes of a range. */
const RANGE: usize = 32;
/** Searches that look at the same rows together: of sentences 16 take .89 of the time of four. */
const MAX_SEARCHES: u32 = 16;

// In `work` are these searches: as u32 the address of the query and that of the next sums, and
// the base of sides and the cut as 16-bit integers, each eight times.
const QUERY: usize = 0;
const NEXT_SUMS: usize = 4;
const SEARCH_BASE: usize = 16;
const SEARCH_CUT: usize = 32;
const SEARCH: usize = 48;

// Behind them each has the sums of the blocks of a chunk where rows may be hits: 16-bit sums of the
// sides and of the second halves, and as u32 which rows may be, the first row of the block, and
// where its scales and coarse scales are. And then the addresses of those where rows may be hits by
// both sums too.
const SUMS_AT: usize = <usize>MAX_SEARCHES * SEARCH;
const SECOND: usize = 32;
const MASK: usize = 64;
const FIRST: usize = 68;
const SCALE: usize = 72;
const COARSE: usize = 76;
const SUMS: usize = 80;
/** One block more than a chunk has: sums are written before it is known whether they stay. */
const MAX_SUMS: usize = <usize>(CHUNK / BLOCK) + 1;
const LIST: usize = MAX_SUMS * SUMS;
const OWN_SUMS: usize = (LIST + 4 * MAX_SUMS + 15) & ~15;

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

/** Takes out the hits above the limit. True where there is space for those of `rows` then. */
function thin(state: usize, rows: u32): bool {
  const limit = load<u32>(state);
  const end = <usize>load<u32>(state, NEXT);
  let next = <usize>load<u32>(state, HITS);
  for (let at = next; at < end; at += HIT) {
    store<u64>(next, load<u64>(at));
    next += load<u32>(at, 4) <= limit ? HIT : 0;
  }
  store<u32>(state, <u32>next, NEXT);
  return <u32>next + rows * <u32>HIT <= load<u32>(state, END);
}

/** What the lower and the higher four bits of a byte of each of 16 rows add to their sums. */
@inline
function entriesOf(tables: usize, low: v128, high: v128): v128 {
  return i8x16.add(
    i8x16.relaxed_swizzle(v128.load(tables), low),
    i8x16.relaxed_swizzle(v128.load(tables, 16), high),
  );
}

/** The same of a byte of each row; `mask` is that of `nibbleMask`. */
@inline
function addOf(bytes: v128, tables: usize, mask: v128): v128 {
  return entriesOf(tables, v128.and(bytes, mask), v128.and(i16x8.shr_u(bytes, 4), mask));
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

/** Adds a byte of each of 16 rows to its 16-bit sum. */
@inline
function widen(sums: usize, some: v128): void {
  v128.store(sums, i16x8.add(v128.load(sums), i16x8.extend_low_i8x16_u(some)));
  v128.store(sums, i16x8.add(v128.load(sums, 16), i16x8.extend_high_i8x16_u(some)), 16);
}

/**
 * `sumBlock` for the searches before `until`, to the next sums of each. One search alone would take
 * 8 % longer so, since these sums do not stay in registers.
 */
function sumMany(block: usize, lanes: usize, bytes: usize, searches: usize, until: usize): void {
  const mask = nibbleMask(bytes);
  const end = block + bytes * lanes;
  const whole = block + (bytes & ~3) * lanes;
  let at: usize = TABLES;
  for (let search = searches; search < until; search += SEARCH) {
    const sums = <usize>load<u32>(search, NEXT_SUMS);
    v128.store(sums, i16x8.splat(0));
    v128.store(sums, i16x8.splat(0), 16);
  }
  for (; block < whole; block += lanes << 2, at += 128) {
    const a = v128.load(block);
    const b = v128.load(block + lanes);
    const c = v128.load(block + 2 * lanes);
    const d = v128.load(block + 3 * lanes);
    const aLow = v128.and(a, mask);
    const bLow = v128.and(b, mask);
    const cLow = v128.and(c, mask);
    const dLow = v128.and(d, mask);
    const aHigh = v128.and(i16x8.shr_u(a, 4), mask);
    const bHigh = v128.and(i16x8.shr_u(b, 4), mask);
    const cHigh = v128.and(i16x8.shr_u(c, 4), mask);
    const dHigh = v128.and(i16x8.shr_u(d, 4), mask);
    for (let search = searches; search < until; search += SEARCH) {
      const tables = <usize>load<u32>(search, QUERY) + at;
      let some = entriesOf(tables, aLow, aHigh);
      some = i8x16.add(some, entriesOf(tables + 32, bLow, bHigh));
      some = i8x16.add(some, entriesOf(tables + 64, cLow, cHigh));
      some = i8x16.add(some, entriesOf(tables + 96, dLow, dHigh));
      widen(load<u32>(search, NEXT_SUMS), some);
    }
  }
  for (; block < end; block += lanes, at += 32) {
    const codes = v128.load(block);
    const low = v128.and(codes, mask);
    const high = v128.and(i16x8.shr_u(codes, 4), mask);
    for (let search = searches; search < until; search += SEARCH) {
      const some = entriesOf(<usize>load<u32>(search, QUERY) + at, low, high);
      widen(load<u32>(search, NEXT_SUMS), some);
    }
  }
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
  const below = <i32>Math.floor(<f32>(ONE - 1) - more - <f32>product / factor);
  return <u32>max(min(below, 2 * ONE - 1) + 1, 0);
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
function wholeWeightOf(sums: usize, lane: usize, scale: f32, query: usize, more: f32): u32 {
  const sides = <u32>load<u16>(sums + (lane << 1));
  const whole: u32 = 2 * sides + <u32>load<u16>(sums + (lane << 1), SECOND);
  const factor = load<f32>(query, FACTOR);
  const cosine = <i32>((<f32>whole - load<f32>(query, BASE)) * (scale * factor) + more);
  return <u32>min(max(ONE - cosine, 0), 2 * ONE);
}

/** Makes a search ready for the next chunk of a range. */
function begin(search: usize, firstSums: usize, range: usize, query: usize): void {
  const cut = cutOf(query, load<f32>(range, 24), load<i32>(<usize>load<u32>(query, STATE)));
  store<u32>(search, <u32>query, QUERY);
  store<u32>(search, <u32>firstSums, NEXT_SUMS);
  v128.store(search, v128.load16_splat(query, SIDE_BASE), SEARCH_BASE);
  v128.store(search, i16x8.splat(<i16>cut), SEARCH_CUT);
}

/** Which rows of the block at `first` are in a range, as bits. */
@inline
function rowsIn(first: u32, from: u32, end: u32): u32 {
  let rows: u32 = 0xffff;
  if (first < from) rows &= -1 << (from & 15);
  if (end - first < BLOCK) rows &= (1 << (end - first)) - 1;
  return rows;
}

/** Keeps the sums of sides of a block, if a row may be a hit. */
@inline
function keepSums(search: usize, first: u32, coarse: usize, rows: u32, shift: i32): void {
  const sums = <usize>load<u32>(search, NEXT_SUMS);
  const base = v128.load(search, SEARCH_BASE);
  const cut = v128.load(search, SEARCH_CUT);
  const mask = rows & sidesMask(sums, coarse, base, shift, cut);
  store<u32>(sums, mask, MASK);
  store<u32>(sums, first, FIRST);
  store<u32>(sums, <u32>coarse, COARSE);
  store<u32>(search, <u32>(sums + (mask != 0 ? SUMS : 0)), NEXT_SUMS);
}

/** Sums the sides of the chunk that begins with `row`, for the searches before `until`. */
function sumChunk(searches: usize, until: usize, range: usize, row: u32, bytes: usize): void {
  const sides = <usize>load<u32>(range);
  const capacity = load<u32>(range, 8);
  const from = load<u32>(range, 12);
  const end = from + load<u32>(range, 20);
  const query = <usize>load<u32>(searches, QUERY);
  const tables = query + TABLES;
  const shift = load<i32>(query, SHIFT);
  const stride = bytes * BLOCK + COARSE_BYTES;
  for (let first = row; first < min(end, row + CHUNK); first += BLOCK) {
    const block = sides + <usize>(first / BLOCK) * stride;
    const lanes = <usize>min<u32>(BLOCK, capacity - first);
    const coarse = block + bytes * lanes;
    const rows = rowsIn(first, from, end);
    if (until - searches > SEARCH) sumMany(block, lanes, bytes, searches, until);
    else sumBlock(block, lanes, bytes, tables, <usize>load<u32>(searches, NEXT_SUMS));
    for (let search = searches; search < until; search += SEARCH) {
      keepSums(search, first, coarse, rows, shift);
    }
  }
}

/**
 * Sums the second halves of the blocks whose sums of sides a search kept, and lists those where
 * rows may be hits still. Returns how many rows may be.
 */
function addSeconds(search: usize, firstSums: usize, range: usize, bytes: usize): u32 {
  const query = <usize>load<u32>(search, QUERY);
  const end = <usize>load<u32>(search, NEXT_SUMS);
  const limit = load<i32>(<usize>load<u32>(query, STATE));
  const seconds = <usize>load<u32>(range, 4);
  const capacity = load<u32>(range, 8);
  const more = load<f32>(range, 24);
  const stride = bytes * BLOCK + SCALE_BYTES;
  let rows: u32 = 0;
  let list = firstSums + LIST;
  for (let sums = firstSums; sums < end; sums += SUMS) {
    const first = load<u32>(sums, FIRST);
    const lanes = <usize>min<u32>(BLOCK, capacity - first);
    const block = seconds + <usize>(first / BLOCK) * stride;
    const scales = block + bytes * lanes;
    sumBlock(block, lanes, bytes, query + TABLES, sums + SECOND);
    const mask =
      load<u32>(sums, MASK) & wholeMask(sums, sums + SECOND, scales, query, more, limit);
    store<u32>(sums, mask, MASK);
    store<u32>(sums, <u32>scales, SCALE);
    store<u32>(list, <u32>sums);
    list += mask != 0 ? 4 : 0;
    rows += popcnt<u32>(mask);
  }
  store<u32>(list, <u32>firstSums); // is read behind the last row
  return rows;
}

/** Appends the hits among so many rows of the listed sums; `code` stands for row 0. */
function takeRows(firstSums: usize, rows: u32, code: u32, query: usize, more: f32): void {
  const state = <usize>load<u32>(query, STATE);
  const limit = load<u32>(state);
  let next = <usize>load<u32>(state, NEXT);
  let held = load<u32>(state, HELD);
  let list = firstSums + LIST;
  let sums = <usize>load<u32>(list);
  let mask = load<u32>(sums, MASK);
  for (; rows > 0; rows--) {
    const lane = <usize>ctz<u32>(mask);
    const scale = load<f32>(<usize>load<u32>(sums, SCALE) + (lane << 2));
    const coarse = load<i16>(<usize>load<u32>(sums, COARSE) + (lane << 1));
    const weight = max(
      wholeWeightOf(sums, lane, scale, query, more),
      sideWeightOf(load<u16>(sums + (lane << 1)), coarse, query, more),
    );
    store<u32>(next, code + load<u32>(sums, FIRST) + <u32>lane);
    store<u32>(next, weight, 4);
    const isHit = <u32>(weight <= limit && scale != 0);
    const place = state + COUNTS + (<usize>(weight >> BIN) << 2);
    store<u32>(place, load<u32>(place) + isHit);
    next += isHit ? HIT : 0;
    held += isHit;
    mask &= mask - 1;
    const isLast = mask == 0;
    list += isLast ? 4 : 0;
    sums = <usize>load<u32>(list);
    mask = isLast ? load<u32>(sums, MASK) : mask;
  }
  store<u32>(state, <u32>next, NEXT);
  store<u32>(state, held, HELD);
  const last = load<u32>(state + COUNTS + (<usize>(limit >> BIN) << 2));
  if (held - last >= load<u32>(state, WANT)) lower(state);
}

/** Takes the hits of a search. False, and none is taken, where there is no space for them. */
function takeSums(search: usize, firstSums: usize, range: usize, bytes: usize): bool {
  const query = <usize>load<u32>(search, QUERY);
  const state = <usize>load<u32>(query, STATE);
  const rows = addSeconds(search, firstSums, range, bytes);
  if (rows == 0) return true;
  const isFull = load<u32>(state, NEXT) + rows * <u32>HIT > load<u32>(state, END);
  if (isFull && !thin(state, rows)) return false;
  const code = load<u32>(range, 16) - load<u32>(range, 12);
  takeRows(firstSums, rows, code, query, load<f32>(range, 24));
  return true;
}

/** Changes a range to begin with a row, if that lies behind its beginning. */
function beginAt(range: usize, row: u32): void {
  const from = load<u32>(range, 12);
  const rows = load<u32>(range, 20);
  const done = min(max(row, from) - from, rows);
  store<u32>(range, from + done, 12);
  store<u32>(range, load<u32>(range, 16) + done, 16);
  store<u32>(range, rows - done, 20);
}

/**
 * Hits of some searches in their ranges, which have the same rows. False if the space for hits of a
 * search is full: the ranges are then changed to begin where to continue.
 */
function takeRanges(ranges: usize, count: usize, bytes: usize, queries: usize, work: usize): bool {
  const from = load<u32>(ranges, 12);
  const end = from + load<u32>(ranges, 20);
  for (let row = from & ~15; row < end; row += CHUNK) {
    for (let i: usize = 0; i < count; i++) {
      const range = ranges + i * RANGE;
      const query = queries + load<u32>(range, 28);
      begin(work + i * SEARCH, work + SUMS_AT + i * OWN_SUMS, range, query);
    }
    sumChunk(work, work + count * SEARCH, ranges, row, bytes);
    for (let i: usize = 0; i < count; i++) {
      const range = ranges + i * RANGE;
      if (takeSums(work + i * SEARCH, work + SUMS_AT + i * OWN_SUMS, range, bytes)) continue;
      for (let j: usize = 0; j < count; j++) {
        beginAt(ranges + j * RANGE, j < i ? row + CHUNK : row);
      }
      return false;
    }
  }
  return true;
}

/** How many of some ranges have the rows of the first one; at most MAX_SEARCHES. */
function countSame(ranges: usize, count: u32): u32 {
  let same: u32 = 1;
  for (; same < min(count, MAX_SEARCHES); same++) {
    const other = ranges + <usize>same * RANGE;
    if (load<u32>(other) != load<u32>(ranges)) break;
    if (load<u32>(other, 12) != load<u32>(ranges, 12)) break;
    if (load<u32>(other, 20) != load<u32>(ranges, 20)) break;
  }
  return same;
}

/**
 * Hits among the rows of ranges (eight 32-bit numbers each, see RANGE in residuals.ts), as pairs of
 * u32 (code, weight). `bytes` are the bytes of half a code, `query` is the address of the formulas
 * and the tables of the first search, and `work` is space for searches and their sums.
 *
 * Returns how many ranges are done: all, unless the space for hits of a search is full. Then it is
 * that of one of the next ranges, which are changed to begin where to continue.
 */
export function weighEntries(
  ranges: usize, rangeCount: u32, bytes: usize, query: usize, work: usize,
): u32 {
  for (let i: u32 = 0; i < rangeCount; ) {
    const count = countSame(ranges, rangeCount - i);
    if (!takeRanges(ranges, <usize>count, bytes, query, work)) return i;
    ranges += <usize>count * RANGE;
    i += count;
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
  thin(state, 0);
  const hits = <usize>load<u32>(state, HITS);
  const end = <usize>load<u32>(state, NEXT);
  if (end - hits > <usize>load<u32>(state, END) - end) return false;
  sortBy(hits, end, 0, end, state + COUNTS);
  sortBy(end, 2 * end - hits, DIGIT, hits, state + COUNTS);
  return true;
}
