/**
 * What `calibrate` found, for people and as data: the table of thresholds, what it counts and what
 * it does not, pairs to judge by eye, and the command line that it recommends.
 */

import { JACCARD } from '../../codes/measure';
import { OTHER, PARTS } from '../../measure/planted';
import type { Calibration, UnjudgedPair } from '../../node';
import type { Collection } from '../input/collection';
import { counted, differing, fixed, grouped, similarityWords, wrapped } from './figures';
import { aligned } from './table';

/** A calibration of the rows of a file, and the command that it recommends. */
export interface CalibrationReport extends Omit<Calibration, 'rows'> {
  readonly file: string;
  /** What was read, as `texts of "body"`. */
  readonly source: string;
  readonly rows: Collection;
  /** Rows with a code. */
  readonly rowCount: number;
  /** The file of labelled pairs; null where copies were planted. */
  readonly pairsFile: string | null;
  /** Largest share of the words that were edited in copies that are the same. */
  readonly edits: number;
  /** Nothing below is recommended. */
  readonly leastRecommended: number;
  readonly command: string;
}

/** Columns of the text; tables may be wider. */
const WIDTH = 96;
/** Pairs shown, at most. */
const PAIRS_SHOWN = 10;

/** The pairs that are shown: the nearest and the farthest, and others evenly between. */
export function shownPairs(unjudged: readonly UnjudgedPair[]): UnjudgedPair[] {
  const shown = Math.min(PAIRS_SHOWN, unjudged.length);
  const places = Array.from({ length: shown }, (_, i) =>
    Math.round((i * (unjudged.length - 1)) / Math.max(1, shown - 1)),
  );
  return places.map((place) => unjudged[place]);
}

/** The figures as data. */
export function calibrationData({
  rows,
  rowCount,
  unjudged,
  ...report
}: CalibrationReport): object {
  const { pairsFile, edits, leastRecommended, ...figures } = report;
  return {
    ...figures,
    ...(pairsFile === null ? { edits } : { pairs: pairsFile }),
    rows: rowCount,
    unjudged: unjudged.map((pair) => ({
      ...pair,
      ...(rows.ids && { idA: String(rows.ids[pair.a]), idB: String(rows.ids[pair.b]) }),
    })),
  };
}

/** The report as text, with the recommendation last: next to the user's prompt. */
export function calibrationText(
  report: CalibrationReport,
  shown: readonly UnjudgedPair[],
  texts: ReadonlyMap<number, string>,
): string {
  const { command } = report;
  const filled = (sentences: readonly string[]) => wrapped(sentences.join(' '), WIDTH).join('\n');
  const parts = [
    filled(rowSentences(report)),
    aligned(tableCells(report), { isRight: (column) => column < 6 }),
    filled(countSentences(report)),
    ...(shown.length === 0 ? [] : [pairLines(report, shown, texts)]),
    `Recommended\n  ${command}\n\n${filled(reasons(report))}`,
  ];
  return `${parts.join('\n\n')}\n`;
}

/** What was read and compared. */
function rowSentences({ rowCount, repeated, source, measure }: CalibrationReport): string[] {
  const name = similarityWords({ name: measure });
  const sentences = [`${counted(rowCount, 'row')}: ${source}, compared by exact ${name}.`];
  if (repeated > 0) {
    const rows = counted(repeated, 'row');
    sentences.push(
      `${rows} equal to an earlier one: dropped at every threshold, in no pair below.`,
    );
  }
  return sentences;
}

/** The table, its headings first. */
function tableCells({ lines, same, different, recommended, ...report }: CalibrationReport) {
  const usual = lines.find(({ threshold }) => threshold >= report.leastRecommended)?.threshold;
  const of = (count: number, all: number) =>
    all === 0 ? '–' : `${grouped(count)} of ${grouped(all)}`;
  return [
    ['threshold', 'found', 'wrong', 'not judged', 'groups', 'rows dropped', ''],
    ...lines.map(({ threshold, found, wrong, unjudged, groups, dropped }) => [
      ...[fixed(threshold), of(found, same), of(wrong, different)],
      ...[grouped(unjudged), grouped(groups), grouped(dropped)],
      [
        report.measure === JACCARD.name && threshold === usual && 'default',
        threshold === recommended && 'recommended',
      ]
        .filter((one) => one !== false)
        .join(', '),
    ]),
  ];
}

/** A share as per cent with the digits that it has: `10 %`, `0.5 %`. */
const percentOf = (share: number) => `${Number((100 * share).toPrecision(6))} %`;

/** What the table counts, and what it does not. */
function countSentences({ pairsFile, edits, same }: CalibrationReport): string[] {
  const rest =
    'Not judged: other pairs of your rows. Whether these are right is not known: they count ' +
    'neither as found nor as wrong, and are in the groups.';
  if (pairsFile !== null) {
    return [`Found and wrong: pairs that ${pairsFile} says are the same, and are not.`, rest];
  }
  if (same === 0) {
    const words = Math.ceil(1 / edits);
    return [`No text has the ${words} words that one edit needs: no copies were planted.`, rest];
  }
  const shares = PARTS.map((part) => percentOf(part * edits)).join(', ');
  return [
    `Found: planted copies with ${shares} of the words edited in turn (--edits), one at least. ` +
      `Wrong: planted copies of the same texts with ${percentOf(OTHER * edits)} edited, which ` +
      'are other texts by that.',
    rest,
  ];
}

/** Pairs that are not judged, the nearest first. */
function pairLines(
  { rows }: CalibrationReport,
  shown: readonly UnjudgedPair[],
  texts: ReadonlyMap<number, string>,
): string {
  const nameOf = (row: number) => String(rows.ids?.[row] ?? `row ${row}`);
  const lines = shown.flatMap(({ a, b, similarity }) => {
    const [one, other] = differing(texts.get(a) ?? '', texts.get(b) ?? '');
    return [
      [fixed(similarity), nameOf(a), one],
      ['', nameOf(b), other],
    ];
  });
  const heading = 'Pairs of your rows that are not judged, the nearest first. Are they the same?';
  return `${heading}\n${aligned(lines, { isRight: () => false })}`;
}

/** Why this threshold. */
function reasons(report: CalibrationReport): string[] {
  const { lines, same, different, recommended, leastRecommended, pairsFile } = report;
  const best = lines.find(({ threshold }) => threshold === recommended);
  if (best === undefined || same === 0) return ['The default: no pair is known to judge by.'];
  const missed = same - best.found;
  const least = lines.find(({ threshold }) => threshold >= leastRecommended)?.threshold;
  const where = pairsFile === null ? 'planted' : 'labelled';
  return [
    `The fewest mistakes with the ${grouped(same + different)} ${where} pairs: ` +
      `${grouped(missed)} missed, ${grouped(best.wrong)} wrong; of equally good thresholds the ` +
      'highest.',
    ...(recommended === least ? [lowerWords(report)] : []),
    'Look at the pairs above before you take it: where they are not the same, take a higher one.',
  ];
}

/** Why no lower threshold is recommended. */
function lowerWords({ lines, measure, leastRecommended }: CalibrationReport): string {
  if (lines[0].threshold <= leastRecommended) {
    return 'Lower ones than the default of dedup are not recommended.';
  }
  return `A lower --min-${measure} shows lower ones.`;
}
