/**
 * What pairs of rows say of codes of one width, pair by pair, in a memory that does not grow with
 * them: how many at each distance, how many of these are truly near, the cosines that a distance
 * stands for, and the error of the cosine that it tells.
 */

import { cosineOf } from '../hashing/angle';

/** Cosines are sorted into so many steps; a quantile is true to one. */
const COSINE_STEPS = 400;
/** How far from the least cosine a pair counts as at it. */
export const EDGE = 0.05;
/** Distances are drawn and summed in at most so many steps. */
const MOST_STEPS = 65;

/** Distances `from` to `to`, both included. */
export interface DistanceStep {
  readonly from: number;
  readonly to: number;
}

export interface CosineStep extends DistanceStep {
  readonly pairs: number;
  readonly meanDistance: number;
  readonly mean: number;
  /** 5 and 95 % of the pairs lie below. */
  readonly low: number;
  readonly high: number;
}

export interface Threshold {
  readonly maxDistance: number;
  /** Pairs within, and how many of them are truly near. */
  readonly found: number;
  readonly right: number;
  readonly precision: number;
  readonly recall: number;
  readonly f1: number;
}

export class PairTally {
  readonly bits: number;
  readonly minCosine: number;
  /** Pairs by distance: all, the truly near, and of each row with its nearest. */
  readonly pairs: Float64Array;
  readonly near: Float64Array;
  readonly nearest: Float64Array;
  readonly steps: readonly DistanceStep[];
  readonly #width: number;
  readonly #cosines: Float64Array;
  readonly #byStep: Uint32Array;
  readonly #sums: Float64Array;
  #squares = 0;
  #count = 0;
  #edgeSquares = 0;
  #edgeCount = 0;

  constructor(bits: number, minCosine: number) {
    this.bits = bits;
    this.minCosine = minCosine;
    this.pairs = new Float64Array(bits + 1);
    this.near = new Float64Array(bits + 1);
    this.nearest = new Float64Array(bits + 1);
    this.steps = distanceSteps(bits);
    this.#width = this.steps[0].to + 1;
    this.#cosines = Float64Array.from(this.pairs, (_, distance) => cosineOf(distance, bits));
    this.#byStep = new Uint32Array(this.steps.length * COSINE_STEPS);
    this.#sums = new Float64Array(this.steps.length);
  }

  /** A pair whose exact cosine is known. */
  add(distance: number, cosine: number): void {
    this.pairs[distance]++;
    if (cosine >= this.minCosine) this.near[distance]++;
    const step = Math.floor(distance / this.#width);
    const place = Math.min(COSINE_STEPS - 1, Math.floor(((cosine + 1) / 2) * COSINE_STEPS));
    this.#byStep[step * COSINE_STEPS + place]++;
    this.#sums[step] += cosine;
    const square = (this.#cosines[distance] - cosine) ** 2;
    this.#squares += square;
    this.#count++;
    if (Math.abs(cosine - this.minCosine) > EDGE) return;
    this.#edgeSquares += square;
    this.#edgeCount++;
  }

  /** A pair of which the distance is all that is known. */
  addDistance(distance: number): void {
    this.pairs[distance]++;
  }

  /** A row and the one nearest to it. */
  addNearest(distance: number): void {
    this.nearest[distance]++;
  }

  /** Root mean square error of the cosine, over all pairs and over those near the least cosine. */
  get error(): { all: number; edge: number; edgePairs: number } {
    return {
      all: Math.sqrt(this.#squares / Math.max(1, this.#count)),
      edge: Math.sqrt(this.#edgeSquares / Math.max(1, this.#edgeCount)),
      edgePairs: this.#edgeCount,
    };
  }

  /** The cosines of the pairs at each distance; steps without pairs are left out. */
  cosineSteps(): CosineStep[] {
    return this.steps.flatMap(({ from, to }, step) => {
      const counts = this.#byStep.subarray(step * COSINE_STEPS, (step + 1) * COSINE_STEPS);
      const pairs = counts.reduce((sum, count) => sum + count, 0);
      if (pairs === 0) return [];
      let distances = 0;
      for (let at = from; at <= to; at++) distances += at * this.pairs[at];
      const mean = this.#sums[step] / pairs;
      const [low, high] = [quantile(counts, 0.05 * pairs), quantile(counts, 0.95 * pairs)];
      return [{ from, to, pairs, meanDistance: distances / pairs, mean, low, high }];
    });
  }

  /** Precision and recall of "within this distance" for "truly near", by distance. */
  thresholds(): Threshold[] {
    const all = total(this.near);
    const thresholds: Threshold[] = [];
    let [found, right] = [0, 0];
    for (let maxDistance = 0; maxDistance <= this.bits; maxDistance++) {
      found += this.pairs[maxDistance];
      right += this.near[maxDistance];
      const precision = found === 0 ? 1 : right / found;
      const recall = all === 0 ? 0 : right / all;
      const f1 = all === 0 ? 0 : (2 * right) / (found + all);
      thresholds.push({ maxDistance, found, right, precision, recall, f1 });
    }
    return thresholds;
  }
}

export function total(counts: Float64Array): number {
  return counts.reduce((sum, count) => sum + count, 0);
}

/** Sums of counts by distance, in steps. */
export function inSteps(counts: Float64Array, steps: readonly DistanceStep[]): number[] {
  return steps.map(({ from, to }) => total(counts.subarray(from, to + 1)));
}

/** From the first step in which something was counted to the last. */
export function usedSteps(
  steps: readonly DistanceStep[],
  counts: readonly Float64Array[],
): readonly DistanceStep[] {
  const isUsed = steps.map(({ from, to }) =>
    counts.some((some) => some.subarray(from, to + 1).some((count) => count > 0)),
  );
  const first = isUsed.indexOf(true);
  return first < 0 ? [] : steps.slice(first, isUsed.lastIndexOf(true) + 1);
}

/** All distances of a width in equal steps. */
export function distanceSteps(bits: number): DistanceStep[] {
  const width = Math.ceil((bits + 1) / MOST_STEPS);
  return Array.from({ length: Math.ceil((bits + 1) / width) }, (_, step) => ({
    from: step * width,
    to: Math.min(bits, (step + 1) * width - 1),
  }));
}

/** The middle of the step in which so many have been counted. */
function quantile(counts: Uint32Array, wanted: number): number {
  let [sum, place] = [0, -1];
  while (sum < wanted || place < 0) sum += counts[++place];
  return ((place + 0.5) / COSINE_STEPS) * 2 - 1;
}
