/**
 * What a distance estimates: with hyperplanes the angle of two vectors, and so their cosine; with
 * projection 'minwise' the Jaccard similarity of two sets. A measure converts between distances and
 * similarities; all layers above compare codes by one and need not know the projection.
 *
 * Two vectors at angle θ differ in a share θ/π of random bits (Charikar 2002), so a distance is
 * binomially distributed with `bits` trials of probability θ/π. Orthogonal planes ('hadamard') have
 * somewhat smaller errors than these formulas give. No code depends on this file, so it may use
 * functions that engines round differently.
 */

import {
  checkBits,
  checkInteger,
  checkMaxDistance,
  checkNumber,
  checkOptions,
} from '../base/check';

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

/** The least `maxDistance` that catches a pair at this cosine with this probability. */
export function distanceFor(cosine: number, bits: number, probability: number): number {
  return catchingDistance(COSINE, { least: cosine, bits: checkBits(bits), probability });
}

/** The expected share of bits, 0 to 1, in which a pair at a cosine differs: its angle over π. */
export function shareOf(cosine: number): number {
  return Math.acos(checkNumber('cosine', cosine, -1, 1)) / Math.PI;
}

/**
 * Sums the probabilities of 0, 1, … `count` hits until that is enough. Each is computed from the
 * logarithm of the one before: the first ones may be below the range of float64 while later ones
 * are not.
 */
function summed(
  count: number,
  share: number,
  isEnough: (hits: number, sum: number) => boolean,
): { hits: number; sum: number } {
  const isSure = share === 0 || share === 1;
  const odds = Math.log(share) - Math.log1p(-share);
  let log = count * Math.log1p(-share);
  let sum = 0;
  for (let hits = 0; ; hits++) {
    sum += isSure ? Number(hits === share * count) : Math.exp(log);
    if (hits === count || isEnough(hits, sum)) return { hits, sum };
    log += Math.log((count - hits) / (hits + 1)) + odds;
  }
}

/** Converts distances to similarities and back: COSINE or JACCARD, compared by `===`. */
export interface Measure {
  readonly name: 'cosine' | 'jaccard';
  /** The lowest possible similarity; the highest is 1. */
  readonly least: number;
  /** The similarity that a distance estimates. */
  estimateOf(distance: number, bits: number): number;
  /** The expected share of differing bits, 0 to 1, of a pair at a similarity. */
  shareOf(similarity: number): number;
}

/** The measure of codes of hyperplanes: every projection but 'minwise'. */
export const COSINE: Measure = {
  name: 'cosine',
  least: -1,
  estimateOf: estimatedCosine,
  shareOf,
};

/** The measure of 'minwise' codes: two min-hashes that differ have different bits half the time. */
export const JACCARD: Measure = {
  name: 'jaccard',
  least: 0,
  estimateOf: jaccardOf,
  shareOf: (jaccard) => (1 - jaccard) / 2,
};

/**
 * Default similarity of near-duplicate texts: the Jaccard similarity of their sets of tokens, by
 * default pairs of words. It was the best value in bench `text-settings`, whose copies have 1 to
 * 10 % of the words replaced.
 */
export const NEAR_JACCARD = 0.6;
/** The same by cosine: texts with 2 % of their words changed nearly always reach it, 5 % mostly. */
export const NEAR_COSINE = 0.88;

/** The name of a column of estimated similarities. */
export function estimatedName({ name }: Measure): 'estimatedCosine' | 'estimatedJaccard' {
  return name === 'cosine' ? 'estimatedCosine' : 'estimatedJaccard';
}

/** The measure of codes of a projection; COSINE for codes of unknown origin. */
export function measureOf(projection: string | undefined): Measure {
  return projection === 'minwise' ? JACCARD : COSINE;
}

/** The Jaccard similarity that a distance of 'minwise' codes estimates: 0 from `bits / 2` on. */
function jaccardOf(distance: number, bits: number): number {
  checkInteger('distance', distance, 0, checkBits(bits));
  return Math.max(0, 1 - (2 * distance) / bits);
}

/** The options for a lowest similarity, one for each measure; at most one may be given. */
export interface LeastSimilarity {
  minCosine?: number | undefined;
  minJaccard?: number | undefined;
}

/**
 * The lowest similarity that the options ask for, with its measure; undefined without one. Throws
 * if the codes have the other measure; codes of an unknown projection may have either.
 */
export function checkLeast(
  { minCosine, minJaccard }: LeastSimilarity,
  projection: string | undefined,
): { readonly measure: Measure; readonly least: number } | undefined {
  if (minCosine === undefined && minJaccard === undefined) return undefined;
  if (minCosine !== undefined && minJaccard !== undefined) {
    throw new TypeError('"minJaccard" takes the place of "minCosine", give one of them');
  }
  const measure = minJaccard === undefined ? COSINE : JACCARD;
  const name = minJaccard === undefined ? 'minCosine' : 'minJaccard';
  const least = checkNumber(name, minCosine ?? minJaccard, measure.least, 1);
  if (projection !== undefined && measureOf(projection) !== measure) {
    const wanted = measure === JACCARD ? 'codes' : 'codes of hyperplanes, not';
    throw new Error(`"${name}" needs ${wanted} by projection 'minwise'`);
  }
  return { measure, least };
}

/** The largest distance whose estimate is at least this similarity; 0 where none but 0 is. */
export function widestAt({ estimateOf }: Measure, least: number, bits: number): number {
  let distance = 0;
  while (distance < bits && estimateOf(distance + 1, bits) >= least) distance++;
  return distance;
}

/** The smallest distance that finds a pair at this similarity with at least this probability. */
export function catchingDistance(
  measure: Measure,
  { least, bits, probability }: { least: number; bits: number; probability: number },
): number {
  checkNumber('probability', probability, 0, 1);
  const { hits } = summed(bits, measure.shareOf(least), (_, sum) => sum >= probability);
  return hits;
}

/** Share of the pairs at a lowest similarity that the distance must catch. */
export const CAUGHT_SHARE = 0.99;

/**
 * The distance within which pairs of at least this similarity are searched: if they are then
 * verified, the one that catches 99 % of those at it; else the largest whose estimate reaches it.
 * All pairs at the lowest possible similarity.
 */
export function distanceToSearch(
  { measure, least }: { readonly measure: Measure; readonly least: number },
  { bits, isVerified }: { bits: number; isVerified: boolean },
): number {
  if (least === measure.least) return bits;
  if (!isVerified) return widestAt(measure, least, bits);
  return catchingDistance(measure, { least, bits, probability: CAUGHT_SHARE });
}

/** The probability that a pair at this similarity is within a distance: the recall of pairs. */
export function catchShare(
  measure: Measure,
  { least, bits, maxDistance }: { least: number; bits: number; maxDistance: number },
): number {
  checkMaxDistance(maxDistance, checkBits(bits));
  const { sum } = summed(bits, measure.shareOf(least), (distance) => distance === maxDistance);
  return Math.min(1, sum);
}
