// Is this build as fast as another one, such as that of an older commit? The same work by both, in
// processes of their own that take turns. `node bench/builds.mjs FOLDER`, a checkout with its dist/.

import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inChild } from './lib/child.mjs';
import { generator } from './lib/random.mjs';
import { announce, mark, printTable, short } from './lib/table.mjs';
import { summary } from './lib/timing.mjs';

const [given] = process.argv.slice(2);
if (given === undefined) throw new Error('name the folder of the other build');
const builds = [fileURLToPath(new URL('..', import.meta.url)), resolve(given)];
const child = fileURLToPath(new URL('lib/builds-child.mjs', import.meta.url));
const ROUNDS = 9;
const WORKS = [
  ...['scan 64', 'scan 256', 'scan of 100', 'sparse', 'dense hadamard', 'dense signs'],
  ...['pairs', 'lists', 'index', 'search'],
];

await announce();
const folder = mkdtempSync(join(tmpdir(), 'halfspace-builds-'));
try {
  const vectors = join(folder, 'vectors.jsonl');
  const { normal } = generator(9);
  const line = (id) => JSON.stringify({ id, v: Array.from({ length: 64 }, normal) });
  writeFileSync(vectors, Array.from({ length: 20_000 }, (_, id) => `${line(id)}\n`).join(''));
  const commands = {
    'command fingerprint': ['fingerprint', vectors, '--bits', '256'],
    'command dedup': ['dedup', vectors, '--bits', '64', '--max-distance', '3'],
  };
  const rows = [
    ...WORKS.map((work) => [work, (root) => inChild(child, { root, work })]),
    ...Object.entries(commands).map(([name, words]) => [name, (root) => timeOf(root, words)]),
  ].map(([name, msOf]) => compared(name, msOf));
  printTable(
    'Milliseconds, this build and the other; how many times as fast this one is',
    ['work', 'this', 'other', 'fastest of each', 'median ratio', 'p10..p90'],
    rows.map(({ name, ms, fastest, ratio }) => [
      ...[name, ...ms.map(short), short(fastest), short(ratio.ms)],
      `${short(ratio.low)}..${short(ratio.high)}`,
    ]),
  );
  for (const { name, fastest } of rows)
    mark(`speed by the other, ${name}`, fastest, { least: 0.97 });
} finally {
  rmSync(folder, { recursive: true });
}

/** Medians of both, and how many times as fast this one is: by the fastest runs, and pair by pair. */
function compared(name, msOf) {
  const times = [[], []];
  for (let round = 0; round < ROUNDS; round++) {
    // Each goes first in every second round.
    const order = round % 2 === 0 ? [0, 1] : [1, 0];
    for (const i of order) times[i].push(msOf(builds[i]));
  }
  return {
    name,
    ms: times.map((one) => summary(one).ms),
    fastest: Math.min(...times[1]) / Math.min(...times[0]),
    ratio: summary(times[1].map((ms, round) => ms / times[0][round])),
  };
}

function timeOf(root, words) {
  const out = join(folder, 'out.jsonl');
  const start = performance.now();
  execFileSync(process.execPath, [join(root, 'dist/cli.js'), ...words, '-q', '-o', out]);
  const ms = performance.now() - start;
  rmSync(out);
  return ms;
}
