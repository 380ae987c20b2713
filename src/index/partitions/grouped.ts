/** Distinct codes in the order of their partitions, as an index holds them after `optimize`. */

import type { Steps } from '../../base/steps';
import type { DistinctCodes } from '../distinct/distinct-codes';

interface Grouped {
  readonly distinctCodes: DistinctCodes;
  /** Where each partition starts. */
  readonly starts: Uint32Array;
  /** The number before of each distinct code; null where all have theirs still. */
  readonly order: Uint32Array | null;
}

/** Numbers of distinct codes in their new order; those given where it is the same. */
export function inNewOrder<T extends Uint32Array | null>(values: T, order: Uint32Array | null): T {
  if (values === null || order === null) return values;
  return order.map((before) => values[before]) as T;
}

/**
 * The distinct codes in the order of their partitions, without empty ones; those given where that
 * is their order. `kept` as `rearranged` takes it.
 */
export function* groupedByPartition(
  distinctCodes: DistinctCodes,
  partitionOf: Uint32Array,
  count: number,
  kept: Uint32Array | null = null,
): Steps<Grouped> {
  const starts = new Uint32Array(count + 1);
  let isInOrder = kept === null && distinctCodes.emptyCount === 0;
  for (let distinct = 0; distinct < distinctCodes.count; distinct++) {
    if (!distinctCodes.isEmpty(distinct)) starts[partitionOf[distinct] + 1]++;
    if (distinct > 0 && partitionOf[distinct] < partitionOf[distinct - 1]) isInOrder = false;
  }
  yield undefined;
  for (let p = 0; p < count; p++) starts[p + 1] += starts[p];
  if (isInOrder) return { distinctCodes, starts, order: null };
  const order = new Uint32Array(starts[count]);
  const next = starts.slice(0, count);
  for (let distinct = 0; distinct < distinctCodes.count; distinct++) {
    if (!distinctCodes.isEmpty(distinct)) order[next[partitionOf[distinct]]++] = distinct;
  }
  yield undefined;
  return { distinctCodes: yield* distinctCodes.rearranged(order, kept), starts, order };
}
