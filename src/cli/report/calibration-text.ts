/** A calibration as text for a terminal: small histograms, and tables. */

import { cosineOf } from '../../hashing/angle';
import { type Calibration, ENOUGH_PAIRS, type WidthFigures } from '../../measure/calibrate';
import type { DistanceStep, PairTally, Threshold } from '../../measure/pair-tally';
import { counted, fixed, grouped, percent, wrapped } from '../output/figures';
import { sharesOf, stepName, usedSteps } from './distance-charts';

const BAR = 24;
const MAX_LINES = 24;
const WIDTH = 96;

export function calibrationText(report: CalibrationReport): string {
  const { calibration, command } = report;
  const parts = [filled(baseSentences(report).join(' '))];
  if (calibration !== null && command !== null) {
    const { tally, recommended } = calibration;
    const { bits } = tally;
    parts.push(
      heading(`Distances, ${bits} bits`, histogram(tally)),
      heading(`Cosine against distance, ${bits} bits`, cosines(tally)),
      heading('Bits', widths(calibration)),
      filled(bitsSentence(calibration)),
      heading(
        `Precision and recall for cosine ${calibration.minCosine} or more, ${bits} bits`,
        thresholds(shownThresholds(tally.thresholds(), recommended.maxDistance)),
      ),
      heading('Recommended', `  ${command}`),
      filled(expectation(calibration)),
    );
  }
  return `${parts.join('\n\n')}\n`;
}

const filled = (text: string) => wrapped(text, WIDTH).join('\n');
const heading = (title: string, content: string) => `${title}\n${content}`;

function histogram({ steps, pairs, nearest }: PairTally): string {
  const coarse = coarser(steps, pairs, nearest);
  const [all, near] = [sharesOf(pairs, coarse), sharesOf(nearest, coarse)];
  const [mostAll, mostNear] = [Math.max(...all), Math.max(...near)];
  return aligned(
    [
      ['distance', 'all pairs', '', 'nearest of each row', ''],
      ...coarse.map((step, i) => [
        stepName(step),
        bar(all[i] / mostAll).padEnd(BAR),
        percent(all[i]),
        bar(near[i] / mostNear).padEnd(BAR),
        percent(near[i]),
      ]),
    ],
    ['end', 'start', 'end', 'start', 'end'],
  );
}

/** The steps that hold something, joined until there are few. */
function coarser(steps: readonly DistanceStep[], ...counts: Float64Array[]): DistanceStep[] {
  const used = usedSteps(steps, counts);
  const times = Math.ceil(used.length / MAX_LINES);
  return used.flatMap(({ from }, i) =>
    i % times === 0 ? [{ from, to: used[Math.min(used.length, i + times) - 1].to }] : [],
  );
}

const EIGHTHS = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];

/** A bar of blocks; what is there at all shows. */
function bar(share: number): string {
  const eighths = share > 0 ? Math.max(1, Math.round(share * BAR * 8)) : 0;
  return '█'.repeat(Math.floor(eighths / 8)) + EIGHTHS[eighths % 8];
}

function cosines(tally: PairTally): string {
  const steps = tally.cosineSteps();
  const every = Math.ceil(steps.length / MAX_LINES);
  return aligned([
    ['distance', 'mean', '5 %', '95 %', 'theory', 'pairs'],
    ...steps
      .filter((_, i) => i % every === 0)
      .map((step) => [
        stepName(step),
        ...[step.mean, step.low, step.high].map((value) => fixed(value)),
        fixed(cosineOf(Math.round(step.meanDistance), tally.bits)),
        grouped(step.pairs),
      ]),
  ]);
}

function widths({ widths, minCosine }: Calibration): string {
  return aligned([
    ['bits', 'error', `near ${minCosine}`, 'theory', 'best within', 'precision', 'recall', 'F1'],
    ...widthRows(widths),
  ]);
}

/** What was measured of each width, as cells. */
export function widthRows(widths: readonly WidthFigures[]): string[][] {
  return widths.map(({ bits, error, edgeError, theoryError, best }) => [
    grouped(bits),
    fixed(error, 3),
    edgeError === null ? '–' : fixed(edgeError, 3),
    fixed(theoryError, 3),
    ...(best === null
      ? ['–', '–', '–', '–']
      : [String(best.maxDistance), fixed(best.precision), fixed(best.recall), fixed(best.f1)]),
  ]);
}

/** About ten distances up to twice the recommended one, which is among them. */
export function shownThresholds(all: readonly Threshold[], recommended: number): Threshold[] {
  const every = Math.max(1, Math.round(recommended / 6));
  return all.filter(
    ({ maxDistance }) =>
      maxDistance <= 2 * Math.max(3, recommended) && (maxDistance - recommended) % every === 0,
  );
}

function thresholds(shown: readonly Threshold[]): string {
  return aligned([
    ['within', 'found', 'right', 'precision', 'recall', 'F1'],
    ...thresholdRows(shown),
  ]);
}

/** What each distance finds, as cells. */
export function thresholdRows(shown: readonly Threshold[]): string[][] {
  return shown.map(({ maxDistance, found, right, precision, recall, f1 }) => [
    ...[String(maxDistance), grouped(found), grouped(right)],
    ...[found === 0 ? '–' : fixed(precision), fixed(recall), fixed(f1)],
  ]);
}

/** Cells in columns, numbers to the right. */
function aligned(rows: readonly string[][], sides: readonly ('start' | 'end')[] = []): string {
  const sizes = rows[0].map((_, i) => Math.max(...rows.map((row) => row[i].length)));
  const lines = rows.map((row) =>
    row
      .map((cell, i) => (sides[i] === 'start' ? cell.padEnd(sizes[i]) : cell.padStart(sizes[i])))
      .join('  '),
  );
  return lines.map((text) => `  ${text.trimEnd()}`).join('\n');
}

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
