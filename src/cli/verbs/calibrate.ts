/**
 * `halfspace calibrate`: what distances mean in a user's own rows, from a sample of them, and the
 * dedup command that follows from it.
 */

import { calibrate } from '../../measure/calibrate';
import type { Call } from '../call';
import { hasherOptionsOf, openSource } from '../input/hashing';
import { sampleRows } from '../input/sample-rows';
import { commandLine } from '../output/figures';
import { PageFile } from '../output/rows';
import {
  type CalibrationReport,
  calibrationData,
  calibrationPage,
  calibrationText,
} from '../report/calibration';

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
  await file.write(file.isData ? data() : calibrationPage(report));
  call.say(`wrote ${file.path}`);
  return 0;
}

/** Reads a sample, measures it, and says it with the command that follows. */
async function calibrated(call: Call, path: string): Promise<CalibrationReport> {
  const source = await openSource(call, path, { kinds: ['vector', 'sparse', 'text'] });
  const { kind, columns } = source;
  await source.narrow([]);
  if (kind === 'code') call.misuse('calibrate compares codes with what they are made of');
  const { seed, projection = 'signs' } = hasherOptionsOf(call, kind === 'vector' ? 1 : undefined);
  const drawSeed = Number(BigInt.asUintN(32, BigInt(seed as bigint)));
  const count = call.number('sample') as number;
  const { vectors, ...counts } = await sampleRows(source, { count, seed: drawSeed });
  const quoted = columns.map((name) => `"${name}"`).join(' and ');
  const nouns = { vector: 'vectors', sparse: 'sparse vectors', text: 'texts' } as const;
  const base = {
    ...{ file: source.reader.file, ...counts, drawSeed },
    source: `${nouns[kind]} of ${quoted}`,
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
