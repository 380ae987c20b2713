/** Lengths and cosines of vectors. */

/** The length of a vector, safe where squares leave the range of float64 and the values do not. */
export function lengthOf(values: ArrayLike<number>, from = 0, to = values.length): number {
  let sum = 0;
  for (let i = from; i < to; i++) sum += values[i] * values[i];
  if (sum > 1e-280 && sum < 1e280) return Math.sqrt(sum);
  let largest = 0;
  for (let i = from; i < to; i++) largest = Math.max(largest, Math.abs(values[i]));
  if (largest === 0 || !Number.isFinite(largest)) return largest;
  sum = 0; // in units of the largest
  for (let i = from; i < to; i++) sum += (values[i] / largest) ** 2;
  return largest * Math.sqrt(sum);
}

/**
 * The length of a vector whose cosines are wanted: 0, or within the bounds in which float64 has the
 * digits for them. Throws where it is not.
 */
export function checkedLength(name: string, values: ArrayLike<number>): number {
  const length = lengthOf(values);
  if (length === 0 || (length >= 1e-300 && length <= 1e300)) return length;
  throw new RangeError(`${name}: expected finite values, and a length of 1e-300 to 1e300`);
}

/** A cosine that rounding may have taken out of -1..1. */
export const clampedCosine = (cosine: number): number => Math.max(-1, Math.min(1, cosine));

/** The cosine of a vector of this length, whose product with a unit vector is known; 0 of zeros. */
export function cosineOf(dot: number, length: number): number {
  return length > 0 ? clampedCosine(dot / length) : 0;
}
