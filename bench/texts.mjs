// How fast do texts become codes? English licences and Chinese poems, from strings to codes: by words and
// TF-IDF next to the package simhash-js, and as sets of 5-word shingles next to datasketch and rensa, which
// make 128 min-hashes of the same texts. CPU time of one thread, the median of several runs in turns.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TextHasher } from '../dist/index.js';
import { announce, measured, printTable, short, sized, summary, times } from './lib/bench.mjs';
import { isThere, textsOf } from './lib/data-sets.mjs';
import { findPython, pythonChild } from './lib/python.mjs';

const { SimHash } = createRequire(import.meta.url)('simhash-js/SimHash.js');
const RUNS = sized(5, 1);
/** Characters of the texts that a method gets, the slow ones fewer. */
const MOST = sized(2e7, 2e5);
const SLOW = 20;

await announce();
const python = findPython('datasketch, rensa');
const sets = { 'English licences': 'licences', 'Chinese poems': 'poems', 'English prose': 'edits' };
const lines = [];
for (const [name, set] of Object.entries(sets)) {
  if (isThere(set)) lines.push(...(await rates(textsOf(set))).map((line) => [name, ...line]));
}
printTable(
  'Texts to codes',
  ['texts', 'method', 'MB/s of one core', 'slowest..fastest run', 'halfspace / this'],
  lines,
  2,
);

async function rates(texts) {
  const folder = mkdtempSync(join(tmpdir(), 'halfspace-bench-'));
  const path = join(folder, 'texts.json');
  writeFileSync(path, JSON.stringify(texts));
  const child = python && pythonChild(python, 'shingles.py');
  await child?.ask('load', { path });
  const frequencies = await new TextHasher().fit(texts.slice(0, 10_000));
  const ours = (options) => {
    const hasher = new TextHasher({ empty: 'null', ...options });
    return async (some) => (await measured(async () => await hasher.hashAll(some))).cpu;
  };
  const rival = new SimHash();
  const theirs = (engine) => async (some) =>
    (await child.ask('run', { engine, count: some.length })).seconds;
  const sets = { bits: 256, projection: 'minwise', tokens: 'shingles:5' };
  const methods = [
    { name: '64 bits, words by TF-IDF', work: ours({ frequencies }), group: 0 },
    {
      ...{ name: 'simhash-js', group: 0, part: SLOW },
      work: async (some) => (await measured(() => some.map((text) => rival.hash(text)))).cpu,
    },
    { name: '64 bits, shingles of 3 words', work: ours({ tokens: 'shingles:3' }), part: SLOW },
    {
      name: '64 bits, runs of 4 characters',
      work: ours({ tokens: 'characters:4' }),
      part: SLOW,
    },
    { name: '256 bits, sets of shingles of 5 words', work: ours(sets), group: 1 },
    ...['rensa', 'datasketch']
      .filter(() => child)
      .map((engine) => ({ name: engine, work: theirs(engine), group: 1, part: SLOW })),
  ];
  const speeds = methods.map(() => []);
  for (let run = 0; run <= RUNS; run++) {
    for (const [i, { work, part = 1 }] of methods.entries()) {
      const some = upTo(texts, MOST / part);
      const bytes = some.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
      const seconds = await work(some);
      if (run > 0) speeds[i].push(bytes / 1e6 / seconds); // the first is to warm up
    }
  }
  child?.close();
  rmSync(folder, { recursive: true });
  const firstOf = (group) => summary(speeds[methods.findIndex((one) => one.group === group)]).ms;
  return methods.map(({ name, group }, i) => {
    const { ms: median } = summary(speeds[i]);
    const spread = `${short(Math.min(...speeds[i]))}..${short(Math.max(...speeds[i]))}`;
    return [name, short(median), spread, group === undefined ? '' : times(firstOf(group) / median)];
  });
}

/** The first texts that have about so many characters. */
function upTo(texts, most) {
  let [count, characters] = [0, 0];
  while (count < texts.length && characters < most) characters += texts[count++].length;
  return texts.slice(0, count);
}
