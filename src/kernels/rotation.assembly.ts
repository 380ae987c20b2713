// A rotation by rounds of sign flips and fast Walsh-Hadamard transforms, and two bits of each
// coordinate of the result, on one vector of float64. Contract: every output is computed by the
// same tree of additions and multiplications as in rotation.ts, so it has the same bits.

import { twoOf } from './dots.assembly';
import { PAIR, valuesInto, walshHadamard } from './hadamard.assembly';

/**
 * Rotates `width` elements in place: transforms the first `size` and the last `size` in turn, each
 * time with `size` further flips. Where `size` is `width`, every second transform is skipped.
 */
export function rotate(
  vector: usize, width: usize, size: usize, flips: usize, transforms: u32,
): void {
  const bytes = size << 3;
  const last = (width - size) << 3;
  for (let i: u32 = 0; i < transforms; i++, flips += bytes) {
    if ((i & 1) && last == 0) continue;
    const start = i & 1 ? vector + last : vector;
    walshHadamard<f64>(start, start + bytes, flips);
  }
}

/** Entries of a table are computed with this many fractional bits. */
const FRACTION_BITS: i32 = 16;
const FRACTION: f64 = 65536;

/** A product as an integer, in all four lanes. */
@inline
function fourTimes(product: f64): v128 {
  return i32x4.splat(<i32>product);
}

/** The sum of the magnitudes of four elements, added as two and two. */
@inline
function sizeOf(at: usize): f64 {
  const first = abs(load<f64>(at)) + abs(load<f64>(at, 8));
  return first + (abs(load<f64>(at, 16)) + abs(load<f64>(at, 24)));
}

/**
 * Writes a table of 16 bytes for each four of `width` elements to `tables`, and the two scales as
 * f64 to `out`; see `tables` in rotation.ts.
 */
export function residualTablesInto(
  vector: usize, width: usize, maxEntry: f64, tables: usize, out: usize,
): void {
  const end = vector + (width << 3);
  let most: f64 = 0;
  let total: f64 = 0;
  for (let at = vector; at < end; at += 2 * PAIR) {
    const size = sizeOf(at);
    most = max(most, size);
    total += size;
  }
  const entriesPerUnit = most > 0 ? maxEntry / (2 * most) : 0;
  const unit = entriesPerUnit * FRACTION;
  for (; vector < end; vector += 2 * PAIR, tables += 16) {
    const least = sizeOf(vector) * unit + FRACTION / 2;
    const a = load<f64>(vector) * unit;
    const b = load<f64>(vector, 8) * unit;
    const c = load<f64>(vector, 16) * unit;
    const d = load<f64>(vector, 24) * unit;
    const low = i32x4(
      <i32>(-a - b + least), <i32>(a - b + least), <i32>(b - a + least), <i32>(a + b + least),
    );
    const t0 = i32x4.shr_s(i32x4.add(low, fourTimes(-c - d)), FRACTION_BITS);
    const t1 = i32x4.shr_s(i32x4.add(low, fourTimes(c - d)), FRACTION_BITS);
    const t2 = i32x4.shr_s(i32x4.add(low, fourTimes(d - c)), FRACTION_BITS);
    const t3 = i32x4.shr_s(i32x4.add(low, fourTimes(c + d)), FRACTION_BITS);
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
  vector: usize, width: usize, far: f64, farLevel: f64, code: usize,
): f64 {
  const end = vector + (width << 3);
  let sums = f64x2.splat(0);
  for (let at = vector; at < end; at += PAIR) {
    const x = v128.load(at);
    sums = f64x2.add(sums, f64x2.mul(x, x));
  }
  const squares = f64x2.extract_lane(sums, 0) + f64x2.extract_lane(sums, 1);
  const bound = f64x2.splat(far * sqrt<f64>(squares / <f64>width));
  const near = f64x2.splat(1);
  const beyond = f64x2.splat(farLevel);
  const zero = f64x2.splat(0);
  const second = width >> 3;
  sums = zero;
  for (; vector < end; vector += 4 * PAIR, code++) {
    let sides: i32 = 0;
    let halves: i32 = 0;
    for (let pair: i32 = 0; pair < 4; pair++) {
      const x = v128.load(vector + (<usize>pair << 4));
      const size = f64x2.abs(x);
      const isFar = f64x2.gt(size, bound);
      const isAbove = f64x2.gt(x, zero);
      sums = f64x2.add(sums, f64x2.mul(size, v128.bitselect(beyond, near, isFar)));
      sides |= i64x2.bitmask(isAbove) << (pair << 1);
      halves |= i64x2.bitmask(v128.not(v128.xor(isAbove, isFar))) << (pair << 1);
    }
    store<u8>(code, <u8>sides);
    store<u8>(code + second, <u8>halves);
  }
  const product = f64x2.extract_lane(sums, 0) + f64x2.extract_lane(sums, 1);
  return product > 0 ? squares / product : 0;
}

/**
 * Writes the residual codes of `count` rows of `dimensions` float32 (`type` 4) or int8 (1) to
 * `codes`, and their scales as f32 to `scales`: of each row `each` of them, in the partitions that
 * its `each` u32 of `partitions` name. A row whose f64 of `lengths` is not above 0 is passed over.
 * `centroids` has the rotated centroids as f32; `vector` has space for two vectors. The rotation is
 * as in `rotate`, the code as in `twoBitsInto`.
 */
export function encodeRows(
  type: i32, rows: usize, count: usize, dimensions: usize, lengths: usize, partitions: usize,
  each: usize, centroids: usize, vector: usize, width: usize, size: usize, flips: usize,
  transforms: u32, far: f64, farLevel: f64, codes: usize, scales: usize,
): void {
  const bytes = width << 3;
  const end = lengths + (count << 3);
  for (; lengths < end; lengths += 8, rows += dimensions * <usize>type) {
    const length = load<f64>(lengths);
    if (length > 0) {
      if (type == 4) valuesInto<f32>(rows, dimensions, vector, vector + bytes);
      else valuesInto<i8>(rows, dimensions, vector, vector + bytes);
      for (let at = vector; at < vector + bytes; at += PAIR) {
        v128.store(at, f64x2.div(v128.load(at), f64x2.splat(length)));
      }
      rotate(vector, width, size, flips, transforms);
    }
    for (let own: usize = 0; own < each; own++, partitions += 4, codes += width >> 2, scales += 4) {
      if (!(length > 0)) continue;
      const centroid = centroids + <usize>load<u32>(partitions) * (width << 2);
      for (let at: usize = 0; at < bytes; at += PAIR) {
        const other = twoOf<f32>(centroid, at >> 4);
        v128.store(vector + bytes + at, f64x2.sub(v128.load(vector + at), other));
      }
      store<f32>(scales, <f32>twoBitsInto(vector + bytes, width, far, farLevel, codes));
    }
  }
}
