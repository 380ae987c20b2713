/**
 * Compares settings (ways to say which rows are near) by pairs of rows that are known to be the
 * same or not. Half of these pairs choose a threshold for each setting, and the best setting; the
 * other half, which chose nothing, shows how good it is, and whether it is better than the default
 * by more than chance. If not, the default is recommended.
 */

import type { LongCall } from '../base/steps';
import type { Codes } from '../codes/codes';
import { measureOf } from '../codes/measure';
import { similaritiesOf, withVectors } from '../join/exact';
import { pairs } from '../join/pairs';
import { rowsOfCodes } from '../join/source';
import type { DenseMatrix, SparseMatrix } from '../vectors/vectors';
import { f1Interval, f1Of, leastGain, type UnitCounts } from './f1-limits';

/** What decides that rows are near, by the name of the option of `pairs` and `dedup`. */
export type Threshold = 'maxDistance' | 'minCosine' | 'minJaccard';

/** Rows in the form in which a setting compares them. */
interface Compared {
  readonly codes: Codes;
  /** For thresholds of similarity, which is then exact. */
  readonly vectors?: DenseMatrix | SparseMatrix;
}

/** One way to compare rows. */
export interface Setting<Row> {
  readonly by: Threshold;
  /** Prepares the rows, all of which have a direction. */
  compare(rows: readonly Row[]): Compared | Promise<Compared>;
}

/** A known pair, with the value that a threshold is compared with. */
interface ScoredPair {
  /** Pairs of the same unit may depend on each other. */
  readonly unit: number;
  readonly isSame: boolean;
  /** The similarity, or the distance. */
  readonly value: number;
}

/** Half of the known pairs. */
export interface Half<Row> {
  readonly rows: readonly Row[];
  readonly units: number;
  /** For each unit the number of its pairs that are the same. */
  readonly same: Uint32Array;
  /** The number of pairs of the whole input that a pair which is not the same stands for. */
  readonly wrongWeight: number;
  /** The known pairs with their values; pairs that no useful threshold finds may be left out. */
  scored(compared: Compared, by: Threshold, call: LongCall): Promise<ScoredPair[]>;
}

/** What a threshold finds of the known pairs. */
export interface Found {
  /** Pairs that are the same; found ones among these; and found pairs that are not, as weighted. */
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
  /** On the half that chose, and on the other half. */
  readonly chosen: Found;
  readonly held: Found & { readonly f1Interval: readonly [low: number, high: number] };
  /** Lower limit (97.5 %) of how much its F1 exceeds that of the default, on the other half. */
  readonly leastGain: number;
}

/** The default, then the settings in the order in which they were given. */
export interface Contest {
  readonly settings: readonly Judged[];
  /** Position of the setting with the best F1 on the half that chose, the first among equals. */
  readonly best: number;
  /** The same position if that setting is better than the default on the other half, else 0. */
  readonly recommended: number;
}

/** Compares settings. The first is judged at the threshold `usual` as well: that is the default. */
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

/** A similarity that was computed a little too low still counts as reached. */
const ROUNDING = 1e-9;

/** Values as integers, higher for nearer pairs: negative distances, or hundredths of similarity. */
const stepOf = (by: Threshold, value: number) =>
  by === 'maxDistance' ? -value : Math.floor(100 * (value + ROUNDING));
const thresholdAt = (by: Threshold, step: number) => (by === 'maxDistance' ? 0 - step : step / 100);

/**
 * The threshold with the best F1. If a range of thresholds is equally good, its middle, which is
 * farthest from those that are worse.
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
    // No pair lies between this step and the next one, so all thresholds between are equally good.
    const to = i + 1 < steps.length ? steps[i + 1] + 1 : step;
    if (f1 > best.f1) best = { f1, from: step, to };
  }
  return thresholdAt(by, Math.ceil((best.from + best.to) / 2));
}

/** What a threshold finds, by unit. */
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

/** The sums over units, with precision, recall and F1. */
function foundOf(units: readonly UnitCounts[]): Found {
  const sum = (name: keyof UnitCounts) => units.reduce((total, one) => total + one[name], 0);
  const [same, right, wrong] = [sum('same'), sum('right'), sum('wrong')];
  return {
    ...{ same, right, wrong, f1: f1Of(same, right, wrong) },
    precision: right + wrong === 0 ? 1 : right / (right + wrong),
    recall: same === 0 ? 0 : right / same,
  };
}

/** Similarity, or share of the bits, beyond which no useful threshold lies. */
const LEAST = { minCosine: 0.4, minJaccard: 0.25, maxDistance: 0.4 } as const;

/** Rows, of which a few are copies of others. */
interface PlantedRows<Row> {
  readonly rows: readonly Row[];
  /** For each row the one that it is a copy of, or itself. */
  readonly originals: Uint32Array;
  /** True if finding a pair of these two originals is right although neither is a copy. */
  isRight(a: number, b: number): boolean;
  /** Rows of the whole input for each original: there, a row meets so many times as many others. */
  readonly scale: number;
}

/**
 * The half of all pairs of some rows. A copy and its original are the same. Pairs that are right to
 * be found for another reason are left out; a copy counts as its original in them.
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

/** Pairs of rows that a person has labelled. */
interface LabelledPairs {
  readonly a: Uint32Array;
  readonly b: Uint32Array;
  readonly isSame: readonly boolean[];
  /** Pairs of the same unit may depend on each other; units are numbered from 0. */
  readonly unit: Uint32Array;
}

/** The half of the labelled pairs of some rows, and of no others. */
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
        // A row without a code is near to no row.
        if (codes.isNull(a[i]) || codes.isNull(b[i])) return [];
        const value = similarities?.[i] ?? codes.distance(a[i], b[i]);
        return [{ unit: unit[i], isSame: isSame[i], value }];
      });
    },
  };
}
