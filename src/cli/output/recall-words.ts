/**
 * What `optimize` measured, in words for people. Every share is named with what it is a share of; a
 * recall also has its interval, and how many queries it was measured by.
 */

import type { RecallReport } from '../../node';
import { counted, percent } from './figures';

/** By which order neighbours are the true ones, by `truth` of a report. */
const NEAREST = {
  cosine: 'by exact cosine',
  distance: 'by distance of codes',
  given: 'as given',
};

/** A file of evaluation queries, and how many of them have a code. */
interface Asked {
  readonly file: string;
  readonly count: number;
}

/**
 * `96.1 % of the true 10 nearest by exact cosine (95 %: 95.2 % to 96.8 %, 500 rows held out)`; of
 * the queries of a file also which of them chose the setting, and the recall of rows.
 */
export function recallWords(report: RecallReport, asked: Asked | null = null): string {
  const { k, truth, queries, byRows, source } = report;
  const of = `of the true ${k} nearest ${NEAREST[truth]}`;
  if (asked === null) {
    const which = source === 'rows' ? `${counted(queries, 'row')} held out` : `${queries} queries`;
    return shareWords(report, of, which);
  }
  const { file, count } = asked;
  const which =
    queries === count
      ? `${queries} of ${file}, which chose the setting too`
      : `${queries} of the ${count} queries of ${file}, the others chose the setting`;
  const found = shareWords(report, of, which);
  if (byRows === null) return found;
  const rows = `${counted(byRows.queries, 'row')} held out`;
  return `${found}, ${shareWords(byRows, 'of those of rows', rows)}`;
}

function shareWords(
  { recall, interval: [low, high] }: Pick<RecallReport, 'recall' | 'interval'>,
  of: string,
  which: string,
): string {
  return `${percent(recall)} ${of} (95 %: ${percent(low)} to ${percent(high)}, ${which})`;
}
