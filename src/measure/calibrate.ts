/**
 * What distances mean in a user's own rows. All pairs of a sample are compared exactly (by cosine
 * or, as sets, by Jaccard similarity) and by codes of several widths. From that follow the number
 * of bits to use, the distance within which pairs are near, and the precision and recall to expect.
 */

import {
  checkBits,
  checkInteger,
  checkNumber,
  checkOneOf,
  checkOptions,
  checkSeed,
  wrongType,
  wrongValue,
} from '../base/check';
import { drawnNumbers } from '../base/draw';
import { checkLongCall, LONG_CALL, type LongCall } from '../base/steps';
import {
  COSINE,
  catchingDistance,
  catchShare,
  checkLeast,
  JACCARD,
  type Measure,
  measureOf,
  NEAR_JACCARD,
} from '../codes/measure';
import { PROJECTIONS, type Projection, SimHasher } from '../hashing/simhash';
import {
  checkMatrix,
  type DenseMatrix,
  isDenseMatrix,
  isSparseMatrix,
  packVectors,
  type SparseMatrix,
  type Vector,
  type VectorBatch,
  vectorAt,
} from '../vectors/vectors';
import { pairSimilarities } from './brute-force';
import { type Centring, centringOf } from './centring';
import { hasDirection, isMissing } from './measured-rows';
import { type PairTally, type Threshold, tallyPairs, total } from './pair-tally';

/** Options of `calibrate`; unknown ones throw. */
export interface CalibrateOptions extends LongCall {
  /** Pairs of rows with this cosine or a higher one are near; above -1. */
  minCosine?: number;
  /** Pairs of sets with this Jaccard similarity or a higher one are near; above 0. */
  minJaccard?: number;
  /** Largest accepted error of the cosine that a distance estimates, near `minCosine`. */
  cosineError?: number;
  /** Largest accepted error of the estimated Jaccard similarity, near `minJaccard`. */
  jaccardError?: number;
  /** Bits of a code; by default the fewest whose measured error is accepted. */
  bits?: number;
  /**
   * Kind of the hyperplanes; by default 'hadamard' for dense vectors, 'signs' for sparse ones.
   * 'minwise' compares sparse vectors as sets, as `minJaccard` does.
   */
  projection?: Projection;
  /** Seed of the hyperplanes, and of the rows that are drawn. */
  seed?: number | bigint;
  /** Number of rows that are drawn and compared, all with all: time grows with its square. */
  sample?: number;
}

/** 2,000 rows have two million pairs: about a second of work. */
const CALIBRATE_DEFAULTS = {
  minCosine: 0.9,
  minJaccard: NEAR_JACCARD,
  cosineError: 0.05,
  jaccardError: 0.05,
  seed: 0,
  sample: 2000,
} as const;

/** What was measured of codes of one width. */
export interface WidthFigures {
  readonly bits: number;
  /** Root mean square error of the estimated similarity, over all pairs. */
  readonly error: number;
  /** The same over the pairs near `minSimilarity`; null for fewer than ENOUGH_PAIRS pairs. */
  readonly edgeError: number | null;
  /** The error that theory expects at `minSimilarity`. */
  readonly theoryError: number;
  /** The distance with the best F1; null for fewer than ENOUGH_PAIRS near pairs. */
  readonly best: Threshold | null;
}

/** The recommended bits and distance, and what they find. */
export interface Recommended {
  readonly bits: number;
  readonly maxDistance: number;
  /** 'measured' if the sample has enough near pairs to choose the distance by. */
  readonly basis: 'measured' | 'theory';
  /** What the distance finds among the pairs of the sample. */
  readonly at: Threshold;
  /** Share of the pairs at just `minSimilarity` that theory expects within the distance. */
  readonly theoryRecall: number;
}

/** Everything that was measured, and the recommendation that follows. */
export interface Calibration {
  readonly projection: Projection;
  readonly seed: string;
  /** What distances estimate, and the lowest similarity of near pairs. */
  readonly measure: 'cosine' | 'jaccard';
  readonly minSimilarity: number;
  /** The largest accepted error of an estimate. */
  readonly acceptedError: number;
  /** Number of rows compared, of their pairs, and of near pairs among these. */
  readonly rows: number;
  readonly pairs: number;
  readonly nearPairs: number;
  /** Pairs whose similarity differs from `minSimilarity` by at most 0.05. */
  readonly edgePairs: number;
  /** Bits that theory needs for that error at `minSimilarity`, and at 0, where it needs most. */
  readonly theoryBits: { readonly edge: number; readonly zero: number };
  readonly widths: readonly WidthFigures[];
  readonly recommended: Recommended;
  /**
   * Share of the pairs whose exact similarity lies in the 95 % interval that its distance states
   * (`estimateAngle`, `estimateJaccard`). Far below .95 where few coordinates outweigh the others
   * and the projection is 'signs'.
   */
  readonly coverage: number;
  /** Whether subtracting the mean pays; null for sparse rows, and for few rows. */
  readonly centring: Centring | null;
  /** All statistics of the recommended width. */
  readonly tally: PairTally;
}

/** Widths that are measured; a wider one is added if theory asks for it, up to MAX_BITS. */
const WIDTHS = [64, 128, 256, 512, 1024];
const MAX_BITS = 8192;
/** Most rows: all pairs of more would take minutes. */
const MAX_SAMPLE = 20_000;
/** Fewer pairs make a measured share too uncertain; then theory decides. */
export const ENOUGH_PAIRS = 30;
/** Share of the pairs at exactly `minSimilarity` that a distance by theory must include. */
const THEORY_SHARE = 0.95;
/** Share of all pairs that may be within the distance by chance. */
const MAX_CHANCE_SHARE = 1e-6;

const OPTIONS = [
  ...['minCosine', 'minJaccard', 'cosineError', 'jaccardError'],
  ...['bits', 'projection', 'seed', 'sample'],
  ...LONG_CALL,
];

/**
 * Measures a sample of the rows and recommends bits and a distance. Rows that are null, empty or
 * all-zero are left out; throws a RangeError when fewer than two others are drawn. Takes about a
 * second for 2,000 rows. Sets are sparse vectors, compared by `minJaccard` or projection
 * 'minwise'; those of texts come from `TextHasher.vectorize`. The same rows, options and seed give
 * the same result.
 *
 * @example
 * const vectors = Array.from({ length: 200 }, (_, i) => [Math.cos(i), Math.sin(i), i / 100]);
 * const { recommended } = await calibrate(vectors, { minCosine: 0.95 });
 * console.log(recommended.bits, recommended.maxDistance); // 128 13
 */
export async function calibrate(
  vectors: VectorBatch,
  options?: CalibrateOptions,
): Promise<Calibration> {
  const given = checked(options);
  const { seed, measure, minSimilarity, acceptedError, sample } = given;
  const rows = drawnRows(vectors, sample, Number(BigInt.asUintN(32, seed)));
  const dimensions = isDenseMatrix(rows) ? rows.dimensions : undefined;
  if (measure === JACCARD && dimensions !== undefined) {
    throw wrongValue('vectors', 'sparse vectors, whose dimensions are sets', 'dense ones');
  }
  const projection = given.projection ?? (dimensions === undefined ? 'signs' : 'hadamard');
  const similarities = pairSimilarities(measure, rows);
  const theoryBits = {
    edge: measure.bitsFor(acceptedError, minSimilarity),
    zero: measure.bitsFor(acceptedError, 0),
  };
  const codes = widthsFor(projection, given.bits, theoryBits.edge).map((bits) =>
    new SimHasher({ bits, seed, projection, dimensions }).hashAll(rows),
  );
  const { signal, onProgress } = given;
  const wanted = { measure, minSimilarity, similarities, signal, onProgress };
  const tallies = await tallyPairs(codes, wanted);
  const nearPairs = total(tallies[0].near);
  const widths = tallies.map((tally) => figuresOf(tally, nearPairs));
  const bits = given.bits ?? enoughBits(widths, tallies, { acceptedError, nearPairs });
  const tally = tallies[tallies.findIndex((one) => one.bits === bits)];
  return {
    ...{ projection, seed: String(seed), measure: measure.name, minSimilarity, acceptedError },
    ...{ rows: similarities.count, pairs: total(tally.pairs), nearPairs },
    ...{ edgePairs: tally.error.edgePairs, theoryBits, widths, tally },
    recommended: recommendedOf(tally, nearPairs),
    coverage: tally.coverage,
    centring: isDenseMatrix(rows) ? centringOf(rows, { bits, seed, projection, dimensions }) : null,
  };
}

/** Checked options with defaults. */
function checked(options: CalibrateOptions | undefined) {
  const all = checkLongCall(checkOptions('options', options, OPTIONS));
  const { seed, sample } = CALIBRATE_DEFAULTS;
  const given = { seed, sample, ...all };
  if (given.projection !== undefined) checkOneOf('projection', given.projection, PROJECTIONS);
  if (given.bits !== undefined) checkBits(given.bits);
  checkInteger('sample', given.sample, 2, MAX_SAMPLE);
  const nearness = nearnessOf(given);
  const projection = nearness.measure === JACCARD ? 'minwise' : given.projection;
  return { ...given, ...nearness, projection, seed: checkSeed(given.seed) };
}

/** What is measured: by the given lowest similarity, else by the projection; cosines by default. */
function nearnessOf(given: CalibrateOptions): {
  readonly measure: Measure;
  readonly minSimilarity: number;
  readonly acceptedError: number;
} {
  const { projection, cosineError, jaccardError } = given;
  const { measure, least } = checkLeast(given, projection) ?? usualNearness(measureOf(projection));
  if (least === measure.least) {
    const name = measure === COSINE ? 'minCosine' : 'minJaccard';
    throw wrongValue(name, `a number above ${least}`, least);
  }
  const isOfSets = measure === JACCARD;
  if ((isOfSets ? cosineError : jaccardError) !== undefined) {
    const [wrong, right] = isOfSets ? ['cosine', 'jaccard'] : ['jaccard', 'cosine'];
    const rows = isOfSets ? 'sets' : 'vectors';
    throw new TypeError(`"${wrong}Error" is not of ${rows}: give "${right}Error"`);
  }
  const name = isOfSets ? 'jaccardError' : 'cosineError';
  const error = (isOfSets ? jaccardError : cosineError) ?? CALIBRATE_DEFAULTS[name];
  return { measure, minSimilarity: least, acceptedError: checkNumber(name, error, 0.001, 1) };
}

/** The default lowest similarity of a measure. */
function usualNearness(measure: Measure): { readonly measure: Measure; readonly least: number } {
  const { minCosine, minJaccard } = CALIBRATE_DEFAULTS;
  return { measure, least: measure === JACCARD ? minJaccard : minCosine };
}

/** Up to `count` of the rows, drawn by seed; those without a direction are left out. */
function drawnRows(batch: VectorBatch, count: number, seed: number): DenseMatrix | SparseMatrix {
  const isMatrix = isDenseMatrix(batch) || isSparseMatrix(batch);
  if (!isMatrix && !Array.isArray(batch)) {
    throw wrongType('vectors', 'vectors in an array, or a dense or sparse matrix', batch);
  }
  const tooFew = 'two rows or more that have a direction';
  if (Array.isArray(batch) && batch.length === 0) throw wrongValue('vectors', tooFew, 'no rows');
  const matrix = isMatrix ? batch : packVectors(batch as readonly Vector[]);
  const rows = checkMatrix(matrix);
  const vectors = drawnNumbers(rows, count, seed).flatMap((row) => {
    const vector = isMissing(matrix, row) ? null : vectorAt(matrix, row);
    return hasDirection(vector, row) ? [vector] : [];
  });
  if (vectors.length < 2) throw wrongValue('vectors', tooFew, vectors.length);
  return packVectors(vectors);
}

/** The widths to measure, ascending; `theory` are the bits that theory asks for. */
function widthsFor(projection: Projection, wanted: number | undefined, theory: number): number[] {
  const limit = projection === 'direct' ? 64 : MAX_BITS;
  const enough = Math.min(limit, 64 * Math.ceil(theory / 64));
  const widths = [...WIDTHS, ...(enough > 1024 ? [enough] : []), ...(wanted ? [wanted] : [])];
  const sorted = [...new Set(widths)].sort((a, b) => a - b);
  return sorted.filter((bits) => bits <= limit || bits === wanted);
}

/** The figures of one width, from its tally. */
function figuresOf(tally: PairTally, nearPairs: number): WidthFigures {
  const { bits, measure, minSimilarity, error } = tally;
  const expected = Math.round(bits * measure.shareOf(minSimilarity));
  return {
    bits,
    error: error.all,
    edgeError: error.edgePairs < ENOUGH_PAIRS ? null : error.edge,
    theoryError: measure.doubtOf(expected, bits).error,
    best: nearPairs < ENOUGH_PAIRS ? null : bestOf(tally.thresholds()),
  };
}

/** The threshold of the highest F1, among equals the smallest distance. */
function bestOf(thresholds: readonly Threshold[]): Threshold {
  return thresholds.reduce((best, one) => (one.f1 > best.f1 ? one : best));
}

/**
 * The smallest width whose error is accepted, or the largest of all. If near pairs are too rare to
 * choose a distance by, the wrong pairs within the recommended distance must also be no more than
 * the near ones, or than one in a million: else it would find mostly wrong pairs.
 */
function enoughBits(
  widths: readonly WidthFigures[],
  tallies: readonly PairTally[],
  { acceptedError, nearPairs }: { acceptedError: number; nearPairs: number },
): number {
  const found = widths.find(({ edgeError, theoryError }, i) => {
    if ((edgeError ?? theoryError) > acceptedError) return false;
    if (nearPairs >= ENOUGH_PAIRS) return true;
    const { at } = recommendedOf(tallies[i], nearPairs);
    return at.found - at.right <= Math.max(at.right, MAX_CHANCE_SHARE * total(tallies[i].pairs));
  });
  return (found ?? widths[widths.length - 1]).bits;
}

/** The distance with the best F1, or the one by theory if the sample has too few near pairs. */
function recommendedOf(tally: PairTally, nearPairs: number): Recommended {
  const { bits, measure, minSimilarity: least } = tally;
  const thresholds = tally.thresholds();
  const isMeasured = nearPairs >= ENOUGH_PAIRS;
  const at = isMeasured
    ? bestOf(thresholds)
    : thresholds[catchingDistance(measure, { least, bits, probability: THEORY_SHARE })];
  return {
    ...{ bits, maxDistance: at.maxDistance, basis: isMeasured ? 'measured' : 'theory', at },
    theoryRecall: catchShare(measure, { least, bits, maxDistance: at.maxDistance }),
  };
}
