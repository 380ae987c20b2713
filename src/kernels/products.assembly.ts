// Dot products of vectors of 16-bit integers as 32-bit sums: exact in any order, so every kernel
// and engine gives equal numbers. Products of vectors of length 32,767 cannot overflow (Cauchy and
// Schwarz). Widths are multiples of 8 values, padded by zeros. Rows are taken four at a time, so up
// to three rows behind the last are read, and the caller ignores their products. Fast because four
// rows by two others at a time keep eight sums in registers, so that each loaded register is used
// in two or four multiplications.

import { twoOf } from './dots.assembly';

/** Elements 2 `pair` and 2 `pair` + 1 times `scale`, rounded: the low two lanes. */
@inline
function roundedTwo<T>(at: usize, pair: usize, scale: v128): v128 {
  const scaled = f64x2.add(f64x2.mul(twoOf<T>(at, pair), scale), f64x2.splat(0.5));
  return i32x4.trunc_sat_f64x2_s_zero(f64x2.floor(scaled));
}

/** See `roundRows`, for one type of values. */
@inline
function roundRowsOf<T>(
  rows: usize, count: usize, dimensions: usize, scales: usize, width: usize, out: usize,
): void {
  for (let i: usize = 0; i < count; i++, rows += dimensions * sizeof<T>(), out += width << 1) {
    const scale = v128.load64_splat(scales + (i << 3));
    for (let at: usize = 0; at < dimensions; at += 4) {
      const row = rows + at * sizeof<T>();
      const a = roundedTwo<T>(row, 0, scale);
      const b = roundedTwo<T>(row, 1, scale);
      const four = i64x2.shuffle(a, b, 0, 2);
      v128.store64_lane(out + (at << 1), i16x8.narrow_i32x4_s(four, four), 0);
    }
    memory.fill(out + (dimensions << 1), 0, (width - dimensions) << 1);
  }
}

/**
 * Writes rows of `dimensions` float32 (`type` 4) or int8 (1), each times its f64 of `scales` and
 * rounded, to `out` as i16, padded by zeros to `width`. Reads up to three values behind the last.
 */
export function roundRows(
  type: i32, rows: usize, count: usize, dimensions: usize, scales: usize, width: usize, out: usize,
): void {
  if (type == 4) roundRowsOf<f32>(rows, count, dimensions, scales, width, out);
  else roundRowsOf<i8>(rows, count, dimensions, scales, width, out);
}

/**
 * Writes the sum of the listed rows, at most 65,536 of them, to `out` as i32.
 */
export function sumRows(rows: usize, list: usize, count: usize, width: usize, out: usize): void {
  const stride = width << 1;
  const end = list + (count << 2);
  for (let at: usize = 0; at < stride; at += 16, out += 32) {
    let a = i32x4.splat(0);
    let b = i32x4.splat(0);
    for (let next = list; next < end; next += 4) {
      const eight = v128.load(rows + <usize>load<u32>(next) * stride + at);
      a = i32x4.add(a, i32x4.extend_low_i16x8_s(eight));
      b = i32x4.add(b, i32x4.extend_high_i16x8_s(eight));
    }
    v128.store(out, a);
    v128.store(out, b, 16);
  }
}

/** Products of eight values, summed in pairs: four lanes. */
@inline
function pairs(a: v128, at: usize): v128 {
  return i32x4.dot_i16x8_s(a, v128.load(at));
}

/** The sums of the lanes of four registers, as four lanes. */
@inline
export function totals(a: v128, b: v128, c: v128, d: v128): v128 {
  const ab = i32x4.add(i32x4.shuffle(a, b, 0, 4, 1, 5), i32x4.shuffle(a, b, 2, 6, 3, 7));
  const cd = i32x4.add(i32x4.shuffle(c, d, 0, 4, 1, 5), i32x4.shuffle(c, d, 2, 6, 3, 7));
  return i32x4.add(i64x2.shuffle(ab, cd, 0, 2), i64x2.shuffle(ab, cd, 1, 3));
}

/** Dot products of four rows with one other vector: four lanes. `stride` is the bytes of a row. */
function four(rows: usize, stride: usize, other: usize): v128 {
  let s0 = i32x4.splat(0);
  let s1 = i32x4.splat(0);
  let s2 = i32x4.splat(0);
  let s3 = i32x4.splat(0);
  const end = rows + stride;
  for (; rows < end; rows += 16, other += 16) {
    const x = v128.load(other);
    s0 = i32x4.add(s0, pairs(x, rows));
    s1 = i32x4.add(s1, pairs(x, rows + stride));
    s2 = i32x4.add(s2, pairs(x, rows + stride * 2));
    s3 = i32x4.add(s3, pairs(x, rows + stride * 3));
  }
  return totals(s0, s1, s2, s3);
}

/** Writes the products of four rows with two vectors to `out` and `out` + `behind`. */
function fourByTwo(
  rows: usize, stride: usize, a: usize, b: usize, out: usize, behind: usize,
): void {
  let s0 = i32x4.splat(0);
  let s1 = i32x4.splat(0);
  let s2 = i32x4.splat(0);
  let s3 = i32x4.splat(0);
  let t0 = i32x4.splat(0);
  let t1 = i32x4.splat(0);
  let t2 = i32x4.splat(0);
  let t3 = i32x4.splat(0);
  const end = rows + stride;
  for (; rows < end; rows += 16, a += 16, b += 16) {
    const x = v128.load(a);
    const y = v128.load(b);
    const r0 = v128.load(rows);
    s0 = i32x4.add(s0, i32x4.dot_i16x8_s(x, r0));
    t0 = i32x4.add(t0, i32x4.dot_i16x8_s(y, r0));
    const r1 = v128.load(rows + stride);
    s1 = i32x4.add(s1, i32x4.dot_i16x8_s(x, r1));
    t1 = i32x4.add(t1, i32x4.dot_i16x8_s(y, r1));
    const r2 = v128.load(rows + stride * 2);
    s2 = i32x4.add(s2, i32x4.dot_i16x8_s(x, r2));
    t2 = i32x4.add(t2, i32x4.dot_i16x8_s(y, r2));
    const r3 = v128.load(rows + stride * 3);
    s3 = i32x4.add(s3, i32x4.dot_i16x8_s(x, r3));
    t3 = i32x4.add(t3, i32x4.dot_i16x8_s(y, r3));
  }
  v128.store(out, totals(s0, s1, s2, s3));
  v128.store(out + behind, totals(t0, t1, t2, t3));
}

/** Writes the products of `count` rows with one vector to `out` as i32. */
export function productsInto(
  rows: usize, count: usize, vector: usize, width: usize, out: usize,
): void {
  const stride = width << 1;
  for (const end = out + (count << 2); out < end; out += 16, rows += stride << 2) {
    v128.store(out, four(rows, stride, vector));
  }
}

/** Below all products. */
const NONE: i32 = i32.MIN_VALUE;
/** Rows that are compared with all vectors before the next ones, so that they stay in the cache. */
const BLOCK: usize = 64;

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
 * Writes the products of `count` rows with two vectors to `out` and `out` + `behind`; NONE up to a
 * multiple of four.
 */
function productsOfTwo(
  rows: usize, count: usize, stride: usize, a: usize, b: usize, out: usize, behind: usize,
): void {
  const bytes = bytesOf(count);
  for (let at: usize = 0; at < bytes; at += 16, rows += stride << 2) {
    fourByTwo(rows, stride, a, b, out + at, behind);
  }
  for (let at = count << 2; at < bytes; at += 4) {
    store<i32>(out + at, NONE);
    store<i32>(out + behind + at, NONE);
  }
}

/** The largest of the products up to `end`. */
@inline
function largestOf(products: usize, end: usize): i32 {
  let most = v128.load(products);
  for (; products < end; products += 16) most = i32x4.max_s(most, v128.load(products));
  most = i32x4.max_s(most, i32x4.shuffle(most, most, 2, 3, 0, 1));
  most = i32x4.max_s(most, i32x4.shuffle(most, most, 1, 0, 3, 2));
  return i32x4.extract_lane(most, 0);
}

/** The index of the first product that equals `value`, which is one of them. */
@inline
function indexOf(products: usize, value: i32): u32 {
  let at = products;
  while (load<i32>(at) != value) at += 4;
  return <u32>((at - products) >> 2);
}

/** Updates a largest product and its row, of equal ones the first that was seen. */
@inline
function updateLargest(
  products: usize, bytes: usize, first: u32, largest: usize, row: usize,
): void {
  const value = largestOf(products, products + bytes);
  if (value <= load<i32>(largest)) return;
  store<i32>(largest, value);
  store<u32>(row, first + indexOf(products, value));
}

/**
 * For each listed vector updates its entries of `largest` (i32) and `nearest` (u32): the largest
 * product with one of the `count` rows of a group, and the row, `first` being the number of the
 * first one. The list is as in `groupProducts`; `work` has space for 2 x BLOCK products.
 */
export function nearestRows(
  rows: usize, count: usize, first: u32, vectors: usize, list: usize, listCount: usize,
  each: usize, width: usize, largest: usize, nearest: usize, work: usize,
): void {
  const stride = width << 1;
  for (let row: usize = 0; row < count; row += BLOCK, rows += BLOCK * stride) {
    const here = min(BLOCK, count - row);
    const bytes = bytesOf(here);
    for (let i: usize = 0; i < listCount; i += 2) {
      const a = listed(list, i, listCount) / each;
      const b = listed(list, i + 1, listCount) / each;
      productsOfTwo(rows, here, stride, vectors + a * stride, vectors + b * stride, work, bytes);
      const from = first + <u32>row;
      updateLargest(work, bytes, from, largest + (a << 2), nearest + (a << 2));
      updateLargest(work + bytes, bytes, from, largest + (b << 2), nearest + (b << 2));
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
      store<i32>(products + (<usize>index << 2), NONE);
      store<u32>(out, index);
    }
  }
}

/**
 * Writes two u32 for each product that is at least the vector's entry of `least` (i32, above NONE):
 * the vector and the row, by vector ascending in row; `products` is as in `largestLists`. Returns
 * the address behind them.
 */
export function highProducts(
  products: usize, bytes: usize, count: usize, least: usize, out: usize,
): usize {
  for (let vector: usize = 0; vector < count; vector++, least += 4) {
    const bound = v128.load32_splat(least);
    for (let at: usize = 0; at < bytes; at += 16, products += 16) {
      let lanes = i32x4.bitmask(i32x4.ge_s(v128.load(products), bound));
      for (; lanes != 0; lanes &= lanes - 1, out += 8) {
        store<u32>(out, <u32>vector);
        store<u32>(out, <u32>(at >> 2) + ctz(lanes), 4);
      }
    }
  }
  return out;
}

/** Of the loss that `PairedRows` states: factors of products with a vector, and of two rows. */
const SHORT: f32 = 0.5 / (32767.0 * 32767.0);
const PAIR: f32 = 0.25 / 127.0;
const ALONG: f32 = 1.5;
const SHORT_SQUARE: f32 = 0.25;

/**
 * Updates the lowest loss of a vector, and its row. `row` is the vector's own one, with the product
 * `product`; `pairs` has the products of that row with those of `products`, as bytes.
 */
function updateLoss(
  products: usize, bytes: usize, end: i32, from: i32, row: i32, product: i32, pairs: usize,
  loss: usize, best: usize,
): void {
  const first = <f32>product * SHORT;
  const along = f32x4.splat(ALONG / (1 + SHORT_SQUARE - 2 * first));
  const base = f32x4.splat(1 - first);
  let least = f32x4.splat(Infinity);
  let where = i32x4.splat(-1);
  let numbers = i32x4.add(i32x4.splat(from), i32x4(0, 1, 2, 3));
  for (let at: usize = 0; at < bytes; at += 16) {
    const own = f32x4.mul(f32x4.convert_i32x4_s(v128.load(products + at)), f32x4.splat(SHORT));
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
 * the `each` groups of a vector has space for `bytes`: the list has numbers of these spaces.
 */
export function groupProducts(
  rows: usize, count: usize, vectors: usize, list: usize, listCount: usize, each: usize,
  width: usize, out: usize, bytes: usize,
): void {
  const stride = width << 1;
  for (let row: usize = 0; row < count; row += BLOCK, rows += BLOCK * stride, out += BLOCK << 2) {
    const here = min(BLOCK, count - row);
    for (let i: usize = 0; i < listCount; i += 2) {
      const a = listed(list, i, listCount);
      const b = listed(list, i + 1, listCount);
      const x = vectors + (a / each) * stride;
      const y = vectors + (b / each) * stride;
      productsOfTwo(rows, here, stride, x, y, out + a * bytes, (b - a) * bytes);
    }
  }
}

/**
 * For each vector updates its entries of `largest` (i32) and `nearest` (u32) by its products, as
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
 * (u32) has the rows of vectors, `largest` (i32) their products with these; `table` (u32) for each
 * of all rows and each of `groupCount` groups the address of its products with the rows of the
 * group, as bytes.
 */
export function secondOfGroups(
  products: usize, bytes: usize, count: usize, each: usize, groups: usize, starts: usize,
  own: usize, largest: usize, table: usize, groupCount: usize, losses: usize, best: usize,
): void {
  for (let at: usize = 0; at < count << 2; at += 4) {
    const row = load<u32>(own + at);
    for (let i: usize = 0; i < each; i++, groups += 4, products += bytes) {
      const number = <usize>load<u32>(groups);
      const first = load<i32>(starts + (number << 2));
      const end = load<i32>(starts + (number << 2), 4);
      if (first == end) continue;
      updateLoss(
        products, bytesOf(end - first), end, first, <i32>row, load<i32>(largest + at),
        load<u32>(table + ((row * groupCount + number) << 2)), losses + at, best + at,
      );
    }
  }
}

/** Steps of the coarse order of `orderInto`. */
const BINS: usize = 1024;

/**
 * Writes the indices of the largest products, at least `want` of the `count`, to `order` as u32,
 * and returns their number: ordered by the difference from the largest, in at most 1,024 steps of
 * equal width, then by index. A counting sort, in linear time. `counts` has space for 1,024 u32,
 * `order` for `count`.
 */
export function orderInto(
  products: usize, count: usize, want: u32, counts: usize, order: usize,
): u32 {
  let largest = i32x4.splat(load<i32>(products));
  let smallest = largest;
  const end = products + (count << 2);
  const whole = products + ((count & ~3) << 2);
  for (let at = products; at < whole; at += 16) {
    const four = v128.load(at);
    largest = i32x4.max_s(largest, four);
    smallest = i32x4.min_s(smallest, four);
  }
  let most = i32x4.extract_lane(largest, 0);
  let least = i32x4.extract_lane(smallest, 0);
  for (let lane = 1; lane < 4; lane++) {
    largest = i32x4.shuffle(largest, largest, 1, 2, 3, 0);
    smallest = i32x4.shuffle(smallest, smallest, 1, 2, 3, 0);
    most = max(most, i32x4.extract_lane(largest, 0));
    least = min(least, i32x4.extract_lane(smallest, 0));
  }
  for (let at = whole; at < end; at += 4) {
    most = max(most, load<i32>(at));
    least = min(least, load<i32>(at));
  }
  // The shift that leaves at most 10 bits of the largest difference.
  const range = <u32>(most - least);
  const shift = <u32>max<i32>(0, 22 - <i32>clz<u32>(range));
  memory.fill(counts, 0, BINS << 2);
  for (let at = products; at < end; at += 4) {
    const bin = counts + (<usize>(<u32>(most - load<i32>(at)) >> shift) << 2);
    store<u32>(bin, load<u32>(bin) + 1);
  }
  // Replaces counts by starts, up to the step with which `want` products are reached.
  let before: u32 = 0;
  let bins: usize = 0;
  for (; bins < BINS && before < want; bins++) {
    const bin = counts + (bins << 2);
    const here = load<u32>(bin);
    store<u32>(bin, before);
    before += here;
  }
  for (let place: usize = 0; place < count; place++) {
    const step = <usize>(<u32>(most - load<i32>(products + (place << 2))) >> shift);
    if (step >= bins) continue;
    const bin = counts + (step << 2);
    const at = load<u32>(bin);
    store<u32>(bin, at + 1);
    store<u32>(order + (<usize>at << 2), <u32>place);
  }
  return before;
}
