/** The clusters of an index, and a sample of its rows on a plane. */

import type { LongCall } from '../base/steps';
import { clusterAsync } from '../clustering/cluster';
import type { Cluster } from '../clustering/cluster-summary';
import type { SimHashIndex } from '../index/simhash-index';
import { heldOf, type IndexSample } from './index-sample';
import { planeOf } from './plane';

export interface MapPoint {
  readonly row: number;
  readonly cluster: number;
  readonly x: number;
  readonly y: number;
  readonly isMedoid: boolean;
}

export interface ClusterMap {
  readonly by: 'vectors' | 'bits';
  readonly clusters: readonly Cluster[];
  readonly objective: number;
  readonly points: readonly MapPoint[];
  readonly shares: readonly [x: number, y: number];
}

export interface MapOptions extends LongCall {
  readonly clusters: number;
  readonly seed: number;
  readonly sample: IndexSample;
}

/** Null where there are no rows with codes. */
export async function clusterMap(
  index: SimHashIndex,
  { clusters: wanted, seed, sample, ...call }: MapOptions,
): Promise<ClusterMap | null> {
  if (sample.rows.length === 0) return null;
  const clusters = Math.max(1, Math.min(wanted, Math.floor(sample.rows.length / 2)));
  const isDense = sample.vectors !== null && 'dimensions' in sample.vectors;
  const by = isDense ? ('vectors' as const) : ('bits' as const);
  const found = await clusterAsync(index, { clusters, by, seed, ...call });
  const medoids = found.clusters.map(({ medoid }) => medoid);
  const rows = Uint32Array.from(new Set([...medoids, ...sample.rows])).sort();
  const held = heldOf(index, rows);
  const { places, shares } = planeOf(...pointsOf(held));
  return {
    ...{ by, clusters: found.clusters, objective: found.objective, shares },
    points: places.map(([x, y], i) => ({
      ...{ row: held.rows[i], cluster: found.assignments[held.rows[i]], x, y },
      isMedoid: medoids.includes(held.rows[i]),
    })),
  };
}

/** Directions of kept vectors, or the bits of codes as +1 and -1. */
function pointsOf({ vectors, codes }: IndexSample): [values: Float64Array, dimensions: number] {
  if (vectors === null || !('dimensions' in vectors)) {
    const { bits, count } = codes;
    const values = new Float64Array(count * bits);
    for (let row = 0; row < count; row++) {
      const code = codes.at(row);
      for (let j = 0; j < bits; j++)
        values[row * bits + j] = (code[j >> 3] >> (j & 7)) & 1 ? 1 : -1;
    }
    return [values, bits];
  }
  const { values, dimensions } = vectors;
  const units = Float64Array.from(values);
  for (let from = 0; from < units.length; from += dimensions) {
    const row = units.subarray(from, from + dimensions);
    const length = Math.sqrt(row.reduce((sum, value) => sum + value * value, 0));
    for (let i = 0; i < dimensions; i++) row[i] /= length || 1;
  }
  return [units, dimensions];
}
