// Fast Walsh-Hadamard transforms of a vector of float64, and the float64 sums of projection
// 'hadamard': rounds of hashed sign flips, each followed by a transform. Contract: every value is
// a tree of additions and subtractions whose shape depends on the size alone, as in sums.ts, so it
// has the same bits. Fast because one pass over memory does two stages; this changes the order in
// which the tree is computed, not the tree.

import { twoOf } from './dots.assembly';
import { hashOfKey, keyOf } from './xxhash.assembly';

/** Bytes of two float64: a register. */
const PAIR: usize = 16;

/** Writes the sign masks of one round: `size` u64, the sign bit set where the hash bit is 0. */
export function flipsInto(size: i32, seed: u64, flips: usize): void {
  let hash: u64 = 0;
  for (let i = 0; i < size; i++, flips += 8, hash >>= 1) {
    if ((i & 63) == 0) hash = hashOfKey(keyOf(<u64>(i >> 6)), seed);
    store<u64>(flips, (~hash & 1) << 63);
  }
}

/** Two elements of each of two registers: the low ones of both, or the high ones. */
@inline
export function lowOf(a: v128, b: v128): v128 {
  return i64x2.shuffle(a, b, 0, 2);
}

@inline
export function highOf(a: v128, b: v128): v128 {
  return i64x2.shuffle(a, b, 1, 3);
}

/** Two elements with their flips. */
@inline
function flipped(vector: usize, flips: usize, at: usize): v128 {
  return v128.xor(v128.load(vector + at), v128.load(flips + at));
}

/** The flips, and the first three stages, of which two pair elements within registers. */
function firstStages(vector: usize, end: usize, flips: usize): void {
  for (; vector < end; vector += 4 * PAIR, flips += 4 * PAIR) {
    const x0 = flipped(vector, flips, 0);
    const x1 = flipped(vector, flips, 16);
    const x2 = flipped(vector, flips, 32);
    const x3 = flipped(vector, flips, 48);
    // Sums of neighbours, and their differences.
    const sums = f64x2.add(lowOf(x0, x1), highOf(x0, x1));
    const differences = f64x2.sub(lowOf(x0, x1), highOf(x0, x1));
    const moreSums = f64x2.add(lowOf(x2, x3), highOf(x2, x3));
    const moreDifferences = f64x2.sub(lowOf(x2, x3), highOf(x2, x3));
    const a = lowOf(sums, differences);
    const b = highOf(sums, differences);
    const c = lowOf(moreSums, moreDifferences);
    const d = highOf(moreSums, moreDifferences);
    const y0 = f64x2.add(a, b);
    const y1 = f64x2.sub(a, b);
    const y2 = f64x2.add(c, d);
    const y3 = f64x2.sub(c, d);
    v128.store(vector, f64x2.add(y0, y2));
    v128.store(vector, f64x2.add(y1, y3), 16);
    v128.store(vector, f64x2.sub(y0, y2), 32);
    v128.store(vector, f64x2.sub(y1, y3), 48);
  }
}

/** Two stages, of `span` and 2 `span` bytes: each replaces elements by sums and differences. */
@inline
export function twoStages<T>(vector: usize, end: usize, span: usize): void {
  for (; vector < end; vector += span << 2) {
    for (let at = vector; at < vector + span; at += PAIR) {
      const a = v128.load(at);
      const b = v128.load(at + span);
      const c = v128.load(at + span * 2);
      const d = v128.load(at + span * 3);
      const sum = v128.add<T>(a, b);
      const difference = v128.sub<T>(a, b);
      const otherSum = v128.add<T>(c, d);
      const otherDifference = v128.sub<T>(c, d);
      v128.store(at, v128.add<T>(sum, otherSum));
      v128.store(at + span, v128.add<T>(difference, otherDifference));
      v128.store(at + span * 2, v128.sub<T>(sum, otherSum));
      v128.store(at + span * 3, v128.sub<T>(difference, otherDifference));
    }
  }
}

/** The stages of `span` bytes and more. */
@inline
export function laterStages<T>(vector: usize, end: usize, span: usize): void {
  for (; span << 2 <= end - vector; span <<= 2) twoStages<T>(vector, end, span);
  if (span == end - vector) return;
  for (let at = vector; at < vector + span; at += PAIR) {
    const a = v128.load(at);
    const b = v128.load(at + span);
    v128.store(at, v128.add<T>(a, b));
    v128.store(at + span, v128.sub<T>(a, b));
  }
}

/**
 * Flips the elements from `vector` to `end`, a power of two of them and at least eight, by masks of
 * signs, and transforms them.
 */
function walshHadamard(vector: usize, end: usize, flips: usize): void {
  firstStages(vector, end, flips);
  laterStages<f64>(vector, end, 4 * PAIR);
}

/** Copies `width` values as float64, and zeros up to `end`. */
@inline
function valuesInto<T>(row: usize, width: usize, vector: usize, end: usize): void {
  for (let pair: usize = 0; pair << 1 < width; pair++) {
    v128.store(vector + (pair << 4), twoOf<T>(row, pair));
  }
  vector += width << 3;
  if (width & 1) {
    store<u64>(vector, 0);
    vector += 8;
  }
  // Not by `memory.fill`, which takes longer for so few bytes.
  for (; vector < end; vector += PAIR) v128.store(vector, f64x2.splat(0));
}

/**
 * Writes the `size` sums of a row of `width` float32 or float64 values, at most `size` of them.
 * `flips` has `size` masks for each round. Reads up to one value behind the last.
 */
export function hadamardInto(
  isNarrow: bool, row: usize, width: usize, size: usize, rounds: i32, flips: usize, sums: usize,
): void {
  const end = sums + (size << 3);
  if (isNarrow) valuesInto<f32>(row, width, sums, end);
  else valuesInto<f64>(row, width, sums, end);
  for (; rounds > 0; rounds--, flips += size << 3) walshHadamard(sums, end, flips);
}
