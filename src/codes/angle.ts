/**
 * Converts distances, angles and cosines into each other, with their errors. Two vectors at angle θ
 * differ in a share θ/π of random bits (Charikar 2002), so a distance is binomially distributed
 * with `bits` trials of probability θ/π. Orthogonal planes ('hadamard') have somewhat smaller
 * errors than these formulas give. No code depends on this file, so it may use functions that
 * engines round differently.
 */

import { checkBits, checkInteger, checkNumber, checkOptions } from '../base/check';

/** The angle in radians, 0 to π, that a distance estimates. */
export function angleOf(distance: number, bits: number): number {
  checkInteger('distance', distance, 0, checkBits(bits));
  return (Math.PI * distance) / bits;
}

/** The cosine that a distance estimates. */
export function estimatedCosine(distance: number, bits: number): number {
  return Math.cos(angleOf(distance, bits));
}

/** What a distance says about two vectors; angles are in radians, 0 to π. */
export interface AngleEstimate {
  readonly angle: number;
  /** The cosine of `angle`. */
  readonly estimatedCosine: number;
  /** Standard errors, by propagation to first order. */
  readonly angleError: number;
  readonly cosineError: number;
  /** Wilson's 95 % interval of the share of differing bits, as angles and as cosines. */
  readonly angleInterval: readonly [low: number, high: number];
  readonly cosineInterval: readonly [low: number, high: number];
}

/**
 * The angle and the cosine that a distance estimates, with errors and intervals. The intervals
 * cover the truth with a probability of .95.
 *
 * @example
 * const { estimatedCosine, cosineInterval } = estimateAngle(20, 256);
 * const [low, high] = cosineInterval.map((limit) => limit.toFixed(2));
 * console.log(estimatedCosine.toFixed(2), low, high); // 0.97 0.93 0.99
 * console.log(estimateJaccard(20, 256).estimatedJaccard.toFixed(2)); // 0.84
 */
export function estimateAngle(distance: number, bits: number): AngleEstimate {
  const angle = angleOf(distance, bits);
  const [low, high] = wilson(distance, bits);
  const share = distance / bits;
  const angleError = Math.PI * Math.sqrt((share * (1 - share)) / bits);
  return {
    angle,
    estimatedCosine: Math.cos(angle),
    angleError,
    cosineError: Math.sin(angle) * angleError,
    angleInterval: [Math.PI * low, Math.PI * high],
    cosineInterval: [Math.cos(Math.PI * high), Math.cos(Math.PI * low)],
  };
}

/** The standard errors of an interval that covers .95. */
const Z = 1.959964;

/** Wilson's 95 % interval (1927) of the probability of a hit, given `hits` in `count` trials. */
export function wilson(hits: number, count: number): readonly [low: number, high: number] {
  checkInteger('count', count, 1, Number.MAX_SAFE_INTEGER);
  checkInteger('hits', hits, 0, count);
  const share = hits / count;
  const middle = share + Z ** 2 / (2 * count);
  const spread = Z * Math.sqrt((share * (1 - share)) / count + Z ** 2 / (4 * count * count));
  const scale = 1 + Z ** 2 / count;
  return [Math.max(0, (middle - spread) / scale), Math.min(1, (middle + spread) / scale)];
}

/**
 * Bits for which the standard error of a cosine near `cosine` (0 by default) is at most
 * `cosineError`. Both the first-order error and the exact root mean square error, which is larger
 * near cosine 1, stay within it.
 *
 * @example
 * console.log(bitsFor({ cosineError: 0.05, cosine: 0.9 })); // 99
 * console.log(distanceFor(0.9, 256, 0.99)); // 50
 */
export function bitsFor(options: { cosineError: number; cosine?: number }): number {
  const { cosineError, cosine = 0 } = checkOptions(options, { cosineError: null, cosine: null });
  checkNumber('cosineError', cosineError, 0.0001, 1);
  const share = shareOf(cosine);
  const slope = Math.PI * Math.sin(Math.PI * share);
  // First order: the error of the share of differing bits, times the slope of the cosine there.
  let low = Math.max(1, Math.ceil((slope * slope * share * (1 - share)) / cosineError ** 2));
  if (rootMeanSquare(share, low) <= cosineError) return low;
  // Doubles until the exact error is small enough, then bisects: `low` is too few, `high` enough.
  let high = 2 * low;
  while (rootMeanSquare(share, high) > cosineError) high *= 2;
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (rootMeanSquare(share, middle) > cosineError) low = middle;
    else high = middle;
  }
  return high;
}

/**
 * Exact root mean square of the error cos(π X / bits) - cos(π share), where X, the distance, is
 * binomial. By cos² x = (1 + cos 2x) / 2 two values of X's characteristic function suffice, so the
 * time does not depend on `bits`.
 */
function rootMeanSquare(share: number, bits: number): number {
  /** E cos(frequency X): the real part of (1 - share + share e^(i frequency))^bits. */
  const meanCosine = (frequency: number) => {
    // |…|^2 is 1 - loss, close to 1: `log1p` keeps the digits that the logarithm of 1 - loss loses.
    const loss = 4 * share * (1 - share) * Math.sin(frequency / 2) ** 2;
    const angle = Math.atan2(
      share * Math.sin(frequency),
      1 - 2 * share * Math.sin(frequency / 2) ** 2,
    );
    return Math.exp((bits * Math.log1p(-loss)) / 2) * Math.cos(bits * angle);
  };
  const cosine = Math.cos(Math.PI * share);
  const square = (1 + meanCosine((2 * Math.PI) / bits)) / 2;
  return Math.sqrt(Math.max(0, square - 2 * cosine * meanCosine(Math.PI / bits) + cosine ** 2));
}

/** The probability that at most `maxDistance` of the bits differ, each with probability `share`. */
export function binomialShare(share: number, bits: number, maxDistance: number): number {
  let sum = 0;
  eachChance(bits, share, (distance, probability) => {
    if (distance <= maxDistance) sum += probability;
    return distance < maxDistance;
  });
  return Math.min(1, sum);
}

/** The least `maxDistance` that catches a pair at this cosine with this probability. */
export function distanceFor(cosine: number, bits: number, probability: number): number {
  checkBits(bits);
  checkNumber('probability', probability, 0, 1);
  return probableDistance(shareOf(cosine), bits, probability);
}

/**
 * The smallest distance that is reached or undercut with at least this probability where each bit
 * differs with probability `share`.
 */
export function probableDistance(share: number, bits: number, probability: number): number {
  let sum = 0;
  let found = bits;
  eachChance(bits, share, (distance, one) => {
    sum += one;
    if (sum >= probability) found = distance;
    return sum < probability;
  });
  return found;
}

/** The expected share of bits, 0 to 1, in which a pair at a cosine differs: its angle over π. */
export function shareOf(cosine: number): number {
  return Math.acos(checkNumber('cosine', cosine, -1, 1)) / Math.PI;
}

/**
 * Calls `take` with the probabilities of 0, 1, … `count` hits while it returns true. Each is
 * computed from the logarithm of the one before: the first ones may be below the range of float64
 * while later ones are not.
 */
function eachChance(
  count: number,
  share: number,
  take: (hits: number, probability: number) => boolean,
): void {
  const isSure = share === 0 || share === 1;
  const odds = Math.log(share) - Math.log1p(-share);
  let log = count * Math.log1p(-share);
  for (let hits = 0; hits <= count; hits++) {
    const probability = isSure ? Number(hits === share * count) : Math.exp(log);
    if (!take(hits, probability)) return;
    log += Math.log((count - hits) / (hits + 1)) + odds;
  }
}
