/** Search for candidates by sketches, in the nearest partitions. */

import { residualKernel } from '../../kernels/kernels';
import { ONE_WEIGHT } from '../../kernels/residuals/residuals.scalar';
import { type Ranked, rankedHits, type Wanted, type Work } from '../rank-rows';
import type { IndexState, Query } from '../state';
import type { Partitions } from './partitions';
import type { Sketches } from './residual-codes';

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
  const place = partitions.space.queryOf([], query.unit);
  const tables = sketches.tablesOf(query.unit);
  const kernel = residualKernel(state.kernel);
  let probes = Math.min(request.probes, partitions.count);
  for (;;) {
    const { ranges, codes } = partitions.ranges(place, probes);
    const run = (ask: number) => {
      const search = kernel.search(sketches.memory, tables, ask);
      search.ranges(ranges);
      return search;
    };
    const ranked = rankedHits(state, request, cosineOf, run);
    work.codesCompared += codes;
    work.probes = probes;
    if (ranked.rows.length >= request.k || probes === partitions.count) return ranked;
    probes = Math.min(2 * probes, partitions.count);
  }
}

function cosineOf(weight: number): number {
  return 1 - weight / ONE_WEIGHT;
}
