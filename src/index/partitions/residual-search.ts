/** Search for candidates by residual codes, in the nearest partitions. */

import { residualKernel } from '../../kernels/kernels';
import { ONE_WEIGHT } from '../../kernels/residuals/residuals.scalar';
import type { IndexParts, Query } from '../index-parts';
import { type Ranked, rankedHits, type Wanted, type Work } from '../rank-rows';
import type { Partitions } from './partitions';
import type { ResidualCodes } from './residual-codes';

export interface ResidualRequest extends Wanted {
  /** Partitions to visit. */
  readonly probes: number;
}

/**
 * The nearest distinct codes' rows. Visits further partitions when those asked for hold too few
 * rows.
 */
export function nearestByResidual(
  parts: IndexParts,
  query: Query & { unit: Float64Array },
  request: ResidualRequest,
  work: Work,
): Ranked {
  const partitions = parts.partitions as Partitions;
  const residualCodes = partitions.residualCodes as ResidualCodes;
  const place = partitions.space.queryOf([], query.unit);
  const tables = residualCodes.tablesOf(query.unit);
  const kernel = residualKernel(parts.kernel);
  let probes = Math.min(request.probes, partitions.count);
  for (;;) {
    const { ranges, codes } = partitions.ranges(place, probes);
    const run = (ask: number) => {
      const search = kernel.search(residualCodes.memory, tables, ask);
      search.ranges(ranges);
      return search;
    };
    const ranked = rankedHits(parts, request, cosineOf, run);
    work.codesCompared += codes;
    work.probes = probes;
    if (ranked.rows.length >= request.k || probes === partitions.count) return ranked;
    probes = Math.min(2 * probes, partitions.count);
  }
}

function cosineOf(weight: number): number {
  return 1 - weight / ONE_WEIGHT;
}
