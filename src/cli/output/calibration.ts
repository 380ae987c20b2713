/**
 * A calibration of vectors or sets (measure/calibrate.ts) for people and as data: histograms and
 * tables for the text, and the dedup command line that it recommends.
 */

import { basename } from 'node:path';
import { type Calibration, ENOUGH_PAIRS } from '../../measure/calibrate';
import { type DistanceStep, type PairTally, total } from '../../measure/pair-tally';
import { counted, drawnWords, fixed, grouped, percent, similarityWords } from './figures';
import type { Findings, Part } from './parts';
import { aligned } from './table';

/** A calibration, where its rows came from, and the command that it recommends. */
export interface CalibrationReport {
  readonly file: string;
  /** What was read, as `vectors of column "embedding"`. */
  readonly source: string;
  /** Rows of the input, how many of them were drawn, and how many of these have no direction. */
  readonly fileRows: number;
  readonly drawn: number;
  readonly withoutDirection: number;
  /** The seed of that draw. */
  readonly drawSeed: number;
  /** Both null where fewer than two rows can be compared. */
  readonly calibration: Calibration | null;
  readonly command: string | null;
}

/** Characters of the longest bar of a histogram, and its lines at most. */
const BAR = 24;
const MAX_LINES = 24;

/** The parts of the text, the recommendation last. */
function partsOf(calibration: Calibration, command: string): Part[] {
  const { tally } = calibration;
  const what = nameOf(calibration);
  return [
    {
      ...{ name: 'distance', heading: 'How far rows are from each other' },
      letters: histogram(tally),
    },
    {
      ...{ name: 'cosine', heading: `What a distance says of the ${what}` },
      letters: similarities(tally),
    },
    {
      ...{ name: 'bits', heading: 'How many bits', sentence: bitsSentence(calibration) },
      cells: widthCells(calibration),
    },
    {
      ...{ name: 'threshold', cells: thresholdCells(calibration) },
      heading: `Which distance finds pairs at ${what} ${tally.minSimilarity} or more`,
    },
    {
      ...{ name: 'recommended', heading: 'Recommended', command },
      sentence: expectation(calibration),
    },
  ];
}

/** The name of the similarity that distances estimate, for a sentence. */
function nameOf({ tally }: Calibration): string {
  return similarityWords(tally.measure);
}

/** The calibration for people, and as data. */
export function calibrationFindings(report: CalibrationReport): Findings {
  const { calibration, command } = report;
  const isMeasured = calibration !== null && command !== null;
  return {
    heading: `What distances mean in ${basename(report.file)}`,
    sentences: baseSentences(report),
    parts: isMeasured ? partsOf(calibration, command) : [],
    data: calibrationData(report),
  };
}

/**
 * Histograms of the distances of all pairs and of nearest rows, next to each other, as lines of
 * text. Bars are scaled to the longest of their column; neighbouring ranges of distances are joined
 * where there are more than MAX_LINES.
 */
function histogram({ steps, pairs, nearest }: PairTally): string {
  const used = usedSteps(steps, [pairs, nearest]);
  // Joins so many neighbouring ranges into one line.
  const times = Math.ceil(used.length / MAX_LINES);
  const coarse = used.flatMap(({ from }, i) =>
    i % times === 0 ? [{ from, to: used[Math.min(used.length, i + times) - 1].to }] : [],
  );
  const columns = [pairs, nearest].map((counts) => {
    const shares = sharesOf(counts, coarse);
    const most = Math.max(...shares);
    return shares.map((share) => [bar(share / most).padEnd(BAR), percent(share)]);
  });
  const rows = coarse.map((step, i) => [stepName(step), ...columns[0][i], ...columns[1][i]]);
  return aligned([['distance', 'all pairs', '', 'nearest of each row', ''], ...rows], {
    isRight: (column) => column !== 1 && column !== 3,
  });
}

/** The last block of a bar, by the eighths of a character that it fills. */
const EIGHTHS = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];

/** A bar of block characters, `share` of BAR long, to an eighth; above 0 at least one eighth. */
function bar(share: number): string {
  const eighths = share > 0 ? Math.max(1, Math.round(share * BAR * 8)) : 0;
  return '█'.repeat(Math.floor(eighths / 8)) + EIGHTHS[eighths % 8];
}

/**
 * Which similarities the pairs at a distance have, next to theory: a table of every n-th range of
 * distances, so that at most MAX_LINES are shown.
 */
function similarities(tally: PairTally): string {
  const steps = tally.similaritySteps();
  const every = Math.ceil(steps.length / MAX_LINES);
  const rows = [
    ['distance', 'mean', '5 %', '95 %', 'theory', 'pairs'],
    ...steps
      .filter((_, i) => i % every === 0)
      .map((step) => [
        stepName(step),
        ...[step.mean, step.low, step.high].map((value) => fixed(value)),
        fixed(tally.theoryOf(Math.round(step.meanDistance)).estimate),
        grouped(step.pairs),
      ]),
  ];
  return aligned(rows, { isRight: () => true });
}

/** For each width of codes the errors of its estimates, and what its best distance finds. */
function widthCells(calibration: Calibration): string[][] {
  const { widths, minSimilarity } = calibration;
  const error = `error of the ${nameOf(calibration)}`;
  const headings = ['bits', error, `near ${minSimilarity}`, 'by theory'];
  return [
    [...headings, 'best within', 'precision', 'recall', 'F1'],
    ...widths.map(({ bits, error, edgeError, theoryError, best }) => [
      ...[grouped(bits), fixed(error, 3), edgeError === null ? '–' : fixed(edgeError, 3)],
      fixed(theoryError, 3),
      ...(best === null
        ? ['–', '–', '–', '–']
        : [String(best.maxDistance), fixed(best.precision), fixed(best.recall), fixed(best.f1)]),
    ]),
  ];
}

/** What some ten distances find, up to twice the recommended distance, which is one of them. */
function thresholdCells({ tally, recommended }: Calibration): string[][] {
  const wanted = recommended.maxDistance;
  // Distances are counted from the recommended one, so that it is among them.
  const every = Math.max(1, Math.round(wanted / 6));
  return [
    ['within', 'found', 'right', 'precision', 'recall', 'F1'],
    ...tally
      .thresholds()
      .filter(({ maxDistance }) => maxDistance <= 2 * Math.max(3, wanted))
      .filter(({ maxDistance }) => (maxDistance - wanted) % every === 0)
      .map(({ maxDistance, found, right, precision, recall, f1 }) => [
        ...[String(maxDistance), grouped(found), grouped(right)],
        ...[found === 0 ? '–' : fixed(precision), fixed(recall), fixed(f1)],
      ]),
  ];
}

/** The calibration as data: the numbers that text and page show. Arrays are by distance. */
function calibrationData(report: CalibrationReport): object {
  const { calibration, ...base } = report;
  if (calibration === null) return { ...base, calibration };
  const { tally, ...figures } = calibration;
  return {
    ...base,
    calibration: {
      ...figures,
      distances: { pairs: [...tally.pairs], near: [...tally.near], nearest: [...tally.nearest] },
      similarities: tally.similaritySteps(),
      thresholds: tally.thresholds(),
    },
  };
}

/** Which rows were compared, and how many of their pairs are near. */
function baseSentences(report: CalibrationReport): string[] {
  const { fileRows, drawn, withoutDirection, drawSeed, source, calibration } = report;
  const sentences = [`${drawnWords(drawn, fileRows, drawSeed)}: ${source}.`];
  if (withoutDirection > 0) {
    sentences.push(
      `${counted(withoutDirection, 'row')} without a direction (null, empty or all-zero) left out.`,
    );
  }
  if (calibration === null) {
    sentences.push('Fewer than two rows can be compared: there is nothing to measure.');
    return sentences;
  }
  const { pairs, nearPairs, minSimilarity } = calibration;
  sentences.push(
    `All ${counted(pairs, 'pair')} of them compared by exact ${nameOf(calibration)}: ` +
      `${grouped(nearPairs)} at ${minSimilarity} or more.`,
  );
  if (drawn < fileRows) {
    sentences.push(
      'Every pair of the input had the same chance to be among them, so precision carries over ' +
        'to the whole input, as far as so many near pairs show.',
    );
  }
  return sentences;
}

/** What to expect of the recommended distance: as measured, or by theory with too few pairs. */
function expectation({ recommended, minSimilarity, nearPairs, pairs }: Calibration): string {
  const { bits, maxDistance, basis, at, theoryRecall } = recommended;
  const edge = `theory expects ${percent(theoryRecall)} of the pairs at just ${minSimilarity}`;
  if (basis === 'measured') {
    return (
      `Within ${maxDistance} of ${bits} bits: precision ${fixed(at.precision)} ` +
      `(${grouped(at.right)} of ${grouped(at.found)} pairs found), recall ${fixed(at.recall)} ` +
      `(${grouped(at.right)} of ${grouped(nearPairs)} near pairs), F1 ${fixed(at.f1)}; ${edge}.`
    );
  }
  return (
    `Within ${maxDistance} of ${bits} bits, by theory: only ${counted(nearPairs, 'pair')} of the ` +
    `sample ${nearPairs === 1 ? 'is' : 'are'} at ${minSimilarity} or more, and ` +
    `${ENOUGH_PAIRS} are needed to choose by; ${edge}. Of ${counted(pairs, 'pair')}, ` +
    `${grouped(at.found)} are within it, ${grouped(at.right)} of these near. ` +
    'A larger --sample has more near pairs.'
  );
}

/** Intervals of 95 % that hold fewer of the exact similarities than this need other hyperplanes. */
const MIN_COVERAGE = 0.9;

/**
 * How many exact similarities lie in the intervals that theory gives, with advice where too few do;
 * and whether searches by distance find more with the mean of the vectors subtracted.
 */
function coverageSentence(calibration: Calibration): string {
  const { coverage, centring, projection } = calibration;
  const holds =
    `The 95 % interval holds the exact ${nameOf(calibration)} of ` +
    `${percent(coverage)} of the pairs`;
  const better =
    coverage < MIN_COVERAGE && projection === 'signs'
      ? `: few coordinates outweigh the rest, take --projection gaussian, or hadamard for vectors.`
      : '.';
  if (centring === null) return holds + better;
  const { meanLength, recall, centredRecall, pays } = centring;
  const gain =
    `by distance ${percent(recall)} of the 10 nearest in the sample are found, with the mean ` +
    `subtracted ${percent(centredRecall)}`;
  const advice = pays
    ? `Subtract the mean of these vectors, whose length is ${fixed(meanLength)}: ${gain} ` +
      '(option "mean" of an index of the library, meanOf).'
    : `Centring gains nothing here: ${gain}.`;
  return `${holds}${better} ${advice}`;
}

/** How many bits theory asks for, how many are recommended, and by what this was decided. */
function bitsSentence(calibration: Calibration): string {
  const { theoryBits, minSimilarity, acceptedError, recommended, edgePairs } = calibration;
  const what = nameOf(calibration);
  const how =
    edgePairs < ENOUGH_PAIRS
      ? `by theory, since too few pairs lie near ${minSimilarity} to measure it`
      : `measured on the ${counted(edgePairs, 'pair')} within 0.05 of it`;
  return (
    `For an error of ${acceptedError} at ${what} ${minSimilarity} theory asks for ` +
    `${grouped(theoryBits.edge)} bits (at ${what} 0 for ${grouped(theoryBits.zero)}); ` +
    `recommended here: ${grouped(recommended.bits)}, ${how}. ${coverageSentence(calibration)}`
  );
}

/** `40–47`, or `40` for a step of one distance. */
function stepName({ from, to }: DistanceStep): string {
  return from === to ? String(from) : `${from}–${to}`;
}

/** By step the share of all counts, which are by distance, that lie in it. */
function sharesOf(counts: Float64Array, steps: readonly DistanceStep[]): number[] {
  const all = Math.max(1, total(counts));
  return steps.map(({ from, to }) => total(counts.subarray(from, to + 1)) / all);
}

/** The steps from the first to the last in which any of the counts is above 0. */
function usedSteps(
  steps: readonly DistanceStep[],
  counts: readonly Float64Array[],
): readonly DistanceStep[] {
  const isUsed = steps.map(({ from, to }) =>
    counts.some((some) => some.subarray(from, to + 1).some((count) => count > 0)),
  );
  const first = isUsed.indexOf(true);
  return first < 0 ? [] : steps.slice(first, isUsed.lastIndexOf(true) + 1);
}
