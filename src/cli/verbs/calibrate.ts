/**
 * `halfspace calibrate`: which threshold of `dedup` fits the user's rows. All rows are joined as
 * `dedup` joins them; what a threshold finds is judged by pairs that the user has labelled, or by
 * edited copies of some of the texts. Rows are read a second time to be compared exactly, and once
 * more for the texts of the pairs that are shown.
 */

import { Reservoir } from '../../base/draw';
import { COSINE, JACCARD, NEAR_JACCARD } from '../../codes/measure';
import { withVectors } from '../../join/exact';
import { rowsOf } from '../../join/source';
import { calibrateRows } from '../../measure/calibrate';
import { scoreCopies } from '../../measure/planted';
import type { TextHasher } from '../../node';
import type { Call } from '../call';
import { type Collection, readCollection } from '../input/collection';
import type { HashSource } from '../input/hash-source';
import { hasherOptionsOf } from '../input/hasher-options';
import { labelledRows, readLabels } from '../input/labels';
import { bandsOf, NEAR_TEXT_SHARE, nearnessOf } from '../input/nearness';
import { sourceWords } from '../input/open-input';
import { textsOfRows } from '../input/texts';
import {
  type CalibrationReport,
  calibrationData,
  calibrationText,
  shownPairs,
} from '../output/calibration';
import { commandLine } from '../output/figures';

/** Texts that copies are made of, at most; longer ones are not copied, which bounds memory. */
const ORIGINALS = 300;
const MAX_CHARACTERS = 2 ** 20;
/** Options that `dedup` must be given as well, to read and compare the rows in the same way. */
const PASSED_ON = [
  ...['id', 'from', 'types', 'on-error', 'seed', 'tokens', 'normalize', 'stop-words'],
  ...['counting', 'tf-idf', 'frequencies'],
];

/** Prints the table as text, or as JSON with --json. */
export async function run(call: Call): Promise<0> {
  const path = call.onlyInput();
  if (path === '-') call.misuse('calibrate reads its input twice: name a file, not -');
  const report = await calibrated(call, path);
  if (call.isJson) {
    await call.print(`${JSON.stringify(calibrationData(report), null, 2)}\n`);
    return 0;
  }
  const { rows, unjudged } = report;
  const shown = shownPairs(unjudged);
  const texts = await textsOfRows(
    call,
    rows,
    shown.flatMap(({ a, b }) => [a, b]),
  );
  await call.print(calibrationText(report, shown, texts));
  return 0;
}

/** Reads the rows, of texts plants copies where no pairs are given, and makes the table. */
async function calibrated(call: Call, path: string): Promise<CalibrationReport> {
  const file = call.text('pairs') ?? null;
  const labels = file === null ? null : await readLabels(call, file);
  const seed = drawSeedOf(call);
  const share = call.number('edits') as number;
  const originals = new Reservoir<string>(ORIGINALS, seed);
  const read: { source?: HashSource } = {};
  const rows = await readCollection(call, path, {
    ...{ hold: 'vectors', areTextsSets: true, bands: bandsOf(call) },
    begin(source) {
      read.source = checkSource(call, source, file);
    },
    take(batch) {
      const column = read.source?.choice.columns[0] as string;
      if (labels === null) offerTexts(batch.texts(column), originals, share);
    },
  });
  const source = read.source as HashSource;
  const known = labels && labelledRows(labels, rows, file as string);
  const near = await nearnessOf(call, rows);
  const planting = { share, seed: `planted ${seed}` };
  const scored = known
    ? []
    : scoreCopies(originals.result(), source.textHasher as TextHasher, planting);
  const held = withVectors(rowsOf('rows', rows.source), near.vectors);
  const leastRecommended = leastRecommendedOf(source, rows);
  const found = await call.long('grouping', (work) =>
    calibrateRows(held, { near, known, scored, leastRecommended }, work),
  );
  const option = rows.measure === JACCARD ? '--min-jaccard' : '--min-cosine';
  return {
    ...{ ...found, rows, rowCount: found.rows, file: source.reader.file },
    ...{ source: sourceWords(source.choice), pairsFile: file, edits: share, leastRecommended },
    command: dedupCommand(source, [option, String(found.recommended)]),
  };
}

/** Refuses what has no rows to compare exactly, or no pairs that are known. */
function checkSource(call: Call, source: HashSource | null, file: string | null): HashSource {
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
function leastRecommendedOf({ choice }: HashSource, { measure, bits }: Collection): number {
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

/** The seed of random draws: the low 32 bits of --seed, which may have 64. */
function drawSeedOf(call: Call): number {
  const { seed } = hasherOptionsOf(call, undefined);
  return Number(BigInt.asUintN(32, BigInt(seed as bigint)));
}

/** The command line by which `dedup` reads and compares the rows as this call does. */
function dedupCommand({ call, choice }: HashSource, threshold: readonly string[]): string {
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
