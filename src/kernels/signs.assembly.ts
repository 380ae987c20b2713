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

/** Writes a bit for each sum to ceil(bits / 8) bytes, unused bits 0, and returns the flags. */
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
