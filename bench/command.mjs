// How much does the command add to the library? An index of GloVe from an Arrow file, all pairs of
// 10,000,000 codes from a file, an index folder opened, and the command's own start; each in fresh
// processes, in turns.

import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Codes, SimHashIndex, saveIndex, writeCodes } from '../dist/node.js';
import { inChild } from './lib/child.mjs';
import { buildDataSet } from './lib/data-sets.mjs';
import { uniformCodes } from './lib/random.mjs';
import { announce, mark, printTable, short, span } from './lib/table.mjs';
import { race } from './lib/timing.mjs';

const [MANY, ROWS] = process.env.BENCH_COUNTS?.split(',').map(Number) ?? [1e7, 1e6];
const command = fileURLToPath(new URL('../dist/cli.js', import.meta.url));
const child = fileURLToPath(new URL('lib/command-child.mjs', import.meta.url));
const glove = fileURLToPath(new URL('../datasets/glove/train.arrow', import.meta.url));

await announce();
buildDataSet('glove');
const folder = mkdtempSync(join(tmpdir(), 'halfspace-bench-'));
try {
  await measure();
} finally {
  rmSync(folder, { recursive: true });
}

async function measure() {
  const codes = join(folder, 'codes.arrow');
  await writeCodes(codes, withPairs(uniformCodes(MANY, 64, 7)));
  const stored = join(folder, 'stored.hs');
  const index = new SimHashIndex({ bits: 256 });
  index.addAll(Codes.from(uniformCodes(ROWS, 256, 7).bytes, { bits: 256 }));
  await saveIndex(index, stored);
  let run = 0;
  const hashing = ['--bits', '256', '--projection', 'hadamard'];
  const lists = [
    await race(
      [
        {
          ...{ name: 'the vectors read by the library', isSlow: true },
          run: () => inChild(child, { verb: 'vectors', path: glove }).ms,
        },
        {
          ...{ name: 'halfspace index', isSlow: true },
          run: () => timeOf(['index', glove, ...hashing, '-o', join(folder, `${run++}.hs`)]),
        },
      ],
      5,
    ),
    await race(
      [
        {
          ...{ name: `pairs(${short(MANY)} codes)`, isSlow: true },
          run: () => inChild(child, { verb: 'pairs', path: codes }).ms,
        },
        {
          ...{ name: `halfspace pairs, ${short(MANY)} codes of a file`, isSlow: true },
          run: () =>
            timeOf([
              ...['pairs', codes, '--max-distance', '3'],
              ...['-o', join(folder, `${run++}.arrow`)],
            ]),
        },
      ],
      5,
    ),
    await race(
      [
        {
          ...{ name: `openIndex(), ${short(ROWS)} × 256 bits`, isSlow: true },
          run: () => inChild(child, { verb: 'open', path: stored }).ms,
        },
      ],
      5,
    ),
    await race(
      [
        { name: 'node of an empty script', run: () => nodeTime(['-e', '0']) },
        { name: 'halfspace --version', run: () => timeOf(['--version']) },
        { name: 'halfspace search --help', run: () => timeOf(['search', '--help']) },
      ],
      9,
    ),
  ];
  printTable(
    'Whole processes, but for the library calls',
    ['work', 'ms', 'p10..p90'],
    lists.flat().map(({ name, ms, low, high }) => [name, short(ms), span({ low, high })]),
  );
  const [[read, indexed], [call, paired], [opened], [, version]] = lists;
  mark('seconds that an index takes beyond reading', (indexed.ms - read.ms) / 1000, { most: 2 });
  mark('pairs from a file by the library call', paired.ms / call.ms, { most: 1.5 });
  mark(`ms to open ${short(ROWS)} × 256 bits`, opened.ms, { most: 150 });
  mark('ms to start', version.ms, { most: 80 });
}

/** The last tenth of the codes are the first ones with a bit changed. */
function withPairs(codes) {
  const tenth = Math.floor(codes.count / 10);
  for (let row = 0; row < tenth; row++) {
    const copy = codes.at(codes.count - tenth + row);
    copy.set(codes.at(row));
    copy[row % 8] ^= 1;
  }
  return codes;
}

/** Milliseconds of a run of the command. */
function timeOf(words) {
  return nodeTime([command, ...words]);
}

function nodeTime(words) {
  const start = performance.now();
  execFileSync(process.execPath, words, { stdio: 'ignore' });
  return performance.now() - start;
}
