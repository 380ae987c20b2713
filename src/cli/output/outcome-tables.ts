/**
 * What settings of dedup find, judged by planted copies or by labelled pairs (measure/contest.ts),
 * and which one is recommended: for people, and as data.
 */

import { basename } from 'node:path';
import type { Contest, Judged } from '../../measure/contest';
import { PARTS, RIGHT } from '../../measure/planted';
import { optionNameOf } from '../errors';
import { counted, drawnWords, fixed, grouped, percent } from './figures';
import type { Findings } from './parts';

/** How it is known which pairs of rows are the same. */
export type Truth =
  /** By copies, in which at most this share of the words is edited. */
  | { readonly kind: 'planted'; readonly edits: number }
  /** By the pairs of this file. */
  | { readonly kind: 'labelled'; readonly file: string };

/** Judged settings, where their rows came from, and the command line that is recommended. */
interface OutcomesReport {
  readonly file: string;
  /** What was read, as `texts of "body"`. */
  readonly source: string;
  /** Rows of the input. */
  readonly fileRows: number;
  /** How many rows were drawn; null if labels name the rows. */
  readonly drawn: number | null;
  readonly seed: number;
  readonly truth: Truth;
  /** Names, and options of dedup without the threshold; the first is the default. */
  readonly settings: readonly { readonly name: string; readonly words: readonly string[] }[];
  /** By setting, in that order; null if one of the halves has no pairs that are the same. */
  readonly contest: Contest | null;
  readonly command: string | null;
}

/** With fewer same pairs than this in a half, intervals are wide: a sentence says so. */
const FEW = 20;

/** The threshold of a judged setting as options of dedup: `--min-jaccard 0.6`. */
export function optionOf({ by, threshold }: Pick<Judged, 'by' | 'threshold'>): string[] {
  return [`--${optionNameOf(by)}`, String(threshold)];
}

/** The outcomes for people, and as data. */
export function outcomesFindings(report: OutcomesReport): Findings {
  const { contest, settings, command, ...base } = report;
  const heading = `Which settings fit ${basename(report.file)}`;
  const sentences = baseSentences(report);
  const data = {
    ...base,
    settings: settings.map(({ name, words }, i) => {
      return { name, options: words, ...contest?.settings[i] };
    }),
    ...{ best: contest?.best ?? null, recommended: contest?.recommended ?? null, command },
  };
  if (contest === null || command === null) return { heading, sentences, parts: [], data };
  return {
    ...{ heading, sentences, data },
    parts: [
      {
        ...{ name: 'settings', heading: 'What each setting finds', texts: 2 },
        cells: cellsOf(contest, settings),
        sentence:
          'Chosen is the F1 of the half that chose the threshold; the figures after it are of ' +
          'the other half, F1 with an interval of 95 %.',
      },
      {
        ...{ name: 'recommended', heading: 'Recommended', command },
        sentence: reason(contest, settings),
      },
    ],
  };
}

/** The table of settings: a line each, below the headings. */
function cellsOf({ settings }: Contest, names: OutcomesReport['settings']): string[][] {
  return [
    ['setting', 'threshold', 'chosen', 'precision', 'recall', 'F1', '95 %'],
    ...settings.map((judged, i) => {
      const { precision, recall, f1, f1Interval } = judged.held;
      return [
        ...[names[i].name, optionOf(judged).join(' '), fixed(judged.chosen.f1, 3)],
        ...[fixed(precision, 3), fixed(recall, 3), fixed(f1, 3)],
        f1Interval.map((limit) => fixed(limit, 3)).join('..'),
      ];
    }),
  ];
}

/** Which rows were used, how many pairs are the same, and which other pairs count as wrong. */
function baseSentences(report: OutcomesReport): string[] {
  const { fileRows, drawn, seed, source, truth, contest } = report;
  const isPlanted = truth.kind === 'planted';
  const which = drawn === null ? counted(fileRows, 'row') : drawnWords(drawn, fileRows, seed);
  const sentences = [`${which}: ${source}.`];
  // All settings are judged by the same pairs, so the first one has their number.
  const same = contest?.settings[0] && [contest.settings[0].chosen, contest.settings[0].held];
  if (same === undefined) {
    // One word must be edited at least, so shorter texts would have a larger share of edits.
    const words = Math.ceil(1 / (isPlanted ? truth.edits : 1));
    return [
      ...sentences,
      `Too few texts of ${words} words or more to plant copies in: there is nothing to judge by.`,
    ];
  }
  const [choosing, held] = same.map((one) => grouped(one.same));
  if (isPlanted) {
    const shares = PARTS.map((part) => percent(part * truth.edits)).join(', ');
    sentences.push(
      `Copies planted: ${choosing} in the half that chooses, ${held} in the other, in turn with ` +
        `${shares} of the words edited, one at least: replaced, left out, added or exchanged.`,
      `Other pairs that are found are wrong, unless the two texts have a Jaccard similarity of ` +
        `${RIGHT.minJaccard} or more by runs of ${RIGHT.letters} letters.`,
    );
    sentences.push(
      'In the whole input a row meets so many times more others as it has more rows than a half: ' +
        'a wrong pair counts so many times.',
    );
  } else {
    sentences.push(
      `Labelled as the same in ${truth.file}: ${choosing} pairs in the half that chooses, ` +
        `${held} in the other.`,
    );
  }
  const few = Math.min(...same.map((one) => one.same));
  if (few < FEW) sentences.push(`Only ${counted(few, 'pair')} in one half: intervals are wide.`);
  return sentences;
}

/** Why the setting is recommended: the best one if it is surely better, else the default. */
function reason(
  { settings, best, recommended }: Contest,
  names: OutcomesReport['settings'],
): string {
  const [usual] = settings;
  const { chosen, held, leastGain } = settings[best];
  const name = `${names[best].name} (${optionOf(settings[best]).join(' ')})`;
  if (best === 0) return 'The default: no setting was better on the half that chose.';
  const f1s = `F1 ${fixed(held.f1, 3)}, the default ${fixed(usual.held.f1, 3)}`;
  if (recommended !== 0) {
    return (
      `${name} was best on the half that chose, and is better on the other: ${f1s}, a gain of at ` +
      `least ${fixed(leastGain, 3)} (97.5 % sure).`
    );
  }
  return (
    `The default: ${name} was best on the half that chose (F1 ${fixed(chosen.f1, 3)}, the ` +
    `default ${fixed(usual.chosen.f1, 3)}), but on the other half not by more than chance: ${f1s}.`
  );
}
