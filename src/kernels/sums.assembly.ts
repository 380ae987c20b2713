// The float64 sums of a vector, one for each bit of its code, by hashed patterns ('signs' and
// 'gaussian'). Contract: each sum has its own lane and adds in ascending order of dimension, so the
// scalar kernel gets equal bits. Sums are padded to 64 for each pattern word, all arrays aligned to
// 8 bytes. Fast because a dimension's key is computed once for all pattern words, a pattern word is
// used for up to 16 vectors while it is in the cache, and 16 sums stay in registers over all
// entries of a run. A sign is flipped by an exclusive or with the pattern's bit, without a branch.
// The code is then taken from the sums: bit j is 1 when sum j is above zero.

import { hashOfKey, keyOf } from './xxhash.assembly';

/**
 * Writes the keys of `count` dimensions, the part of their hashes without the seed: of u64 (`is64`)
 * in place, of u32 that lie in the second half of the space for the keys.
 */
export function keysInto(is64: bool, keys: usize, count: usize): void {
  const end = keys + (count << 3);
  for (let narrow = keys + (count << 2); keys < end; keys += 8, narrow += 4) {
    store<u64>(keys, keyOf(is64 ? load<u64>(keys) : <u64>load<u32>(narrow)));
  }
}

/** Writes one pattern word for each of `count` keys; `seed` includes the number of the word. */
function patternsInto(keys: usize, count: i32, seed: u64, patterns: usize): void {
  const end = keys + (<usize>count << 3);
  for (; keys < end; keys += 8, patterns += 8) {
    store<u64>(patterns, hashOfKey(load<u64>(keys), seed));
  }
}

/** The sums of bits j and j + 32 of a word. */
@inline
function sumPair(sums: usize, j: usize): v128 {
  return v128.load64_lane(sums + (j << 3) + 256, v128.load64_zero(sums + (j << 3)), 1);
}

/** Stores two sums that `sumPair` loaded. */
@inline
function storePair(sums: usize, j: usize, pair: v128): void {
  v128.store64_lane(sums + (j << 3), pair, 0);
  v128.store64_lane(sums + (j << 3) + 256, pair, 1);
}

/** s + x in the lanes of `bits` whose top bit is 1, and s - x in the others. */
@inline
function addSigned(s: v128, x: v128, bits: v128, sign: v128): v128 {
  return f64x2.add(s, v128.xor(x, v128.andnot(sign, bits)));
}

/**
 * Adds ±value to 64 sums, by the bits of each entry's pattern word. Sixteen sums at a time stay in
 * registers: a register has the sums of bits j and j + 32, and shifting the halves of the word
 * brings these bits to the top.
 */
export function addSigns(patterns: usize, values: usize, count: i32, sums: usize): void {
  const end = values + ((<usize>count) << 3);
  // The top bit of each lane: shifts are modulo 64, so this is one by 63. Were it a constant, the
  // engine of Node 24 would load it again at each use, and take 1.4 times as long.
  const sign = i64x2.shl(i64x2.splat(-1), count | 63);
  for (let group = 0; group < 4; group++, sums += 64) {
    const shift = 24 - (group << 3);
    let s0 = sumPair(sums, 0);
    let s1 = sumPair(sums, 1);
    let s2 = sumPair(sums, 2);
    let s3 = sumPair(sums, 3);
    let s4 = sumPair(sums, 4);
    let s5 = sumPair(sums, 5);
    let s6 = sumPair(sums, 6);
    let s7 = sumPair(sums, 7);
    let pattern = patterns;
    for (let value = values; value < end; value += 8, pattern += 8) {
      const x = v128.load64_splat(value);
      const word = v128.load64_splat(pattern);
      // The low half of the word at the top of lane 0, the high half at the top of lane 1.
      const halves = i32x4.shuffle(word, word, 1, 0, 2, 3);
      const bits = i64x2.shl(halves, shift);
      s7 = addSigned(s7, x, bits, sign);
      s6 = addSigned(s6, x, i64x2.shl(bits, 1), sign);
      s5 = addSigned(s5, x, i64x2.shl(bits, 2), sign);
      s4 = addSigned(s4, x, i64x2.shl(bits, 3), sign);
      s3 = addSigned(s3, x, i64x2.shl(bits, 4), sign);
      s2 = addSigned(s2, x, i64x2.shl(bits, 5), sign);
      s1 = addSigned(s1, x, i64x2.shl(bits, 6), sign);
      s0 = addSigned(s0, x, i64x2.shl(bits, 7), sign);
    }
    storePair(sums, 0, s0);
    storePair(sums, 1, s1);
    storePair(sums, 2, s2);
    storePair(sums, 3, s3);
    storePair(sums, 4, s4);
    storePair(sums, 5, s5);
    storePair(sums, 6, s6);
    storePair(sums, 7, s7);
  }
}

/** Two entries of the table, in two lanes. */
@inline
function tablePair(table: usize, index0: usize, index1: usize): v128 {
  return v128.load64_lane(table + (index1 << 3), v128.load64_zero(table + (index0 << 3)), 1);
}

/** Two Gaussians from the low 32 bits of a hash: each the sum of two table entries, one a byte. */
@inline
function gaussianPair(table: usize, hash: usize): v128 {
  return f64x2.add(
    tablePair(table, hash & 255, (hash >> 16) & 255),
    tablePair(table, (hash >> 8) & 255, (hash >> 24) & 255),
  );
}

/** Writes eight Gaussians for each key, from two hash words of four 16-bit fields each. */
function gaussiansInto(keys: usize, count: i32, seed: u64, table: usize, gaussians: usize): void {
  const end = keys + (<usize>count << 3);
  for (; keys < end; keys += 8, gaussians += 64) {
    const key = load<u64>(keys);
    const low = hashOfKey(key, seed);
    const high = hashOfKey(key, seed + 1);
    v128.store(gaussians, gaussianPair(table, <usize>low));
    v128.store(gaussians, gaussianPair(table, <usize>(low >> 32)), 16);
    v128.store(gaussians, gaussianPair(table, <usize>high), 32);
    v128.store(gaussians, gaussianPair(table, <usize>(high >> 32)), 48);
  }
}

/** Adds value x Gaussian to eight sums. Product and addition are rounded apart, never fused. */
function addProducts(gaussians: usize, values: usize, count: i32, sums: usize): void {
  const end = values + (<usize>count << 3);
  let s0 = v128.load(sums);
  let s1 = v128.load(sums, 16);
  let s2 = v128.load(sums, 32);
  let s3 = v128.load(sums, 48);
  for (; values < end; values += 8, gaussians += 64) {
    const x = v128.load64_splat(values);
    s0 = f64x2.add(s0, f64x2.mul(x, v128.load(gaussians)));
    s1 = f64x2.add(s1, f64x2.mul(x, v128.load(gaussians, 16)));
    s2 = f64x2.add(s2, f64x2.mul(x, v128.load(gaussians, 32)));
    s3 = f64x2.add(s3, f64x2.mul(x, v128.load(gaussians, 48)));
  }
  v128.store(sums, s0);
  v128.store(sums, s1, 16);
  v128.store(sums, s2, 32);
  v128.store(sums, s3, 48);
}

const NOT_FINITE: i32 = 1; // some sum is NaN or infinite
const ALL_ZERO: i32 = 2; // no sum differs from zero

// `residue` is the OR of s - s for all sums s: +0 for a finite s, NaN otherwise. `seen` is the OR
// of the sums themselves; shifting out the sign makes -0 equal to 0.
@inline
function flagsOf(residue: u64, seen: u64): i32 {
  return (residue != 0 ? NOT_FINITE : 0) | (seen << 1 == 0 ? ALL_ZERO : 0);
}

/** +0 in the lanes of finite sums, NaN in others. */
@inline
function residueOf(s: v128): v128 {
  return f64x2.sub(s, s);
}

/** Two bits, of the sums above zero. */
@inline
function twoBits(s: v128): i32 {
  return i64x2.bitmask(f64x2.gt(s, f64x2.splat(0)));
}

/**
 * Writes a bit for each sum to ceil(bits / 8) bytes, unused bits 0, and returns the flags. A bit
 * is 1 when its sum is above zero, so 0, -0 and NaN give 0. The same pass checks the sums, so that
 * the input needs no check: a NaN or an infinity in a vector makes its sums NaN or infinite. Reads
 * registers of two sums, so that for an odd number of bits one behind the last is read and ignored.
 */
export function signsInto(sums: usize, bits: i32, code: usize): i32 {
  let residue = f64x2.splat(0);
  let seen = f64x2.splat(0);
  for (const whole = code + (bits >> 3); code < whole; code++, sums += 64) {
    const a = v128.load(sums);
    const b = v128.load(sums, 16);
    const c = v128.load(sums, 32);
    const d = v128.load(sums, 48);
    residue = v128.or(residue, v128.or(residueOf(a), residueOf(b)));
    residue = v128.or(residue, v128.or(residueOf(c), residueOf(d)));
    seen = v128.or(seen, v128.or(v128.or(a, b), v128.or(c, d)));
    store<u8>(code, twoBits(a) | twoBits(b) << 2 | twoBits(c) << 4 | twoBits(d) << 6);
  }
  const left = bits & 7;
  let byte = 0;
  for (let bit = 0; bit < left; bit += 2, sums += 16) {
    let s = v128.load(sums);
    if (left == bit + 1) s = f64x2.replace_lane(s, 1, 0); // beyond the last bit
    residue = v128.or(residue, residueOf(s));
    seen = v128.or(seen, s);
    byte |= twoBits(s) << bit;
  }
  if (left > 0) store<u8>(code, byte);
  return flagsOf(
    i64x2.extract_lane(residue, 0) | i64x2.extract_lane(residue, 1),
    i64x2.extract_lane(seen, 0) | i64x2.extract_lane(seen, 1),
  );
}

/** Projections as numbers; hashed signs have 0. */
const GAUSSIAN: i32 = 1;
const GIVEN: i32 = 2;

/**
 * Adds values by hashed patterns to `words` x 64 sums of each of `vectors` vectors: with a sign, or
 * times a Gaussian. Each vector has a run of `count` values, `stride` bytes behind the one before.
 * A pattern is computed once for all vectors. `patterns` has space for 8 float64 for each key with
 * Gaussians, of which `table` has the 256 float64 of GAUSSIAN_TABLE, else for one.
 */
export function addHashed(
  projection: i32, keys: usize, count: i32, values: usize, vectors: usize, stride: usize,
  words: usize, seed: u64, table: usize, patterns: usize, sums: usize,
): void {
  const step = words << 9;
  const end = sums + step;
  for (const isGaussian = projection == GAUSSIAN; sums < end; sums += isGaussian ? 64 : 512) {
    if (isGaussian) gaussiansInto(keys, count, seed, table, patterns);
    else patternsInto(keys, count, seed, patterns);
    seed += isGaussian ? 2 : 1;
    for (let vector: usize = 0; vector < vectors; vector++) {
      const own = values + vector * stride;
      if (isGaussian) addProducts(patterns, own, count, sums + vector * step);
      else addSigns(patterns, own, count, sums + vector * step);
    }
  }
}

/**
 * Writes codes and flags of `rows` sparse rows. Row r has the entries `offsets[r]` to
 * `offsets[r + 1] - 1` (u32); entry `offsets[0]` is at `keys` and `values`. With given patterns
 * these are in place of the keys, those of one word of all entries after another. `sums` has space
 * for the sums of one row, and then those of the last; where `isRest`, the first row goes on from
 * what is there. For others see `addHashed`, with space for the keys of the longest row.
 */
export function hashRows(
  projection: i32, offsets: usize, rows: usize, keys: usize, values: usize, bits: i32, seed: u64,
  table: usize, patterns: usize, isRest: bool, sums: usize, codes: usize, flags: usize,
): void {
  const words = <usize>((bits + 63) >> 6);
  const base = load<u32>(offsets);
  const stride = <usize>(load<u32>(offsets + (rows << 2)) - base) << 3;
  for (const end = flags + rows; flags < end; flags++, offsets += 4, codes += (bits + 7) >> 3) {
    if (!isRest) memory.fill(sums, 0, words << 9);
    isRest = false;
    const first = load<u32>(offsets);
    const count = <i32>(load<u32>(offsets, 4) - first);
    const at = <usize>(first - base) << 3;
    const own = values + at;
    if (projection != GIVEN) {
      addHashed(projection, keys + at, count, own, 1, 0, words, seed, table, patterns, sums);
    } else {
      for (let word: usize = 0; word < words; word++) {
        addSigns(keys + word * stride + at, own, count, sums + (word << 9));
      }
    }
    store<u8>(flags, signsInto(sums, bits, codes));
  }
}
