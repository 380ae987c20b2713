/**
 * `halfspace calibrate`: which threshold of `dedup` fits the user's rows. All rows are joined as
 * `dedup` joins them; what a threshold finds is judged by pairs that the user has labelled, or by
 * edited copies of some of the texts. Shows the table of thresholds, what it counts and what it
 * does not, pairs to judge by eye, and the command line that it recommends. Rows are read a second
 * time to be compared exactly.
 */

import { Reservoir } from '../../base/draw';
import { LongWork } from '../../base/long-work';
import { COSINE, JACCARD, NEAR_JACCARD } from '../../codes/measure';
import { calibrateRows } from '../../measure/calibrate';
import { OTHER, PARTS, scoreCopies } from '../../measure/planted';
import { rowsOf, withVectors } from '../../near/rows';
import type { Calibration, TextHasher, UnjudgedPair } from '../../node';
import type { Call } from '../call';
import { type Collection, readCollection } from '../input/collection';
import type { InputRows } from '../input/input-rows';
import { labelledRows, readLabels } from '../input/known-pairs';
import { bandsOf, NEAR_TEXT_SHARE, nearnessOf } from '../input/near';
import { sourceWords } from '../input/open-input';
import {
  commandLine,
  counted,
  differing,
  fixed,
  grouped,
  similarityWords,
  wrapped,
} from '../output/figures';
import { aligned } from '../output/table';

/** Texts that copies are made of, at most; longer ones are not copied, which bounds memory. */
const ORIGINALS = 300;
const MAX_CHARACTERS = 2 ** 20;
/** Of random draws. */
const SEED = 0;
/** Options that `dedup` must be given as well, to read and compare the rows in the same way. */
const PASSED_ON = [
  ...['id', 'from', 'types', 'on-error', 'tokens', 'normalize', 'counting', 'tf-idf'],
];
/** Columns of the text; tables may be wider. */
const WIDTH = 96;
/** Pairs shown, at most. */
const PAIRS_SHOWN = 10;

/** A calibration of the rows of a file, and the command that it recommends. */
interface CalibrationReport extends Omit<Calibration, 'rows'> {
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

/** Prints the table as text, or as JSON with --json. */
export async function run(call: Call): Promise<0> {
  const path = call.onlyInput();
  if (path === '-') call.misuse('calibrate reads its input twice: name a file, not -');
  const report = await calibrated(call, path);
  if (call.isJson) {
    await call.print(`${JSON.stringify(calibrationData(report), null, 2)}\n`);
    return 0;
  }
  const shown = shownPairs(report.unjudged);
  const texts = await report.rows.texts.of(shown.flatMap(({ a, b }) => [a, b]));
  await call.print(calibrationText(report, shown, texts));
  return 0;
}

/** Reads the rows, of texts plants copies where no pairs are given, and makes the table. */
async function calibrated(call: Call, path: string): Promise<CalibrationReport> {
  const file = call.text('pairs') ?? null;
  const labels = file === null ? null : await readLabels(call, file);
  const share = call.number('edits') as number;
  const originals = new Reservoir<string>(ORIGINALS, SEED);
  const read: { source?: InputRows } = {};
  const rows = await readCollection(call, path, {
    hold: 'vectors',
    areTextsSets: true,
    bands: bandsOf(call),
    begin(source) {
      read.source = checkSource(call, source, file);
    },
    take(batch) {
      const column = read.source?.choice.columns[0] as string;
      if (labels === null) offerTexts(batch.texts(column), originals, share);
    },
  });
  const source = read.source as InputRows;
  const known = labels && labelledRows(labels, rows, file as string);
  const near = await nearnessOf(call, rows);
  const planting = { share, seed: `planted ${SEED}` };
  const held = withVectors(rowsOf('rows', rows.source), near.vectors);
  const leastRecommended = leastRecommendedOf(source, rows);
  const found = await call.long('grouping', async (stage) => {
    const work = new LongWork(stage);
    const hasher = source.textHasher as TextHasher;
    const scored = known ? [] : await scoreCopies(originals.result(), hasher, planting, work);
    return calibrateRows(held, { near, known, scored, leastRecommended }, work);
  });
  const option = rows.measure === JACCARD ? '--min-jaccard' : '--min-cosine';
  return {
    ...found,
    rows,
    rowCount: found.rows,
    file: source.reader.file,
    source: sourceWords(source.choice),
    pairsFile: file,
    edits: share,
    leastRecommended,
    command: dedupCommand(source, [option, String(found.recommended)]),
  };
}

/** Refuses what has no rows to compare exactly, or no pairs that are known. */
function checkSource(call: Call, source: InputRows | null, file: string | null): InputRows {
  if (source === null) call.misuse('calibrate reads rows from a file, not from an index');
  const { kind } = source.choice;
  if (kind === 'code') call.misuse('calibrate compares rows exactly: codes have lost their rows');
  if (file !== null && call.has('edits')) {
    call.misuse('--edits plants copies, --pairs has labels: leave one out');
  }
  if (file === null && kind !== 'text') {
    call.misuse(
      'vectors have no words to edit: give --pairs FILE, with pairs of rows of which you know ' +
        'whether they are the same',
    );
  }
  if (kind === 'vector' && call.has('min-jaccard')) {
    call.misuse('--min-jaccard compares sets, which are texts or sparse vectors: these are dense');
  }
  return source;
}

/** The lowest threshold that is recommended: what `dedup` takes as near where no option says it. */
function leastRecommendedOf({ choice }: InputRows, { measure, bits }: Collection): number {
  if (measure === JACCARD) return NEAR_JACCARD;
  const usual = Math.round(NEAR_TEXT_SHARE * bits);
  return choice.kind === 'text' ? COSINE.estimateOf(usual, bits) : COSINE.least;
}

/** Offers the texts that may be long enough for one edit; a word has one character at least. */
function offerTexts(
  texts: readonly (string | null)[],
  originals: Reservoir<string>,
  share: number,
): void {
  for (const text of texts) {
    if (text === null || share * text.length < 1 || text.length > MAX_CHARACTERS) continue;
    originals.offer(() => text);
  }
}

/** The command line by which `dedup` reads and compares the rows as this call does. */
function dedupCommand({ call, choice }: InputRows, threshold: readonly string[]): string {
  const given = PASSED_ON.filter((name) => call.has(name)).flatMap((name) => [
    `--${name}`,
    ...(name === 'tf-idf' ? [] : [call.list(name).join(',')]),
  ]);
  return commandLine([
    ...['halfspace', 'dedup', choice.path as string],
    ...[choice.kind === 'text' ? '--text' : '--vector', choice.columns.join(',')],
    ...[...given, ...threshold, '-o', 'plan.jsonl'],
  ]);
}

/** The pairs that are shown: the nearest and the farthest, and others evenly between. */
function shownPairs(unjudged: readonly UnjudgedPair[]): UnjudgedPair[] {
  const shown = Math.min(PAIRS_SHOWN, unjudged.length);
  const places = Array.from({ length: shown }, (_, i) =>
    Math.round((i * (unjudged.length - 1)) / Math.max(1, shown - 1)),
  );
  return places.map((place) => unjudged[place]);
}

/** The figures as data. */
function calibrationData({ rows, rowCount, unjudged, ...report }: CalibrationReport): object {
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
function calibrationText(
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
