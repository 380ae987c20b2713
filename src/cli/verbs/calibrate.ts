/**
 * `halfspace calibrate`: which threshold of `dedup` fits the user's rows. All rows are joined as
 * `dedup` joins them; what a threshold finds is judged by pairs that the user has labelled
 * (--pairs), or by edited copies of some of the texts. Shows the table of thresholds and which one
 * it recommends. Rows are read a second time to be compared exactly.
 *
 * Ids of labels are compared as text, since a number in one file may be text in another, and what
 * makes no sense is bad data (exit code 3).
 */

import { FormatError } from '../../base/check';
import { LongWork } from '../../base/long-work';
import { Reservoir } from '../../base/random';
import { COSINE, JACCARD, NEAR_COSINE, NEAR_JACCARD } from '../../codes/measure';
import { calibrateRows, OTHER, PARTS, scoreCopies } from '../../measure/calibrate';
import { rowsOf, withVectors } from '../../near/rows';
import type {
  Calibration,
  CalibrationLine,
  KnownPairs,
  RowBatch,
  RowReader,
  TextHasher,
} from '../../node';
import type { Call } from '../call';
import { type Collection, readCollection } from '../input/collection';
import type { InputRows } from '../input/input-rows';
import { bandsOf, commonOf, nearnessOf } from '../input/near';
import {
  batchesOf,
  nameOfInput,
  openInput,
  type SourceColumns,
  sourceWords,
} from '../input/open-input';
import { aligned, counted, grouped, jsonOf, similarityWords, wrapped } from '../output/figures';

/** Texts that copies are made of, at most; longer ones are not copied, which bounds memory. */
const ORIGINALS = 300;
const MAX_CHARACTERS = 2 ** 20;
/** Largest share of the words that is edited in copies that are the same. */
const EDITS = 0.1;
const SEED = 0;
/** Columns of the text. */
const WIDTH = 96;
/** Options that say what is compared, for `dedup` as for this verb. */
const COMPARED = 'text vector id tokens tf-idf counting common from types'.split(' ');

/** A calibration of the rows of a file. */
interface CalibrationReport extends Calibration {
  readonly file: string;
  /** What was read, as `texts of "body"`. */
  readonly source: string;
  /** The file of labelled pairs; null where copies were planted. */
  readonly pairs: string | null;
  /** The default of `dedup`: no lower threshold is recommended. */
  readonly leastRecommended: number;
  /** `dedup` by the recommended threshold, for a shell. */
  readonly command: string;
}

export async function run(call: Call): Promise<0> {
  const path = call.onlyInput();
  if (path === '-') call.misuse('calibrate reads its input twice: name a file, not -');
  const report = await calibrated(call, path);
  await call.print(`${call.has('json') ? JSON.stringify(report, null, 2) : reportText(report)}\n`);
  return 0;
}

/** Reads the rows, of texts plants copies where no pairs are given, and makes the table. */
async function calibrated(call: Call, path: string): Promise<CalibrationReport> {
  const pairs = call.text('pairs') ?? null;
  const labels = pairs === null ? null : await readLabels(call, pairs);
  const originals = new Reservoir<string>(ORIGINALS, SEED);
  const rows = await readCollection(call, path, {
    hold: 'vectors',
    areTextsSets: true,
    bands: bandsOf(call),
    begin(input) {
      const [column] = checkSource(call, input, pairs).columns;
      // Texts that may be long enough for one edit: a word has one character at least.
      const isUsual = (text: string) => EDITS * text.length >= 1 && text.length <= MAX_CHARACTERS;
      const take = (batch: RowBatch) => {
        for (const text of batch.texts(column))
          if (text && isUsual(text)) originals.offer(() => text);
      };
      return pairs === null ? [{ column, take }] : [];
    },
  });
  const { choice, reader, textHasher } = rows.input as InputRows;
  // Known pairs are read before the rows are compared, which takes long.
  const known = labels && labelledRows(call, labels, rows, pairs as string);
  const near = await nearnessOf(call, rows);
  const common = await commonOf(call, rows);
  const held = withVectors(rowsOf('rows', rows.source), near.vectors);
  // What `dedup` takes as near where no option says it.
  const leastCosine = choice.kind === 'text' ? NEAR_COSINE : COSINE.least;
  const leastRecommended = rows.measure === JACCARD ? NEAR_JACCARD : leastCosine;
  const found = await call.long('grouping', async (stage) => {
    const work = new LongWork(stage);
    const planting = { share: EDITS, seed: `planted ${SEED}` };
    const texts = known ? [] : originals.result();
    const scored = await scoreCopies(texts, textHasher as TextHasher, planting, work);
    return calibrateRows(held, { near, common, known, scored, leastRecommended }, work);
  });
  const option = rows.measure === JACCARD ? '--min-jaccard' : '--min-cosine';
  const compared = COMPARED.filter((name) => call.has(name)).flatMap((name) =>
    call.list(name).length === 0
      ? `--${name}`
      : call.list(name).flatMap((one) => {
          return one.startsWith('-') ? `--${name}=${one}` : [`--${name}`, one];
        }),
  );
  const input = path.startsWith('-') ? `./${path}` : path;
  const output = path.endsWith('plan.jsonl') ? 'duplicates.jsonl' : 'plan.jsonl';
  const words = ['dedup', input, ...compared, option, String(found.recommended), '-o', output];
  const command = ['halfspace', ...words].map(quoted).join(' ');
  const source = sourceWords(choice);
  return { file: reader.file, source, pairs, ...found, leastRecommended, command };
}

/** A word for a shell. */
function quoted(word: string): string {
  return /^[\w./:,=+@-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/** Refuses what has no rows to compare exactly, or no pairs that are known. */
function checkSource(call: Call, input: InputRows | null, pairs: string | null): SourceColumns {
  if (input === null) call.misuse('calibrate reads rows from a file, not from an index');
  const { kind } = input.choice;
  if (kind === 'code') call.misuse('calibrate compares rows exactly: codes have lost their rows');
  if (pairs === null && kind !== 'text') {
    call.misuse(
      'vectors have no words to edit: give --pairs FILE, with pairs of rows of which you know ' +
        'whether they are the same',
    );
  }
  if (kind === 'vector' && call.has('min-jaccard')) {
    call.misuse('--min-jaccard compares sets, which are texts or sparse vectors: these are dense');
  }
  return input.choice;
}

/** The report as text, with the recommendation last: next to the user's prompt. */
function reportText(report: CalibrationReport): string {
  const { rows, source, measure, command } = report;
  const parts = [
    `${counted(rows, 'row')}: ${source}, compared by exact ${similarityWords({ name: measure })}.`,
    aligned(tableCells(report)),
    wrapped(pairsWords(report), WIDTH).join('\n'),
    `Recommended: ${command}`,
  ];
  return parts.join('\n\n');
}

function tableCells({ lines, same, different, recommended }: CalibrationReport) {
  const of = (count: number, all: number) =>
    all === 0 ? '–' : `${grouped(count)} of ${grouped(all)}`;
  return [
    ['threshold', 'found', 'wrong', 'groups', 'rows dropped', ''],
    ...lines.map(({ threshold, found, wrong, groups, dropped }) => [
      threshold.toFixed(2),
      of(found, same),
      of(wrong, different),
      grouped(groups),
      grouped(dropped),
      threshold === recommended ? 'recommended' : '',
    ]),
  ];
}

/** Which pairs are found and wrong, and what makes a threshold the best. */
function pairsWords(report: CalibrationReport): string {
  const { pairs, same, measure } = report;
  const apart = ' As in dedup, the text of templates, or of --common, makes no rows near.';
  const recommended = 'Recommended is the threshold with the fewest missed and wrong pairs';
  const best = `${recommended}${lowerWords(report)}${measure === 'jaccard' ? apart : ''}`;
  if (pairs !== null) return `Found and wrong: pairs that are the same or not by ${pairs}. ${best}`;
  if (same === 0) {
    const words = Math.ceil(1 / EDITS);
    const lowest = 'recommended is the lowest from the default of dedup on';
    return `No text has the ${words} words that one edit needs: ${lowest}.`;
  }
  const shares = PARTS.map((part) => percentOf(part * EDITS)).join(', ');
  const found = `Found: planted copies of texts with ${shares} of the words edited in turn.`;
  const wrong = `Wrong: those with ${percentOf(OTHER * EDITS)} edited, other texts by that.`;
  const templates =
    ' Groups and rows dropped count also rows that fill in one template differently, which ' +
    'planted copies do not judge.';
  return `${found} ${wrong}${measure === 'jaccard' ? '' : templates} ${best}`;
}

/** The end of that sentence: whether lower thresholds may be better than the recommended one. */
function lowerWords({ lines, same, recommended, leastRecommended }: CalibrationReport): string {
  const [{ threshold: lowest }] = lines;
  if (recommended === lowest && leastRecommended < lowest) {
    return ' in the table. It is the lowest: a lower one may be better.';
  }
  const from =
    leastRecommended < lowest ? '' : `, from the default of dedup on, ${leastRecommended}`;
  const mistakes = ({ found, wrong }: CalibrationLine) => same - found + wrong;
  const fewest = lines.reduce((best, one) => (mistakes(one) <= mistakes(best) ? one : best));
  if (fewest.threshold >= leastRecommended) return `${from}.`;
  const others = lines.find(({ threshold }) => threshold === recommended) as CalibrationLine;
  return (
    `${from}. Lower ones join rows of which the known pairs say little: ` +
    `${fewest.threshold.toFixed(2)} misses or takes wrongly ${grouped(mistakes(fewest))} ` +
    `in place of ${grouped(mistakes(others))}, but look at its groups before you drop rows.`
  );
}

/** A share as per cent with the digits that it has: `10 %`, `0.5 %`. */
const percentOf = (share: number) => `${Number((100 * share).toPrecision(6))} %`;

interface Label {
  readonly a: string;
  readonly b: string;
  readonly isSame: boolean;
}

/** Values of the third column, in lower case, and what they say. */
const ANSWERS: Readonly<Record<string, boolean>> = { true: true, 1: true, false: false, 0: false };
const COLUMNS = 'two ids, and whether they are the same (true, false, 1 or 0)';

/**
 * Reads the labels from the first three columns of a file of any format. A pair that is repeated,
 * in either order, counts once. Refuses an id that is missing or nested, two equal ids, an answer
 * that is neither yes nor no, two answers to a pair, and a file in which nothing is the same.
 */
async function readLabels(call: Call, path: string): Promise<Label[]> {
  const reader = await openInput(call, path, undefined, {});
  const names = reader.columns.map(({ name }) => name).slice(0, 3);
  if (names.length < 3) {
    const got = names.join(', ') || 'none';
    throw new FormatError(`expected three columns, ${COLUMNS}; got ${got}`, path);
  }
  if (reader.format === 'csv' && Object.hasOwn(ANSWERS, names[2].toLowerCase())) {
    const got = `the first line is a pair: ${names.join(', ')}`;
    throw new FormatError(`expected a header, which names the columns, as a,b,same; ${got}`, path);
  }
  const known = new Map<string, Label>();
  for await (const batch of batchesOf(call, await withTextIds(call, path, reader))) {
    const columns = names.map((name) => batch.values(name));
    for (let i = 0; i < batch.count; i++) {
      const row = `row ${batch.firstRow + i}`;
      const values = columns.map((column) => column[i]);
      const [a, b, answer] = values.map((value) => String(value));
      const isSame = ANSWERS[answer.toLowerCase()];
      const areIds = values.every((value) => typeof (value ?? null) !== 'object') && a !== b;
      if (!areIds || isSame === undefined) {
        const got = JSON.stringify(values, jsonOf);
        throw new FormatError(`${row}: expected ${COLUMNS}, got ${got}`, path);
      }
      const key = JSON.stringify([a, b].sort());
      if ((known.get(key)?.isSame ?? isSame) !== isSame) {
        const both = `"${a}" and "${b}" are both the same and not the same in this file`;
        throw new FormatError(`${row}: ${both}`, path);
      }
      known.set(key, { a, b, isSame });
    }
  }
  const labels = [...known.values()];
  if (labels.some(({ isSame }) => isSame)) return labels;
  throw new FormatError('expected one pair or more that is the same, all are false', path);
}

/** Of CSV the first two columns as texts: 1.10 is another id than 1.1. */
async function withTextIds(call: Call, path: string, reader: RowReader): Promise<RowReader> {
  const [a, b] = reader.columns.map(({ name }) => name);
  if (reader.format !== 'csv' || path === '-') return reader;
  await reader.close();
  return openInput(call, path, undefined, { types: { [a]: 'text', [b]: 'text' } });
}

/** The labels as pairs of rows that have codes. Refuses an id of no row or of several. */
function labelledRows(
  call: Call,
  labels: readonly Label[],
  rows: Collection,
  file: string,
): KnownPairs {
  const wanted = new Set(labels.flatMap(({ a, b }) => [a, b]));
  const rowsOfId = new Map<string, number[]>();
  for (const row of rows.rows) {
    const id = String(rows.ids?.[row] ?? row); // rows without ids go by their numbers
    if (wanted.has(id)) rowsOfId.set(id, [...(rowsOfId.get(id) ?? []), row]);
  }
  const { codes } = rowsOf('rows', rows.source);
  const name = nameOfInput(rows.path);
  const rowAt = (id: string): number => {
    const [row, second] = rowsOfId.get(id) ?? [];
    if (row !== undefined && second === undefined) return row;
    const what =
      row === undefined
        ? `no row of ${name} has the id "${id}"; --id chooses its column`
        : `rows ${row} and ${second} of ${name} have the id "${id}"`;
    throw new FormatError(what, file);
  };
  const pairs = labels.map(({ a, b, isSame }) => ({ a: rowAt(a), b: rowAt(b), isSame }));
  const whole = pairs.filter(({ a, b }) => !codes.isNull(a) && !codes.isNull(b));
  const left = pairs.length - whole.length;
  if (left > 0) call.say(`${file}: ${counted(left, 'pair')} with a null or empty row: left out`);
  if (!whole.some(({ isSame }) => isSame)) {
    throw new FormatError('all pairs that are the same have a null or empty row', file);
  }
  return {
    a: Uint32Array.from(whole, ({ a }) => a),
    b: Uint32Array.from(whole, ({ b }) => b),
    same: whole.map(({ isSame }) => isSame),
  };
}
