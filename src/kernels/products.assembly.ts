// Products of points: vectors of length 1 as integers of 7 bits, -63 to 63, and a scale. Sums of
// integers are exact in any order, and each product is two float32 multiplications, so every kernel
// and engine gives equal numbers. Fast because four points by two others at a time keep eight sums
// in registers, so that each loaded register is used in two or four multiplications.
//
// Two modules are made of this file. The `relaxed` one has an instruction that multiplies bytes,
// which is exact where those of one side are 0 to 127: 64 is added there, and 64 times the sum of
// the other side is subtracted. The other module widens bytes to 16 bits first.
//
// `rows` are points as points.assembly.ts makes them; `vectors` are made of points by `toVectors`.
// Rows are taken four at a time, so up to three behind the last are read, and their products are
// NONE.

import { TAIL } from './points.assembly';

export { roundRows } from './points.assembly';

/** Rows that are compared with all vectors before the next ones, so that they stay in the cache. */
const BLOCK: usize = 64;
/** Below all products. */
const NONE: f32 = -2;

/** Bytes of `values` bytes as they are multiplied. */
@inline
function multiplied(values: usize): usize {
  return ASC_FEATURE_RELAXED_SIMD ? values : values << 1;
}

/** Bytes of a vector. */
@inline
function vectorStride(width: usize): usize {
  return multiplied(width - TAIL) + TAIL;
}

/** Bytes that a vector takes for points of `width` bytes. */
export function vectorBytes(width: usize): usize {
  return vectorStride(width);
}

/** Writes 16 bytes as 16 integers of 16 bits. */
@inline
function widen(bytes: v128, out: usize): void {
  v128.store(out, i16x8.extend_low_i8x16_s(bytes));
  v128.store(out, i16x8.extend_high_i8x16_s(bytes), 16);
}

/** Writes points as vectors, `vectorBytes` bytes each. */
export function toVectors(points: usize, count: usize, width: usize, out: usize): void {
  for (let i: usize = 0; i < count; i++) {
    for (const end = points + width - TAIL; points < end; points += 16) {
      const values = v128.load(points);
      if (ASC_FEATURE_RELAXED_SIMD) v128.store(out, i8x16.add(values, i8x16.splat(64)));
      else widen(values, out);
      out += multiplied(16);
    }
    v128.store(out, v128.load(points));
    points += TAIL;
    out += TAIL;
  }
}

/** Four bytes as float32, of 16. */
@inline
function floatsOf(eight: v128, isHigh: bool): v128 {
  return f32x4.convert_i32x4_s(
    isHigh ? i32x4.extend_high_i16x8_s(eight) : i32x4.extend_low_i16x8_s(eight),
  );
}

/** Writes the sum of the listed rows, each times its scale, in their order to `out` as f32. */
export function sumRows(rows: usize, list: usize, count: usize, width: usize, out: usize): void {
  const end = list + (count << 2);
  for (let at: usize = 0; at < width - TAIL; at += 16, out += 64) {
    let a = f32x4.splat(0);
    let b = f32x4.splat(0);
    let c = f32x4.splat(0);
    let d = f32x4.splat(0);
    for (let next = list; next < end; next += 4) {
      const row = rows + <usize>load<u32>(next) * width;
      const scale = v128.load32_splat(row + width - TAIL);
      const values = v128.load(row + at);
      const low = i16x8.extend_low_i8x16_s(values);
      const high = i16x8.extend_high_i8x16_s(values);
      a = f32x4.add(a, f32x4.mul(floatsOf(low, false), scale));
      b = f32x4.add(b, f32x4.mul(floatsOf(low, true), scale));
      c = f32x4.add(c, f32x4.mul(floatsOf(high, false), scale));
      d = f32x4.add(d, f32x4.mul(floatsOf(high, true), scale));
    }
    v128.store(out, a);
    v128.store(out, b, 16);
    v128.store(out, c, 32);
    v128.store(out, d, 48);
  }
}

/** The sums of the lanes of four registers, as four lanes. */
@inline
function totals(a: v128, b: v128, c: v128, d: v128): v128 {
  const ab = i32x4.add(i32x4.shuffle(a, b, 0, 4, 1, 5), i32x4.shuffle(a, b, 2, 6, 3, 7));
  const cd = i32x4.add(i32x4.shuffle(c, d, 0, 4, 1, 5), i32x4.shuffle(c, d, 2, 6, 3, 7));
  return i32x4.add(i64x2.shuffle(ab, cd, 0, 2), i64x2.shuffle(ab, cd, 1, 3));
}

/**
 * Sums of integers as products: `scales` and `sums` of four rows, and the address of a vector's.
 */
@inline
function scaled(total: v128, scales: v128, sums: v128, vectorTail: usize): v128 {
  const whole = ASC_FEATURE_RELAXED_SIMD ? i32x4.sub(total, sums) : total;
  return f32x4.mul(f32x4.mul(f32x4.convert_i32x4_s(whole), scales), v128.load32_splat(vectorTail));
}

/** Adds products of 16 bytes of a row with a vector. */
@inline
function rowStep(sum: v128, row: usize, vector: usize): v128 {
  if (ASC_FEATURE_RELAXED_SIMD) {
    return i32x4.relaxed_dot_i8x16_i7x16_add_s(v128.load(row), v128.load(vector), sum);
  }
  const low = i32x4.dot_i16x8_s(v128.load8x8_s(row), v128.load(vector));
  const high = i32x4.dot_i16x8_s(v128.load8x8_s(row + 8), v128.load(vector + 16));
  return i32x4.add(sum, i32x4.add(low, high));
}

/** Four numbers of 32 bits that lie `stride` bytes from each other. */
@inline
function fourAt(at: usize, stride: usize): v128 {
  let four = v128.load32_zero(at);
  four = v128.load32_lane(at + stride, four, 1);
  four = v128.load32_lane(at + stride * 2, four, 2);
  return v128.load32_lane(at + stride * 3, four, 3);
}

/** Writes the products of `count` rows with one vector to `out`. */
export function productsInto(
  rows: usize, count: usize, vector: usize, width: usize, out: usize,
): void {
  const values = width - TAIL;
  for (const end = out + (count << 2); out < end; out += 16, rows += width << 2) {
    let s0 = i32x4.splat(0);
    let s1 = i32x4.splat(0);
    let s2 = i32x4.splat(0);
    let s3 = i32x4.splat(0);
    let at = vector;
    const last = rows + values;
    for (let row = rows; row < last; row += 16, at += multiplied(16)) {
      s0 = rowStep(s0, row, at);
      s1 = rowStep(s1, row + width, at);
      s2 = rowStep(s2, row + width * 2, at);
      s3 = rowStep(s3, row + width * 3, at);
    }
    const total = totals(s0, s1, s2, s3);
    v128.store(out, scaled(total, fourAt(last, width), fourAt(last + 4, width), at));
  }
}

/** Adds products of 16 bytes as they are multiplied. */
@inline
function step(sum: v128, row: v128, vector: v128): v128 {
  if (ASC_FEATURE_RELAXED_SIMD) return i32x4.relaxed_dot_i8x16_i7x16_add_s(row, vector, sum);
  return i32x4.add(sum, i32x4.dot_i16x8_s(vector, row));
}

/**
 * Writes the products of four rows of a block with two vectors to `out` and `out` + `behind`. A row
 * takes `bytes` bytes as it is multiplied, and `stride` up to the next; `work` has what `begin`
 * wrote of the four.
 */
function fourByTwo(
  rows: usize, stride: usize, bytes: usize, a: usize, b: usize, work: usize, out: usize,
  behind: usize,
): void {
  let s0 = i32x4.splat(0);
  let s1 = i32x4.splat(0);
  let s2 = i32x4.splat(0);
  let s3 = i32x4.splat(0);
  let t0 = i32x4.splat(0);
  let t1 = i32x4.splat(0);
  let t2 = i32x4.splat(0);
  let t3 = i32x4.splat(0);
  const end = rows + bytes;
  for (; rows < end; rows += 16, a += 16, b += 16) {
    const x = v128.load(a);
    const y = v128.load(b);
    const r0 = v128.load(rows);
    s0 = step(s0, r0, x);
    t0 = step(t0, r0, y);
    const r1 = v128.load(rows + stride);
    s1 = step(s1, r1, x);
    t1 = step(t1, r1, y);
    const r2 = v128.load(rows + stride * 2);
    s2 = step(s2, r2, x);
    t2 = step(t2, r2, y);
    const r3 = v128.load(rows + stride * 3);
    s3 = step(s3, r3, x);
    t3 = step(t3, r3, y);
  }
  const scales = v128.load(work);
  const sums = v128.load(work, 4 * BLOCK);
  v128.store(out, scaled(totals(s0, s1, s2, s3), scales, sums, a));
  v128.store(out + behind, scaled(totals(t0, t1, t2, t3), scales, sums, b));
}

/**
 * Begins a block of `count` rows: writes their scales, sums and errors to `work`, and behind these
 * the rows as they are multiplied, where that differs. Returns the address of the latter.
 */
@inline
function begin(rows: usize, count: usize, width: usize, work: usize): usize {
  const values = width - TAIL;
  for (let i: usize = 0; i < count; i++) {
    const tail = rows + i * width + values;
    store<f32>(work + (i << 2), load<f32>(tail));
    store<i32>(work + (i << 2), load<i32>(tail, 4), 4 * BLOCK);
    store<f32>(work + (i << 2), load<f32>(tail, 8), 8 * BLOCK);
  }
  if (ASC_FEATURE_RELAXED_SIMD) return rows;
  const wide = work + 12 * BLOCK;
  let out = wide;
  for (let i: usize = 0; i < count; i++, rows += width) {
    for (let at: usize = 0; at < values; at += 16, out += 32) widen(v128.load(rows + at), out);
  }
  return wide;
}

/** The bytes of the products of `count` rows with a vector, in fours. */
@inline
function bytesOf(count: usize): usize {
  return ((count + 3) & ~3) << 2;
}

/** The i-th number of a list, the last one for i behind it. */
@inline
function listed(list: usize, i: usize, count: usize): usize {
  return <usize>load<u32>(list + (min(i, count - 1) << 2));
}

/**
 * Writes the products of `count` rows of a block with two vectors to `out` and `out` + `behind`;
 * NONE up to a multiple of four.
 */
function productsOfTwo(
  rows: usize, count: usize, width: usize, a: usize, b: usize, work: usize, out: usize,
  behind: usize,
): void {
  const bytes = bytesOf(count);
  const values = multiplied(width - TAIL);
  const stride = ASC_FEATURE_RELAXED_SIMD ? width : values;
  for (let at: usize = 0; at < bytes; at += 16, rows += stride << 2) {
    fourByTwo(rows, stride, values, a, b, work + at, out + at, behind);
  }
  for (let at = count << 2; at < bytes; at += 4) {
    store<f32>(out + at, NONE);
    store<f32>(out + behind + at, NONE);
  }
}

/** The largest of four products. */
@inline
function largestLane(four: v128): f32 {
  const two = f32x4.pmax(four, i32x4.shuffle(four, four, 2, 3, 0, 1));
  return f32x4.extract_lane(f32x4.pmax(two, i32x4.shuffle(two, two, 1, 0, 3, 2)), 0);
}

/** The largest of the products up to `end`. */
@inline
function largestOf(products: usize, end: usize): f32 {
  let most = v128.load(products);
  for (; products < end; products += 16) most = f32x4.pmax(most, v128.load(products));
  return largestLane(most);
}

/** The index of the first product that equals `value`, which is one of them. */
@inline
function indexOf(products: usize, value: f32): u32 {
  const values = f32x4.splat(value);
  let at = products;
  while (!v128.any_true(f32x4.eq(v128.load(at), values))) at += 16;
  const lanes = i32x4.bitmask(f32x4.eq(v128.load(at), values));
  return <u32>((at - products) >> 2) + ctz(lanes);
}

/** Updates a largest product and its row, of equal ones the first that was seen. */
@inline
function updateLargest(
  products: usize, bytes: usize, first: u32, largest: usize, row: usize,
): void {
  const value = largestOf(products, products + bytes);
  if (value <= load<f32>(largest)) return;
  store<f32>(largest, value);
  store<u32>(row, first + indexOf(products, value));
}

/**
 * For each listed vector updates its entries of `largest` (f32) and `nearest` (u32): the largest
 * product with one of the `count` rows of a group, and the row, `first` being the number of the
 * first one. The list is as in `groupProducts`; `work` has space for a block and 2 x BLOCK
 * products.
 */
export function nearestRows(
  rows: usize, count: usize, first: u32, vectors: usize, list: usize, listCount: usize,
  each: usize, width: usize, largest: usize, nearest: usize, work: usize,
): void {
  const stride = vectorStride(width);
  const products = work;
  const block = work + 8 * BLOCK;
  for (let row: usize = 0; row < count; row += BLOCK, rows += BLOCK * width) {
    const here = min(BLOCK, count - row);
    const bytes = bytesOf(here);
    const begun = begin(rows, here, width, block);
    for (let i: usize = 0; i < listCount; i += 2) {
      const a = listed(list, i, listCount) / each;
      const b = listed(list, i + 1, listCount) / each;
      const x = vectors + a * stride;
      productsOfTwo(begun, here, width, x, vectors + b * stride, block, products, bytes);
      const from = first + <u32>row;
      updateLargest(products, bytes, from, largest + (a << 2), nearest + (a << 2));
      updateLargest(products + bytes, bytes, from, largest + (b << 2), nearest + (b << 2));
    }
  }
}

/**
 * Writes for each vector the rows of its `most` largest products, of equal ones the first, to `out`
 * as u32; `products` has those of each, `bytes` bytes, of which the taken ones become NONE.
 */
export function largestLists(
  products: usize, bytes: usize, count: usize, most: usize, out: usize,
): void {
  for (const end = products + count * bytes; products < end; products += bytes) {
    for (const last = out + (most << 2); out < last; out += 4) {
      const index = indexOf(products, largestOf(products, products + bytes));
      store<f32>(products + (<usize>index << 2), NONE);
      store<u32>(out, index);
    }
  }
}

/**
 * Writes two u32 for each product of one of `count` rows with one of `vectorCount` vectors that is
 * at least the vector's entry of `least` (f32) less the error of the row: the numbers of the vector
 * and of the row, those of a vector ascending in row. Returns the address behind them. `work` is as
 * in `nearestRows`.
 */
export function highRows(
  rows: usize, count: usize, vectors: usize, vectorCount: usize, width: usize, least: usize,
  work: usize, out: usize,
): usize {
  const stride = vectorStride(width);
  const block = work + 8 * BLOCK;
  const errors = block + 8 * BLOCK;
  for (let row: usize = 0; row < count; row += BLOCK, rows += BLOCK * width) {
    const here = min(BLOCK, count - row);
    const bytes = bytesOf(here);
    const begun = begin(rows, here, width, block);
    const error = largestOf(errors, errors + bytes);
    for (let i: usize = 0; i < vectorCount; i++) {
      const products = i & 1 ? work + bytes : work;
      if (products == work) {
        const other = vectors + min(i + 1, vectorCount - 1) * stride;
        productsOfTwo(begun, here, width, vectors + i * stride, other, block, work, bytes);
      }
      const bound = load<f32>(least + (i << 2));
      if (largestOf(products, products + bytes) + error < bound) continue;
      for (let at: usize = 0; at < here << 2; at += 16) {
        const most = f32x4.add(v128.load(products + at), v128.load(errors + at));
        let lanes = i32x4.bitmask(f32x4.ge(most, f32x4.splat(bound)));
        lanes &= (1 << <i32>min(4, here - (at >> 2))) - 1; // without what is behind the last row
        for (; lanes != 0; lanes &= lanes - 1, out += 8) {
          store<u32>(out, <u32>i);
          store<u32>(out, <u32>(row + (at >> 2)) + ctz(lanes), 4);
        }
      }
    }
  }
  return out;
}

/** Of the loss that `PairedRows` states: factors of products with a vector, and of two rows. */
const SHORT: f32 = 0.5;
const PAIR: f32 = 0.25 / 127.0;
const ALONG: f32 = 1.5;
const SHORT_SQUARE: f32 = 0.25;

/**
 * Updates the lowest loss of a vector, and its row. `row` is the vector's own one, with the product
 * `product`; `pairs` has the products of that row with those of `products`, as bytes.
 */
function updateLoss(
  products: usize, bytes: usize, end: i32, from: i32, row: i32, product: f32, pairs: usize,
  loss: usize, best: usize,
): void {
  const first = product * SHORT;
  const along = f32x4.splat(ALONG / (1 + SHORT_SQUARE - 2 * first));
  const base = f32x4.splat(1 - first);
  let least = f32x4.splat(Infinity);
  let where = i32x4.splat(-1);
  let numbers = i32x4.add(i32x4.splat(from), i32x4(0, 1, 2, 3));
  for (let at: usize = 0; at < bytes; at += 16) {
    const own = f32x4.mul(v128.load(products + at), f32x4.splat(SHORT));
    const near = i16x8.extend_low_i8x16_s(v128.load32_zero(pairs + (at >> 2)));
    const pair = f32x4.mul(
      f32x4.convert_i32x4_s(i32x4.extend_low_i16x8_s(near)), f32x4.splat(PAIR),
    );
    const both = f32x4.add(f32x4.sub(base, own), pair);
    const next = f32x4.sub(f32x4.mul(f32x4.mul(along, both), both), f32x4.add(own, own));
    const isOther = v128.andnot(
      i32x4.lt_s(numbers, i32x4.splat(end)), i32x4.eq(numbers, i32x4.splat(row)),
    );
    const isLess = v128.and(f32x4.lt(next, least), isOther);
    least = v128.bitselect(next, least, isLess);
    where = v128.bitselect(numbers, where, isLess);
    numbers = i32x4.add(numbers, i32x4.splat(4));
  }
  for (let lane = 0; lane < 4; lane++) {
    const value = f32x4.extract_lane(least, 0);
    const place = i32x4.extract_lane(where, 0);
    const known = load<f32>(loss);
    if (value < known || (value == known && <u32>place < load<u32>(best))) {
      store<f32>(loss, value);
      store<i32>(best, place);
    }
    least = f32x4.shuffle(least, least, 1, 2, 3, 0);
    where = i32x4.shuffle(where, where, 1, 2, 3, 0);
  }
}

/**
 * Writes the products of the `count` rows of a group with listed vectors to `out`, where each of
 * the `each` groups of a vector has space for `bytes`: the list has numbers of these spaces. `work`
 * has space for a block.
 */
export function groupProducts(
  rows: usize, count: usize, vectors: usize, list: usize, listCount: usize, each: usize,
  width: usize, work: usize, out: usize, bytes: usize,
): void {
  const stride = vectorStride(width);
  for (let row: usize = 0; row < count; row += BLOCK, rows += BLOCK * width, out += BLOCK << 2) {
    const here = min(BLOCK, count - row);
    const begun = begin(rows, here, width, work);
    for (let i: usize = 0; i < listCount; i += 2) {
      const a = listed(list, i, listCount);
      const b = listed(list, i + 1, listCount);
      const x = vectors + (a / each) * stride;
      const y = vectors + (b / each) * stride;
      productsOfTwo(begun, here, width, x, y, work, out + a * bytes, (b - a) * bytes);
    }
  }
}

/**
 * For each vector updates its entries of `largest` (f32) and `nearest` (u32) by its products, as
 * `groupProducts` writes them, with the first `most` of its groups: the largest one and its row.
 * `groups` has the groups of the vectors, `starts` where the rows of each group begin and end.
 */
export function largestOfGroups(
  products: usize, bytes: usize, count: usize, each: usize, groups: usize, starts: usize,
  most: usize, largest: usize, nearest: usize,
): void {
  for (const end = largest + (count << 2); largest < end; largest += 4, nearest += 4) {
    for (let i: usize = 0; i < each; i++, groups += 4, products += bytes) {
      if (i >= most) continue;
      const group = starts + (<usize>load<u32>(groups) << 2);
      const first = load<u32>(group);
      const rows = load<u32>(group, 4) - first;
      if (rows > 0) updateLargest(products, bytesOf(rows), first, largest, nearest);
    }
  }
}

/**
 * For each vector updates its entries of `losses` (f32) and `best` (u32) by its products, as
 * `groupProducts` writes them: the least loss of a row other than its own one, and the row. `own`
 * (u32) has the rows of vectors, `largest` (f32) their products with these; `table` (u32) for each
 * of all rows and each of `groupCount` groups the address of its products with the rows of the
 * group, as bytes.
 */
export function secondOfGroups(
  products: usize, bytes: usize, count: usize, each: usize, groups: usize, starts: usize,
  own: usize, largest: usize, table: usize, groupCount: usize, losses: usize, best: usize,
): void {
  for (let at: usize = 0; at < count << 2; at += 4) {
    const row = <usize>load<u32>(own + at);
    for (let i: usize = 0; i < each; i++, groups += 4, products += bytes) {
      const number = <usize>load<u32>(groups);
      const first = load<i32>(starts + (number << 2));
      const end = load<i32>(starts + (number << 2), 4);
      if (first == end) continue;
      updateLoss(
        products, bytesOf(end - first), end, first, <i32>row, load<f32>(largest + at),
        load<u32>(table + ((row * groupCount + number) << 2)), losses + at, best + at,
      );
    }
  }
}

/** Steps of the coarse order of `orderInto`. */
const BINS: usize = 1024;

/** By how many steps four products are below the largest, not rounded down yet. */
@inline
function stepsOf(products: usize, most: v128, factor: v128): v128 {
  return f32x4.mul(f32x4.sub(most, v128.load(products)), factor);
}

/** Adds 1 to the count of a step, and returns what it was. */
@inline
function countOf(counts: usize, step: u32): u32 {
  const at = counts + (<usize>step << 2);
  const before = load<u32>(at);
  store<u32>(at, before + 1);
  return before;
}

/**
 * Writes the indices of the largest products, at least `want` of the `count`, to `order` as u32,
 * and returns their number: ordered by the difference from the largest, in at most 1,024 steps of
 * equal width, then by index. A counting sort, in linear time. `counts` has space for 1,024 u32,
 * `order` for `count`; up to three products behind the last are overwritten.
 */
export function orderInto(
  products: usize, count: usize, want: u32, counts: usize, order: usize,
): u32 {
  const end = products + (count << 2);
  for (let at = end; at < products + bytesOf(count); at += 4) store<f32>(at, load<f32>(products));
  let largest = v128.load(products);
  let smallest = largest;
  for (let at = products; at < end; at += 16) {
    const four = v128.load(at);
    largest = f32x4.pmax(largest, four);
    smallest = f32x4.pmin(smallest, four);
  }
  const most = largestLane(largest);
  const least = -largestLane(f32x4.neg(smallest));
  const factor: f32 = most > least ? <f32>(BINS - 1) / (most - least) : 0;
  const mosts = f32x4.splat(most);
  const factors = f32x4.splat(factor);
  memory.fill(counts, 0, BINS << 2);
  for (let at = products; at < end; at += 16) {
    const steps = i32x4.trunc_sat_f32x4_u(stepsOf(at, mosts, factors));
    countOf(counts, i32x4.extract_lane(steps, 0));
    countOf(counts, i32x4.extract_lane(steps, 1));
    countOf(counts, i32x4.extract_lane(steps, 2));
    countOf(counts, i32x4.extract_lane(steps, 3));
  }
  // Those behind the last product are equal to the first one.
  const firstBin = counts + (<usize>((most - load<f32>(products)) * factor) << 2);
  store<u32>(firstBin, load<u32>(firstBin) - <u32>(bytesOf(count) / 4 - count));
  // Replaces counts by starts, up to the step with which `want` products are reached.
  let before: u32 = 0;
  let bins: usize = 0;
  for (; bins < BINS && before < want; bins++) {
    const bin = counts + (bins << 2);
    const here = load<u32>(bin);
    store<u32>(bin, before);
    before += here;
  }
  const limits = f32x4.splat(<f32>bins);
  for (let place: usize = 0; place < count; place += 4) {
    const four = products + (place << 2);
    let mask = i32x4.bitmask(f32x4.lt(stepsOf(four, mosts, factors), limits));
    if (count - place < 4) mask &= (1 << <i32>(count - place)) - 1;
    for (; mask != 0; mask &= mask - 1) {
      const lane = <usize>ctz(mask);
      const step = <u32>((most - load<f32>(four + (lane << 2))) * factor);
      const at = <usize>countOf(counts, step);
      store<u32>(order + (at << 2), <u32>(place + lane));
    }
  }
  return before;
}
