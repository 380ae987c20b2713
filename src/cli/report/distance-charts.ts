/** Charts of distances: how often each occurs, what cosine it stands for, what it finds. */

import { cosineOf } from '../../hashing/angle';
import { type DistanceStep, type PairTally, type Threshold, total } from '../../measure/pair-tally';
import { estimateAngle } from '../../node';
import { fixed, grouped, percent } from '../output/figures';
import { band, bars, chart, line, linearScale, rule } from './chart';

/** "40–47", or "40" where a step is one distance. */
export function stepName({ from, to }: DistanceStep): string {
  return from === to ? String(from) : `${from}–${to}`;
}

export interface HistogramOptions {
  /** What the nearest ones are nearest among. */
  readonly nearestName: string;
  /** A distance to be marked. */
  readonly marked: number | null;
}

/** Distances of all pairs of a sample, and of each row to its nearest. */
export function distanceHistogram(
  { bits, steps, pairs, nearest }: PairTally,
  { nearestName, marked }: HistogramOptions,
): string {
  const all = sharesOf(pairs, steps);
  const near = sharesOf(nearest, steps);
  const used = usedSteps(steps, [pairs, nearest]);
  const highest = Math.max(0.01, ...all, ...near);
  const y = linearScale(0, highest * 1.05, 5);
  const barsOf = (shares: readonly number[], what: string) =>
    steps.map((step, i) => {
      const title = `distance ${stepName(step)}: ${percent(shares[i])} of ${what}`;
      return { from: step.from, to: step.to + 1, y: shares[i], title };
    });
  const to = Math.max(...used.map((step) => step.to + 1), (marked ?? 0) + 1);
  return chart({
    ...{ name: 'distances', title: `Distances of codes of ${bits} bits` },
    description:
      `Histogram of the distances of ${grouped(total(pairs))} pairs of rows, and of ` +
      `${grouped(total(nearest))} rows to their nearest.`,
    marks: [
      bars(barsOf(all, 'all pairs'), { name: 'all pairs', colour: 0 }),
      bars(barsOf(near, nearestName), { name: nearestName, colour: 1 }),
      ...(marked === null ? [] : [rule(marked + 1, `within ${marked}`, { low: 0, high: y.to })]),
    ],
    x: { scale: linearScale(0, to, 8), label: `distance, of ${bits} bits` },
    y: { scale: { ...y, ticks: inPercent(y.ticks) }, label: 'share' },
  });
}

function inPercent(ticks: readonly { value: number }[]) {
  return ticks.map(({ value }) => ({
    value,
    label: `${fixed(100 * value, 1).replace(/\.0$/, '')} %`,
  }));
}

/** Counts as shares of their total. */
export function sharesOf(counts: Float64Array, steps: readonly DistanceStep[]): number[] {
  const all = Math.max(1, total(counts));
  return inSteps(counts, steps).map((count) => count / all);
}

/** The cosines that a distance stands for: their mean and band where measured, and theory. */
export function cosineChart(tally: PairTally): string {
  const { bits } = tally;
  const steps = tally.cosineSteps();
  const to = Math.min(bits, Math.max(Math.round(bits * 0.6), ...steps.map((step) => step.to)));
  const lowest = Math.min(cosineOf(to, bits), ...steps.map(({ low }) => low));
  const y = linearScale(Math.max(-1, Math.floor(lowest * 10) / 10), 1, 6);
  const every = Math.max(1, Math.floor(to / 128));
  const theory = Array.from({ length: Math.floor(to / every) + 1 }, (_, i) => ({
    x: i * every,
    y: cosineOf(i * every, bits),
  }));
  const shown =
    steps.length === 0
      ? [
          band(
            theory.map(({ x }) => {
              const [low, high] = estimateAngle(x, bits, { confidence: 0.9 }).cosineInterval;
              return { x, low, high };
            }),
            { name: '5 to 95 % by theory', colour: 1 },
          ),
        ]
      : [
          band(
            steps.map(({ meanDistance: x, low, high }) => ({ x, low, high })),
            { name: '5 to 95 % of the pairs', colour: 0 },
          ),
          line(
            steps.map(({ meanDistance: x, mean }) => ({ x, y: mean })),
            { name: 'mean', colour: 0 },
          ),
        ];
  return chart({
    ...{ name: 'cosines', title: `Cosine against distance, ${bits} bits` },
    description: 'Exact cosines of pairs by the distance of their codes, beside cos(π d / bits).',
    marks: [...shown, line(theory, { name: 'theory', colour: 1, isDashed: true })],
    x: { scale: linearScale(0, to, 8), label: `distance, of ${bits} bits` },
    y: { scale: y, label: 'exact cosine' },
  });
}

/** Precision, recall and F1 by the largest distance that counts as near. */
export function thresholdChart(
  thresholds: readonly Threshold[],
  { bits, minCosine, marked }: { bits: number; minCosine: number; marked: number },
): string {
  const first = thresholds.findIndex(({ found }) => found > 0);
  const complete = thresholds.findIndex(({ recall }) => recall === 1);
  const to = Math.min(
    bits,
    Math.max(2 * marked, complete < 0 ? 0 : Math.min(complete, 3 * marked), 8),
  );
  const shown = first < 0 ? [] : thresholds.slice(first, to + 1);
  const points = (of: (threshold: Threshold) => number) =>
    shown.map((one) => ({ x: one.maxDistance, y: of(one) }));
  return chart({
    ...{ name: 'thresholds', title: `Precision and recall by distance, ${bits} bits` },
    description: `Of pairs at cosine ${minCosine} or more, when those within a distance are taken.`,
    marks: [
      line(
        points(({ precision }) => precision),
        { name: 'precision', colour: 0 },
      ),
      line(
        points(({ recall }) => recall),
        { name: 'recall', colour: 1 },
      ),
      line(
        points(({ f1 }) => f1),
        { name: 'F1', colour: 2, isDashed: true },
      ),
      rule(marked, `within ${marked}`, { low: 0, high: 1 }),
    ],
    x: { scale: linearScale(0, to, 8), label: `largest distance, of ${bits} bits` },
    y: { scale: linearScale(0, 1, 5), label: 'share' },
  });
}

/** Sums of counts by distance, in ranges of distances. */
function inSteps(counts: Float64Array, steps: readonly DistanceStep[]): number[] {
  return steps.map(({ from, to }) => total(counts.subarray(from, to + 1)));
}

/** From the first range in which something was counted to the last. */
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
