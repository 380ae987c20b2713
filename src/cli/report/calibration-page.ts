/** A calibration as a page, and as data. */

import {
  baseSentences,
  bitsSentence,
  type CalibrationReport,
  expectation,
  shownThresholds,
  thresholdRows,
  widthRows,
} from './calibration-text';
import { cosineChart, distanceHistogram, thresholdChart } from './distance-charts';
import { type Cell, figure, page, paragraph, section, table, verbatim } from './page';

const number = (text: string): Cell => ({ number: text });

export function calibrationPage(report: CalibrationReport): string {
  const { calibration, command, file } = report;
  const title = `What distances mean in ${file}`;
  const base = paragraph(baseSentences(report).join(' '));
  if (calibration === null || command === null) return page(title, [base]);
  const { tally, minCosine, recommended, widths } = calibration;
  const { bits } = tally;
  const thresholds = tally.thresholds();
  const marked = recommended.maxDistance;
  return page(title, [
    base,
    section('recommended', 'Recommended', [verbatim(command), paragraph(expectation(calibration))]),
    section('distance', 'How far rows are from each other', [
      figure(
        distanceHistogram(tally, { nearestName: 'nearest of each row', marked }),
        'The nearest of a row is the one of the highest exact cosine in the sample.',
      ),
    ]),
    section('cosine', 'What a distance says of the cosine', [
      figure(
        cosineChart(tally),
        'Where the mean leaves theory at small distances, near pairs are rare among all that ' +
          'are as near by chance.',
      ),
    ]),
    section('threshold', `Which distance finds pairs at cosine ${minCosine} or more`, [
      figure(
        thresholdChart(thresholds, { bits, minCosine, marked }),
        'Precision: of the pairs within the distance, the share that is near. Recall: of the ' +
          'near pairs, the share within it.',
      ),
      table(
        ['within', 'found', 'right', 'precision', 'recall', 'F1'].map(number),
        thresholdRows(shownThresholds(thresholds, marked)).map((row) => row.map(number)),
      ),
    ]),
    section('bits', 'How many bits', [
      paragraph(bitsSentence(calibration)),
      table(
        [
          ...['bits', 'error of the cosine', `near ${minCosine}`, 'by theory'],
          ...['best within', 'precision', 'recall', 'F1'],
        ].map(number),
        widthRows(widths).map((row) => row.map(number)),
      ),
    ]),
  ]);
}

/** For machines: what the page tells, in numbers. */
export function calibrationData(report: CalibrationReport): object {
  const { calibration, ...base } = report;
  if (calibration === null) return { ...base, calibration };
  const { tally, ...figures } = calibration;
  return {
    ...base,
    calibration: {
      ...figures,
      distances: { pairs: [...tally.pairs], near: [...tally.near], nearest: [...tally.nearest] },
      cosines: tally.cosineSteps(),
      thresholds: tally.thresholds(),
    },
  };
}
