/**
 * The 256 values that hashed Gaussians are made of: each byte of a 16-bit field of a hash selects a
 * value, and their sum is nearly Gaussian with variance 1. Value i is the mean of the i-th of 128
 * slices of equal probability of a half Gaussian with variance 1/2, and value 128 + i its negative.
 * Values are multiples of 1/8192, so that sums are exact. As an example, the codes of (1, .9) and
 * (1, -.9) are expected to differ in .46651 of the bits, with exact Gaussians in .46652.
 */

/** Value 0, and then the differences between neighbouring values, in units of 1/8192. */
const STEPS = [
  28, 57, 57, 57, 56, 57, 57, 57, 57, 57, 57, 57, 57, 57, 57, 58, 57, 57, 58, 58, 58, 58, 58, 58,
  58, 59, 58, 59, 59, 59, 59, 60, 60, 59, 61, 60, 60, 61, 61, 61, 62, 62, 62, 62, 63, 63, 63, 63,
  64, 65, 64, 65, 66, 65, 67, 66, 67, 68, 68, 68, 69, 70, 70, 71, 71, 72, 72, 73, 74, 74, 75, 76,
  77, 77, 79, 79, 80, 81, 82, 83, 84, 85, 87, 87, 89, 90, 92, 93, 94, 96, 98, 99, 102, 103, 105,
  108, 110, 112, 115, 118, 121, 124, 128, 131, 135, 140, 144, 149, 155, 161, 168, 176, 184, 194,
  204, 217, 231, 248, 268, 293, 322, 360, 410, 480, 582, 751, 1095, 2564,
];

export const GAUSSIAN_TABLE: Float64Array = /* @__PURE__ */ gaussianTable();

function gaussianTable(): Float64Array {
  const table = new Float64Array(256);
  let value = 0;
  STEPS.forEach((step, i) => {
    value += step / 8192;
    table[i] = value;
    table[128 + i] = -value;
  });
  return table;
}
