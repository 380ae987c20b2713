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

/** `96.1 % of the true 10 nearest by exact cosine (95 %: 95.2 % to 96.8 %, 500 rows held out)`. */
export function recallWords(report: RecallReport, asked: Asked | null = null): string {
  const { recall, interval, k, truth, queries, source } = report;
  const ofFile = asked === null ? `${queries} queries` : choiceWords(queries, asked);
  const which = source === 'rows' ? `${counted(queries, 'row')} held out` : ofFile;
  const nearest = `the true ${k} nearest ${NEAREST[truth]}`;
  return `${percent(recall)} of ${nearest} (${intervalWords(interval)}, ${which})`;
}

/** `200 of the 400 queries of q.jsonl, the others chose the setting`; or all did both. */
function choiceWords(queries: number, { file, count }: Asked): string {
  if (queries === count) return `${queries} of ${file}, which chose the setting too`;
  return `${queries} of the ${count} queries of ${file}, the others chose the setting`;
}

/** `94.8 % of those of rows (95 %: 93.9 % to 95.7 %, 500 rows held out)`; null if not measured. */
export function byRowsWords({ byRows }: RecallReport): string | null {
  if (byRows === null) return null;
  const { recall, interval, queries } = byRows;
  const rows = `${counted(queries, 'row')} held out`;
  return `${percent(recall)} of those of rows (${intervalWords(interval)}, ${rows})`;
}

/** `95 %: 93.9 % to 95.7 %`: the confidence interval of a mean recall. */
function intervalWords([low, high]: RecallReport['interval']): string {
  return `95 %: ${percent(low)} to ${percent(high)}`;
}
