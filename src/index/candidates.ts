/** The candidates of a search, which are re-ranked: by codes, or by residual codes. */

import type { Steps } from '../base/steps';
import type { Rank } from './index-options';
import type { IndexParts, Query } from './index-parts';
import { nearestByResidual } from './partitions/residual-search';
import type { Ranked, Wanted, Work } from './rank-rows';
import { fewRows, lightest } from './weighted-search';

/** How to search. */
export interface Setting {
  /** Partitions to visit; null for a scan. */
  readonly probes: number | null;
  /** Rows to be re-ranked. */
  readonly want: number;
}

/** A filter's rows up to so many are all re-ranked. */
const ALL_ROWS = 1024;

/** Candidates, likeliest first, for a search of this rank. */
export function* candidates(
  parts: IndexParts,
  query: Query,
  request: Wanted & Setting & { rank: Rank },
  work: Work,
): Steps<Ranked> {
  const { probes, rank } = request;
  const few = fewRows(parts.distinctCodes, request.filter);
  if (few !== null && rank === 'exact') {
    const want = Math.max(request.want, Math.min(few.length, ALL_ROWS));
    return yield* lightest(parts, query, { ...request, want }, work);
  }
  const { unit } = query;
  if (
    rank !== 'exact' ||
    !(unit instanceof Float64Array) ||
    probes === null ||
    !parts.partitions?.residualCodes
  ) {
    return yield* lightest(parts, query, request, work);
  }
  return nearestByResidual(parts, { ...query, unit }, { ...request, probes }, work);
}
