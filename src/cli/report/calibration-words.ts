/** What a calibration says, in sentences: what it rests on, and what may be expected. */

import { type Calibration, ENOUGH_PAIRS } from '../../measure/calibrate';
import { counted, grouped } from '../output/figures';
import { fixed, percent } from './numbers';

/** A calibration, where its rows came from, and the command that it recommends. */
export interface CalibrationReport {
  readonly file: string;
  /** What was read, as `vectors of column "embedding"`. */
  readonly source: string;
  /** Rows of the input, how many of them were drawn, and how many of these have no direction. */
  readonly fileRows: number;
  readonly drawn: number;
  readonly withoutDirection: number;
  readonly drawSeed: number;
  /** Null where fewer than two rows can be compared. */
  readonly calibration: Calibration | null;
  readonly command: string | null;
}

export function baseSentences(report: CalibrationReport): string[] {
  const { fileRows, drawn, withoutDirection, drawSeed, source, calibration } = report;
  const which =
    drawn === fileRows
      ? `All ${counted(fileRows, 'row')}`
      : `${grouped(drawn)} of ${counted(fileRows, 'row')}, drawn at random (seed ${drawSeed})`;
  const sentences = [`${which}: ${source}.`];
  if (withoutDirection > 0) {
    sentences.push(
      `${counted(withoutDirection, 'row')} without a direction (null, empty or all-zero) left out.`,
    );
  }
  if (calibration === null) {
    sentences.push('Fewer than two rows can be compared: there is nothing to measure.');
    return sentences;
  }
  const { pairs, nearPairs, minCosine } = calibration;
  sentences.push(
    `All ${counted(pairs, 'pair')} of them compared by exact cosine: ${grouped(nearPairs)} at ` +
      `${minCosine} or more.`,
  );
  if (drawn < fileRows) {
    sentences.push(
      'Every pair of the input had the same chance to be among them, so precision carries over ' +
        'to the whole input, as far as so many near pairs can tell.',
    );
  }
  return sentences;
}

/** What the recommended distance may be expected to find. */
export function expectation({ recommended, minCosine, nearPairs, pairs }: Calibration): string {
  const { bits, maxDistance, basis, at, theoryRecall } = recommended;
  const edge = `theory expects ${percent(theoryRecall)} of the pairs at just ${minCosine}`;
  if (basis === 'measured') {
    return (
      `Within ${maxDistance} of ${bits} bits: precision ${fixed(at.precision)} ` +
      `(${grouped(at.right)} of ${grouped(at.found)} pairs found), recall ${fixed(at.recall)} ` +
      `(${grouped(at.right)} of ${grouped(nearPairs)} near pairs), F1 ${fixed(at.f1)}; ${edge}.`
    );
  }
  return (
    `Within ${maxDistance} of ${bits} bits, by theory: only ${counted(nearPairs, 'pair')} of the ` +
    `sample ${nearPairs === 1 ? 'is' : 'are'} at ${minCosine} or more, and ${ENOUGH_PAIRS} are ` +
    `needed to choose by; ${edge}. Of ${counted(pairs, 'pair')}, ${grouped(at.found)} are within ` +
    `it, ${grouped(at.right)} of these near. A larger --sample tells more.`
  );
}

export function bitsSentence({
  theoryBits,
  minCosine,
  cosineError,
  recommended,
  edgePairs,
}: Calibration): string {
  const how =
    edgePairs < ENOUGH_PAIRS
      ? `by theory, since too few pairs lie near ${minCosine} to measure it`
      : `measured on the ${counted(edgePairs, 'pair')} within 0.05 of it`;
  return (
    `For an error of ${cosineError} at cosine ${minCosine} theory asks for ` +
    `${grouped(theoryBits.edge)} bits (at cosine 0 for ${grouped(theoryBits.zero)}); ` +
    `recommended here: ${grouped(recommended.bits)}, ${how}.`
  );
}
