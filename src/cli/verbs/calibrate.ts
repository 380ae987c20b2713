/**
 * `halfspace calibrate`: which threshold of `dedup` fits the user's rows. All rows are joined as
 * `dedup` joins them; what a threshold finds is judged by pairs that the user has labelled
 * (--pairs) or judged in `explore` (--judge), or by edited copies of some of the texts. Shows the
 * table of thresholds and the command line that it recommends. Rows are read a second time to be
 * compared exactly.
 */

import { existsSync } from 'node:fs';
import { LongWork } from '../../base/long-work';
import { Reservoir } from '../../base/random';
import { COSINE, JACCARD, NEAR_JACCARD } from '../../codes/measure';
import { calibrateRows, OTHER, PARTS, scoreCopies } from '../../measure/calibrate';
import { rowsOf, withVectors } from '../../near/rows';
import { type Calibration, type RowBatch, type TextHasher, writePlan } from '../../node';
import { type Call, OF_ROWS } from '../call';
import { type Collection, readCollection } from '../input/collection';
import { type SourceColumns, sourceWords } from '../input/columns';
import type { InputRows } from '../input/input-rows';
import { judgedPairs, labelledRows, pairsToJudge, readLabels } from '../input/known-pairs';
import { bandsOf, NEAR_TEXT_SHARE, nearnessOf } from '../input/near';
import { commandLine, counted, fixed, grouped, similarityWords, wrapped } from '../output/figures';
import { checkPlanName } from '../output/plan';
import { openBytes } from '../output/rows';
import { aligned } from '../output/table';

/** Texts that copies are made of, at most; longer ones are not copied, which bounds memory. */
const ORIGINALS = 300;
const MAX_CHARACTERS = 2 ** 20;
/** Largest share of the words that is edited in copies that are the same. */
const EDITS = 0.1;
const SEED = 0;
/** Columns of the text. */
const WIDTH = 96;

/** A calibration of the rows of a file, and the command that it recommends. */
interface CalibrationReport extends Calibration {
  readonly file: string;
  /** What was read, as `texts of "body"`. */
  readonly source: string;
  /** The file of labelled pairs, or the plan of judged ones; null where copies were planted. */
  readonly pairs: string | null;
  readonly command: string;
}

export async function run(call: Call): Promise<0> {
  const path = call.onlyInput();
  if (path === '-') call.misuse('calibrate reads its input twice: name a file, not -');
  const report = await calibrated(call, path);
  if (report === null) return 0;
  await call.print(`${call.has('json') ? JSON.stringify(report, null, 2) : reportText(report)}\n`);
  return 0;
}

/**
 * Reads the rows, of texts plants copies where no pairs are given, and makes the table. With
 * --judge the pairs are those of a plan; where there is none, it is written, and the answer is
 * null.
 */
async function calibrated(call: Call, path: string): Promise<CalibrationReport | null> {
  const judged = call.text('judge');
  const pairs = call.text('pairs') ?? judged ?? null;
  if (judged !== undefined) checkPlanName(call, 'judge', judged);
  const isNew = judged !== undefined && !existsSync(judged);
  // What cannot be written is refused before the work.
  if (isNew) await (await openBytes(call, judged, [path])).abort();
  const labels = pairs === null || judged !== undefined ? null : await readLabels(call, pairs);
  const originals = new Reservoir<string>(ORIGINALS, SEED);
  const rows = await readCollection(call, path, {
    hold: 'vectors',
    areTextsSets: true,
    bands: bandsOf(call),
    begin(input) {
      const [column] = checkSource(call, input, pairs).columns;
      const take = (batch: RowBatch) => offerTexts(batch.texts(column), originals);
      return pairs === null ? [{ column, take }] : [];
    },
  });
  const { choice, reader, textHasher } = rows.input as InputRows;
  const all = rowsOf('rows', rows.source);
  // Known pairs are read before the rows are compared, which takes long.
  const known = isNew
    ? null
    : judged === undefined
      ? labels && labelledRows(labels, rows, pairs as string)
      : await judgedPairs(call, judged, all);
  const near = await nearnessOf(call, rows);
  const held = withVectors(all, near.vectors);
  if (isNew) {
    const { vectors: _, ...least } = near;
    const plan = await call.long('comparing', (stage) =>
      pairsToJudge(held, least, new LongWork(stage)),
    );
    if (plan.kept.every((one) => one === 1)) {
      call.fail('no different rows are near: give a lower --min-jaccard or --min-cosine');
    }
    await writePlan(judged, plan, { ids: rows.ids ?? undefined, rows: 'groups' });
    call.say(`wrote ${judged}: judge its pairs by the keys y and n, then run this again`);
    call.say(`  ${commandOf(call, 'explore', choice, ['--plan', judged])}`);
    return null;
  }
  const leastRecommended = leastRecommendedOf(choice, rows);
  const found = await call.long('grouping', async (stage) => {
    const work = new LongWork(stage);
    const planting = { share: EDITS, seed: `planted ${SEED}` };
    const texts = known ? [] : originals.result();
    const scored = await scoreCopies(texts, textHasher as TextHasher, planting, work);
    return calibrateRows(held, { near, known, scored, leastRecommended }, work);
  });
  const option = rows.measure === JACCARD ? '--min-jaccard' : '--min-cosine';
  const threshold = [option, String(found.recommended), '-o', 'plan.jsonl'];
  const command = commandOf(call, 'dedup', choice, threshold);
  return { file: reader.file, source: sourceWords(choice), pairs, ...found, command };
}

/** Refuses what has no rows to compare exactly, or no pairs that are known. */
function checkSource(call: Call, input: InputRows | null, pairs: string | null): SourceColumns {
  if (input === null) call.misuse('calibrate reads rows from a file, not from an index');
  const { kind } = input.choice;
  if (kind === 'code') call.misuse('calibrate compares rows exactly: codes have lost their rows');
  if (pairs === null && kind !== 'text') {
    call.misuse(
      'vectors have no words to edit: give --judge PLAN, or --pairs FILE, with pairs of rows of ' +
        'which you know whether they are the same',
    );
  }
  if (kind === 'vector' && call.has('min-jaccard')) {
    call.misuse('--min-jaccard compares sets, which are texts or sparse vectors: these are dense');
  }
  return input.choice;
}

/** The lowest threshold that is recommended: what `dedup` takes as near where no option says it. */
function leastRecommendedOf({ kind }: SourceColumns, { measure, bits }: Collection): number {
  if (measure === JACCARD) return NEAR_JACCARD;
  const usual = Math.round(NEAR_TEXT_SHARE * bits);
  return kind === 'text' ? COSINE.estimateOf(usual, bits) : COSINE.least;
}

/** Offers the texts that may be long enough for one edit; a word has one character at least. */
function offerTexts(texts: readonly (string | null)[], originals: Reservoir<string>): void {
  for (const text of texts) {
    if (text === null || EDITS * text.length < 1 || text.length > MAX_CHARACTERS) continue;
    originals.offer(() => text);
  }
}

/** The command line by which another verb reads and compares the rows as this call does. */
function commandOf(
  call: Call,
  verb: string,
  { kind, columns, path }: InputRows['choice'],
  rest: readonly string[],
): string {
  const column = [kind === 'text' ? '--text' : '--vector', columns.join(',')];
  const given = call.given(OF_ROWS.filter((name) => name !== 'text' && name !== 'vector'));
  return commandLine(['halfspace', verb, path as string, ...column, ...given, ...rest]);
}

/** The report as text, with the recommendation last: next to the user's prompt. */
function reportText(report: CalibrationReport): string {
  const { rows, source, measure, command } = report;
  const parts = [
    `${counted(rows, 'row')}: ${source}, compared by exact ${similarityWords({ name: measure })}.`,
    aligned(tableCells(report), { isRight: (column) => column < 5 }),
    wrapped(pairsWords(report), WIDTH).join('\n'),
    `Recommended\n  ${command}`,
  ];
  return parts.join('\n\n');
}

function tableCells({ lines, same, different, recommended }: CalibrationReport) {
  const of = (count: number, all: number) =>
    all === 0 ? '–' : `${grouped(count)} of ${grouped(all)}`;
  return [
    ['threshold', 'found', 'wrong', 'groups', 'rows dropped', ''],
    ...lines.map(({ threshold, found, wrong, groups, dropped }) => [
      fixed(threshold),
      of(found, same),
      of(wrong, different),
      grouped(groups),
      grouped(dropped),
      threshold === recommended ? 'recommended' : '',
    ]),
  ];
}

/** Which pairs are found and wrong, and what makes a threshold the best. */
function pairsWords({ pairs, same }: CalibrationReport): string {
  const best = 'Recommended is the threshold with the fewest missed and wrong pairs.';
  if (pairs !== null) return `Found and wrong: pairs that are the same or not by ${pairs}. ${best}`;
  if (same === 0) {
    const words = Math.ceil(1 / EDITS);
    return `No text has the ${words} words that one edit needs: recommended is the default.`;
  }
  const shares = PARTS.map((part) => percentOf(part * EDITS)).join(', ');
  const found = `Found: planted copies of texts with ${shares} of the words edited in turn.`;
  const wrong = `Wrong: those with ${percentOf(OTHER * EDITS)} edited, other texts by that.`;
  const others =
    'Groups and rows dropped count all rows, also rows that fill in one template differently, ' +
    'which planted copies do not judge; --judge PLAN lets you judge pairs of your own rows.';
  return `${found} ${wrong} ${others} ${best}`;
}

/** A share as per cent with the digits that it has: `10 %`, `0.5 %`. */
const percentOf = (share: number) => `${Number((100 * share).toPrecision(6))} %`;
