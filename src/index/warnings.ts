/**
 * What a report says in words: what makes its figures less certain, and how the queries of a caller
 * differ from held-out rows. A difference is one that chance hardly makes: the 95 % intervals of
 * the two means lie apart.
 */

import { meanInterval } from '../base/mean-limits';
import { kthCosines } from './doubt';
import type { EvaluationRecall } from './index-options';
import type { Figures } from './recall';

/** Fewer queries than this tell little. */
const FEW_QUERIES = 30;

/** The warnings of a report; `byRows` has the figures of held-out rows next to given queries. */
export function warningsOf(
  { recall, found, isTrained }: Figures,
  byRows: Figures | null,
  k: number,
): string[] {
  const warnings: string[] = [];
  if (recall.queries < FEW_QUERIES) {
    warnings.push(`${recall.queries} evaluation queries say little: give ${FEW_QUERIES} or more`);
  }
  if (isTrained) {
    warnings.push('evaluation rows took part in training: the index has too few others');
  }
  if (byRows === null) return warnings;
  const [ours, rows] = [recall, byRows.recall];
  const [near, rowsNear] = [found, byRows.found].map(({ signs }) => intervalOfCosine(signs));
  if (ours.kthCosine !== null && rows.kthCosine !== null && areApart(near, rowsNear)) {
    const way = ours.kthCosine < rows.kthCosine ? 'farther from the rows' : 'nearer to the rows';
    warnings.push(
      `the ${ours.queries} queries lie ${way} than held-out rows do: row ${k} of their answers ` +
        `has a mean cosine of ${ours.kthCosine.toFixed(3)}, of rows ${rows.kthCosine.toFixed(3)}`,
    );
  }
  if (ours.truth === rows.truth && areApart(ours.interval, rows.interval)) {
    warnings.push(
      `searches find ${percent(ours)} of the true ${k} nearest of the ${ours.queries} queries, ` +
        `and ${percent(rows)} of those of held-out rows`,
    );
  }
  return warnings;
}

/** Cosines in hundredths, as shares of what is possible: values that often come again are fast. */
function intervalOfCosine(signs: Figures['found']['signs']): EvaluationRecall['interval'] {
  return meanInterval(kthCosines(signs).map((cosine) => (1 + Math.round(100 * cosine) / 100) / 2));
}

function areApart(one: EvaluationRecall['interval'], other: EvaluationRecall['interval']): boolean {
  return one[1] < other[0] || other[1] < one[0];
}

function percent({ recall }: EvaluationRecall): string {
  return `${(100 * recall).toFixed(1)} %`;
}
