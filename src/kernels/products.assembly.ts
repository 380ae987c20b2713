// Dot products of vectors of 16-bit integers as 32-bit sums: exact in any order, so every kernel
// and engine gives equal numbers. Products of vectors of length 32,767 cannot overflow (Cauchy and
// Schwarz). Widths are multiples of 8 values, padded by zeros. Rows are taken four at a time, so up
// to three rows behind the last are read, and the caller ignores their products. Fast because four
// rows by two others at a time keep eight sums in registers, so that each loaded register is used
// in two or four multiplications.

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
export function four(rows: usize, stride: usize, other: usize): v128 {
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

/** Writes the products of four rows with two other vectors to `out` and `out` + `outStride`. */
export function fourByTwo(
  rows: usize, stride: usize, other: usize, out: usize, outStride: usize,
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
  for (; rows < end; rows += 16, other += 16) {
    const x = v128.load(other);
    const y = v128.load(other + stride);
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
  v128.store(out + outStride, totals(t0, t1, t2, t3));
}

/**
 * Sets out[j * outCount + i] to the product of row i and other j, as i32. `rowCount` and `outCount`
 * are multiples of 4; `width` counts values.
 */
export function productsInto(
  rows: usize, rowCount: usize, others: usize, otherCount: usize, width: usize, out: usize,
  outCount: usize,
): void {
  const stride = width << 1;
  const outStride = outCount << 2;
  const whole = otherCount & ~1;
  for (let other: usize = 0; other < otherCount; other += 2) {
    const at = others + other * stride;
    const to = out + other * outStride;
    if (other < whole) {
      for (let row: usize = 0; row < rowCount; row += 4) {
        fourByTwo(rows + row * stride, stride, at, to + (row << 2), outStride);
      }
    } else {
      for (let row: usize = 0; row < rowCount; row += 4) {
        v128.store(to + (row << 2), four(rows + row * stride, stride, at));
      }
    }
  }
}

/**
 * For each of `count` runs of `length` products (a multiple of 4), updates the largest product seen
 * and its number, the lowest of equal ones; the products of a run are numbered from `first` on.
 * `largest` and `places` have an i32 for each run.
 */
export function largestInto(
  products: usize, count: usize, length: usize, first: i32, largest: usize, places: usize,
): void {
  for (let run: usize = 0; run < count; run++, largest += 4, places += 4) {
    let most = v128.load(products);
    let at = i32x4.add(i32x4.splat(first), i32x4(0, 1, 2, 3));
    let where = at;
    const end = products + (length << 2);
    for (products += 16; products < end; products += 16) {
      const values = v128.load(products);
      at = i32x4.add(at, i32x4.splat(4));
      const isMore = i32x4.gt_s(values, most);
      most = v128.bitselect(values, most, isMore);
      where = v128.bitselect(at, where, isMore);
    }
    // Each lane has the first of its equal products, so the lowest number decides between lanes.
    let value = load<i32>(largest);
    let place = load<i32>(places);
    for (let lane = 0; lane < 4; lane++) {
      const other = i32x4.extract_lane(most, 0);
      const otherPlace = i32x4.extract_lane(where, 0);
      if (other > value || (other == value && otherPlace < place)) {
        value = other;
        place = otherPlace;
      }
      most = i32x4.shuffle(most, most, 1, 2, 3, 0);
      where = i32x4.shuffle(where, where, 1, 2, 3, 0);
    }
    store<i32>(largest, value);
    store<i32>(places, place);
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
