/** Distinct codes in the order of their partitions, as an index holds them after `optimize`. */

import type { Steps } from '../../base/steps';
import type { DistinctCodes } from '../distinct/distinct-codes';

/**
 * The distinct codes in the order of their partitions, without empty ones, and where each starts;
 * `kept` as `rearranged` takes it.
 */
export function* groupedByPartition(
  distinctCodes: DistinctCodes,
  partitionOf: Uint32Array,
  count: number,
  kept: Uint32Array | null = null,
): Steps<{ distinctCodes: DistinctCodes; starts: Uint32Array }> {
  const starts = new Uint32Array(count + 1);
  for (let distinct = 0; distinct < distinctCodes.count; distinct++) {
    if (!distinctCodes.isEmpty(distinct)) starts[partitionOf[distinct] + 1]++;
  }
  yield undefined;
  for (let p = 0; p < count; p++) starts[p + 1] += starts[p];
  const order = new Uint32Array(starts[count]);
  const next = starts.slice(0, count);
  for (let distinct = 0; distinct < distinctCodes.count; distinct++) {
    if (!distinctCodes.isEmpty(distinct)) order[next[partitionOf[distinct]]++] = distinct;
  }
  yield undefined;
  return { distinctCodes: yield* distinctCodes.rearranged(order, kept), starts };
}
