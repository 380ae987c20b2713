// What does the command gain by --threads 2 over --threads 1, end to end? Whole processes in turns:
// milliseconds, CPU seconds and peak memory of both, equal outputs. Also what `threads: 'auto'` costs
// where threads do not pay, which is measured in this process.
//
// node bench/large-dedup.mjs rows=500000 only=none   (1 GB of JSONL, in /tmp/halfspace-large)
// BENCH_CORE=0,1 node bench/command-threads.mjs [jsonl=FILE] [rounds=3] [only=part of a name] [codes=10000000]

import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createReadStream, existsSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { Codes, closeThreads, SimHasher, SimHashIndex, writeCodes } from '../dist/node.js';
import { buildDataSet } from './lib/data-sets.mjs';
import { uniformCodes } from './lib/random.mjs';
import { clusteredVectors } from './lib/rows.mjs';
import { announce, bytesText, mark, mustHold, printTable, short, times } from './lib/table.mjs';

if (!process.env.BENCH_CORE?.includes(','))
  throw new Error('say BENCH_CORE=0,1: two cores, or more');
const given = Object.fromEntries(process.argv.slice(2).map((one) => one.split('=')));
const ROUNDS = Number(given.rounds ?? 3);
const CODES = Number(given.codes ?? 1e7);
const jsonl = given.jsonl ?? '/tmp/halfspace-large/docs-500000.jsonl';
const pathOf = (name) => fileURLToPath(new URL(name, import.meta.url));

await announce();
buildDataSet('glove');
const folder = mkdtempSync(join(tmpdir(), 'halfspace-bench-'));
try {
  await compareVerbs();
} finally {
  rmSync(folder, { recursive: true });
}
await compareCalls();
await closeThreads();

async function compareVerbs() {
  const glove = pathOf('../datasets/glove/train.arrow');
  const hashing = ['--bits', '256', '--projection', 'hadamard', '--optimize'];
  const pairsOf = async () => {
    const codes = join(folder, 'codes.arrow');
    await writeCodes(codes, uniformCodes(CODES, 64, 7));
    return ['pairs', codes, '--max-distance', '3'];
  };
  const size = existsSync(jsonl) ? bytesText(statSync(jsonl).size) : 'no file';
  const verbs = [
    [`dedup of JSONL, ${size}`, 'plan.jsonl', () => ['dedup', jsonl, '--text', 'text']],
    ['index --optimize, GloVe Arrow', 'index.hs', () => ['index', glove, ...hashing]],
    [`pairs of ${short(CODES)} codes`, 'pairs.arrow', pairsOf],
  ].filter(([name]) => name.includes(given.only ?? ''));
  const table = [];
  const marks = [];
  for (const [name, out, words] of verbs) {
    if (name.endsWith('no file')) {
      console.error(`${jsonl} is not there: no row for dedup`);
      continue;
    }
    const { 1: one, 2: two } = await rounds(out, await words());
    const gain = one.wall / two.wall;
    const memory = two.peak / one.peak;
    table.push([
      ...[name, short(1000 * one.wall), short(1000 * two.wall), times(gain), short(one.cpu)],
      ...[short(two.cpu), bytesText(one.peak), bytesText(two.peak), times(memory)],
    ]);
    marks.push([`${name}: 2 threads over 1`, gain, { least: 1.6 }]);
    marks.push([`${name}: memory of 2 threads over 1`, memory, { most: 1.1 }]);
    console.error(table.at(-1).join('  '));
  }
  const head = ['work', 'ms, 1 thread', 'ms, 2', '1 / 2', 'CPU s, 1', '2', 'peak, 1', '2', '2 / 1'];
  printTable('The command with --threads 2 against 1', head, table);
  for (const [name, value, limit] of marks) mark(name, value, limit);
}

/** Medians of runs with one thread and with two, in turns; outputs must be equal to the byte. */
async function rounds(out, words) {
  const runs = { 1: [], 2: [] };
  const digests = new Set();
  for (let round = 0; round < ROUNDS; round++) {
    for (const threads of round % 2 === 0 ? [1, 2] : [2, 1]) {
      const target = join(folder, out);
      const options = ['-o', target, '--force', '--quiet', '--threads', String(threads)];
      const command = [process.execPath, pathOf('../dist/cli.js'), ...words, ...options];
      const timed = [pathOf('python/timed.py'), ...command];
      const text = execFileSync('python3', timed, { stdio: ['ignore', 'pipe', 'inherit'] });
      const used = JSON.parse(text);
      mustHold(used.code === 0, words[0]);
      runs[threads].push(used);
      // Of an index, which is a folder, no digest is made here.
      if (!out.endsWith('.hs')) digests.add(await digestOf(target));
      rmSync(target, { recursive: true });
    }
  }
  mustHold(digests.size <= 1, `${words[0]}: equal outputs`);
  const medianOf = (list, what) => median(list.map((one) => one[what]));
  return Object.fromEntries(
    Object.entries(runs).map(([threads, list]) => {
      const [wall, cpu, peak] = ['wall', 'cpu', 'peak'].map((what) => medianOf(list, what));
      return [threads, { wall, cpu, peak }];
    }),
  );
}

function median(list) {
  return [...list].sort((a, b) => a - b)[list.length >> 1];
}

async function digestOf(path) {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
}

/** Small calls, which threads do not shorten: 'auto' against one thread, threads running already. */
async function compareCalls() {
  const hasher = new SimHasher({ bits: 256, dimensions: 100, projection: 'hadamard' });
  const rows = clusteredVectors(20_000, 100);
  const few = { ...rows, values: rows.values.slice(0, 100 * 500) };
  const index = new SimHashIndex({ bits: 256, dimensions: 100, projection: 'hadamard' });
  index.addAll(rows);
  const codes = new SimHashIndex({ bits: 256 });
  codes.addAll(Codes.from(uniformCodes(100_000, 256, 3).bytes, { bits: 256 }));
  const query = uniformCodes(1, 256, 4);
  const asked = { ...rows, values: rows.values.slice(0, 100 * 20) };
  const scan = { rank: 'hamming', method: 'scan' };
  const calls = [
    ['hashAllAsync of 500 rows', (call) => hasher.hashAllAsync(few, call)],
    ['scan of 100,000 codes', (call) => codes.searchAllAsync(query, { method: 'scan', ...call })],
    ['searchAllAsync of 20 queries', (call) => index.searchAllAsync(asked, { ...scan, ...call })],
  ].filter(([name]) => name.includes(given.only ?? ''));
  const warm = (threads) => hasher.hashAllAsync(rows, { threads });
  const table = [];
  const marks = [];
  for (const [name, call] of calls) {
    for (let i = 0; i < 20; i++) await warm(2);
    const ms = { 1: [], auto: [] };
    for (let round = 0; round < 21; round++) {
      for (const threads of round % 2 === 0 ? [1, 'auto'] : ['auto', 1]) {
        const start = performance.now();
        for (let i = 0; i < 20; i++) await call({ threads });
        ms[threads].push((performance.now() - start) / 20);
      }
    }
    const [one, auto] = [median(ms[1]), median(ms.auto)];
    table.push([name, one.toFixed(3), auto.toFixed(3), times(auto / one)]);
    marks.push([`${name}: 'auto' over one thread`, auto / one, { most: 1.05 }]);
  }
  printTable('Work that does not pay', ['call', 'ms, 1 thread', "ms, 'auto'", 'auto / 1'], table);
  for (const [name, value, limit] of marks) mark(name, value, limit);
}
