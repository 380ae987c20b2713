/**
 * Groups by density, for those who know no number of clusters: single linkage over distances at
 * which rows reach each other through crowded places (HDBSCAN*: Campello, Moulavi & Sander 2013).
 * With `maxDistance` the tree is cut there, over all pairs within it: exact. Without, groups are
 * the branches of the largest mass, exact as well: a graph of nearest neighbours is completed.
 */

import { checkInteger, checkMaxDistance, checkOptions } from '../base/check';
import {
  checkLongCall,
  LONG_CALL,
  type LongCall,
  runInTurns,
  runSteps,
  type Steps,
} from '../base/steps';
import { NONE } from '../join/distinct';
import { type RowSource, rowsOf } from '../join/source';
import { type KernelName, resolveKernel } from '../kernels/kernels';
import { hasVectors, pointsOf } from './cluster-space';
import { type Cluster, directionsOf, summaries } from './cluster-summary';
import { densityGraph } from './density-graph';
import { cutAt, cutByMass } from './density-tree';

export interface DensityOptions extends LongCall {
  /** Least rows of a group. */
  minimum?: number;
  /** Other rows that one must have near it to be in a crowded place. */
  neighbors?: number;
  /**
   * Where to cut: rows are in one group that are joined by steps of at most this distance over rows
   * with so many neighbours within it. Left out, each group is cut where its mass is largest: the
   * sum over its rows of the density, 1 / (1 + distance), at which they joined it, above that at
   * which it joins another group. All rows together are a group only if they never split in two.
   */
  maxDistance?: number;
  /** Rows named as the label of a group. */
  labels?: number;
  kernel?: KernelName;
}

export const DENSITY_DEFAULTS = { minimum: 5, neighbors: 5, labels: 5 } as const;

export interface DensityGroups {
  readonly count: number;
  /** By row, its group; 0xffffffff for noise, and for rows that are null or removed. */
  readonly assignments: Uint32Array;
  /**
   * In order of their first row. Their centres are the directions of their rows' sums, of the kept
   * vectors where there are any, else of the bits.
   */
  readonly groups: Cluster[];
  /** Rows with a code that are in no group. */
  readonly noise: number;
}

const OPTIONS = ['minimum', 'neighbors', 'maxDistance', 'labels', 'kernel', ...LONG_CALL];

/** Rows in groups by density; the time grows with the square of the codes without `maxDistance`. */
export function densityGroups(source: RowSource, options?: DensityOptions): DensityGroups {
  const given = checkOptions('options', options, OPTIONS);
  return runSteps(grouped(source, given), checkLongCall(given));
}

/** The same in turns with the event loop. */
export async function densityGroupsAsync(
  source: RowSource,
  options?: DensityOptions,
): Promise<DensityGroups> {
  const given = checkOptions('options', options, OPTIONS);
  return runInTurns(grouped(source, given), checkLongCall(given));
}

function* grouped(source: RowSource, options: DensityOptions): Steps<DensityGroups> {
  const given = { ...DENSITY_DEFAULTS, ...options };
  const minimum = checkInteger('minimum', given.minimum, 2, 2 ** 32);
  const neighbors = checkInteger('neighbors', given.neighbors, 1, 2 ** 16);
  const labels = checkInteger('labels', given.labels, 0, 10_000);
  if (given.kernel !== undefined) resolveKernel(given.kernel);
  const { codes, ...made } = rowsOf('source', source);
  const kernel = given.kernel ?? made.kernel;
  const { maxDistance } = given;
  if (maxDistance !== undefined) checkMaxDistance(maxDistance, codes.bits);
  const { points } = yield* pointsOf(source, hasVectors(source) ? 'vectors' : 'bits');
  const { rows } = points;
  if (rows.length === 0) throw new Error('densityGroups() needs rows, the source has none');
  const graph = yield* densityGraph(codes, {
    ...{ neighbors, ...(kernel && { kernel }) },
    ...(maxDistance !== undefined && { maxDistance }),
  });
  const groupOfNode = yield* maxDistance === undefined
    ? cutByMass(graph, minimum)
    : cutAt(graph, maxDistance, minimum);
  const numbers = new Map<number, number>();
  const groupOf = rows.map((row) => {
    const group = groupOfNode[graph.nodeOfRow[row]];
    if (group !== NONE && !numbers.has(group)) numbers.set(group, numbers.size);
    return numbers.get(group) ?? NONE;
  });
  const centres = yield* directionsOf(points, rows, groupOf, numbers.size);
  const groups = yield* summaries(points, rows, groupOf, { centres, labels });
  const assignments = new Uint32Array(points.rowCount).fill(NONE);
  rows.forEach((row, i) => {
    assignments[row] = groupOf[i];
  });
  const noise = groupOf.reduce((count, group) => count + (group === NONE ? 1 : 0), 0);
  return { count: groups.length, assignments, groups, noise };
}
