/** Search for candidates by sketches, in the nearest partitions. */

import { sketchKernel } from '../kernels/kernels';
import { ONE_WEIGHT } from '../kernels/sketches.scalar';
import type { Partitions } from './partitions';
import { type Ranked, rankedRows, takeLightest, type Wanted, type Work } from './rank-rows';
import type { Sketches } from './sketches';
import { Smallest } from './smallest';
import type { IndexState, Query } from './state';

export interface SketchRequest extends Wanted {
  /** Partitions to visit. */
  readonly probes: number;
}

/** The nearest slots' rows. Visits further partitions when those asked for hold too few rows. */
export function nearestBySketch(
  state: IndexState,
  query: Query & { unit: Float64Array },
  request: SketchRequest,
  work: Work,
): Ranked {
  const partitions = state.partitions as Partitions;
  const sketches = partitions.sketches as Sketches;
  const order = partitions.order(partitions.space.queryOf([], query.unit));
  const tables = sketches.tablesOf(query.unit);
  const kernel = sketchKernel(state.kernel);
  let probes = Math.min(request.probes, partitions.count);
  for (;;) {
    const { ranges, codes } = partitions.rangesOf(order.subarray(0, probes));
    const best = new Smallest(request.want);
    takeLightest(best, state, state.slots.memory.rows, request, (ask) => {
      const search = kernel.search(sketches.memory, tables, ask);
      search.ranges(ranges);
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
