/** Vectors rounded to 16-bit integers, as the kernels for integer products take them. */

import { UNIT } from '../kernels/products/products.scalar';

/** Writes a vector of this length, scaled to length UNIT, to `out[at]..`; zeros stay zeros. */
export function roundInto(
  vector: ArrayLike<number>,
  length: number,
  out: Int16Array,
  at: number,
): void {
  const scale = length > 0 ? UNIT / length : 0;
  for (let i = 0; i < vector.length; i++) out[at + i] = Math.round(vector[i] * scale);
}
