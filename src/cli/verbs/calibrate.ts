/**
 * `halfspace calibrate`: which setting of dedup fits a user's own rows, from a sample of them, and
 * the command that follows. Texts, and rows of which pairs are labelled, are judged by outcomes, in
 * outcomes.ts; of vectors and sets, and of texts with a least similarity, it measures here what
 * distances say of exact similarities. The sample is drawn in one reading. Rows without a direction
 * are counted and left out.
 */

import { Reservoir } from '../../base/draw';
import { COSINE, JACCARD, measureOf } from '../../codes/measure';
import { calibrate } from '../../measure/calibrate';
import { hasDirection } from '../../measure/rows';
import type { SparseVector, Vector } from '../../node';
import type { Call } from '../call';
import { singlePage } from '../explore/page-file';
import { type HashSource, openSource } from '../input/hash-source';
import { hasherOptionsOf } from '../input/hasher-options';
import { checkMeasure, LEAST } from '../input/nearness';
import { sourceWords } from '../input/open-input';
import { readRows, vectorsOf } from '../input/row-values';
import { type CalibrationReport, calibrationTold } from '../output/calibration';
import { commandLine } from '../output/figures';
import { type Told, toldPage, toldText } from '../output/parts';
import { PageFile } from '../output/rows';
import { drawSeedOf, givenWords, outcomesOf } from './outcomes';

/** Prints text or JSON, or writes a page; always exit code 0. */
export async function run(call: Call): Promise<0> {
  const path = call.onlyInput();
  const own = [path, call.text('pairs') ?? '-'].filter((one) => one !== '-');
  const file = await PageFile.named(call, own);
  const told = await measured(call, path);
  const data = () => `${JSON.stringify(told.data, null, 2)}\n`;
  if (file === null) {
    await call.print(call.isJson ? data() : toldText(told));
    return 0;
  }
  await file.write(file.isData ? data() : await singlePage(toldPage(told)));
  call.say(`wrote ${file.path}`);
  return 0;
}

/** By labels and of texts what settings find, else what distances mean. */
async function measured(call: Call, path: string): Promise<Told> {
  const source = await openSource(call, path, { kinds: ['vector', 'sparse', 'text'] });
  const { kind } = source.choice;
  if (kind === 'code') call.misuse('calibrate compares codes with what they are made of');
  await source.narrow([]);
  const least = LEAST.find((name) => call.has(name));
  if (call.has('pairs') || (kind === 'text' && least === undefined))
    return outcomesOf(call, source);
  if (call.has('edits')) {
    call.misuse(
      kind === 'text'
        ? `--edits judges settings by planted copies, --${least} measures distances: leave one out`
        : '--edits is of texts: vectors have no words to edit',
    );
  }
  return calibrationTold(await calibrated(call, path, source));
}

/** Reads a sample of rows, measures it, and says it with the command that follows. */
async function calibrated(
  call: Call,
  path: string,
  source: HashSource,
): Promise<CalibrationReport> {
  const { kind, columns } = source.choice;
  const { seed, projection = 'signs' } = hasherOptionsOf(call, kind === 'vector' ? 1 : undefined);
  const near = nearOf(call, source, projection);
  const drawSeed = drawSeedOf(call);
  const count = call.number('sample') as number;
  const { vectors, ...counts } = await sampleRows(source, { count, seed: drawSeed });
  const base = {
    ...{ file: source.reader.file, ...counts, drawSeed },
    source: sourceWords(source.choice),
  };
  if (vectors.length < 2) return { ...base, calibration: null, command: null };
  const found = await call.long('comparing', (work) =>
    calibrate(vectors, {
      ...near,
      ...{ bits: call.number('bits'), projection, seed, sample: count, ...work },
    }),
  );
  const { recommended } = found;
  const command = commandLine([
    ...['halfspace', 'dedup', path, kind === 'text' ? '--text' : '--vector', columns.join(',')],
    ...givenWords(call, kind === 'text'),
    ...(kind === 'text' ? weighingWords(call) : []),
    ...(found.measure === 'jaccard'
      ? ['--measure', 'jaccard']
      : ['--projection', found.projection]),
    ...['--bits', String(recommended.bits)],
    ...['--max-distance', String(recommended.maxDistance), '-o', 'plan.jsonl'],
  ]);
  return { ...base, calibration: found, command };
}

/** What is near, and the accepted error, by the options of the measure of the codes. */
function nearOf(call: Call, { choice, reader }: HashSource, projection: string) {
  const measure = measureOf(projection);
  checkMeasure(call, measure);
  const [own, other] = measure === JACCARD ? [JACCARD, COSINE] : [COSINE, JACCARD];
  if (call.has(`${other.name}-error`)) {
    call.misuse(`--${other.name}-error is not of ${measure.name}: give --${own.name}-error`);
  }
  if (measure === COSINE) {
    return {
      minCosine: call.number('min-cosine'),
      cosineError: call.number('cosine-error'),
    };
  }
  if (choice.kind === 'vector') {
    call.misuse(
      `--${call.has('min-jaccard') ? 'min-jaccard' : 'measure jaccard'} compares sets, which are ` +
        `texts or sparse vectors: ${reader.file} has dense ones in "${choice.columns[0]}"`,
    );
  }
  return { minJaccard: call.number('min-jaccard'), jaccardError: call.number('jaccard-error') };
}

/** How words were weighed, said so that dedup weighs them alike. */
function weighingWords(call: Call): string[] {
  const names = ['tokens', 'counting', 'frequencies', 'keywords'].filter((name) => call.has(name));
  const words = names.flatMap((name) => [`--${name}`, String(call.text(name))]);
  return call.has('tf-idf') ? [...words, '--tf-idf'] : words;
}

/** The rows that were drawn, without those that have no direction. */
interface SampledRows {
  readonly vectors: readonly Vector[];
  /** Rows of the input, how many were drawn, and how many of those have no direction. */
  readonly fileRows: number;
  readonly drawn: number;
  readonly withoutDirection: number;
}

const hasEntries = ({ indices }: SparseVector) => indices.length > 0;

/** Draws at most `count` rows by `seed`; a value that is not finite fails with its row. */
async function sampleRows(
  source: HashSource,
  { count, seed }: { count: number; seed: number },
): Promise<SampledRows> {
  const hasher = source.textHasher;
  if (hasher !== null) {
    const { fileRows, drawn, texts } = await readRows(source, { count, seed }, new Set());
    const vectors = texts.map((text) => hasher.vectorize(text)).filter(hasEntries);
    return { vectors, fileRows, drawn, withoutDirection: drawn - vectors.length };
  }
  const rows = new Reservoir<{ readonly row: number; readonly value: Vector | null }>(count, seed);
  for await (const batch of source) {
    for (const copy of vectorsOf(source, batch)) {
      rows.offer(() => ({ row: rows.offered - 1, value: copy() }));
    }
  }
  const drawn = rows.result();
  const vectors = drawn.flatMap(({ row, value }) =>
    source.named(0, () => hasDirection(value, row)) ? [value as Vector] : [],
  );
  return {
    vectors,
    fileRows: rows.offered,
    drawn: drawn.length,
    withoutDirection: drawn.length - vectors.length,
  };
}
