// The bits of a code from its sums: bit j is 1 when sum j is above zero, so 0, -0 and NaN give 0.
// The same pass checks the sums, by two operations, so that the input needs no check: a NaN or an
// infinity in a vector makes its sums NaN or infinite. Reads registers of two sums, so that for an
// odd number of bits one sum behind the last is read and ignored.

const NOT_FINITE: i32 = 1; // some sum is NaN or infinite
const ALL_ZERO: i32 = 2; // no sum differs from zero

// `residue` is the OR of s - s for all sums s: +0 for a finite s, NaN otherwise. `seen` is the OR
// of the sums themselves; shifting out the sign makes -0 equal to 0.
@inline
function flagsOf(residue: u64, seen: u64): i32 {
  return (residue != 0 ? NOT_FINITE : 0) | (seen << 1 == 0 ? ALL_ZERO : 0);
}

/** A mask of two lanes: all bits set where the sum is above zero. */
@inline
function above(sums: usize, offset: usize): v128 {
  return f64x2.gt(v128.load(sums + offset), f64x2.splat(0));
}

/** Writes a bit for each sum to ceil(bits / 8) bytes, unused bits 0, and returns the flags. */
export function signsInto(sums: usize, bits: i32, code: usize): i32 {
  const zero = f64x2.splat(0);
  let residue = zero;
  let seen = zero;
  for (let left = bits; left > 0; left -= 8, code++, sums += 64) {
    let byte = 0;
    const pairs = min((left + 1) >> 1, 4);
    for (let pair = 0; pair < pairs; pair++) {
      let s = v128.load(sums + (pair << 4));
      if (left == 2 * pair + 1) s = f64x2.replace_lane(s, 1, 0); // beyond the last bit
      residue = v128.or(residue, f64x2.sub(s, s));
      seen = v128.or(seen, s);
      byte |= i64x2.bitmask(f64x2.gt(s, zero)) << (2 * pair);
    }
    store<u8>(code, byte);
  }
  return flagsOf(
    i64x2.extract_lane(residue, 0) | i64x2.extract_lane(residue, 1),
    i64x2.extract_lane(seen, 0) | i64x2.extract_lane(seen, 1),
  );
}

/**
 * `signsInto` for two vectors whose sums alternate: pair j is sum j of both. The results may be
 * parts of longer codes that begin at a whole byte. Returns the flags of the first vector, and
 * those of the second shifted left by 2.
 */
export function signsOfPairsInto(sums: usize, bits: i32, code0: usize, code1: usize): i32 {
  const zero = f64x2.splat(0);
  let residue = zero;
  let seen = zero;
  for (let at = sums, end = sums + (<usize>bits << 4); at < end; at += 16) {
    const s = v128.load(at);
    residue = v128.or(residue, f64x2.sub(s, s));
    seen = v128.or(seen, s);
  }
  let left = bits;
  for (; left >= 8; left -= 8, sums += 128, code0++, code1++) {
    // Narrows eight pairs of 64-bit masks to 2 x 16 bytes and shuffles one byte of each mask
    // together: first the eight of vector 0, then the eight of vector 1.
    const low = i8x16.narrow_i16x8_s(
      i16x8.narrow_i32x4_s(above(sums, 0), above(sums, 16)),
      i16x8.narrow_i32x4_s(above(sums, 32), above(sums, 48)),
    );
    const high = i8x16.narrow_i16x8_s(
      i16x8.narrow_i32x4_s(above(sums, 64), above(sums, 80)),
      i16x8.narrow_i32x4_s(above(sums, 96), above(sums, 112)),
    );
    const both = i8x16.bitmask(
      i8x16.shuffle(low, high, 0, 4, 8, 12, 16, 20, 24, 28, 2, 6, 10, 14, 18, 22, 26, 30),
    );
    store<u8>(code0, both);
    store<u8>(code1, both >> 8);
  }
  if (left > 0) {
    let byte0 = 0;
    let byte1 = 0;
    for (let bit = 0; bit < left; bit++) {
      const mask = i64x2.bitmask(above(sums, <usize>bit << 4));
      byte0 |= (mask & 1) << bit;
      byte1 |= (mask >> 1) << bit;
    }
    store<u8>(code0, byte0);
    store<u8>(code1, byte1);
  }
  return (
    flagsOf(i64x2.extract_lane(residue, 0), i64x2.extract_lane(seen, 0)) |
    (flagsOf(i64x2.extract_lane(residue, 1), i64x2.extract_lane(seen, 1)) << 2)
  );
}
