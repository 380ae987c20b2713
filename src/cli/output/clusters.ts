/**
 * A line for each row: its cluster, how far it is from the medoid in bits, and its cosine to the
 * centroid where clusters have one. A row in no cluster has -1, and no cosine.
 */

import {
  type Cluster,
  type Codes,
  hammingDistance,
  RowBatch,
  type RowSource,
  type SimHashIndex,
} from '../../node';
import type { Collection } from '../input/collection';
import { idsAt, rowBlocks } from '../input/join';
import { excerpt } from './excerpts';
import { counted, grouped } from './figures';
import { PeopleTable } from './people-table';

export interface Found {
  readonly clusters: readonly Cluster[];
  /** By row its cluster, -1 where it is in none. */
  readonly labels: Int32Array;
  /** Unit vectors, one after another; null for clusters by density. */
  readonly centroids: Float64Array | null;
  /** Whether centroids are of codes, with a value for each bit. */
  readonly isOfBits: boolean;
}

export function* clusterRows(
  rows: Collection,
  { clusters, labels, centroids, isOfBits }: Found,
  labelOf: (row: number) => string,
): Generator<RowBatch> {
  const { ids, source } = rows;
  const codeOf = codesOf(source);
  const pointOf = isOfBits ? bitsOf(codeOf, rows.bits) : pointsOf(rows);
  const medoids = clusters.map(({ medoid }) => codeOf(medoid));
  const names = clusters.map(({ medoid }) => labelOf(medoid));
  const dimensions = (centroids?.length ?? 0) / Math.max(1, clusters.length);
  let firstRow = 0;
  for (const row of rowBlocks(rows)) {
    const cluster = Int32Array.from(row, (one) => labels[one]);
    const distance = new Int32Array(row.length).fill(-1);
    const cosine = new Float64Array(row.length).fill(Number.NaN);
    for (let i = 0; i < row.length; i++) {
      if (cluster[i] < 0) continue;
      distance[i] = hammingDistance(codeOf(row[i]), medoids[cluster[i]]);
      if (centroids === null) continue;
      const at = cluster[i] * dimensions;
      cosine[i] = cosineTo(pointOf(row[i]), centroids.subarray(at, at + dimensions));
    }
    const columns = {
      row,
      ...(ids !== null && { id: idsAt(ids, row) }),
      cluster,
      medoid: Array.from(row, (one, i) => clusters[cluster[i]]?.medoid === one),
      distance,
      ...(centroids !== null && { cosine }),
      label: Array.from(cluster, (one) => names[one] ?? null),
    };
    yield RowBatch.of(columns, { firstRow });
    firstRow += row.length;
  }
}

/** Codes by row. Only rows in a cluster are asked for, and they have one. */
function codesOf(source: RowSource): (row: number) => Uint8Array {
  if (!('idOf' in source)) return (row) => (source as Codes).at(row);
  return (row) => held(source, row).code as Uint8Array;
}

function held(index: SimHashIndex, row: number) {
  const found = index.get(index.idOf(row) as number);
  if (found === undefined) throw new Error(`row ${row} is not in the index`);
  return found;
}

/** Sums or vectors by row. */
function pointsOf({ sums, source }: Collection): (row: number) => ArrayLike<number> {
  if (sums !== null) {
    const { values, dimensions } = sums;
    return (row) => values.subarray(row * dimensions, (row + 1) * dimensions);
  }
  return (row) => held(source as SimHashIndex, row).vector as ArrayLike<number>;
}

/** A code as a value a bit, 1 or -1. */
function bitsOf(codeOf: (row: number) => Uint8Array, bits: number) {
  const values = new Int8Array(bits);
  return (row: number) => {
    const code = codeOf(row);
    for (let j = 0; j < bits; j++) values[j] = (code[j >> 3] >> (j & 7)) & 1 ? 1 : -1;
    return values;
  };
}

/** Of a vector to a unit one. */
function cosineTo(vector: ArrayLike<number>, unit: Float64Array): number {
  let dot = 0;
  let square = 0;
  for (let i = 0; i < unit.length; i++) {
    dot += vector[i] * unit[i];
    square += vector[i] * vector[i];
  }
  return Math.max(-1, Math.min(1, dot / Math.sqrt(square)));
}

/** The largest clusters as a table for people. */
const SHOWN = 20;
const WIDTH = 100;

export async function clusterTable(
  { ids, count, there }: Collection,
  { clusters }: Found,
  labelOf: (row: number) => string,
): Promise<string> {
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
  const table = new PeopleTable({
    ...{ width: WIDTH, isColored: false },
    write: async (text) => {
      lines.push(text.trimEnd());
    },
  });
  await table.write(
    RowBatch.of({
      cluster: Int32Array.from(shown, ({ number }) => number),
      rows: Int32Array.from(shown, ({ size }) => size),
      'mean cosine': shown.map(({ cohesion }) => cohesion.toFixed(3)),
      medoid: shown.map(({ medoid }) => labelOf(medoid)),
      ...(ids !== null && { nearest: shown.map(({ exemplars }) => namesOf(exemplars)) }),
    }),
  );
  if (order.length > SHOWN) lines.push(`and ${counted(order.length - SHOWN, 'smaller one')}`);
  return lines.join('\n');
}
