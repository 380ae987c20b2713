// The float64 sums of projection 'hadamard': rounds of hashed sign flips, each followed by a fast
// Walsh-Hadamard transform. Two vectors at a time, one in each float64 lane ("pairs"), so that no
// step needs a shuffle. Contract: every sum is a tree of additions and subtractions whose shape
// depends on the size alone, as in sums.ts, so it has the same bits. Fast because one pass
// over memory does three stages, with eight pairs in registers; this changes the order in which the
// tree is computed, not the tree.

import { hashOfKey, keyOf } from './xxhash.assembly';

const SIGN: u64 = 0x8000000000000000;

/** Writes the sign masks of one round: `size` u64, the sign bit set where the hash bit is 0. */
export function flipsInto(size: i32, seed: u64, flips: usize): void {
  let hash: u64 = 0;
  for (let i = 0; i < size; i++, flips += 8, hash >>= 1) {
    if ((i & 63) == 0) hash = hashOfKey(keyOf(<u64>(i >> 6)), seed);
    store<u64>(flips, (~hash & 1) << 63);
  }
}

/** `loadPairs` for one type of values. */
@inline
function loadPairsOf<T>(
  a: usize, b: usize, width: i32, size: i32, flips: usize, pairs: usize,
): void {
  const end = pairs + ((<usize>size) << 4);
  for (let i = 0; i < width; i++, a += sizeof<T>(), b += sizeof<T>(), flips += 8, pairs += 16) {
    const x = sizeof<T>() == 8
      ? v128.load64_lane(b, v128.load64_zero(a), 1)
      : f64x2.promote_low_f32x4(v128.load32_lane(b, v128.load32_zero(a), 1));
    v128.store(pairs, v128.xor(x, v128.load64_splat(flips)));
  }
  for (; pairs < end; pairs += 16) v128.store(pairs, f64x2.splat(0));
}

/**
 * Sets `size` pairs from two vectors of `width` float32 or float64 values, flipped by the masks of
 * the first round; pairs behind `width` are 0.
 */
export function loadPairs(
  isNarrow: bool, a: usize, b: usize, width: i32, size: i32, flips: usize, pairs: usize,
): void {
  if (isNarrow) loadPairsOf<f32>(a, b, width, size, flips, pairs);
  else loadPairsOf<f64>(a, b, width, size, flips, pairs);
}

/** Flips the signs of the pairs by the masks of a round after the first. */
function flip(pairs: usize, size: i32, flips: usize): void {
  const end = pairs + ((<usize>size) << 4);
  for (; pairs < end; pairs += 16, flips += 8) {
    v128.store(pairs, v128.xor(v128.load(pairs), v128.load64_splat(flips)));
  }
}

/** One stage: replaces elements `span` bytes apart by their sums and differences. */
function stage(pairs: usize, end: usize, span: usize): void {
  for (; pairs < end; pairs += span << 1) {
    for (let at = pairs; at < pairs + span; at += 16) {
      const a = v128.load(at);
      const b = v128.load(at + span);
      v128.store(at, f64x2.add(a, b));
      v128.store(at + span, f64x2.sub(a, b));
    }
  }
}

/** Three stages in one pass, of `span`, 2 x `span` and 4 x `span` bytes. */
function threeStages(pairs: usize, end: usize, span: usize): void {
  for (; pairs < end; pairs += span << 3) {
    for (let at = pairs; at < pairs + span; at += 16) {
      let p = at;
      const a0 = v128.load(p);
      const a1 = v128.load((p += span));
      const a2 = v128.load((p += span));
      const a3 = v128.load((p += span));
      const a4 = v128.load((p += span));
      const a5 = v128.load((p += span));
      const a6 = v128.load((p += span));
      const a7 = v128.load((p += span));
      const b0 = f64x2.add(a0, a1);
      const b1 = f64x2.sub(a0, a1);
      const b2 = f64x2.add(a2, a3);
      const b3 = f64x2.sub(a2, a3);
      const b4 = f64x2.add(a4, a5);
      const b5 = f64x2.sub(a4, a5);
      const b6 = f64x2.add(a6, a7);
      const b7 = f64x2.sub(a6, a7);
      const c0 = f64x2.add(b0, b2);
      const c1 = f64x2.add(b1, b3);
      const c2 = f64x2.sub(b0, b2);
      const c3 = f64x2.sub(b1, b3);
      const c4 = f64x2.add(b4, b6);
      const c5 = f64x2.add(b5, b7);
      const c6 = f64x2.sub(b4, b6);
      const c7 = f64x2.sub(b5, b7);
      p = at;
      v128.store(p, f64x2.add(c0, c4));
      v128.store((p += span), f64x2.add(c1, c5));
      v128.store((p += span), f64x2.add(c2, c6));
      v128.store((p += span), f64x2.add(c3, c7));
      v128.store((p += span), f64x2.sub(c0, c4));
      v128.store((p += span), f64x2.sub(c1, c5));
      v128.store((p += span), f64x2.sub(c2, c6));
      v128.store((p += span), f64x2.sub(c3, c7));
    }
  }
}

/** The transform of `size` pairs (a power of two), in place, not normalized. */
function transform(pairs: usize, size: i32): void {
  const bytes = (<usize>size) << 4;
  let span: usize = 16;
  for (; span << 3 <= bytes; span <<= 3) threeStages(pairs, pairs + bytes, span);
  for (; span < bytes; span <<= 1) stage(pairs, pairs + bytes, span);
}

/** All rounds over loaded pairs. `flips` has `size` masks a round; `loadPairs` did the first. */
export function mixPairs(pairs: usize, size: i32, rounds: i32, flips: usize): void {
  transform(pairs, size);
  while (--rounds > 0) {
    flips += (<usize>size) << 3;
    flip(pairs, size, flips);
    transform(pairs, size);
  }
}

/** Copies the first `count` sums of the vector in lane 0 or 1. */
export function laneInto(pairs: usize, lane: i32, count: i32, sums: usize): void {
  const end = sums + ((<usize>count) << 3);
  for (pairs += lane << 3; sums < end; sums += 8, pairs += 16) store<u64>(sums, load<u64>(pairs));
}
