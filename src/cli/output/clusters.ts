/**
 * What clustering found, as rows for the output and as a table for people. The output has a line
 * for each row: its cluster, its distance from the cluster's medoid in bits, and, where clusters
 * have centroids, its cosine to that. A row in no cluster has cluster and distance -1, cosine NaN.
 */

import { idsAt } from '../../base/ids';
import { runStepsAsync } from '../../base/steps';
import { pointsOf } from '../../clustering/cluster-source';
import { rowsOf } from '../../join/source';
import { type Cluster, hammingDistance, RowBatch } from '../../node';
import { builderOf, finished } from '../../table/columns/builder';
import type { Call } from '../call';
import { type Collection, rowBlocks } from '../input/collection';
import { counted, excerpt, grouped } from './figures';
import { lineSetter } from './table';

/** Clusters by k-means or by density. */
export interface Found {
  readonly clusters: readonly Cluster[];
  /** By row its cluster, -1 if it is in none. */
  readonly labels: Int32Array;
  /** Unit vectors, cluster after cluster; null for clusters by density. */
  readonly centroids: Float64Array | null;
  /** Whether centroids are of codes, with a value for each bit. */
  readonly isOfBits: boolean;
}

/** What clusters are called. */
interface Names {
  /** The beginning of the text of a row, else its id. */
  readonly labelOf: (row: number) => string;
  /** By cluster the words that set it apart; null if the rows are not texts. */
  readonly keywords: readonly (readonly string[])[] | null;
}

/** A column of booleans without rows, whose type an empty array would not say. */
const NO_FLAGS = finished('medoid', builderOf('bool'), 'bool');

/**
 * The rows of a collection with their clusters, batch by batch. The column of the cosine is called
 * by what it is of: `cosine` of vectors, `estimatedCosine` of sums, `cosineOfBits` of codes. A
 * cluster is named by its medoid. Stops at Ctrl-C.
 */
export async function* clusterRows(
  call: Call,
  rows: Collection,
  { clusters, labels, centroids, isOfBits }: Found,
  { labelOf, keywords }: Names,
): AsyncGenerator<RowBatch> {
  const { ids, source, sums } = rows;
  const { codes } = rowsOf('source', source);
  const medoids = clusters.map(({ medoid }) => codes.at(medoid));
  const names = clusters.map(({ medoid }) => labelOf(medoid));
  const by = isOfBits ? 'bits' : 'vectors';
  const cosineOf =
    labels.length > 0 && centroids && (await cosinesTo(call, centroids, sums ?? source, by));
  const estimated = sums === null ? 'cosine' : 'estimatedCosine';
  const cosineName = isOfBits ? 'cosineOfBits' : estimated;
  let firstRow = 0;
  for (const row of rowBlocks(rows)) {
    call.signal.throwIfAborted();
    const cluster = Int32Array.from(row, (one) => labels[one]);
    const distance = new Int32Array(row.length).fill(-1);
    const cosine = new Float64Array(row.length).fill(Number.NaN);
    for (let i = 0; i < row.length; i++) {
      if (cluster[i] < 0) continue;
      distance[i] = hammingDistance(codes.at(row[i]), medoids[cluster[i]]);
      if (cosineOf) cosine[i] = cosineOf(row[i], cluster[i]);
    }
    const isMedoid = (one: number, i: number) => clusters[cluster[i]]?.medoid === one;
    const columns = {
      row,
      ...(ids !== null && { id: idsAt(ids, row) }),
      cluster,
      medoid: row.length === 0 ? NO_FLAGS : Array.from(row, isMedoid),
      distance,
      ...(centroids !== null && { [cosineName]: cosine }),
      label: Array.from(cluster, (one) => names[one] ?? null),
      ...(keywords && { keywords: Array.from(cluster, (one) => keywords[one]?.join(' ') ?? null) }),
    };
    yield RowBatch.of(columns, { firstRow });
    firstRow += row.length;
  }
}

/** Returns the cosine of a row to a centroid: of its vector, its sums, or its bits as 1 and -1. */
async function cosinesTo(
  { signal }: Call,
  centroids: Float64Array,
  source: Parameters<typeof pointsOf>[0],
  by: 'vectors' | 'bits',
): Promise<(row: number, cluster: number) => number> {
  const points = await runStepsAsync(pointsOf(source, by), { signal });
  const { dimensions, length } = points;
  const point = new Float64Array(dimensions); // scratch memory of all calls
  return (row, cluster) => {
    points.into(row, point, 0);
    let sum = 0;
    for (let i = 0; i < dimensions; i++) sum += point[i] * centroids[cluster * dimensions + i];
    return Math.max(-1, Math.min(1, sum / length));
  };
}

/** Clusters that the table shows, and its columns of a terminal. */
const SHOWN = 20;
const WIDTH = 100;

/** The largest clusters as a table; a single line if there are none. */
export function clusterTable(
  { ids, count, there }: Collection,
  { clusters }: Found,
  { labelOf, keywords }: Names,
): string {
  const rows = there?.length ?? count;
  const order = clusters
    .map((cluster, number) => ({ ...cluster, number }))
    .sort((a, b) => b.size - a.size || a.number - b.number);
  const shown = order.slice(0, SHOWN);
  const inNone = rows - clusters.reduce((sum, { size }) => sum + size, 0);
  const lines: string[] = [
    `${counted(rows, 'row')} in ${counted(clusters.length, 'cluster')}` +
      (inNone > 0 ? `, ${grouped(inNone)} in none` : ''),
  ];
  if (shown.length === 0) return lines[0];
  const namesOf = (nearest: Uint32Array) => {
    return ids === null ? '' : excerpt(Array.from(nearest, (row) => String(ids[row])).join(', '));
  };
  const words = keywords === null ? [] : ['words'];
  const headings = ['cluster', 'rows', 'mean cosine', ...words, 'medoid', 'nearest'];
  const cells = shown.map(({ number, size, cohesion, medoid, exemplars }) => [
    ...[String(number), String(size), cohesion.toFixed(3)],
    ...(keywords === null ? [] : [keywords[number].join(' ')]),
    ...[labelOf(medoid), namesOf(exemplars)],
  ]);
  const table = [headings, ...cells].map((row) => (ids === null ? row.slice(0, -1) : row));
  const line = lineSetter(table, { width: WIDTH, isRight: (column) => column < 2 });
  lines.push(...table.map(line));
  if (order.length > SHOWN) lines.push(`and ${counted(order.length - SHOWN, 'smaller one')}`);
  return lines.join('\n');
}
