/**
 * Settings judged by outcomes: each says which rows are near, and of some pairs of rows it is known
 * whether they are the same. Half of these pairs choose the threshold of each setting, and the best
 * setting; the other half, which chose nothing, says how good it is, and whether it is better than
 * the default by more than chance. If not, the default is recommended.
 */

import type { LongCall } from '../base/steps';
import type { Codes } from '../codes/codes';
import { measureOf } from '../codes/measure';
import { similaritiesOf, withVectors } from '../join/exact';
import { pairs } from '../join/pairs';
import { rowsOfCodes } from '../join/source';
import type { DenseMatrix, SparseMatrix } from '../vectors/vectors';
import { f1Interval, f1Of, leastGain, type UnitCounts } from './f1-limits';

/** What decides whether rows are near, as options of `pairs` and `dedup` are called. */
export type Threshold = 'maxDistance' | 'minCosine' | 'minJaccard';

/** Rows as a setting compares them. */
interface Compared {
  readonly codes: Codes;
  /** Where a similarity decides, which is exact. */
  readonly vectors?: DenseMatrix | SparseMatrix;
}

/** One way to compare rows. */
export interface Setting<Row> {
  readonly by: Threshold;
  /** The rows, all of which have a direction. */
  compare(rows: readonly Row[]): Compared | Promise<Compared>;
}

/** A pair that a setting finds, if its threshold is wide enough. */
interface ScoredPair {
  /** Pairs of one unit may depend on each other. */
  readonly unit: number;
  readonly isSame: boolean;
  /** The similarity, or the distance. */
  readonly value: number;
}

/** Half of the pairs of which it is known whether they are the same. */
export interface Half<Row> {
  readonly rows: readonly Row[];
  readonly units: number;
  /** By unit, how many pairs of it are the same. */
  readonly same: Uint32Array;
  /** How many pairs of the whole input a pair stands for that is not the same. */
  readonly wrongWeight: number;
  /** The known pairs, those left out that no useful threshold finds. */
  scored(compared: Compared, by: Threshold, call: LongCall): Promise<ScoredPair[]>;
}

/** What a threshold finds of known pairs. */
export interface Found {
  /** Pairs that are the same, how many of these it finds, and how many others, as weighed. */
  readonly same: number;
  readonly right: number;
  readonly wrong: number;
  readonly precision: number;
  readonly recall: number;
  readonly f1: number;
}

/** A setting at its threshold. */
export interface Judged {
  readonly by: Threshold;
  readonly threshold: number;
  /** Of the half that chose, and of the other. */
  readonly chosen: Found;
  readonly held: Found & { readonly f1Interval: readonly [low: number, high: number] };
  /** The F1 of the other half is at least so much above that of the default (97.5 %). */
  readonly leastGain: number;
}

/** The default, then the settings in the order in which they were given. */
export interface Contest {
  readonly settings: readonly Judged[];
  /** The setting of the best F1 on the half that chose, of equals the first. */
  readonly best: number;
  /** That setting where it is better than the default on the other half, else 0. */
  readonly recommended: number;
}

/** Judges settings. The first is judged at the threshold `usual` too: that is the default. */
export async function contest<Row>(
  settings: readonly Setting<Row>[],
  [choosing, held]: readonly [Half<Row>, Half<Row>],
  { usual, signal, onProgress }: LongCall & { readonly usual: number },
): Promise<Contest> {
  const call = signal === undefined ? {} : { signal };
  const judged: Judged[] = [];
  let ofDefault: readonly UnitCounts[] | null = null;
  for (const [i, { by, compare }] of settings.entries()) {
    const scored = await choosing.scored(await compare(choosing.rows), by, call);
    const others = await held.scored(await compare(held.rows), by, call);
    const chosenOne = bestThreshold(scored, by, choosing);
    for (const threshold of i === 0 ? [usual, chosenOne] : [chosenOne]) {
      const chosen = foundOf(unitsOf(choosing, scored, { by, threshold }));
      const units = unitsOf(held, others, { by, threshold });
      ofDefault ??= units;
      judged.push({
        ...{ by, threshold, chosen },
        held: { ...foundOf(units), f1Interval: f1Interval(units) },
        leastGain: leastGain(units, ofDefault),
      });
    }
    onProgress?.(i + 1, settings.length);
  }
  const best = judged.reduce((top, { chosen }, i) => {
    return chosen.f1 > judged[top].chosen.f1 ? i : top;
  }, 0);
  return { settings: judged, best, recommended: judged[best].leastGain > 0 ? best : 0 };
}

/** A similarity of .7 that was computed a little lower counts. */
const ROUNDING = 1e-9;

/** Whole numbers, larger for nearer pairs: thresholds are distances, or hundredths. */
const stepOf = (by: Threshold, value: number) =>
  by === 'maxDistance' ? -value : Math.floor(100 * (value + ROUNDING));
const thresholdAt = (by: Threshold, step: number) => (by === 'maxDistance' ? 0 - step : step / 100);

/**
 * The threshold of the best F1. Where several in a row are equally good, the middle of them, which
 * is farthest from those that are worse.
 */
function bestThreshold<Row>(
  pairs: readonly ScoredPair[],
  by: Threshold,
  { same, wrongWeight }: Half<Row>,
): number {
  const total = same.reduce((sum, one) => sum + one, 0);
  const counts = new Map<number, { right: number; wrong: number }>();
  for (const { value, isSame } of pairs) {
    const step = stepOf(by, value);
    const count = counts.get(step) ?? { right: 0, wrong: 0 };
    if (isSame) count.right++;
    else count.wrong += wrongWeight;
    counts.set(step, count);
  }
  const steps = [...counts.keys()].sort((a, b) => b - a);
  let [right, wrong] = [0, 0];
  const nearest = steps[0] ?? stepOf(by, by === 'maxDistance' ? 0 : 1);
  let best = { f1: -1, from: nearest, to: nearest };
  for (const [i, step] of steps.entries()) {
    const count = counts.get(step) ?? { right: 0, wrong: 0 };
    right += count.right;
    wrong += count.wrong;
    const f1 = f1Of(total, right, wrong);
    // No pair lies between this step and the next one that has pairs.
    const to = i + 1 < steps.length ? steps[i + 1] + 1 : step;
    if (f1 > best.f1) best = { f1, from: step, to };
  }
  return thresholdAt(by, Math.ceil((best.from + best.to) / 2));
}

/** By unit what a threshold finds. */
function unitsOf<Row>(
  { units, same, wrongWeight }: Half<Row>,
  pairs: readonly ScoredPair[],
  { by, threshold }: { by: Threshold; threshold: number },
): UnitCounts[] {
  const counts = Array.from({ length: units }, (_, unit) => {
    return { same: same[unit], right: 0, wrong: 0 };
  });
  const least = stepOf(by, threshold);
  for (const { unit, isSame, value } of pairs) {
    if (stepOf(by, value) < least) continue;
    if (isSame) counts[unit].right++;
    else counts[unit].wrong += wrongWeight;
  }
  return counts;
}

function foundOf(units: readonly UnitCounts[]): Found {
  const sum = (name: keyof UnitCounts) => units.reduce((total, one) => total + one[name], 0);
  const [same, right, wrong] = [sum('same'), sum('right'), sum('wrong')];
  return {
    ...{ same, right, wrong, f1: f1Of(same, right, wrong) },
    precision: right + wrong === 0 ? 1 : right / (right + wrong),
    recall: same === 0 ? 0 : right / same,
  };
}

/** Pairs below are near by no useful threshold: a similarity, or a share of the bits. */
const LEAST = { minCosine: 0.4, minJaccard: 0.25, maxDistance: 0.4 } as const;

/** Rows of which a few are copies of others. */
interface PlantedRows<Row> {
  readonly rows: readonly Row[];
  /** By row the one that it is a copy of, or itself. */
  readonly originals: Uint32Array;
  /** Whether two originals are right to be found. */
  isRight(a: number, b: number): boolean;
  /** Rows of the whole input for each original: a row meets so many times more others there. */
  readonly scale: number;
}

/**
 * All pairs of rows. A copy and its original are the same; of others those that are right to be
 * found are left out, a copy taken for its original.
 */
export function plantedHalf<Row>({ rows, originals, isRight, scale }: PlantedRows<Row>): Half<Row> {
  const same = new Uint32Array(rows.length);
  originals.forEach((original, row) => {
    if (original !== row) same[original]++;
  });
  return {
    ...{ rows, units: rows.length, same, wrongWeight: scale },
    async scored({ codes, vectors }, by, call) {
      const limit = by === 'maxDistance' ? Math.floor(LEAST[by] * codes.bits) : LEAST[by];
      const found: ScoredPair[] = [];
      for await (const batch of pairs(codes, { [by]: limit, vectors, ...call })) {
        const values = batch.cosines ?? batch.jaccards ?? batch.distances;
        batch.a.forEach((row, i) => {
          const [a, b] = [originals[row], originals[batch.b[i]]];
          if (a !== b && isRight(a, b)) return;
          found.push({ unit: Math.min(a, b), isSame: a === b, value: values[i] });
        });
      }
      return found;
    },
  };
}

/** Pairs of rows that someone has labelled. */
interface LabelledPairs {
  readonly a: Uint32Array;
  readonly b: Uint32Array;
  readonly isSame: readonly boolean[];
  /** Pairs of one unit may depend on each other; units are numbered from 0. */
  readonly unit: Uint32Array;
}

/** The labelled pairs of some rows, and no others. */
export function labelledHalf<Row>(rows: readonly Row[], labels: LabelledPairs): Half<Row> {
  const { a, b, isSame, unit } = labels;
  const units = unit.reduce((most, one) => Math.max(most, one + 1), 0);
  const same = new Uint32Array(units);
  unit.forEach((one, i) => {
    same[one] += Number(isSame[i]);
  });
  return {
    ...{ rows, units, same, wrongWeight: 1 },
    async scored({ codes, vectors }) {
      const exact = vectors && withVectors(rowsOfCodes(codes), vectors);
      const measure = measureOf(codes.origin?.projection);
      const similarities = exact && similaritiesOf(measure, [exact, exact], a, b);
      return [...a.keys()].flatMap((i) => {
        // A row without a code is near to none.
        if (codes.isNull(a[i]) || codes.isNull(b[i])) return [];
        const value = similarities?.[i] ?? codes.distance(a[i], b[i]);
        return [{ unit: unit[i], isSame: isSame[i], value }];
      });
    },
  };
}
