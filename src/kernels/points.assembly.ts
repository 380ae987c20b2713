// Rows as points: vectors of length 1 as integers of 7 bits, -63 to 63, and a scale. A point takes
// `width` bytes: values, a multiple of 16, padded by zeros, and TAIL bytes more that begin with its
// scale (f32), 64 times the sum of its values (i32) and its error (f32): its distance from the
// vector is at most that.

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

/** To this f64 integers may be added that are then its low 32 bits: 3 x 2^51. */
const INTEGERS: f64 = 6755399441055744;

/**
 * Writes four elements times `factor`, rounded, to `out`, and returns `squares` with what the first
 * `rest` of them lose.
 */
@inline
function roundFour<T>(row: usize, factor: v128, out: usize, squares: v128, rest: usize): v128 {
  const a = scaledTwo<T>(row, 0, factor);
  const b = scaledTwo<T>(row, 1, factor);
  const x = f64x2.floor(a);
  const y = f64x2.floor(b);
  const integers = f64x2.splat(INTEGERS);
  const four = i32x4.shuffle(f64x2.add(x, integers), f64x2.add(y, integers), 0, 2, 4, 6);
  const eight = i16x8.narrow_i32x4_s(four, four);
  v128.store32_lane(out, i8x16.narrow_i16x8_s(eight, eight), 0);
  const sum = f64x2.add(squares, lostOf(a, x, rest));
  return rest > 2 ? f64x2.add(sum, lostOf(b, y, rest - 2)) : sum;
}

/** Four elements as float32. */
@inline
function fourOf<T>(at: usize): v128 {
  if (sizeof<T>() == 4) return v128.load(at);
  const eight = i16x8.extend_low_i8x16_s(v128.load32_zero(at));
  return f32x4.convert_i32x4_s(i32x4.extend_low_i16x8_s(eight));
}

/** The largest magnitude of a row. */
@inline
function peakOf<T>(row: usize, dimensions: usize): f64 {
  if (sizeof<T>() == 8) return peakOfDoubles(row, dimensions);
  let a = f32x4.splat(0);
  let b = f32x4.splat(0);
  const end = row + dimensions * sizeof<T>();
  for (; row + 8 * sizeof<T>() <= end; row += 8 * sizeof<T>()) {
    a = f32x4.pmax(a, f32x4.abs(fourOf<T>(row)));
    b = f32x4.pmax(b, f32x4.abs(fourOf<T>(row + 4 * sizeof<T>())));
  }
  const four = f32x4.pmax(a, b);
  const two = f32x4.pmax(four, i32x4.shuffle(four, four, 2, 3, 0, 1));
  let peak: f32 = max(f32x4.extract_lane(two, 0), f32x4.extract_lane(two, 1));
  for (; row < end; row += sizeof<T>()) peak = max(peak, abs(<f32>load<T>(row)));
  return peak;
}

/** The largest magnitude of a row of f64. */
function peakOfDoubles(row: usize, dimensions: usize): f64 {
  let two = f64x2.splat(0);
  const end = row + (dimensions << 3);
  for (; row + 16 <= end; row += 16) two = f64x2.pmax(two, f64x2.abs(v128.load(row)));
  const peak = max(f64x2.extract_lane(two, 0), f64x2.extract_lane(two, 1));
  return row < end ? max(peak, abs(load<f64>(row))) : peak;
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
    v128.store(out + width - 2 * TAIL, squares);
    v128.store(out + width - TAIL, squares);
    let at: usize = 0;
    for (; at + 4 <= dimensions; at += 4) {
      squares = roundFour<T>(rows + at * sizeof<T>(), factor, out + at, squares, 4);
    }
    if (at < dimensions) {
      squares = roundFour<T>(rows + at * sizeof<T>(), factor, out + at, squares, dimensions - at);
      for (at = dimensions; at & 3; at++) store<u8>(out + at, 0);
    }
    const lost = f64x2.extract_lane(squares, 0) + f64x2.extract_lane(squares, 1);
    store<f64>(out + width - TAIL, lost);
  }
}

/**
 * Writes rows of `dimensions` float64 (`type` 8), float32 (4) or int8 (1) as points whose largest
 * magnitude is `most`; zeros where the length (f64) of a row is 0. Reads up to three values behind
 * the last.
 */
export function roundRows(
  type: i32, rows: usize, count: usize, dimensions: usize, lengths: usize, most: f64, width: usize,
  out: usize,
): void {
  if (type == 8) roundRowsOf<f64>(rows, count, dimensions, lengths, most, width, out);
  else if (type == 4) roundRowsOf<f32>(rows, count, dimensions, lengths, most, width, out);
  else roundRowsOf<i8>(rows, count, dimensions, lengths, most, width, out);
  endPoints(out, count, width);
}
