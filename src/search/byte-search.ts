/**
 * Search for candidates by the vectors themselves, as 8-bit integers, in the nearest partitions.
 */

import { ONE_WEIGHT } from '../kernels/cosines8.scalar';
import { cosines8Kernel } from '../kernels/kernels';
import type { ByteVectors } from './byte-vectors';
import type { Partitions } from './partitions';
import { type Ranked, rankedRows, takeLightest, type Wanted, type Work } from './rank-rows';
import { Smallest } from './smallest';
import type { IndexState, Query } from './state';

export interface ByteRequest extends Wanted {
  /** Partitions to visit. */
  readonly probes: number;
}

/** The nearest slots' rows. Visits further partitions when those asked for hold too few rows. */
export function nearestByBytes(
  state: IndexState,
  query: Query,
  request: ByteRequest,
  work: Work,
): Ranked {
  const partitions = state.partitions as Partitions;
  const near = partitions.near as ByteVectors;
  const place = partitions.space.queryOf([], query.unit);
  const order = partitions.order(place);
  const kernel = cosines8Kernel(state.kernel);
  let probes = Math.min(request.probes, partitions.count);
  for (;;) {
    const { pairs, codes } = partitions.rangesOf(order.subarray(0, probes));
    const best = new Smallest(request.want);
    takeLightest(best, state, state.slots.memory.rows, request, (ask) => {
      const search = kernel.search(near.memory, place, ask);
      search.ranges(pairs);
      return search;
    });
    work.codesCompared += codes;
    work.probes = probes;
    const ranked = rankedRows(state, best, cosineOf, request);
    if (ranked.rows.length >= request.k || probes === partitions.count) return ranked;
    probes = Math.min(2 * probes, partitions.count);
  }
}

function cosineOf(weight: number): number {
  return 1 - weight / ONE_WEIGHT;
}
