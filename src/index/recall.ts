/**
 * Recall measured on the index's own rows: held-out rows are the queries, their true neighbours the
 * truth. One pass tells, for every number of candidates, how many of the true ones are among them.
 */

import type { Steps } from '../base/steps';
import { wilson } from '../hashing/angle';
import { candidates, evenSums, type Setting } from './candidates';
import type { IndexParts, Query } from './index-parts';
import { bestByCosine, type Work } from './re-rank';

/** A held-out row as a query, and its true neighbours. */
export interface HeldOut {
  readonly row: number;
  readonly query: Query;
  readonly neighbors: Uint32Array;
}

/** The candidates of a held-out row, without itself. */
function* candidatesOf(
  parts: IndexParts,
  { row, query }: HeldOut,
  k: number,
  setting: Setting,
  isOrdered: boolean,
): Steps<Uint32Array> {
  const work: Work = { codesCompared: 0, candidates: 0, probes: 0 };
  const rank = parts.canCompare(query) ? 'exact' : 'estimate';
  const want = setting.want + 1;
  const request = { ...setting, k: k + 1, want, filter: null, rank, isOrdered } as const;
  const { rows } = yield* candidates(parts, query, request, work);
  return rows.filter((other) => other !== row).subarray(0, setting.want);
}

/** How many true neighbours searches find, and the milliseconds that one takes. */
export function* foundWith(
  parts: IndexParts,
  heldOut: readonly HeldOut[],
  k: number,
  setting: Setting,
): Steps<{ found: number; ms: number }> {
  let found = 0;
  let ms = 0;
  for (const one of heldOut) {
    const start = performance.now();
    const isRanked = parts.canCompare(one.query);
    let rows = yield* candidatesOf(parts, one, k, setting, !isRanked);
    if (isRanked) ({ rows } = bestByCosine(rows, parts.exactCosines(one.query, rows), k));
    ms += performance.now() - start;
    const truth = new Set(one.neighbors);
    for (const row of rows.subarray(0, k)) if (truth.has(row)) found++;
    yield undefined;
  }
  return { found, ms: ms / Math.max(1, heldOut.length) };
}

/**
 * For each number of candidates up to those wanted, how many true neighbours are among so many,
 * summed over the queries.
 */
export function* foundBy(
  parts: IndexParts,
  heldOut: readonly HeldOut[],
  k: number,
  setting: Setting,
): Steps<Uint32Array> {
  const found = new Uint32Array(setting.want + 1);
  for (const one of heldOut) {
    const candidates = yield* candidatesOf(parts, one, k, setting, true);
    const truth = new Set(one.neighbors);
    candidates.forEach((row, i) => {
      if (truth.has(row)) found[i + 1]++;
    });
    yield undefined;
  }
  for (let i = 1; i < found.length; i++) found[i] += found[i - 1];
  return found;
}

/**
 * For each number of partitions visited, how many true neighbours lie in so many: no search finds
 * more.
 */
export function* foundByProbes(
  { distinctCodes, partitions, bits }: IndexParts,
  heldOut: readonly HeldOut[],
): Steps<Uint32Array> {
  if (partitions === null) return new Uint32Array(1);
  const { count, space } = partitions;
  const partitionOf = partitions.partitionOfEach(distinctCodes.count);
  const found = new Uint32Array(count + 1);
  const placeOf = new Uint32Array(count);
  for (const { query, neighbors } of heldOut) {
    const sums = query.sums ?? evenSums(query.code, bits);
    partitions.nearest(space.queryOf(sums, query.unit), count).order.forEach((partition, place) => {
      placeOf[partition] = place;
    });
    for (const row of neighbors) found[placeOf[partitionOf[distinctCodes.distinctOf(row)]] + 1]++;
    yield undefined;
  }
  for (let i = 1; i <= count; i++) found[i] += found[i - 1];
  return found;
}

/** The number of true neighbours of all evaluation queries. */
export function toBeFound(heldOut: readonly HeldOut[]): number {
  return heldOut.reduce((sum, { neighbors }) => sum + neighbors.length, 0);
}

/** Least number found of `total` whose interval lies above the wanted share, or all of them. */
export function surelyEnough(wanted: number, total: number): number {
  let low = Math.ceil(wanted * total);
  let high = total;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (wilson(middle, total)[0] >= wanted) high = middle;
    else low = middle + 1;
  }
  return low;
}
