/** What `optimize` measured, as words: never a share without what it is a share of. */

import type { RecallReport } from '../../node';
import { bytesText, counted, percent } from './figures';

const NEAREST = {
  cosine: 'by exact cosine',
  distance: 'by distance of codes',
  given: 'as given',
};

/** `96.1 % of the true 10 nearest by exact cosine (95 %: 95.2 % to 96.8 %, 500 rows held out)`. */
export function recallWords({ recall, interval, k, truth, queries, source }: RecallReport): string {
  const [low, high] = interval.map(percent);
  const asked = source === 'rows' ? `${counted(queries, 'row')} held out` : `${queries} queries`;
  const nearest = `the true ${k} nearest ${NEAREST[truth]}`;
  return `${percent(recall)} of ${nearest} (95 %: ${low} to ${high}, ${asked})`;
}

/** `a search that finds nothing in memory reads 5.9 MB in 2 round trips`; null where unknown. */
export function costWords({ cost }: RecallReport): string | null {
  if (cost === null) return null;
  const trips = counted(cost.roundTrips, 'round trip');
  return `a search that finds nothing in memory reads ${bytesText(cost.bytes)} in ${trips}`;
}

/** `at least 93.0 % of queries find 9 of 10`. */
export function coverageWords({ coverage: { recall, share }, k }: RecallReport): string {
  return `at least ${percent(share)} of queries find ${Math.ceil(recall * k)} of ${k}`;
}
