/** The candidates of a search, which are re-ranked: by codes, or by residual codes. */

import type { Steps } from '../base/steps';
import type { Rank } from './index-options';
import { nearestByResidual } from './partitions/residual-search';
import type { Ranked, Wanted, Work } from './rank-rows';
import type { IndexState, Query } from './state';
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
  state: IndexState,
  query: Query,
  request: Wanted & Setting & { rank: Rank },
  work: Work,
): Steps<Ranked> {
  const { probes, rank } = request;
  const few = fewRows(state.distinctCodes, request.filter);
  if (few !== null && rank === 'exact') {
    const want = Math.max(request.want, Math.min(few.length, ALL_ROWS));
    return yield* lightest(state, query, { ...request, want }, work);
  }
  const { unit } = query;
  if (rank !== 'exact' || unit === null || probes === null || !state.partitions?.residualCodes) {
    return yield* lightest(state, query, request, work);
  }
  return nearestByResidual(state, { ...query, unit }, { ...request, probes }, work);
}
