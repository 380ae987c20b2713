/**
 * What `optimize` measured, in words for people. Every share is named with what it is a share of; a
 * recall also has its interval, and how many queries it was measured by.
 */

import type { RecallReport } from '../../node';
import type { FileQueries } from '../input/new-index';
import { counted, percent } from './figures';

/** By which order neighbours are the true ones, by `truth` of a report. */
const NEAREST = {
  cosine: 'by exact cosine',
  distance: 'by distance of codes',
  given: 'as given',
};

/**
 * `96.1 % of the true 10 nearest by exact cosine (95 %: 95.2 % to 96.8 %, 500 rows held out)`; of
 * the queries of a file also which of them chose the setting, and the recall of rows.
 */
export function recallWords(
  report: RecallReport,
  asked: Pick<FileQueries, 'file' | 'count'> | null = null,
): string {
  const { k, truth, queries, byRows, source } = report;
  const ofRows = (count: number) => `${counted(count, 'row')} held out`;
  let which = source === 'rows' ? ofRows(queries) : `${queries} queries`;
  if (asked !== null) {
    which =
      queries === asked.count
        ? `${queries} of ${asked.file}, which chose the setting too`
        : `${queries} of the ${asked.count} queries of ${asked.file}, the others chose the setting`;
  }
  const found = shareWords(report, `of the true ${k} nearest ${NEAREST[truth]}`, which);
  if (asked === null || byRows === null) return found;
  return `${found}, ${shareWords(byRows, 'of those of rows', ofRows(byRows.queries))}`;
}

function shareWords(
  { recall, interval: [low, high] }: Pick<RecallReport, 'recall' | 'interval'>,
  of: string,
  which: string,
): string {
  return `${percent(recall)} ${of} (95 %: ${percent(low)} to ${percent(high)}, ${which})`;
}
