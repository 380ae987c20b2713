/**
 * Statistics of the pairs of a sample's rows, for codes of one width: pairs at each distance, near
 * pairs among them, the similarities that a distance stands for, and the error of the estimated
 * similarity. Memory depends on the width, not on the number of pairs.
 */

import type { LongCall } from '../base/steps';
import { Codes } from '../codes/codes';
import type { Measure } from '../codes/measure';
import { scanAll } from '../codes/scan';
import type { PairSimilarities } from './brute-force';

/** Bins of a histogram of similarities: quantiles of cosines are exact to one bin, 0.005. */
const BINS = 400;
/** A pair counts as near `minSimilarity` if its similarity differs by at most this. */
const EDGE = 0.05;
/** Rounding error allowed for an exact similarity. */
const ROUNDING = 1e-9;
/** Most ranges of distances by which similarities are binned and charts drawn. */
const MAX_STEPS = 65;

/** Distances `from` to `to`, inclusive. */
export interface DistanceStep {
  readonly from: number;
  readonly to: number;
}

/** The exact similarities of the pairs in a range of distances. */
interface SimilarityStep extends DistanceStep {
  readonly pairs: number;
  readonly meanDistance: number;
  readonly mean: number;
  /** The 5 % and 95 % quantiles of the similarities. */
  readonly low: number;
  readonly high: number;
}

/** What a limit of `maxDistance` finds of the pairs with `minSimilarity` or more. */
export interface Threshold {
  readonly maxDistance: number;
  /** Pairs within the distance, and near pairs among these. */
  readonly found: number;
  readonly right: number;
  readonly precision: number;
  readonly recall: number;
  readonly f1: number;
}

/** Counts of pairs, which `tallyPairs` fills; its methods say what follows from them. */
export class PairTally {
  readonly bits: number;
  /** What distances estimate, and the lowest similarity of near pairs. */
  readonly measure: Measure;
  readonly minSimilarity: number;
  /** Pairs by distance: all pairs; near pairs; and, for each row, its pair with its nearest row. */
  readonly pairs: Float64Array;
  readonly near: Float64Array;
  readonly nearest: Float64Array;
  /** All distances of this width, in ranges of equal length. */
  readonly steps: readonly DistanceStep[];
  /** By distance, the similarity that theory estimates. */
  readonly #estimates: Float64Array;
  /** By range of distances, a histogram and the sum of exact similarities. */
  readonly #histograms: Uint32Array;
  readonly #sums: Float64Array;
  #squares = 0;
  #count = 0;
  #edgeSquares = 0;
  #edgeCount = 0;
  #inside = 0;
  readonly #intervals: readonly (readonly [low: number, high: number])[];

  constructor(bits: number, measure: Measure, minSimilarity: number) {
    this.bits = bits;
    this.measure = measure;
    this.minSimilarity = minSimilarity;
    this.pairs = new Float64Array(bits + 1);
    this.near = new Float64Array(bits + 1);
    this.nearest = new Float64Array(bits + 1);
    const width = Math.ceil((bits + 1) / MAX_STEPS);
    this.steps = Array.from({ length: Math.ceil((bits + 1) / width) }, (_, step) => ({
      from: step * width,
      to: Math.min(bits, (step + 1) * width - 1),
    }));
    const theory = Array.from(this.pairs, (_, distance) => this.theoryOf(distance));
    this.#estimates = Float64Array.from(theory, ({ estimate }) => estimate);
    this.#intervals = theory.map(({ interval }) => interval);
    this.#histograms = new Uint32Array(this.steps.length * BINS);
    this.#sums = new Float64Array(this.steps.length);
  }

  /** Counts a pair; `similarity` is exact, or null if it is unknown. */
  add(distance: number, similarity: number | null): void {
    this.pairs[distance]++;
    if (similarity === null) return;
    if (similarity >= this.minSimilarity) this.near[distance]++;
    const step = Math.floor(distance / (this.steps[0].to + 1));
    const { least } = this.measure;
    const share = (similarity - least) / (1 - least);
    this.#histograms[step * BINS + Math.min(BINS - 1, Math.floor(share * BINS))]++;
    this.#sums[step] += similarity;
    const [low, high] = this.#intervals[distance];
    if (similarity >= low - ROUNDING && similarity <= high + ROUNDING) this.#inside++;
    const square = (this.#estimates[distance] - similarity) ** 2;
    this.#squares += square;
    this.#count++;
    if (Math.abs(similarity - this.minSimilarity) > EDGE) return;
    this.#edgeSquares += square;
    this.#edgeCount++;
  }

  /** Root mean square error of estimates: over all pairs, and over those near `minSimilarity`. */
  get error(): { all: number; edge: number; edgePairs: number } {
    return {
      all: Math.sqrt(this.#squares / Math.max(1, this.#count)),
      edge: Math.sqrt(this.#edgeSquares / Math.max(1, this.#edgeCount)),
      edgePairs: this.#edgeCount,
    };
  }

  /** The similarity that a distance estimates, and its confidence interval. */
  theoryOf(
    distance: number,
    confidence = 0.95,
  ): { estimate: number; interval: readonly [low: number, high: number] } {
    const { interval } = this.measure.doubtOf(distance, this.bits, confidence);
    return { estimate: this.measure.estimateOf(distance, this.bits), interval };
  }

  /** Share of the pairs whose exact similarity lies in the 95 % interval of theory. */
  get coverage(): number {
    return this.#inside / Math.max(1, this.#count);
  }

  /** The similarities of pairs by range of distances; ranges without pairs are left out. */
  similaritySteps(): SimilarityStep[] {
    return this.steps.flatMap(({ from, to }, step) => {
      const counts = this.#histograms.subarray(step * BINS, (step + 1) * BINS);
      const pairs = total(counts);
      if (pairs === 0) return [];
      let distances = 0;
      for (let at = from; at <= to; at++) distances += at * this.pairs[at];
      const mean = this.#sums[step] / pairs;
      const [low, high] = [0.05, 0.95].map((share) => {
        const { least } = this.measure;
        return least + (1 - least) * quantile(counts, share * pairs);
      });
      return [{ from, to, pairs, meanDistance: distances / pairs, mean, low, high }];
    });
  }

  /** Precision and recall of every distance, 0 to `bits`, as the limit of near pairs. */
  thresholds(): Threshold[] {
    const all = total(this.near);
    let [found, right] = [0, 0];
    return Array.from(this.pairs, (pairs, maxDistance) => {
      found += pairs;
      right += this.near[maxDistance];
      const precision = found === 0 ? 1 : right / found;
      const recall = all === 0 ? 0 : right / all;
      const f1 = all === 0 ? 0 : (2 * right) / (found + all);
      return { maxDistance, found, right, precision, recall, f1 };
    });
  }
}

/** The sum of counts. */
export function total(counts: Float64Array | Uint32Array): number {
  let sum = 0;
  for (const count of counts) sum += count;
  return sum;
}

/** The middle of the bin of the `rank`-th smallest value, as a share of all bins. */
function quantile(counts: Uint32Array, rank: number): number {
  let [sum, bin] = [0, -1];
  while (sum < rank || bin < 0) sum += counts[++bin];
  return (bin + 0.5) / BINS;
}

/** Rows that are compared with all others between two reports of progress. */
const BLOCK_ROWS = 32;

/** How pairs are compared. */
interface TallyOptions extends LongCall {
  readonly measure: Measure;
  /** Pairs with this similarity or more are near. */
  readonly minSimilarity: number;
  /** Null if the rows have no vectors: then only distances are known. */
  readonly similarities: PairSimilarities | null;
}

/**
 * Compares all pairs of rows, whose codes are given at one or more widths, and returns a tally for
 * each width. The nearest of a row is the one of the highest similarity or, if none is known, of
 * the smallest distance at the first width; among equals the first. No code may be null.
 */
export async function tallyPairs(
  codes: readonly Codes[],
  { measure, minSimilarity, similarities, signal, onProgress }: TallyOptions,
): Promise<PairTally[]> {
  const count = codes[0]?.count ?? 0;
  const tallies = codes.map(({ bits }) => new PairTally(bits, measure, minSimilarity));
  /** By width, the distances of the present row to all others. */
  const distances = codes.map(() => new Uint16Array(count));
  /** By row how near its nearest row so far is, and by width and row the distance to that one. */
  const best = new Float64Array(count).fill(Number.NEGATIVE_INFINITY);
  const nearest = codes.map(() => new Uint16Array(count));
  const offer = (row: number, nearness: number, other: number) => {
    if (nearness <= best[row]) return;
    best[row] = nearness;
    for (let i = 0; i < codes.length; i++) nearest[i][row] = distances[i][other];
  };
  for (let first = 0; first < count; first += BLOCK_ROWS) {
    await new Promise((resolve) => setTimeout(resolve));
    signal?.throwIfAborted();
    const last = Math.min(count, first + BLOCK_ROWS);
    const scans = codes.map((some) => scanAll(some, slice(some, first, last), { k: count }));
    for (let row = first; row < last; row++) {
      scans.forEach((found, i) => {
        const { rows, distances: own } = found[row - first];
        for (let j = 0; j < rows.length; j++) distances[i][rows[j]] = own[j];
      });
      const exact = similarities?.of(row) ?? null;
      for (let other = row + 1; other < count; other++) {
        const similarity = exact === null ? null : exact[other];
        for (let i = 0; i < codes.length; i++) tallies[i].add(distances[i][other], similarity);
        const nearness = similarity ?? -distances[0][other];
        offer(row, nearness, other);
        // The distance is symmetric: `distances` holds it at the position of the other row.
        offer(other, nearness, other);
      }
    }
    onProgress?.(last, count);
  }
  tallies.forEach((tally, i) => {
    if (count > 1) for (const distance of nearest[i]) tally.nearest[distance]++;
  });
  return tallies;
}

/** Copies codes `first` to `last - 1`; which of them are null is not copied. */
export function slice(codes: Codes, first: number, last: number): Codes {
  const { bytes, bytesPerCode, bits } = codes;
  return Codes.from(bytes.subarray(first * bytesPerCode, last * bytesPerCode), { bits });
}
