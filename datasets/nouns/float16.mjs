// Numbers to IEEE half floats: JavaScript has no Float16Array before Node 24.

const double = new Float64Array(1);
const words = new Uint32Array(double.buffer);
const LITTLE_ENDIAN = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1;

/** The binary exponent of a finite number, from its bits: Math.log2 can round up. */
function exponentOf(x) {
  double[0] = x;
  return ((words[LITTLE_ENDIAN ? 1 : 0] >>> 20) & 0x7ff) - 1023;
}

/** The 16 bits of the half float nearest to `x`; of two equally near, the even one. */
export function float16Bits(x) {
  if (Number.isNaN(x)) return 0x7e00;
  const sign = x < 0 || Object.is(x, -0) ? 0x8000 : 0;
  const size = Math.abs(x);
  // 65504 is the largest half; from midway to the next step on, it is infinity.
  if (size >= 65520) return sign | 0x7c00;
  // Below 2^-14 halves are subnormal: they keep the step of that exponent.
  const exponent = Math.max(exponentOf(size), -14);
  const steps = size / 2 ** (exponent - 10);
  // Doubles from 2^52 on are whole, so adding it rounds to the nearest, ties to even.
  const whole = steps + 2 ** 52 - 2 ** 52;
  // `whole` holds the hidden bit 1024 of a normal number: added, not or-ed, it
  // carries the exponent up by one, also when rounding reached 2048.
  return sign | (((exponent + 14) << 10) + whole);
}

/** Throws unless known numbers convert as IEEE 754 says. */
export function checkFloat16Bits() {
  const known = [
    [0, 0x0000],
    [-0, 0x8000],
    [1, 0x3c00],
    [-2, 0xc000],
    [0.1, 0x2e66],
    [1 / 3, 0x3555],
    [1 + 2 ** -11, 0x3c00], // a tie: down to even
    [1 + 3 * 2 ** -11, 0x3c02], // a tie: up to even
    [1 + 2 ** -11 + 2 ** -40, 0x3c01], // just above a tie
    [2 - 2 ** -11, 0x4000], // rounds into the next exponent
    [2 ** -14, 0x0400], // the smallest normal
    [2 ** -14 - 2 ** -25, 0x0400], // rounds up from the subnormals
    [2 ** -24, 0x0001], // the smallest subnormal
    [2 ** -25, 0x0000], // a tie with nought
    [3 * 2 ** -25, 0x0002],
    [65504, 0x7bff],
    [65519.99, 0x7bff],
    [65520, 0x7c00],
    [-Infinity, 0xfc00],
    [NaN, 0x7e00],
  ];
  for (const [number, bits] of known) {
    const got = float16Bits(number);
    if (got !== bits) {
      throw new Error(`float16 of ${number} is 0x${got.toString(16)}, not 0x${bits.toString(16)}`);
    }
  }
}
