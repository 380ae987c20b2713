/**
 * Clusters by density, where the number of clusters is not known: single linkage over the distances
 * at which rows reach each other through dense regions (HDBSCAN*: Campello, Moulavi & Sander 2013).
 * With `maxDistance` the tree of all pairs within it is cut there, which is exact. Without,
 * clusters are the branches of the largest mass in a tree over lists of the nearest codes; parts
 * that no list connects join at its top, at infinite distance.
 */

import { checkInteger, checkOptions } from '../base/check';
import { checkLongCall, LONG_CALL, type LongCall, LongWork } from '../base/long-work';
import { distinctAt, NONE } from '../near/distinct-codes';
import { maxDistanceOf, type RowSource, rowsOf } from '../near/rows';
import { densityGraph } from './density-graph';
import { cutAt, cutByMass } from './density-tree';
import { pointsOfRows } from './points-of';
import { type Cluster, labelsOf, summaries } from './summaries';

export interface DensityOptions extends LongCall {
  /** Smallest number of rows of a cluster. */
  minClusterSize?: number;
  /** How many others must be near a row in a dense region. */
  minSamples?: number;
  /**
   * Cuts the tree of clusters at this distance. A cluster is then what steps of at most so much
   * over dense rows connect. A row is dense with `minSamples` others within it. Without it, each
   * cluster is cut where its mass is largest: the sum over its rows of the density, 1 / (1 +
   * distance), at which they joined it, less the density at which it joins another cluster. All
   * rows together are a cluster only if they never split in two.
   */
  maxDistance?: number;
  /** In place of `maxDistance`: the distance that finds 99 % of pairs at this cosine. */
  minCosine?: number;
  /** In place of `maxDistance`: the distance that estimates this similarity. */
  minJaccard?: number;
  /** Most exemplars of a cluster: the rows most like all of its rows. */
  exemplars?: number;
}

const DENSITY_DEFAULTS = { minClusterSize: 5, minSamples: 5, exemplars: 5 } as const;

export interface DensityClusters {
  readonly count: number;
  /** The cluster of each row; -1 for noise, and for rows that are null or removed. */
  readonly labels: Int32Array;
  /**
   * In order of their first row. Their centroids are the directions of the sums of their rows'
   * vectors, or of their bits (±1) where the source has no vectors.
   */
  readonly clusters: Cluster[];
  /** Rows with a code that are in no cluster. */
  readonly noise: number;
}

const OPTIONS = [
  'minClusterSize',
  'minSamples',
  'exemplars',
  ...LONG_CALL,
  'maxDistance',
  'minCosine',
  'minJaccard',
];

/**
 * Groups rows by density (HDBSCAN*): finds the number of clusters, and rows that are noise.
 *
 * @example
 * const vectors = [[1, 0], [0.9, 0.1], [0, 1], [0.1, 0.9], [-1, -1]];
 * const codes = await new SimHasher({ bits: 64 }).hashAll(vectors);
 * const options = { minClusterSize: 2, minSamples: 1, maxDistance: 10 };
 * console.log((await clusterByDensity(codes, options)).labels); // Int32Array(5) [ 0, 0, 1, 1, -1 ]
 */
export async function clusterByDensity(
  source: RowSource,
  options?: DensityOptions,
): Promise<DensityClusters> {
  const given = { ...DENSITY_DEFAULTS, ...checkOptions('options', options, OPTIONS) };
  const work = new LongWork(checkLongCall(given));
  const minClusterSize = checkInteger('minClusterSize', given.minClusterSize, 2, 2 ** 32);
  const minSamples = checkInteger('minSamples', given.minSamples, 1, 2 ** 16);
  const exemplars = checkInteger('exemplars', given.exemplars, 0, 10_000);
  const all = rowsOf('source', source);
  const maxDistance = maxDistanceOf({ ...all, vectors: null }, given);
  const { points } = pointsOfRows(all);
  const { rows } = points;
  if (rows.length === 0) throw new Error('clusterByDensity() needs rows, the source has none');
  const graph = await densityGraph(all.codes, { minSamples, maxDistance }, work);
  const clusterOfNode =
    maxDistance === undefined
      ? await cutByMass(graph, minClusterSize, work)
      : await cutAt(graph, maxDistance, minClusterSize, work);
  const numbers = new Map<number, number>(); // clusters are numbered by their first row
  const clusterOf = new Int32Array(rows.length).fill(-1);
  rows.forEach((row, i) => {
    const cluster = clusterOfNode[distinctAt(graph.nodes, row)];
    if (cluster === NONE) return;
    if (!numbers.has(cluster)) numbers.set(cluster, numbers.size);
    clusterOf[i] = numbers.get(cluster) as number;
  });
  const described = { count: numbers.size, centroids: null, exemplars };
  const clusters = await summaries(points, clusterOf, described, work.quiet());
  const labels = labelsOf(points, clusterOf);
  const noise = clusterOf.reduce((count, cluster) => count + (cluster < 0 ? 1 : 0), 0);
  return { count: clusters.length, labels, clusters, noise };
}
