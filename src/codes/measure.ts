/**
 * What a distance estimates: with hyperplanes the cosine of two vectors, with projection 'minwise'
 * the Jaccard similarity of two sets. A measure converts between distances and similarities. All
 * layers above compare codes by a measure and need not know the projection.
 */

import { checkBits, checkInteger, checkMaxDistance, checkNumber } from '../base/check';
import { binomialShare, estimatedCosine, probableDistance, shareOf, wilson } from './angle';

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

export interface JaccardEstimate {
  readonly estimatedJaccard: number;
  /** Standard error. */
  readonly jaccardError: number;
  /** Wilson's 95 % interval of the share of differing bits, as similarities. */
  readonly jaccardInterval: readonly [low: number, high: number];
}

/**
 * The Jaccard similarity that a distance of 'minwise' codes estimates, with its error and interval,
 * which covers the truth with a probability of .95.
 */
export function estimateJaccard(distance: number, bits: number): JaccardEstimate {
  const estimatedJaccard = jaccardOf(distance, bits);
  const [low, high] = wilson(distance, bits);
  const share = distance / bits;
  return {
    estimatedJaccard,
    jaccardError: 2 * Math.sqrt((share * (1 - share)) / bits),
    jaccardInterval: [Math.max(0, 1 - 2 * high), Math.max(0, 1 - 2 * low)],
  };
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
  return probableDistance(measure.shareOf(least), bits, checkNumber('share', probability, 0, 1));
}

/** Share of the pairs at a lowest similarity that the distance must catch. */
const CAUGHT_SHARE = 0.99;

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
  return binomialShare(measure.shareOf(least), bits, maxDistance);
}
