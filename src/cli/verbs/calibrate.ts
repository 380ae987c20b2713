/**
 * `halfspace calibrate`: measures a sample of the user's rows, and recommends a dedup command line.
 * Rows with labelled pairs, and texts, are judged by outcomes (calibrate-outcomes.ts). Of vectors
 * and sets, and of texts with --min-cosine or --min-jaccard, this file measures what distances say
 * of exact similarities. The sample is drawn while the input is read once; rows without a
 * direction are counted and left out.
 */

import { COSINE, JACCARD, measureOf } from '../../codes/measure';
import { calibrate } from '../../measure/calibrate';
import { hasDirection } from '../../measure/measured-rows';
import type { SparseVector, Vector } from '../../node';
import type { Call } from '../call';
import { type HashSource, openSource } from '../input/hash-source';
import { hasherOptionsOf, projectionOf } from '../input/hasher-options';
import { checkMeasure, LEAST } from '../input/nearness';
import { sourceWords } from '../input/open-input';
import { readRows, textsDrawn } from '../input/row-values';
import { type CalibrationReport, calibrationFindings } from '../output/calibration';
import { type Findings, findingsText } from '../output/parts';
import { openBytes } from '../output/rows';
import { dedupCommand, drawSeedOf, outcomesOf } from './calibrate-outcomes';

/** Prints text, or JSON with --json; with -o writes JSON. */
export async function run(call: Call): Promise<0> {
  const path = call.onlyInput();
  const own = [path, call.text('pairs') ?? '-'].filter((one) => one !== '-');
  const target = call.text('output');
  const file = target === undefined ? null : await openBytes(call, target, own);
  const findings = await measured(call, path);
  const data = () => `${JSON.stringify(findings.data, null, 2)}\n`;
  if (file === null) {
    await call.print(call.isJson ? data() : findingsText(findings));
    return 0;
  }
  await file.write([new TextEncoder().encode(data())]);
  await file.close();
  call.say(`wrote ${target}`);
  return 0;
}

/**
 * Judges settings by outcomes with --pairs, and of texts without --min-cosine and --min-jaccard;
 * else measures what distances mean.
 */
async function measured(call: Call, path: string): Promise<Findings> {
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
  return calibrationFindings(await calibrated(call, source));
}

/**
 * Measures a sample of the rows, and makes the command line that uses what was found. Both are null
 * in the report if fewer than two of the rows drawn have a direction.
 */
async function calibrated(call: Call, source: HashSource): Promise<CalibrationReport> {
  const { kind } = source.choice;
  const { seed } = hasherOptionsOf(call, undefined);
  const projection = projectionOf(call, kind === 'vector');
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
  const command = dedupCommand(source, [
    ...(kind === 'text' ? weighingWords(call) : []),
    ...(found.measure === 'jaccard'
      ? ['--measure', 'jaccard']
      : ['--projection', found.projection]),
    ...['--bits', String(recommended.bits)],
    ...['--max-distance', String(recommended.maxDistance)],
  ]);
  return { ...base, calibration: found, command };
}

/**
 * Options of the library's `calibrate`: the least similarity of near pairs, and the error accepted
 * of estimates, in the measure of the codes. Refuses options of the other measure, and dense
 * vectors where sets are compared.
 */
function nearOf(call: Call, { choice, reader }: HashSource, projection: string) {
  const measure = measureOf(projection);
  checkMeasure(call, measure);
  const [own, other] = measure === JACCARD ? [JACCARD, COSINE] : [COSINE, JACCARD];
  if (call.has(`${other.name}-error`)) {
    call.misuse(`--${other.name}-error is not of ${measure.name}: give --${own.name}-error`);
  }
  if (measure === COSINE) return call.numbers('minCosine', 'cosineError');
  if (choice.kind === 'vector') {
    call.misuse(
      `--${call.has('min-jaccard') ? 'min-jaccard' : 'measure jaccard'} compares sets, which are ` +
        `texts or sparse vectors: ${reader.file} has dense ones in "${choice.columns[0]}"`,
    );
  }
  return call.numbers('minJaccard', 'jaccardError');
}

/** The options of this call that decide how words weigh, as words of the dedup command line. */
function weighingWords(call: Call): string[] {
  const names = ['tokens', 'counting', 'frequencies', 'keywords'].filter((name) => call.has(name));
  const words = names.flatMap((name) => [`--${name}`, String(call.text(name))]);
  return call.has('tf-idf') ? [...words, '--tf-idf'] : words;
}

/** The vectors of the rows that were drawn, without those that have no direction. */
interface SampledRows {
  readonly vectors: readonly Vector[];
  /** Rows of the input, how many were drawn, and how many of those have no direction. */
  readonly fileRows: number;
  readonly drawn: number;
  readonly withoutDirection: number;
}

/** False for the vector of a text without words. */
const hasEntries = ({ indices }: SparseVector) => indices.length > 0;

/**
 * Draws at most `count` rows by `seed`, in one reading. Equal inputs and seeds give equal rows. A
 * row drawn with a value that is not finite throws an error that names the row.
 */
async function sampleRows(
  source: HashSource,
  { count, seed }: { count: number; seed: number },
): Promise<SampledRows> {
  const hasher = source.textHasher;
  const read = await readRows(source, { count, seed });
  const { fileRows, drawn } = read;
  const vectors =
    hasher === null
      ? drawn.flatMap(({ row, value }) =>
          source.named(0, () => hasDirection(value as Vector | null, row)) ? [value as Vector] : [],
        )
      : textsDrawn(read)
          .map((text) => hasher.vectorize(text))
          .filter(hasEntries);
  const withoutDirection = drawn.length - vectors.length;
  return { vectors, fileRows, drawn: drawn.length, withoutDirection };
}
