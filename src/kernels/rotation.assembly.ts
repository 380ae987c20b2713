// A rotation by rounds of sign flips and fast Walsh-Hadamard transforms, and two bits of each
// coordinate of the result, on one vector of float32. Contract: every output is computed by the
// same tree of additions and multiplications as in rotation.ts, so it has the same bits.

import { twoOf } from './dots.assembly';
import { highOf, laterStages, lowOf, twoStages } from './hadamard.assembly';

/** Bytes of four float32: a register. */
const FOUR: usize = 16;

/** The i-th elements of four registers, of two of them at a time. */
@inline
function lowPairs(a: v128, b: v128): v128 {
  return i32x4.shuffle(a, b, 0, 4, 1, 5);
}

@inline
function highPairs(a: v128, b: v128): v128 {
  return i32x4.shuffle(a, b, 2, 6, 3, 7);
}

/** The flips, and the first four stages, of which two pair elements within registers. */
function firstStages(vector: usize, end: usize, flips: usize): void {
  for (; vector < end; vector += 4 * FOUR, flips += 4 * FOUR) {
    const x0 = f32x4.mul(v128.load(vector), v128.load(flips));
    const x1 = f32x4.mul(v128.load(vector, 16), v128.load(flips, 16));
    const x2 = f32x4.mul(v128.load(vector, 32), v128.load(flips, 32));
    const x3 = f32x4.mul(v128.load(vector, 48), v128.load(flips, 48));
    // As columns, whose sums and differences are those of neighbours.
    const c0 = lowOf(lowPairs(x0, x1), lowPairs(x2, x3));
    const c1 = highOf(lowPairs(x0, x1), lowPairs(x2, x3));
    const c2 = lowOf(highPairs(x0, x1), highPairs(x2, x3));
    const c3 = highOf(highPairs(x0, x1), highPairs(x2, x3));
    const s0 = f32x4.add(c0, c1);
    const s1 = f32x4.sub(c0, c1);
    const s2 = f32x4.add(c2, c3);
    const s3 = f32x4.sub(c2, c3);
    const t0 = f32x4.add(s0, s2);
    const t1 = f32x4.add(s1, s3);
    const t2 = f32x4.sub(s0, s2);
    const t3 = f32x4.sub(s1, s3);
    // As they were, each register with elements that follow one another.
    v128.store(vector, lowOf(lowPairs(t0, t1), lowPairs(t2, t3)));
    v128.store(vector, highOf(lowPairs(t0, t1), lowPairs(t2, t3)), 16);
    v128.store(vector, lowOf(highPairs(t0, t1), highPairs(t2, t3)), 32);
    v128.store(vector, highOf(highPairs(t0, t1), highPairs(t2, t3)), 48);
    twoStages<f32>(vector, vector + 4 * FOUR, FOUR);
  }
}

/**
 * Rotates `width` elements in place: transforms the first `size` and the last `size` in turn, at
 * least 16, each time with `size` further flips. Where `size` is `width`, every second transform is
 * skipped.
 */
export function rotate(
  vector: usize, width: usize, size: usize, flips: usize, transforms: u32,
): void {
  const bytes = size << 2;
  const last = (width - size) << 2;
  for (let i: u32 = 0; i < transforms; i++, flips += bytes) {
    if ((i & 1) && last == 0) continue;
    const start = i & 1 ? vector + last : vector;
    const end = start + bytes;
    firstStages(start, end, flips);
    laterStages<f32>(start, end, 4 * FOUR);
  }
}

/** Entries of a table are computed with this many fractional bits. */
const FRACTION_BITS: i32 = 16;
const FRACTION: f64 = 65536;

/** The sums of `base` and two numbers with each combination of their signs, as integers. */
@inline
function signedSums(a: f64, b: f64, base: f64): v128 {
  const both = f64x2(-a, a);
  const other = f64x2.splat(b);
  const bases = f64x2.splat(base);
  return i64x2.shuffle(
    i32x4.trunc_sat_f64x2_s_zero(f64x2.add(f64x2.sub(both, other), bases)),
    i32x4.trunc_sat_f64x2_s_zero(f64x2.add(f64x2.add(both, other), bases)),
    0, 2,
  );
}

/** Entries of a table: `low` ones with four equal lanes added, without their fraction. */
@inline
function entriesOf(low: v128, added: v128): v128 {
  return i32x4.shr_s(i32x4.add(low, added), FRACTION_BITS);
}

/** The sum of the magnitudes of four elements, added as two and two. */
@inline
function sizeOf(at: usize): f64 {
  const sizes = f32x4.abs(v128.load(at));
  const first = f64x2.promote_low_f32x4(sizes);
  const second = f64x2.promote_low_f32x4(i64x2.shuffle(sizes, sizes, 1, 1));
  const two = f64x2.add(lowOf(first, second), highOf(first, second));
  return f64x2.extract_lane(two, 0) + f64x2.extract_lane(two, 1);
}

/**
 * Writes a table of 16 bytes for each four of `width` elements to `tables`, and the two scales as
 * f64 to `out`; see `makeTables` in rotation.ts.
 */
export function residualTablesInto(
  vector: usize, width: usize, maxEntry: f64, tables: usize, out: usize,
): void {
  const end = vector + (width << 2);
  let most: f64 = 0;
  let total: f64 = 0;
  for (let at = vector; at < end; at += FOUR) {
    const size = sizeOf(at);
    most = max(most, size);
    total += size;
  }
  const entriesPerUnit = most > 0 ? maxEntry / (2 * most) : 0;
  const unit = entriesPerUnit * FRACTION;
  for (; vector < end; vector += FOUR, tables += 16) {
    const least = sizeOf(vector) * unit + FRACTION / 2;
    const a = <f64>load<f32>(vector) * unit;
    const b = <f64>load<f32>(vector, 4) * unit;
    const c = <f64>load<f32>(vector, 8) * unit;
    const d = <f64>load<f32>(vector, 12) * unit;
    const low = signedSums(a, b, least);
    const high = signedSums(c, d, 0);
    const t0 = entriesOf(low, i32x4.shuffle(high, high, 0, 0, 0, 0));
    const t1 = entriesOf(low, i32x4.shuffle(high, high, 1, 1, 1, 1));
    const t2 = entriesOf(low, i32x4.shuffle(high, high, 2, 2, 2, 2));
    const t3 = entriesOf(low, i32x4.shuffle(high, high, 3, 3, 3, 3));
    const first = i16x8.narrow_i32x4_s(t0, t1);
    v128.store(tables, i8x16.narrow_i16x8_u(first, i16x8.narrow_i32x4_s(t2, t3)));
  }
  store<f64>(out, total * entriesPerUnit);
  store<f64>(out, entriesPerUnit, 8);
}

/**
 * Writes the first bit of each of `width` elements, a multiple of 8, lowest first: 1 where it is
 * above 0. Behind these writes the second bits: 1 where an element is above 0 and farther from 0
 * than `far` standard deviations, or neither. Returns the scale of the code, 0 where the vector is
 * 0; see `encodeRows` in rotation.ts.
 */
function twoBitsInto(
  vector: usize, width: usize, far: f32, farLevel: f32, code: usize,
): f32 {
  const end = vector + (width << 2);
  let sums = f32x4.splat(0);
  for (let at = vector; at < end; at += FOUR) {
    const x = v128.load(at);
    sums = f32x4.add(sums, f32x4.mul(x, x));
  }
  const squares = totalOf(sums);
  const bound = f32x4.splat(far * sqrt<f32>(squares / <f32>width));
  const near = f32x4.splat(1);
  const beyond = f32x4.splat(farLevel);
  const zero = f32x4.splat(0);
  const second = width >> 3;
  sums = zero;
  for (; vector < end; vector += 2 * FOUR, code++) {
    let sides: i32 = 0;
    let halves: i32 = 0;
    for (let four: i32 = 0; four < 8; four += 4) {
      const x = v128.load(vector + (<usize>four << 2));
      const size = f32x4.abs(x);
      const isFar = f32x4.gt(size, bound);
      const isAbove = f32x4.gt(x, zero);
      sums = f32x4.add(sums, f32x4.mul(size, v128.bitselect(beyond, near, isFar)));
      sides |= i32x4.bitmask(isAbove) << four;
      halves |= i32x4.bitmask(v128.not(v128.xor(isAbove, isFar))) << four;
    }
    store<u8>(code, <u8>sides);
    store<u8>(code + second, <u8>halves);
  }
  const product = totalOf(sums);
  return product > 0 ? squares / product : 0;
}

/** The sum of four lanes. */
@inline
function totalOf(sums: v128): f32 {
  const even = f32x4.extract_lane(sums, 0) + f32x4.extract_lane(sums, 2);
  return even + (f32x4.extract_lane(sums, 1) + f32x4.extract_lane(sums, 3));
}

/** Writes a row over its length, as float32, and zeros up to `end`. */
@inline
function unitInto<T>(row: usize, dimensions: usize, length: f64, vector: usize, end: usize): void {
  const factor = f64x2.splat(1 / length);
  const rest = vector + (dimensions << 2);
  for (; vector < rest; vector += 8, row += 2 * sizeof<T>()) {
    const two = f32x4.demote_f64x2_zero(f64x2.mul(twoOf<T>(row, 0), factor));
    v128.store64_lane(vector, two, 0);
  }
  for (let at = rest; at < end; at += 4) store<f32>(at, 0);
}

/**
 * Writes the residual codes of `count` rows of `dimensions` float32 (`type` 4) or int8 (1) to
 * `codes`, and their scales as f32 to `scales`: of each row `each` of them, in the partitions that
 * its `each` u32 of `partitions` name. A row whose f64 of `lengths` is not above 0 is passed over.
 * `centroids` has the rotated centroids as f32; `vector` has space for two vectors. The rotation is
 * as in `rotate`, the code as in `twoBitsInto`. Reads up to one value behind a row.
 */
export function encodeRows(
  type: i32, rows: usize, count: usize, dimensions: usize, lengths: usize, partitions: usize,
  each: usize, centroids: usize, vector: usize, width: usize, size: usize, flips: usize,
  transforms: u32, far: f32, farLevel: f32, codes: usize, scales: usize,
): void {
  const bytes = width << 2;
  const other = vector + bytes;
  const end = lengths + (count << 3);
  for (; lengths < end; lengths += 8, rows += dimensions * <usize>type) {
    const length = load<f64>(lengths);
    if (length > 0) {
      if (type == 4) unitInto<f32>(rows, dimensions, length, vector, other);
      else unitInto<i8>(rows, dimensions, length, vector, other);
      rotate(vector, width, size, flips, transforms);
    }
    for (let own: usize = 0; own < each; own++, partitions += 4, codes += width >> 2, scales += 4) {
      if (!(length > 0)) continue;
      const centroid = centroids + <usize>load<u32>(partitions) * bytes;
      for (let at: usize = 0; at < bytes; at += FOUR) {
        v128.store(other + at, f32x4.sub(v128.load(vector + at), v128.load(centroid + at)));
      }
      store<f32>(scales, twoBitsInto(other, width, far, farLevel, codes));
    }
  }
}
