/**
 * What distances mean in a user's own rows: all pairs of a sample are compared by exact cosine and
 * by codes of several widths. From that, how many bits and which distance to take for pairs of a
 * cosine or more, and how many of these are found so.
 */

import type { LongCall } from '../base/steps';
import {
  bitsFor,
  catchProbability,
  distanceFor,
  estimateAngle,
  expectedDistance,
} from '../hashing/angle';
import { type Projection, SimHasher } from '../hashing/simhash';
import type { DenseMatrix, SparseMatrix } from '../vectors/vectors';
import { cosinesOf } from './pair-cosines';
import { type PairTally, type Threshold, total } from './pair-tally';
import { tallyPairs } from './tally-pairs';

export interface CalibrationOptions extends LongCall {
  readonly projection: Projection;
  readonly seed: number | bigint;
  /** A width that is wanted; else the least that is good enough. */
  readonly bits?: number;
  /** Pairs of this cosine or more are near. */
  readonly minCosine: number;
  /** Wanted error of the cosine that a distance tells, near the least cosine. */
  readonly cosineError: number;
}

/** What was measured of a width. */
export interface WidthFigures {
  readonly bits: number;
  /** Root mean square error of the cosine, over all pairs. */
  readonly error: number;
  /** The same of pairs near the least cosine; null where there are too few. */
  readonly edgeError: number | null;
  /** What theory says of that. */
  readonly theoryError: number;
  /** The distance of the best F1; null where too few pairs are near. */
  readonly best: Threshold | null;
}

export interface Recommended {
  readonly bits: number;
  readonly maxDistance: number;
  /** Whether the sample has near pairs enough to choose the distance by. */
  readonly basis: 'measured' | 'theory';
  /** What was found within the distance: of the sample's pairs. */
  readonly at: Threshold;
  /** Share of the pairs at just the least cosine that theory expects within. */
  readonly theoryRecall: number;
}

export interface Calibration {
  readonly projection: Projection;
  readonly seed: string;
  readonly minCosine: number;
  readonly cosineError: number;
  /** Rows compared, their pairs, and how many of these are near. */
  readonly rows: number;
  readonly pairs: number;
  readonly nearPairs: number;
  readonly edgePairs: number;
  /** Bits that theory asks for at the least cosine, and at cosine 0, where it asks for most. */
  readonly theoryBits: { readonly edge: number; readonly zero: number };
  readonly widths: readonly WidthFigures[];
  readonly recommended: Recommended;
  /** Of the recommended width. */
  readonly tally: PairTally;
}

const WIDTHS = [64, 128, 256, 512, 1024];
const MOST_BITS = 8192;
/** Fewer pairs say too little; then theory decides. */
export const ENOUGH_PAIRS = 30;
/** Share of the pairs at the least cosine that the distance by theory is to catch. */
const THEORY_SHARE = 0.95;
/** Share of all pairs that may be within a distance by chance. */
const MOST_OTHERS = 1e-6;

/** No row may be null or all-zero, and there are two at least. */
export async function calibration(
  vectors: DenseMatrix | SparseMatrix,
  options: CalibrationOptions,
): Promise<Calibration> {
  const { projection, seed, minCosine, cosineError, signal, onProgress } = options;
  const cosines = cosinesOf(vectors);
  const theoryBits = {
    edge: bitsFor({ cosineError, cosine: minCosine }),
    zero: bitsFor({ cosineError, cosine: 0 }),
  };
  const codes = widthsFor(options, theoryBits.edge).map((bits) =>
    new SimHasher({
      ...{ bits, seed, projection },
      ...('dimensions' in vectors && { dimensions: vectors.dimensions }),
    }).hashAll(vectors),
  );
  const tallies = await tallyPairs(
    { cosines, codes },
    { minCosine, ...(signal && { signal }), ...(onProgress && { onProgress }) },
  );
  const nearPairs = total(tallies[0].near);
  const widths = tallies.map((tally) => figuresOf(tally, nearPairs));
  const bits = options.bits ?? enoughBits(widths, tallies, { cosineError, nearPairs });
  const tally = tallies[tallies.findIndex((one) => one.bits === bits)];
  return {
    ...{ projection, seed: String(seed), minCosine, cosineError },
    ...{ rows: cosines.count, pairs: total(tally.pairs), nearPairs },
    ...{ edgePairs: tally.error.edgePairs, theoryBits, widths, tally },
    recommended: recommendedOf(tally, nearPairs),
  };
}

function widthsFor({ bits, projection }: CalibrationOptions, theory: number): number[] {
  const limit = projection === 'direct' ? 64 : MOST_BITS;
  const wanted = Math.min(limit, 64 * Math.ceil(theory / 64));
  const widths = [...WIDTHS, ...(wanted > 1024 ? [wanted] : []), ...(bits ? [bits] : [])];
  return [...new Set(widths)].filter((one) => one <= limit || one === bits).sort((a, b) => a - b);
}

function figuresOf(tally: PairTally, nearPairs: number): WidthFigures {
  const { bits, minCosine, error } = tally;
  const expected = Math.round(expectedDistance(minCosine, bits));
  return {
    bits,
    error: error.all,
    edgeError: error.edgePairs < ENOUGH_PAIRS ? null : error.edge,
    theoryError: estimateAngle(expected, bits).cosineError,
    best: nearPairs < ENOUGH_PAIRS ? null : bestOf(tally.thresholds()),
  };
}

/** The highest F1, the least distance of equals. */
function bestOf(thresholds: readonly Threshold[]): Threshold {
  return thresholds.reduce((best, one) => (one.f1 > best.f1 ? one : best));
}

/**
 * The least width whose error is small enough, or the largest. Where near pairs are too rare to
 * measure a distance by, no more others may fall within it than near ones, or one in a million.
 */
function enoughBits(
  widths: readonly WidthFigures[],
  tallies: readonly PairTally[],
  { cosineError, nearPairs }: { cosineError: number; nearPairs: number },
): number {
  const found = widths.find(({ edgeError, theoryError }, i) => {
    if ((edgeError ?? theoryError) > cosineError) return false;
    if (nearPairs >= ENOUGH_PAIRS) return true;
    const { at } = recommendedOf(tallies[i], nearPairs);
    return at.found - at.right <= Math.max(at.right, MOST_OTHERS * total(tallies[i].pairs));
  });
  return (found ?? widths[widths.length - 1]).bits;
}

/** The distance of the best F1, or where too few pairs are near the one by theory. */
export function recommendedOf(tally: PairTally, nearPairs: number): Recommended {
  const { bits, minCosine } = tally;
  const thresholds = tally.thresholds();
  const isMeasured = nearPairs >= ENOUGH_PAIRS;
  const at = isMeasured
    ? bestOf(thresholds)
    : thresholds[distanceFor(minCosine, bits, THEORY_SHARE)];
  return {
    ...{ bits, maxDistance: at.maxDistance, basis: isMeasured ? 'measured' : 'theory', at },
    theoryRecall: catchProbability(minCosine, bits, at.maxDistance),
  };
}
