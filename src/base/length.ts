/** Euclidean lengths and cosines of vectors, correct where squares leave the range of float64. */

/** True for a sum of squares far from both ends of float64: its root is a precise length. */
export const isUsualSum = (sum: number): boolean => sum > 1e-280 && sum < 1e280;

/**
 * The length of `values[from..to - 1]`, also where their squares overflow or vanish and they do
 * not. NaN or Infinity if a value is not finite. Squares are added in the order of the values.
 */
export function lengthOf(values: ArrayLike<number>, from = 0, to = values.length): number {
  let sum = 0;
  for (let i = from; i < to; i++) sum += values[i] * values[i];
  if (isUsualSum(sum)) return Math.sqrt(sum);
  let largest = 0;
  for (let i = from; i < to; i++) largest = Math.max(largest, Math.abs(values[i]));
  if (largest === 0 || !Number.isFinite(largest)) return largest;
  sum = 0; // of the squares in units of the largest value: from 1 to their number
  for (let i = from; i < to; i++) sum += (values[i] / largest) ** 2;
  return largest * Math.sqrt(sum);
}

/**
 * The length of a vector that cosines are computed of: 0, or in 1e-300..1e300, where quotients by
 * it keep the precision of float64. Throws a RangeError, which begins with `name`, for any other.
 */
export function checkedLength(name: string, values: ArrayLike<number>): number {
  const length = lengthOf(values);
  if (length === 0 || (length >= 1e-300 && length <= 1e300)) return length;
  throw new RangeError(`${name}: expected finite values, and a length of 1e-300 to 1e300`);
}

/** A computed cosine, brought back to -1..1 where rounding has left that range. */
export const clampedCosine = (cosine: number): number => Math.max(-1, Math.min(1, cosine));

/** The cosine of a vector of this length and a unit vector, from their dot product; 0 of zeros. */
export function cosineOf(dot: number, length: number): number {
  return length > 0 ? clampedCosine(dot / length) : 0;
}

/** Above the rounding error of a cosine in float64, at most 5e-13 with 4,096 dimensions. */
const SIMILARITY_ERROR = 1e-12;

/**
 * True where an exact similarity is at least `least`, apart from rounding: the computed cosine of a
 * vector with itself may be 1 - 2e-16, and `minCosine: 1` must find it.
 */
export function reaches(similarity: number, least: number): boolean {
  return similarity >= least - SIMILARITY_ERROR;
}
