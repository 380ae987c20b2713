/**
 * Figures as charts: columns of numbers, which the page draws (explorer/plot.ts). Distances and the
 * similarities they stand for, recall against speed, sizes of groups and partitions.
 */

import type { Chart } from '../../explorer/messages';
import type { GroupSizes } from '../../measure/group-sizes';
import { type DistanceStep, type PairTally, total } from '../../measure/pair-tally';
import type { SetRecall } from '../../measure/set-recall';
import type { SpeedCurve, SpeedPoint } from '../../measure/speed-curve';
import type { RecallReport } from '../../node';
import { counted, grouped, similarityWords } from '../output/figures';

/** `40–47`, or `40` for a step of one distance. */
export function stepName({ from, to }: DistanceStep): string {
  return from === to ? String(from) : `${from}–${to}`;
}

/** By step the share of all counts, which are by distance, that lie in it. */
export function sharesOf(counts: Float64Array, steps: readonly DistanceStep[]): number[] {
  const all = Math.max(1, total(counts));
  return steps.map(({ from, to }) => total(counts.subarray(from, to + 1)) / all);
}

/** The steps from the first to the last in which any of the counts is above 0. */
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

const distanceLabel = (bits: number) => `distance, of ${bits} bits`;

/** Histograms of the distances of all pairs of a sample, and of each row to its nearest one. */
export function distanceChart(
  { bits, steps, pairs, nearest }: PairTally,
  { nearestName, marked }: { readonly nearestName: string; readonly marked: number | null },
): Chart {
  const used = usedSteps(steps, [pairs, nearest]);
  return {
    ...{ kind: 'bars', xLabel: distanceLabel(bits), yLabel: 'share', isShare: true },
    description:
      `Histogram of the distances of ${grouped(total(pairs))} pairs of rows, and of ` +
      `${grouped(total(nearest))} rows to their nearest.`,
    x: used.map(({ from, to }) => (from + to) / 2),
    series: [
      { name: 'all pairs', y: sharesOf(pairs, used) },
      { name: nearestName, y: sharesOf(nearest, used) },
    ],
    mark: marked === null ? null : [marked, `within ${marked}`],
  };
}

/**
 * The similarities of pairs by distance: mean, a band that holds 90 % of the pairs, and theory.
 * Where nothing was measured the band is by theory too.
 */
export function similarityChart(tally: PairTally): Chart {
  const { bits } = tally;
  const theoryAt = (distance: number) => tally.theoryOf(distance).estimate;
  const steps = tally.similaritySteps();
  const [what, theory] =
    tally.measure.name === 'jaccard'
      ? ['Jaccard similarities', '1 - 2 d / bits']
      : ['cosines', 'cos(π d / bits)'];
  const base = {
    kind: 'band' as const,
    ...{ xLabel: distanceLabel(bits), yLabel: `exact ${similarityWords(tally.measure)}` },
    description: `Exact ${what} of pairs by the distance of their codes, next to ${theory}.`,
  };
  if (steps.length > 0) {
    const x = steps.map(({ meanDistance }) => meanDistance);
    return {
      ...{ ...base, x },
      series: [
        { name: '5 % of the pairs', y: steps.map(({ low }) => low) },
        { name: '95 %', y: steps.map(({ high }) => high) },
        { name: 'mean', y: steps.map(({ mean }) => mean) },
        { name: 'theory', y: x.map((distance) => theoryAt(Math.round(distance))), look: 'dashed' },
      ],
    };
  }
  // A cosine or a Jaccard similarity of 0 is at half of the bits; little beyond it is shown.
  const to = Math.round(bits * 0.6);
  const every = Math.max(1, Math.floor(to / 128));
  const x = Array.from({ length: Math.floor(to / every) + 1 }, (_, i) => i * every);
  const expected = x.map((one) => tally.theoryOf(one, 0.9).interval);
  return {
    ...{ ...base, x },
    series: [
      { name: '5 % by theory', y: expected.map(([low]) => low) },
      { name: '95 %', y: expected.map(([, high]) => high) },
      { name: 'theory', y: x.map(theoryAt), look: 'dashed' },
    ],
  };
}

/**
 * Precision, recall and F1 by the largest distance that counts as near. Shows twice the marked
 * distance, and more until recall is 1, up to three times it.
 */
export function thresholdChart(
  tally: PairTally,
  { least, marked }: { readonly least: string; readonly marked: number },
): Chart {
  const { bits } = tally;
  const thresholds = tally.thresholds();
  // The least distance that finds a pair, and the least that finds all near ones; -1 for none.
  const first = thresholds.findIndex(({ found }) => found > 0);
  const complete = thresholds.findIndex(({ recall }) => recall === 1);
  const enough = complete < 0 ? 0 : Math.min(complete, 3 * marked);
  const to = Math.min(bits, Math.max(2 * marked, enough, 8));
  const shown = first < 0 ? [] : thresholds.slice(first, to + 1);
  return {
    ...{ kind: 'lines', xLabel: `largest ${distanceLabel(bits)}`, yLabel: 'share', isShare: true },
    description: `Of pairs at ${least} or more, when those within a distance are taken.`,
    x: shown.map(({ maxDistance }) => maxDistance),
    series: (['precision', 'recall', 'f1'] as const).map((figure) => {
      return { name: figure === 'f1' ? 'F1' : figure, y: shown.map((one) => one[figure]) };
    }),
    mark: [marked, `within ${marked}`],
  };
}

/** The recall of a plan of sets, by the similarity from which pairs count. */
export function setChart(sets: readonly SetRecall[]): Chart {
  return {
    ...{ kind: 'lines', xLabel: 'Jaccard similarity', yLabel: 'recall', isShare: true },
    description: 'The share of the pairs at a Jaccard similarity or more that a plan finds.',
    x: sets.map(({ least }) => least),
    series: [{ name: 'recall', y: sets.map(({ recall }) => recall) }],
    mark: null,
  };
}

/**
 * Speed or bytes of searches against their recall: a series for each method, and a point for what
 * `optimize` measured, or for the point of the curve whose setting it chose.
 */
export function recallChart(
  curve: SpeedCurve | null,
  report: RecallReport | null,
  figure: 'queriesPerSecond' | 'bytes',
): Chart {
  const points = (curve?.points ?? []).map((point) => {
    const { recall, probes } = point;
    return { recall, y: point[figure], name: probes === null ? 'scan' : 'partitions' };
  });
  // `optimize` has measured the speed of its setting; bytes are those of its point on the curve.
  const chosen = curve?.points.find((point) => isChosen(point, report));
  if (figure === 'queriesPerSecond' && report !== null && report.queriesPerSecond > 0) {
    const { recall, queriesPerSecond } = report;
    points.push({ recall, y: queriesPerSecond, name: 'measured by optimize' });
  } else if (chosen !== undefined) {
    points.push({ recall: chosen.recall, y: chosen[figure], name: 'chosen by optimize' });
  }
  // Series share their values of x; of points with equal recall the better one is drawn.
  const x = [...new Set(points.map(({ recall }) => recall))].sort((a, b) => a - b);
  const isSpeed = figure === 'queriesPerSecond';
  const [what, better] = isSpeed
    ? ['Queries a second', 'Further up is faster']
    : ['Bytes that a query reads', 'Further down reads less'];
  return {
    ...{ kind: 'points', xLabel: 'recall', isLogY: true },
    yLabel: isSpeed ? 'queries a second' : 'bytes a query',
    description:
      `${what} by recall of the ${curve?.k ?? report?.k} nearest. ${better}, further right finds ` +
      'more of the true neighbours.',
    x,
    series: [...new Set(points.map(({ name }) => name))].map((name) => ({
      name,
      y: x.map((recall) => {
        const own = points.filter((point) => point.name === name && point.recall === recall);
        if (own.length === 0) return null;
        const values = own.map(({ y }) => y);
        return isSpeed ? Math.max(...values) : Math.min(...values);
      }),
    })),
  };
}

/** True if a point has the setting that `optimize` chose, which searches take without options. */
export function isChosen({ probes, oversample }: SpeedPoint, report: RecallReport | null): boolean {
  if (report === null) return false;
  const wanted = report.method === 'scan' ? null : report.probes;
  return probes === wanted && oversample === report.oversample;
}

/** A histogram of the sizes of partitions, in at most 40 bars. */
export function partitionChart(sizes: readonly number[]): Chart {
  const most = Math.max(...sizes);
  const width = Math.max(1, Math.ceil((most + 1) / 40));
  const bins = new Array<number>(Math.floor(most / width) + 1).fill(0);
  for (const size of sizes) bins[Math.floor(size / width)]++;
  return {
    ...{ kind: 'bars', xLabel: 'distinct codes of a partition', yLabel: 'partitions' },
    description: `Histogram of the sizes of ${counted(sizes.length, 'partition')}.`,
    x: bins.map((_, i) => (i + 0.5) * width - 0.5), // the middle of the sizes of a bar
    series: [{ name: 'partitions', y: bins }],
  };
}

/** How many groups there are of each size, on logarithmic scales. */
export function groupChart({ sizes, maxDistance }: GroupSizes): Chart {
  return {
    ...{ kind: 'points', xLabel: 'rows of a group', yLabel: 'groups' },
    ...{ isLogX: true, isLogY: true },
    description: `Each dot is a size of group of rows within ${maxDistance}, and how many have it.`,
    x: sizes.map(({ size }) => size),
    series: [{ name: 'groups', y: sizes.map(({ groups }) => groups), look: 'dots' }],
  };
}
