// How fast do English texts become codes of their sets of 5-word shingles? In turns with datasketch and
// rensa, which are given the same texts and make 128 min-hashes of each. CPU time of one thread, the
// making of shingles included, the median of several runs. Python makes shingles by a regular
// expression and str.join; "strings" is our way by tokens of one's own.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { shingles, TextHasher, words } from '../dist/index.js';
import { findPython, pythonChild } from './lib/python.mjs';
import { announce, mustHold, printTable, short, times } from './lib/table.mjs';
import { isThere, textsOf } from './lib/text-files.mjs';

const RUNS = 5;
const WIDTH = 5;
/** The slow ones get fewer texts: about so many characters. */
const MOST = { halfspace: 2e7, strings: 2e6, rensa: 4e6, datasketch: 1e6 };

await announce();
const python = findPython('datasketch, rensa');
for (const [set, column] of [
  ['edits', 'text'],
  ['prose', 'text'],
  ['licences', 'text'],
  ['mail', 'text'],
]) {
  if (isThere(set)) await measure(set, textsOf(set, column));
}

async function measure(set, texts) {
  const folder = mkdtempSync(join(tmpdir(), 'halfspace-bench-'));
  const path = join(folder, 'texts.json');
  writeFileSync(path, JSON.stringify(texts));
  const child = python && pythonChild(python, 'shingles.py');
  await child?.ask('load', { path });
  const options = { bits: 256, projection: 'minwise', empty: 'null' };
  const own = new TextHasher({ ...options, tokens: shingles(WIDTH) });
  const spelled = new TextHasher({ ...options, tokens: shingles(WIDTH, (text) => words(text)) });
  mustHold(
    Buffer.compare(own.hash(texts[0]), spelled.hash(texts[0])) === 0,
    'both ways to shingles give equal codes',
  );
  const engines = {
    halfspace: (count) => secondsOf(() => own.hashAll(texts.slice(0, count))),
    strings: (count) => secondsOf(() => spelled.hashAll(texts.slice(0, count))),
    ...(child && {
      rensa: async (count) => (await child.ask('run', { engine: 'rensa', count })).seconds,
      datasketch: async (count) =>
        (await child.ask('run', { engine: 'datasketch', count })).seconds,
    }),
  };
  const speeds = Object.fromEntries(Object.keys(engines).map((engine) => [engine, []]));
  for (let run = 0; run <= RUNS; run++) {
    for (const [engine, work] of Object.entries(engines)) {
      const { count, bytes } = upTo(texts, MOST[engine]);
      const seconds = await work(count);
      if (run > 0) speeds[engine].push(bytes / 1e6 / seconds); // the first is to warm up
    }
  }
  const medians = Object.entries(speeds).map(([engine, all]) => {
    return [engine, all.sort((a, b) => a - b)[RUNS >> 1], all[0], all.at(-1)];
  });
  const ours = medians[0][1];
  printTable(
    `${set}, 5-word shingles to codes or signatures`,
    ['what', 'MB/s', 'least', 'most', 'we are faster by'],
    medians.map(([engine, median, least, most]) => [
      ...[engine, short(median), short(least), short(most), times(ours / median)],
    ]),
  );
  child?.close();
  rmSync(folder, { recursive: true });
}

/** The first texts that have about so many bytes. */
function upTo(texts, most) {
  let [count, bytes] = [0, 0];
  while (count < texts.length && bytes < most) bytes += Buffer.byteLength(texts[count++]);
  return { count, bytes };
}

function secondsOf(work) {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6;
}
