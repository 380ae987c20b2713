/**
 * `halfspace calibrate`: what distances mean in a user's own rows, from a sample of them, and the
 * dedup command that follows from it. The sample is drawn in one reading, in its own memory; texts
 * become vectors after they are drawn. Rows without a direction are counted and left out.
 */

import { Reservoir } from '../../base/draw';
import { calibrate } from '../../measure/calibrate';
import { hasDirection, isMissing } from '../../measure/rows';
import type { TextHasher, Vector } from '../../node';
import { vectorAt } from '../../vectors/vectors';
import type { Call } from '../call';
import { singlePage } from '../explore/page-file';
import { type HashSource, hasherOptionsOf, openSource } from '../input/hash-source';
import { sourceWords } from '../input/open-input';
import {
  type CalibrationReport,
  calibrationData,
  calibrationPage,
  calibrationText,
} from '../output/calibration';
import { commandLine } from '../output/figures';
import { PageFile } from '../output/rows';

/** Prints text or JSON, or writes a page; always exit code 0. */
export async function run(call: Call): Promise<0> {
  const path = call.onlyInput();
  const file = await PageFile.named(call, path === '-' ? [] : [path]);
  const report = await calibrated(call, path);
  const data = () => `${JSON.stringify(calibrationData(report), null, 2)}\n`;
  if (file === null) {
    await call.print(call.isJson ? data() : calibrationText(report));
    return 0;
  }
  await file.write(file.isData ? data() : await singlePage(calibrationPage(report)));
  call.say(`wrote ${file.path}`);
  return 0;
}

/** Reads a sample, measures it, and says it with the command that follows. */
async function calibrated(call: Call, path: string): Promise<CalibrationReport> {
  const source = await openSource(call, path, { kinds: ['vector', 'sparse', 'text'] });
  const { kind, columns } = source.choice;
  await source.narrow([]);
  if (kind === 'code') call.misuse('calibrate compares codes with what they are made of');
  const { seed, projection = 'signs' } = hasherOptionsOf(call, kind === 'vector' ? 1 : undefined);
  if (projection === 'minwise') {
    call.misuse('calibrate compares cosines, and no sets: leave out --measure jaccard');
  }
  const drawSeed = Number(BigInt.asUintN(32, BigInt(seed as bigint)));
  const count = call.number('sample') as number;
  const { vectors, ...counts } = await sampleRows(source, { count, seed: drawSeed });
  const base = {
    ...{ file: source.reader.file, ...counts, drawSeed },
    source: sourceWords(source.choice),
  };
  if (vectors.length < 2) return { ...base, calibration: null, command: null };
  const found = await call.long('comparing', (work) =>
    calibrate(vectors, {
      minCosine: call.number('min-cosine') as number,
      cosineError: call.number('cosine-error') as number,
      ...{ bits: call.number('bits'), projection, seed, sample: count, ...work },
    }),
  );
  const { recommended } = found;
  const command = commandLine([
    ...['halfspace', 'dedup', path, kind === 'text' ? '--text' : '--vector', columns.join(',')],
    ...givenWords(call, kind === 'text'),
    ...['--projection', found.projection, '--bits', String(recommended.bits)],
    ...['--max-distance', String(recommended.maxDistance), '-o', 'plan.jsonl'],
  ]);
  return { ...base, calibration: found, command };
}

/** What else decides how rows become codes, said so that other verbs understand it alike. */
function givenWords(call: Call, isText: boolean): string[] {
  const words: string[] = [];
  const add = (name: string, isAlways: boolean) => {
    const text = call.text(name);
    if (text !== undefined && (isAlways || call.has(name))) words.push(`--${name}`, text);
  };
  for (const name of ['from', 'on-error', 'seed']) add(name, false);
  if (!isText) return words;
  for (const name of ['tokens', 'counting']) add(name, true);
  for (const name of ['stop-words', 'frequencies', 'keywords', 'hash']) add(name, false);
  if (call.has('tf-idf')) words.push('--tf-idf');
  return words;
}

/** The rows that were drawn, without those that have no direction. */
interface SampledRows {
  readonly vectors: readonly Vector[];
  /** Rows of the input, how many were drawn, and how many of those have no direction. */
  readonly fileRows: number;
  readonly drawn: number;
  readonly withoutDirection: number;
}

/** A row that was drawn; null where it has no value. */
interface Drawn<T> {
  readonly row: number;
  readonly value: T | null;
}

/** Draws at most `count` rows by `seed`; a value that is not finite fails with its row. */
async function sampleRows(
  source: HashSource,
  { count, seed }: { count: number; seed: number },
): Promise<SampledRows> {
  const { text, columns } = source.choice;
  const texts = new Reservoir<Drawn<string>>(count, seed);
  const rows = new Reservoir<Drawn<Vector>>(count, seed);
  for await (const batch of source) {
    if (text !== null) {
      batch.texts(columns[0]).forEach((value, i) => {
        texts.offer(() => ({ row: batch.firstRow + i, value }));
      });
      continue;
    }
    for (const { firstRow, count: length, vectors } of source.piecesOf(batch)) {
      if ('bytesPerCode' in vectors) continue;
      for (let i = 0; i < length; i++) {
        rows.offer(() => {
          const value = isMissing(vectors, i) ? null : vectorAt(vectors, i);
          // A copy: a view would hold the whole batch in memory.
          const isView = ArrayBuffer.isView(value);
          return { row: firstRow + i, value: isView ? (value as Float32Array).slice() : value };
        });
      }
    }
  }
  const drawn =
    text === null ? rows.result() : vectorsOfTexts(source.textHasher as TextHasher, texts.result());
  const vectors = drawn.flatMap(({ row, value }) =>
    source.named(0, () => hasDirection(value, row)) ? [value as Vector] : [],
  );
  return {
    vectors,
    fileRows: texts.offered + rows.offered,
    drawn: drawn.length,
    withoutDirection: drawn.length - vectors.length,
  };
}

/** Only texts that were drawn become vectors; one without words has none. */
function vectorsOfTexts(hasher: TextHasher, drawn: readonly Drawn<string>[]): Drawn<Vector>[] {
  return drawn.map(({ row, value }) => {
    const vector = hasher.vectorize(value ?? '');
    return { row, value: vector.values.length === 0 ? null : vector };
  });
}
