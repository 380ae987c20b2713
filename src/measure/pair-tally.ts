/**
 * Statistics of the pairs of a sample's rows for codes of one width: how many pairs are at each
 * distance, how many of these are near by cosine, which cosines a distance stands for, and the
 * error of the cosine that a distance estimates. Memory depends on the width, not on the pairs.
 */

import type { LongCall } from '../base/steps';
import { cosineOf, estimateAngle } from '../codes/angle';
import { Codes } from '../codes/codes';
import { scanAll } from '../codes/scan';
import type { PairCosines } from './brute-force';

/** Bins of a histogram of cosines in -1..1; a quantile is exact to one bin, 0.005. */
const COSINE_BINS = 400;
/** A pair counts as at `minCosine` when its cosine differs from it by at most this. */
const EDGE = 0.05;
/** Of an exact cosine. */
const ROUNDING = 1e-9;
/** Cosines are binned, and charts drawn, by at most so many ranges of distances. */
const MAX_STEPS = 65;

/** Distances `from` to `to`, both included. */
export interface DistanceStep {
  readonly from: number;
  readonly to: number;
}

/** The exact cosines of the pairs in a range of distances. */
interface CosineStep extends DistanceStep {
  readonly pairs: number;
  readonly meanDistance: number;
  readonly mean: number;
  /** 5 % of the pairs have a lower cosine, 5 % a higher one than `high`. */
  readonly low: number;
  readonly high: number;
}

/** What "within `maxDistance`" finds of the pairs with a cosine of `minCosine` or more. */
export interface Threshold {
  readonly maxDistance: number;
  /** Pairs within the distance, and how many of them are near by cosine. */
  readonly found: number;
  readonly right: number;
  readonly precision: number;
  readonly recall: number;
  readonly f1: number;
}

/** Counts of pairs; `tallyPairs` fills it, its methods say what the counts mean. */
export class PairTally {
  readonly bits: number;
  readonly minCosine: number;
  /** Pairs by distance: all; those near by cosine; of each row the one with its nearest. */
  readonly pairs: Float64Array;
  readonly near: Float64Array;
  readonly nearest: Float64Array;
  /** All distances of this width in ranges of equal length. */
  readonly steps: readonly DistanceStep[];
  readonly #estimates: Float64Array;
  readonly #histograms: Uint32Array;
  readonly #sums: Float64Array;
  #squares = 0;
  #count = 0;
  #edgeSquares = 0;
  #edgeCount = 0;
  #inside = 0;
  readonly #intervals: readonly (readonly [low: number, high: number])[];

  constructor(bits: number, minCosine: number) {
    this.bits = bits;
    this.minCosine = minCosine;
    this.pairs = new Float64Array(bits + 1);
    this.near = new Float64Array(bits + 1);
    this.nearest = new Float64Array(bits + 1);
    const width = Math.ceil((bits + 1) / MAX_STEPS);
    this.steps = Array.from({ length: Math.ceil((bits + 1) / width) }, (_, step) => ({
      from: step * width,
      to: Math.min(bits, (step + 1) * width - 1),
    }));
    this.#estimates = Float64Array.from(this.pairs, (_, distance) => cosineOf(distance, bits));
    this.#intervals = Array.from(
      this.pairs,
      (_, distance) => estimateAngle(distance, bits).cosineInterval,
    );
    this.#histograms = new Uint32Array(this.steps.length * COSINE_BINS);
    this.#sums = new Float64Array(this.steps.length);
  }

  /** Counts a pair; `cosine` is exact, or null where it is not known. */
  add(distance: number, cosine: number | null): void {
    this.pairs[distance]++;
    if (cosine === null) return;
    if (cosine >= this.minCosine) this.near[distance]++;
    const step = Math.floor(distance / (this.steps[0].to + 1));
    const bin = Math.min(COSINE_BINS - 1, Math.floor(((cosine + 1) / 2) * COSINE_BINS));
    this.#histograms[step * COSINE_BINS + bin]++;
    this.#sums[step] += cosine;
    const [low, high] = this.#intervals[distance];
    if (cosine >= low - ROUNDING && cosine <= high + ROUNDING) this.#inside++;
    const square = (this.#estimates[distance] - cosine) ** 2;
    this.#squares += square;
    this.#count++;
    if (Math.abs(cosine - this.minCosine) > EDGE) return;
    this.#edgeSquares += square;
    this.#edgeCount++;
  }

  /** Root mean square error of the estimated cosine: of all pairs, and of those at `minCosine`. */
  get error(): { all: number; edge: number; edgePairs: number } {
    return {
      all: Math.sqrt(this.#squares / Math.max(1, this.#count)),
      edge: Math.sqrt(this.#edgeSquares / Math.max(1, this.#edgeCount)),
      edgePairs: this.#edgeCount,
    };
  }

  /** Share of the pairs whose exact cosine is in the interval of 95 % that its distance states. */
  get coverage(): number {
    return this.#inside / Math.max(1, this.#count);
  }

  /** The cosines of the pairs by range of distances; ranges without pairs are left out. */
  cosineSteps(): CosineStep[] {
    return this.steps.flatMap(({ from, to }, step) => {
      const counts = this.#histograms.subarray(step * COSINE_BINS, (step + 1) * COSINE_BINS);
      const pairs = total(counts);
      if (pairs === 0) return [];
      let distances = 0;
      for (let at = from; at <= to; at++) distances += at * this.pairs[at];
      const mean = this.#sums[step] / pairs;
      const [low, high] = [quantile(counts, 0.05 * pairs), quantile(counts, 0.95 * pairs)];
      return [{ from, to, pairs, meanDistance: distances / pairs, mean, low, high }];
    });
  }

  /** Precision and recall of every distance, from 0 to `bits`, as a limit for near pairs. */
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

/** The middle of the bin in which the `rank`-th smallest cosine lies. */
function quantile(counts: Uint32Array, rank: number): number {
  let [sum, bin] = [0, -1];
  while (sum < rank || bin < 0) sum += counts[++bin];
  return ((bin + 0.5) / COSINE_BINS) * 2 - 1;
}

/** Rows whose distances to all others are computed between two reports of progress. */
const BLOCK_ROWS = 32;

/** What pairs are compared by. */
interface TallyOptions extends LongCall {
  /** Pairs with this cosine or more are near. */
  readonly minCosine: number;
  /** Null where the rows have no vectors: then distances are all that is known. */
  readonly cosines: PairCosines | null;
}

/**
 * Compares all pairs of rows, whose codes are given at one width or several, and returns a tally
 * for each width. The nearest of a row is the row of the highest cosine, or of the smallest
 * distance at the first width where cosines are not known; of equals the first. No code is null.
 */
export async function tallyPairs(
  codes: readonly Codes[],
  { minCosine, cosines, signal, onProgress }: TallyOptions,
): Promise<PairTally[]> {
  const count = codes[0]?.count ?? 0;
  const tallies = codes.map(({ bits }) => new PairTally(bits, minCosine));
  /** By width, the distances of the current row to all others. */
  const distances = codes.map(() => new Uint16Array(count));
  /** By row how near its nearest so far is; by width and row the distance to it. */
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
      const exact = cosines?.of(row) ?? null;
      for (let other = row + 1; other < count; other++) {
        const cosine = exact === null ? null : exact[other];
        for (let i = 0; i < codes.length; i++) tallies[i].add(distances[i][other], cosine);
        const nearness = cosine ?? -distances[0][other];
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

/** Some of the codes, a view. */
export function slice(codes: Codes, first: number, last: number): Codes {
  const { bytes, bytesPerCode, bits } = codes;
  return Codes.from(bytes.subarray(first * bytesPerCode, last * bytesPerCode), { bits });
}
