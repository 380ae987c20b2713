// Rows as points: vectors of length 1 as integers of 7 bits, -63 to 63, and a scale. A point takes
// `width` bytes: values, a multiple of 16, padded by zeros, and TAIL bytes more that begin with its
// scale (f32), 64 times the sum of its values (i32) and its error (f32): its distance from the
// vector is at most that. Contract: the bytes are those that `roundInto` of products.ts writes.

import { twoOf } from './dots.assembly';

/** Bytes of a point behind its values. */
export const TAIL: usize = 16;
/** Sums of products of integers up to it are exact in float32. */
const MOST_SUM: usize = 1 << 24;
/** More than products in float32 are off by. */
const ROUNDING: f64 = 1e-5;

/** The f64 elements 2 `pair` and 2 `pair` + 1 of a row times `factor`, and a half. */
@inline
function scaledTwo<T>(at: usize, pair: usize, factor: v128): v128 {
  return f64x2.add(f64x2.mul(twoOf<T>(at, pair), factor), f64x2.splat(0.5));
}

/** The squares of what two elements lose that become `whole` ones; of one, where `rest` is 1. */
@inline
function lostOf(scaled: v128, whole: v128, rest: usize): v128 {
  const lost = f64x2.sub(f64x2.sub(scaled, whole), f64x2.splat(0.5));
  const squares = f64x2.mul(lost, lost);
  return rest > 1 ? squares : f64x2.replace_lane(squares, 1, 0);
}

/** The largest magnitude of a row. */
@inline
function peakOf<T>(row: usize, dimensions: usize): f64 {
  let two = f64x2.splat(0);
  let at = row;
  for (const end = row + (dimensions & ~1) * sizeof<T>(); at < end; at += 2 * sizeof<T>()) {
    two = f64x2.pmax(two, f64x2.abs(twoOf<T>(at, 0)));
  }
  let peak = max(f64x2.extract_lane(two, 0), f64x2.extract_lane(two, 1));
  if (dimensions & 1) peak = max(peak, abs(<f64>load<T>(at)));
  return peak;
}

/** The sum of four lanes. */
@inline
function sumOf(lanes: v128): i32 {
  const two = i32x4.add(lanes, i32x4.shuffle(lanes, lanes, 2, 3, 0, 1));
  return i32x4.extract_lane(i32x4.add(two, i32x4.shuffle(two, two, 1, 0, 3, 2)), 0);
}

/**
 * Writes the tails of points whose values are written: with their scales they have length 1. A tail
 * has before the sum of the squares of what values lost (f64).
 */
function endPoints(points: usize, count: usize, width: usize): void {
  for (const last = points + count * width; points < last; points += TAIL) {
    let sums = i32x4.splat(0);
    let squares = i32x4.splat(0);
    for (const end = points + width - TAIL; points < end; points += 16) {
      const low = v128.load8x8_s(points);
      const high = v128.load8x8_s(points + 8);
      sums = i32x4.add(sums, i32x4.extadd_pairwise_i16x8_s(i16x8.add(low, high)));
      const both = i32x4.add(i32x4.dot_i16x8_s(low, low), i32x4.dot_i16x8_s(high, high));
      squares = i32x4.add(squares, both);
    }
    const square = sumOf(squares);
    const scale = square > 0 ? 1 / sqrt(<f64>square) : 0;
    const error = sqrt(load<f64>(points)) * scale;
    store<f32>(points, <f32>scale);
    store<i32>(points, sumOf(sums) << 6, 4);
    const isKnown = error < 1 && width < MOST_SUM;
    store<f32>(points, <f32>(isKnown ? error / (1 - error / 2) + ROUNDING : 2), 8);
    store<i32>(points, 0, 12);
  }
}

/** See `roundRows`, for one type of values. */
@inline
function roundRowsOf<T>(
  rows: usize, count: usize, dimensions: usize, lengths: usize, most: f64, width: usize, out: usize,
): void {
  for (let i: usize = 0; i < count; i++, rows += dimensions * sizeof<T>(), out += width) {
    const peak = load<f64>(lengths + (i << 3)) > 0 ? peakOf<T>(rows, dimensions) : 0;
    if (peak == 0) {
      memory.fill(out, 0, width);
      continue;
    }
    const factor = f64x2.splat(most / peak);
    let squares = f64x2.splat(0);
    for (let at: usize = 0; at < dimensions; at += 4) {
      const row = rows + at * sizeof<T>();
      const a = scaledTwo<T>(row, 0, factor);
      const b = scaledTwo<T>(row, 1, factor);
      const x = f64x2.floor(a);
      const y = f64x2.floor(b);
      const rest = dimensions - at;
      squares = f64x2.add(squares, lostOf(a, x, rest));
      if (rest > 2) squares = f64x2.add(squares, lostOf(b, y, rest - 2));
      const four = i64x2.shuffle(
        i32x4.trunc_sat_f64x2_s_zero(x), i32x4.trunc_sat_f64x2_s_zero(y), 0, 2,
      );
      const eight = i16x8.narrow_i32x4_s(four, four);
      v128.store32_lane(out + at, i8x16.narrow_i16x8_s(eight, eight), 0);
    }
    memory.fill(out + dimensions, 0, width - dimensions);
    const lost = f64x2.extract_lane(squares, 0) + f64x2.extract_lane(squares, 1);
    store<f64>(out + width - TAIL, lost);
  }
}

/**
 * Writes rows of `dimensions` float32 (`type` 4) or int8 (1) as points whose largest magnitude is
 * `most`; zeros where the length (f64) of a row is 0. Reads up to three values behind the last.
 */
export function roundRows(
  type: i32, rows: usize, count: usize, dimensions: usize, lengths: usize, most: f64, width: usize,
  out: usize,
): void {
  if (type == 4) roundRowsOf<f32>(rows, count, dimensions, lengths, most, width, out);
  else roundRowsOf<i8>(rows, count, dimensions, lengths, most, width, out);
  endPoints(out, count, width);
}
