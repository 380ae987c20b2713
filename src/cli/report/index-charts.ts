/** Charts of an index: recall against speed, sizes of groups, rows on a plane. */

import type { GroupSizes } from '../../measure/group-sizes';
import type { SpeedCurve, SpeedPoint } from '../../measure/speed-curve';
import type { RecallReport } from '../../node';
import { counted, fixed, grouped, plain } from '../output/figures';
import { chart, dots, line, linearScale, logScale, type Mark, notes, type Point } from './chart';
import type { ClusterMap } from './cluster-map';

export function speedChart(curve: SpeedCurve | null, report: RecallReport | null): string {
  const measured = curve?.points ?? [];
  const recalls = [...measured.map(({ recall }) => recall), ...(report ? [report.recall] : [])];
  const speeds = [
    ...measured.map(({ queriesPerSecond }) => queriesPerSecond),
    ...(report ? [report.queriesPerSecond] : []),
  ].filter((speed) => speed > 0);
  const least = Math.min(0.9, ...recalls);
  const lines = [
    { name: 'partitions', isOf: (one: SpeedPoint) => one.probes !== null },
    { name: 'scan', isOf: (one: SpeedPoint) => one.probes === null },
  ];
  const marks = lines.flatMap(({ name, isOf }, colour): Mark[] => {
    const points = measured.filter(isOf).map(speedPoint);
    if (points.length === 0) return [];
    const { name: _, ...unnamed } = { ...dots(points, { colour }) };
    return [line(points, { name, colour }), unnamed];
  });
  if (report !== null && report.queriesPerSecond > 0) {
    const speed = grouped(Math.round(report.queriesPerSecond));
    const title = `recall ${fixed(report.recall, 3)}, ${speed} queries/s`;
    const point = { x: report.recall, y: report.queriesPerSecond, title };
    marks.push(dots([point], { name: 'measured by optimize', colour: 2, radius: 7 }));
  }
  return chart({
    ...{
      name: 'speed',
      title: `Queries a second by recall of the ${curve?.k ?? report?.k} nearest`,
    },
    description: 'Further up is faster, further right finds more of the true neighbours.',
    marks,
    x: { scale: linearScale(Math.floor(least * 20) / 20, 1, 6), label: 'recall' },
    y: {
      scale: logScale(Math.min(...speeds) / 1.5, Math.max(...speeds) * 1.5),
      label: 'queries a second',
    },
  });
}

function speedPoint({ recall, queriesPerSecond, probes, oversample }: SpeedPoint): Point {
  const how = [
    probes === null ? 'all codes scanned' : `${counted(probes, 'partition')} visited`,
    ...(oversample === null ? [] : [`${plain(oversample)} × k rows re-ranked`]),
  ].join(', ');
  const speed = `${grouped(Math.round(queriesPerSecond))} queries/s`;
  return { x: recall, y: queriesPerSecond, title: `recall ${fixed(recall, 3)}, ${speed}: ${how}` };
}

/** How many groups there are of each size; both on scales of powers of ten. */
export function groupChart({ sizes, maxDistance }: GroupSizes): string {
  const points = sizes.map(({ size, groups }) => ({
    ...{ x: size, y: groups },
    title:
      size === 1
        ? `${counted(groups, 'row')} alone`
        : `${counted(groups, 'group')} of ${grouped(size)} rows`,
  }));
  const most = Math.max(10, ...points.map(({ x }) => x));
  const highest = Math.max(10, ...points.map(({ y }) => y));
  return chart({
    ...{ name: 'groups', title: `Sizes of groups of rows within ${maxDistance}` },
    description: 'Each dot is a size of group, and how many groups have it.',
    marks: [dots(points, { name: 'groups', colour: 0, radius: 5 })],
    x: { scale: logScale(0.8, most * 1.25), label: 'rows of a group' },
    y: { scale: logScale(0.8, highest * 1.25), label: 'groups' },
  });
}

const MAP = { width: 720, height: 540 } as const;

/** Rows on a plane in the colours of their clusters, each cluster named by its medoid. */
export function mapChart(map: ClusterMap, nameOf: (row: number) => string): string {
  const { points, clusters } = map;
  const [x, y] = squareRange(points);
  const names = clusters.map(({ medoid }) => nameOf(medoid));
  const marks = clusters.map((_, cluster) => {
    const own = points.filter((point) => point.cluster === cluster && !point.isMedoid);
    const titled = own.map((point) => ({
      ...{ x: point.x, y: point.y },
      title: `${nameOf(point.row)} (${names[cluster]})`,
    }));
    return { ...dots(titled, { colour: cluster, radius: 3 }), name: undefined };
  });
  const medoids = points.filter(({ isMedoid }) => isMedoid);
  const heads = medoids.map((point) => {
    const { size } = clusters[point.cluster];
    const title = `${names[point.cluster]}: ${counted(size, 'row')}`;
    const place = { x: point.x, y: point.y, title };
    return dots([place], { colour: point.cluster, radius: 7 });
  });
  return chart({
    ...{ name: 'map', title: 'Rows by their two main directions', ...MAP },
    description:
      `${counted(points.length, 'row')} in ${counted(clusters.length, 'cluster')}; ` +
      'a large dot and its name are the medoid of a cluster.',
    marks: [
      ...marks,
      ...heads,
      notes(medoids.map(({ x, y, cluster }) => ({ x, y, text: names[cluster] }))),
    ],
    x: { scale: linearScale(...x) },
    y: { scale: linearScale(...y) },
  });
}

/** Ranges of both axes in which a step is as wide as it is high. */
function squareRange(
  points: readonly { x: number; y: number }[],
): readonly [x: [number, number], y: [number, number]] {
  const range = (values: number[]) => [
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
