/**
 * The 256 values from which hashed Gaussians are added up: a 16-bit field of a hash gives the sum
 * of two of them, one a byte. Value i is the mean of the i-th of 128 slices of equal probability of
 * a half Gaussian with variance 1/2, in units of 1/8192 so that the sum of two is exact, and value
 * 128 + i its negative. The angle of (1, .9) and (1, -.9) then shows .46651 instead of .46652.
 */
const SLICES = [
  28, 85, 142, 199, 255, 312, 369, 426, 483, 540, 597, 654, 711, 768, 825, 883, 940, 997, 1055,
  1113, 1171, 1229, 1287, 1345, 1403, 1462, 1520, 1579, 1638, 1697, 1756, 1816, 1876, 1935, 1996,
  2056, 2116, 2177, 2238, 2299, 2361, 2423, 2485, 2547, 2610, 2673, 2736, 2799, 2863, 2928, 2992,
  3057, 3123, 3188, 3255, 3321, 3388, 3456, 3524, 3592, 3661, 3731, 3801, 3872, 3943, 4015, 4087,
  4160, 4234, 4308, 4383, 4459, 4536, 4613, 4692, 4771, 4851, 4932, 5014, 5097, 5181, 5266, 5353,
  5440, 5529, 5619, 5711, 5804, 5898, 5994, 6092, 6191, 6293, 6396, 6501, 6609, 6719, 6831, 6946,
  7064, 7185, 7309, 7437, 7568, 7703, 7843, 7987, 8136, 8291, 8452, 8620, 8796, 8980, 9174, 9378,
  9595, 9826, 10074, 10342, 10635, 10957, 11317, 11727, 12207, 12789, 13540, 14635, 17199,
];

export const GAUSSIAN_TABLE: Float64Array = /* @__PURE__ */ Float64Array.from(
  { length: 256 },
  (_, i) => {
    const value = SLICES[i & 127] / 8192;
    return i < 128 ? value : -value;
  },
);
