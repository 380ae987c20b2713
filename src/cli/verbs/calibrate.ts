/**
 * `halfspace calibrate`: what distances mean in one's own rows, from a sample of them, and the
 * command line to go on with.
 */

import type { Call } from '../call';
import { NEAR_HASHING_OPTIONS } from '../near-options';
import type { CalibrationReport } from '../report/calibration-words';
import type { Option, Verb } from '../verb';

/** Options of other verbs that have no use here, or another meaning. */
const LEFT_OUT = ['code', 'bit-order', 'id', 'max-memory', 'bits', 'seed'];

const OPTIONS: readonly Option[] = [
  {
    ...{ name: 'min-cosine', value: 'C', kind: 'number', initial: '0.9' },
    help: 'Pairs at a cosine of C or more are near',
  },
  {
    ...{ name: 'cosine-error', value: 'E', kind: 'number', initial: '0.05' },
    help: 'Wanted error of the cosine that a distance tells',
  },
  {
    ...{ name: 'sample', value: 'N', kind: 'integer', initial: '2000' },
    help: 'Compare N rows, drawn at random by the seed',
  },
  {
    ...{ name: 'bits', value: 'N', kind: 'integer' },
    help: 'Width of a code, in place of the least that is good enough',
  },
  {
    ...{ name: 'seed', value: 'N', kind: 'text', initial: '0' },
    help: 'Seed of the hyperplanes, and of the rows that are drawn',
  },
  ...NEAR_HASHING_OPTIONS.filter(({ name }) => !LEFT_OUT.includes(name)),
  {
    ...{ name: 'output', short: 'o', value: 'OUT' },
    help: 'Write a page (.html) or data (.json) in place of the text',
  },
  { name: 'force', help: 'Replace an output that exists' },
  { name: 'json', help: 'JSON for machines' },
];

export const verb: Verb = {
  name: 'calibrate',
  summary: 'what a distance means in your own rows',
  usage: 'IN [-o OUT]',
  options: OPTIONS,
  example: 'halfspace calibrate datasets/sample/docs.jsonl --text body',
  async run(call) {
    const path = call.onlyInput();
    const target = targetOf(call);
    const limits = limitsOf(call);
    const [{ PageFile }, { calibrationText }, pages] = await Promise.all([
      import('../report/write-page'),
      import('../report/calibration-text'),
      import('../report/calibration-page'),
    ]);
    const inputs = path === '-' ? [] : [path];
    const file = target === null ? null : await PageFile.checked(call, target, inputs);
    const report = await calibrated(call, path, limits);
    const data = () => `${JSON.stringify(pages.calibrationData(report), null, 2)}\n`;
    if (file === null) {
      await call.print(call.isJson ? data() : calibrationText(report));
    } else {
      await file.write(target?.endsWith('.json') ? data() : pages.calibrationPage(report));
      call.say(`wrote ${target}`);
    }
    return 0;
  },
};

interface Limits {
  readonly minCosine: number;
  readonly cosineError: number;
  readonly sample: number;
  readonly bits: number | undefined;
}

function limitsOf(call: Call): Limits {
  const minCosine = call.number('min-cosine') as number;
  const cosineError = call.number('cosine-error') as number;
  const sample = call.integer('sample') as number;
  const bits = call.integer('bits');
  if (!(minCosine > -1 && minCosine <= 1)) {
    call.misuse(`--min-cosine expected a number above -1 and at most 1, got ${minCosine}`);
  }
  if (!(cosineError >= 0.001 && cosineError <= 1)) {
    call.misuse(`--cosine-error expected a number in 0.001..1, got ${cosineError}`);
  }
  if (!(sample >= 2 && sample <= 20_000)) {
    call.misuse(`--sample expected an integer in 2..20000, got ${sample}`);
  }
  if (bits !== undefined && !(bits >= 1 && bits <= 65_535)) {
    call.misuse(`--bits expected an integer in 1..65535, got ${bits}`);
  }
  return { minCosine, cosineError, sample, bits };
}

/** Null is stdout. */
function targetOf(call: Call): string | null {
  const target = call.text('output');
  if (target === undefined || target === '-') return null;
  if (!/\.(html?|json)$/i.test(target)) {
    call.misuse(`-o expected a name that ends in .html or .json, got ${target}`);
  }
  if (call.isJson && !target.endsWith('.json')) call.misuse('--json writes a .json file');
  return target;
}

async function calibrated(call: Call, path: string, limits: Limits): Promise<CalibrationReport> {
  const [{ hasherOptionsOf, openSource }, { sampleRows }, { calibrate }] = await Promise.all([
    import('../input/hashing'),
    import('../report/sample-rows'),
    import('../../measure/calibrate'),
  ]);
  const source = await openSource(call, path, { kinds: ['vector', 'sparse', 'text'] });
  const { kind, columns } = source.source;
  await source.narrow([]);
  if (kind === 'code') call.misuse('calibrate compares codes with what they are made of');
  const { seed, projection } = hasherOptionsOf(call, kind === 'vector' ? 1 : undefined);
  const drawSeed = Number(BigInt.asUintN(32, BigInt(seed as bigint)));
  const sampled = await sampleRows(source, { count: limits.sample, seed: drawSeed });
  const { vectors, ...counts } = sampled;
  const quoted = columns.map((name) => `"${name}"`).join(' and ');
  const nouns = { vector: 'vectors', sparse: 'sparse vectors', text: 'texts' } as const;
  const base = {
    ...{ file: source.reader.file, ...counts, drawSeed },
    source: `${nouns[kind]} of ${quoted}`,
  };
  if (vectors.length < 2) return { ...base, calibration: null, command: null };
  const found = await call.long('comparing', (work) =>
    calibrate(vectors, {
      ...{ ...work, ...limits },
      ...{ projection: projection ?? 'signs', seed: seed ?? 0 },
    }),
  );
  const { bits, maxDistance } = found.recommended;
  const { commandLine } = await import('../output/command-line');
  const command = commandLine([
    ...['halfspace', 'dedup', path, kind === 'text' ? '--text' : '--vector', columns.join(',')],
    ...givenWords(call, kind === 'text'),
    ...['--projection', found.projection, '--bits', String(bits)],
    ...['--max-distance', String(maxDistance), '-o', 'plan.jsonl'],
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
  if (call.flag('tf-idf')) words.push('--tf-idf');
  return words;
}
