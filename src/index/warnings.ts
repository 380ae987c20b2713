/**
 * The sentences of a report: what makes its figures uncertain, and how the queries of a caller
 * differ from held-out rows. A difference is reported where chance hardly explains it: where the
 * intervals (95 %) of the two means do not overlap.
 */

import { meanInterval } from '../base/mean-limits';
import type { EvaluationRecall } from './index-options';
import type { Figures } from './recall';

/** Fewer queries than this get a warning. */
const FEW_QUERIES = 30;

/** The warnings of a report; `byRows` are the figures of held-out rows where queries were given. */
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
  const [near, rowsNear] = [found, byRows.found].map(({ kthCosines }) =>
    intervalOfCosine(kthCosines),
  );
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

/**
 * The interval of the mean k-th cosine, mapped from -1..1 to 0..1. Rounded to hundredths, since
 * `meanInterval` costs time for each different value.
 */
function intervalOfCosine(cosines: Float64Array): EvaluationRecall['interval'] {
  return meanInterval(cosines.map((cosine) => (1 + Math.round(100 * cosine) / 100) / 2));
}

function areApart(one: EvaluationRecall['interval'], other: EvaluationRecall['interval']): boolean {
  return one[1] < other[0] || other[1] < one[0];
}

function percent({ recall }: EvaluationRecall): string {
  return `${(100 * recall).toFixed(1)} %`;
}
