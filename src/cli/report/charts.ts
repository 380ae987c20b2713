/**
 * The charts of the pages: distances and what they stand for, recall against speed, sizes of groups
 * and rows on a plane. Each is data made into marks; `chart` draws them.
 */

import { cosineOf } from '../../hashing/angle';
import type { GroupSizes } from '../../measure/group-sizes';
import { type DistanceStep, type PairTally, type Threshold, total } from '../../measure/pair-tally';
import type { SpeedCurve, SpeedPoint } from '../../measure/speed-curve';
import { estimateAngle, type RecallReport } from '../../node';
import { counted, fixed, grouped, percent, plain } from '../output/figures';
import {
  type Axis,
  band,
  bars,
  chart,
  dots,
  line,
  linearScale,
  logScale,
  type Mark,
  notes,
  type Point,
  rule,
} from './chart';
import type { ClusterMap } from './cluster-map';

/** "40–47", or "40" where a step is one distance. */
export function stepName({ from, to }: DistanceStep): string {
  return from === to ? String(from) : `${from}–${to}`;
}

/** Counts by distance as shares of their total, by step. */
export function sharesOf(counts: Float64Array, steps: readonly DistanceStep[]): number[] {
  const all = Math.max(1, total(counts));
  return steps.map(({ from, to }) => total(counts.subarray(from, to + 1)) / all);
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

/** The x axis of charts by distance. */
function distanceAxis(to: number, bits: number, what = 'distance'): Axis {
  return { scale: linearScale(0, to, 8), label: `${what}, of ${bits} bits` };
}

/** What a histogram of distances shows besides the distances. */
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
  const shares = [pairs, nearest].map((counts) => sharesOf(counts, steps));
  const y = linearScale(0, Math.max(0.01, ...shares.flat()) * 1.05, 5);
  const inPercent = y.ticks.map(({ value }) => {
    return { value, label: `${fixed(100 * value, 1).replace(/\.0$/, '')} %` };
  });
  const marks = ['all pairs', nearestName].map((name, colour) => {
    const entries = steps.map((step, i) => {
      const share = shares[colour][i];
      const title = `distance ${stepName(step)}: ${percent(share)} of ${name}`;
      return { from: step.from, to: step.to + 1, y: share, title };
    });
    return bars(entries, { name, colour });
  });
  const used = usedSteps(steps, [pairs, nearest]);
  const to = Math.max(...used.map((step) => step.to + 1), (marked ?? 0) + 1);
  return chart({
    ...{ name: 'distances', title: `Distances of codes of ${bits} bits` },
    description:
      `Histogram of the distances of ${grouped(total(pairs))} pairs of rows, and of ` +
      `${grouped(total(nearest))} rows to their nearest.`,
    marks: marked === null ? marks : [...marks, rule(marked + 1, `within ${marked}`)],
    x: distanceAxis(to, bits),
    y: { scale: { ...y, ticks: inPercent }, label: 'share' },
  });
}

/** The cosines that a distance stands for: their mean and band where measured, and theory. */
export function cosineChart(tally: PairTally): string {
  const { bits } = tally;
  const steps = tally.cosineSteps();
  const to = Math.min(bits, Math.max(Math.round(bits * 0.6), ...steps.map((step) => step.to)));
  const lowest = Math.min(cosineOf(to, bits), ...steps.map(({ low }) => low));
  const every = Math.max(1, Math.floor(to / 128));
  const distances = Array.from({ length: Math.floor(to / every) + 1 }, (_, i) => i * every);
  const theory = distances.map((x) => ({ x, y: cosineOf(x, bits) }));
  const measured = steps.map(({ meanDistance: x, ...step }) => ({ x, y: step.mean, ...step }));
  const expected = distances.map((x) => {
    const [low, high] = estimateAngle(x, bits, { confidence: 0.9 }).cosineInterval;
    return { x, low, high };
  });
  const shown =
    steps.length === 0
      ? [band(expected, { name: '5 to 95 % by theory', colour: 1 })]
      : [
          band(measured, { name: '5 to 95 % of the pairs', colour: 0 }),
          line(measured, { name: 'mean', colour: 0 }),
        ];
  return chart({
    ...{ name: 'cosines', title: `Cosine against distance, ${bits} bits` },
    description: 'Exact cosines of pairs by the distance of their codes, next to cos(π d / bits).',
    marks: [...shown, line(theory, { name: 'theory', colour: 1, isDashed: true })],
    x: distanceAxis(to, bits),
    y: {
      scale: linearScale(Math.max(-1, Math.floor(lowest * 10) / 10), 1, 6),
      label: 'exact cosine',
    },
  });
}

/** Precision, recall and F1 by the largest distance that counts as near. */
export function thresholdChart(
  thresholds: readonly Threshold[],
  { bits, minCosine, marked }: { bits: number; minCosine: number; marked: number },
): string {
  const first = thresholds.findIndex(({ found }) => found > 0);
  const complete = thresholds.findIndex(({ recall }) => recall === 1);
  const enough = complete < 0 ? 0 : Math.min(complete, 3 * marked);
  const to = Math.min(bits, Math.max(2 * marked, enough, 8));
  const shown = first < 0 ? [] : thresholds.slice(first, to + 1);
  const lines = (['precision', 'recall', 'f1'] as const).map((figure, colour) => {
    const points = shown.map((one) => ({ x: one.maxDistance, y: one[figure] }));
    const isF1 = figure === 'f1';
    return line(points, { name: isF1 ? 'F1' : figure, colour, isDashed: isF1 });
  });
  return chart({
    ...{ name: 'thresholds', title: `Precision and recall by distance, ${bits} bits` },
    description: `Of pairs at cosine ${minCosine} or more, when those within a distance are taken.`,
    marks: [...lines, rule(marked, `within ${marked}`)],
    x: distanceAxis(to, bits, 'largest distance'),
    y: { scale: linearScale(0, 1, 5), label: 'share' },
  });
}

/** Recall against speed: a line for each method, and what `optimize` measured. */
export function speedChart(curve: SpeedCurve | null, report: RecallReport | null): string {
  const measured = curve?.points ?? [];
  const marks = ['partitions', 'scan'].flatMap((name, colour): Mark[] => {
    const isScan = name === 'scan';
    const points = measured.filter(({ probes }) => (probes === null) === isScan).map(speedPoint);
    return points.length === 0 ? [] : [line(points, { name, colour }), dots(points, { colour })];
  });
  const all: { recall: number; queriesPerSecond: number }[] = [...measured];
  if (report !== null) all.push(report);
  if (report !== null && report.queriesPerSecond > 0) {
    const point = pointOf(report);
    marks.push(dots([point], { name: 'measured by optimize', colour: 2, radius: 7 }));
  }
  const least = Math.min(0.9, ...all.map(({ recall }) => recall));
  const speeds = all.map((one) => one.queriesPerSecond).filter((speed) => speed > 0);
  const k = curve?.k ?? report?.k;
  return chart({
    ...{ name: 'speed', title: `Queries a second by recall of the ${k} nearest` },
    description: 'Further up is faster, further right finds more of the true neighbours.',
    marks,
    x: { scale: linearScale(Math.floor(least * 20) / 20, 1, 6), label: 'recall' },
    y: {
      scale: logScale(Math.min(...speeds) / 1.5, Math.max(...speeds) * 1.5),
      label: 'queries a second',
    },
  });
}

/** A measured speed as a point. */
function pointOf({ recall, queriesPerSecond }: Pick<SpeedPoint, 'recall' | 'queriesPerSecond'>) {
  const title = `recall ${fixed(recall, 3)}, ${grouped(Math.round(queriesPerSecond))} queries/s`;
  return { x: recall, y: queriesPerSecond, title };
}

/** A point whose title says with which setting it was measured. */
function speedPoint({ probes, oversample, ...speed }: SpeedPoint): Point {
  const point = pointOf(speed);
  const how = [
    probes === null ? 'all codes scanned' : `${counted(probes, 'partition')} visited`,
    ...(oversample === null ? [] : [`${plain(oversample)} × k rows re-ranked`]),
  ];
  return { ...point, title: `${point.title}: ${how.join(', ')}` };
}

/** How many groups there are of each size; both on scales of powers of ten. */
export function groupChart({ sizes, maxDistance }: GroupSizes): string {
  const points = sizes.map(({ size, groups }) => {
    const what = `${counted(groups, 'group')} of ${grouped(size)} rows`;
    return { x: size, y: groups, title: size === 1 ? `${counted(groups, 'row')} alone` : what };
  });
  const upTo = (values: number[]) => logScale(0.8, Math.max(10, ...values) * 1.25);
  return chart({
    ...{ name: 'groups', title: `Sizes of groups of rows within ${maxDistance}` },
    description: 'Each dot is a size of group, and how many groups have it.',
    marks: [dots(points, { name: 'groups', colour: 0, radius: 5 })],
    x: { scale: upTo(points.map(({ x }) => x)), label: 'rows of a group' },
    y: { scale: upTo(points.map(({ y }) => y)), label: 'groups' },
  });
}

/** The map is nearly square: both its axes have one scale. */
const MAP = { width: 720, height: 540 } as const;

/** Rows on a plane in the colours of their clusters, each cluster named by its medoid. */
export function mapChart(map: ClusterMap, nameOf: (row: number) => string): string {
  const { points, clusters } = map;
  const [x, y] = squareRange(points);
  const names = clusters.map(({ medoid }) => nameOf(medoid));
  const medoids = points.filter(({ isMedoid }) => isMedoid);
  const rows = clusters.map((_, cluster) => {
    const own = points.filter((point) => point.cluster === cluster && !point.isMedoid);
    const titled = own.map(({ x, y, row }) => {
      return { x, y, title: `${nameOf(row)} (${names[cluster]})` };
    });
    return dots(titled, { colour: cluster, radius: 3 });
  });
  const heads = medoids.map(({ x, y, cluster }) => {
    const title = `${names[cluster]}: ${counted(clusters[cluster].size, 'row')}`;
    return dots([{ x, y, title }], { colour: cluster, radius: 7 });
  });
  const texts = medoids.map(({ x, y, cluster }) => ({ x, y, text: names[cluster] }));
  return chart({
    ...{ name: 'map', title: 'Rows by their two main directions', ...MAP },
    description:
      `${counted(points.length, 'row')} in ${counted(clusters.length, 'cluster')}; ` +
      'a large dot and its name are the medoid of a cluster.',
    marks: [...rows, ...heads, notes(texts)],
    x: { scale: linearScale(...x) },
    y: { scale: linearScale(...y) },
  });
}

type Range = [from: number, to: number];

/** Ranges of both axes in which a step is as wide as it is high. */
function squareRange(points: readonly { x: number; y: number }[]): [x: Range, y: Range] {
  const range = (values: number[]): Range => [
    values.reduce((least, one) => Math.min(least, one), Number.POSITIVE_INFINITY),
    values.reduce((most, one) => Math.max(most, one), Number.NEGATIVE_INFINITY),
  ];
  const [left, right] = range(points.map(({ x }) => x));
  const [low, high] = range(points.map(({ y }) => y));
  const aspect = MAP.width / MAP.height;
  const half = 0.55 * Math.max(right - left, aspect * (high - low), 1e-6);
  const [x, y] = [(left + right) / 2, (low + high) / 2];
  return [
    [x - half, x + half],
    [y - half / aspect, y + half / aspect],
  ];
}
