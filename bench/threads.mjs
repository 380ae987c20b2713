// What do two threads gain over one? The same work, equal answers, interleaved rounds. On a machine
// whose cores are busy look at the CPU time: where two threads take little more of it in all than one,
// and the calling thread little, a free second core halves the time. The calling thread's own time over
// all of one thread's is what no number of threads makes shorter (Amdahl).
//
// BENCH_CORE=0,1 node bench/threads.mjs [rows, 1 for the usual number] [part of a name]

import { createHash } from 'node:crypto';
import {
  closeThreads,
  clusterAsync,
  pairs,
  SimHasher,
  SimHashIndex,
  shingles,
  TextHasher,
} from '../dist/index.js';
import { buildDataSet, vectorsOf } from './lib/data-sets.mjs';
import { ownCpu } from './lib/own-cpu.mjs';
import { clusteredCodes, uniformCodes } from './lib/random.mjs';
import { randomTexts as texts, clusteredVectors as vectors } from './lib/rows.mjs';
import { announce, mark, mustHold, printTable, short, times } from './lib/table.mjs';

if (!process.env.BENCH_CORE?.includes(','))
  throw new Error('say BENCH_CORE=0,1: two cores, or more');
const SCALE = Number(process.argv[2] ?? 1);
const ONLY = process.argv[3] ?? '';
const ROUNDS = 5;
const WARM_MS = 3000;

await announce();

const rows = (count) => Math.round(SCALE * count);
buildDataSet('glove');
const [dense, asked] = ['train', 'queries'].map((part) => vectorsOf('glove', part));
dense.values = dense.values.slice(0, 100 * rows(340_479));
const hadamard = new SimHasher({ bits: 256, dimensions: 100, projection: 'hadamard' });
const signs = new SimHasher({ bits: 256, dimensions: 100 });
const textHasher = new TextHasher({ bits: 256, tokens: shingles(2) });
const someTexts = texts(rows(10_000));
const wide = vectors(rows(100_000), 384);
const wideHasher = new SimHasher({ bits: 256, dimensions: 384, projection: 'hadamard' });
const options = { bits: 256, dimensions: 100, vectors: 'float32', projection: 'hadamard' };
const index = new SimHashIndex(options);
index.addAll(dense);
const queries = { ...asked, values: asked.values.slice(0, 100 * 1000) };
const hundred = { ...queries, values: queries.values.slice(0, 100 * 100) };
const optimized = new SimHashIndex(options);
optimized.addAll(dense);
optimized.optimize({ recall: 0.95 });
const many = new SimHashIndex({ bits: 256 });
many.addAll(uniformCodes(rows(10_000_000), 256, 3));
const one = uniformCodes(1, 256, 4);
const near = clusteredCodes(rows(2_000_000), 64, 9);

const uniform = uniformCodes(rows(10_000_000), 64, 12);
const few = new SimHashIndex(options);
few.addAll({ ...dense, values: dense.values.slice(0, 100 * rows(40_000)) });

async function allPairs(source, near, call) {
  let count = 0;
  let sum = 0;
  for await (const { a, b } of pairs(source, { ...near, ...call })) {
    count += a.length;
    for (let i = 0; i < a.length; i++) sum = (sum * 31 + a[i] * 7 + b[i]) % 1e9;
  }
  return [count, sum];
}

const byScan = { rank: 'hamming', method: 'scan' };
const JOBS = [
  ['hashAll, hadamard, 384 wide', 1.8, (call) => wideHasher.hashAllAsync(wide, call)],
  ['hashAll, hadamard, 100 wide', 1.8, (call) => hadamard.hashAllAsync(dense, call)],
  ['hashAll, signs, 100 wide', 1.8, (call) => signs.hashAllAsync(dense, call)],
  ['texts to codes', 1.8, (call) => textHasher.hashAllAsync(someTexts, call)],
  ['scan of 100 queries', 1.8, (call) => index.searchAllAsync(hundred, { ...byScan, ...call })],
  ['one query', 1.6, (call) => many.searchAllAsync(one, { method: 'scan', ...call })],
  ['searchAll of 1,000 words, optimized', 1.8, (call) => optimized.searchAllAsync(queries, call)],
  ['k-means, 500 clusters', 1.8, (call) => clusterAsync(index, { clusters: 500, ...call })],
  ['pairs of 10,000,000 codes', 1.8, (call) => allPairs(uniform, { maxDistance: 3 }, call)],
  ['pairs of clustered codes', 1.8, (call) => allPairs(near, { maxDistance: 3 }, call)],
  ['pairs by exact cosine', 1.8, (call) => allPairs(few, { minCosine: 0.8 }, call)],
  [
    'adding and optimize',
    1.8,
    async (call) => {
      const fresh = new SimHashIndex(options);
      await fresh.addAllAsync(dense, undefined, call);
      return { ...(await fresh.optimizeAsync({ recall: 0.95, ...call })), queriesPerSecond: 0 };
    },
  ],
].filter(([name]) => name.includes(ONLY));

/** One run: milliseconds by the clock, of CPU in all, and of CPU of the calling thread. */
async function run(work, threads) {
  const cpu = process.cpuUsage();
  const before = ownCpu();
  const start = performance.now();
  const answer = await work({ threads });
  const ms = performance.now() - start;
  const { user, system } = process.cpuUsage(cpu);
  return { ms, cpu: (user + system) / 1000, own: ownCpu() - before, answer };
}

const median = (list) => [...list].sort((a, b) => a - b)[list.length >> 1];

function digest(answer) {
  const text = JSON.stringify(answer, (_, value) =>
    ArrayBuffer.isView(value)
      ? Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64')
      : value,
  );
  return createHash('sha256').update(text).digest('hex');
}

const table = [];
const gains = [];
for (const [name, least, work] of JOBS) {
  const digests = [];
  for (const threads of [1, 2]) digests.push(digest((await run(work, threads)).answer));
  mustHold(digests[0] === digests[1], name);
  // Threads that have served for a while: each compiles for itself what it runs.
  const warm = performance.now() + WARM_MS;
  while (performance.now() < warm) await work({ threads: 2 });
  const rounds = { 1: [], 2: [] };
  for (let round = 0; round < ROUNDS; round++) {
    for (const threads of round % 2 === 0 ? [1, 2] : [2, 1]) {
      rounds[threads].push(await run(work, threads));
    }
  }
  const of = (threads, what) => median(rounds[threads].map((round) => round[what]));
  const gain = of(1, 'ms') / of(2, 'ms');
  const cpu = of(2, 'cpu') / of(1, 'cpu');
  const serial = of(2, 'own') / of(1, 'cpu');
  table.push([
    ...[name, short(of(1, 'ms')), short(of(2, 'ms')), times(gain), times(cpu)],
    ...[serial.toFixed(2), ...[16, 64].map((cores) => times(1 / (serial + (1 - serial) / cores)))],
  ]);
  gains.push([name, gain, least]);
  console.error(table.at(-1).join('  '));
}
const head = ['work', 'ms, 1 thread', 'ms, 2', '1 / 2', 'CPU of 2 / 1', 'serial share'];
printTable('Two threads against one', [...head, 'at most, 16 cores', '64'], table);
for (const [name, gain, least] of gains) mark(`${name}: 2 threads over 1`, gain, { least });
await closeThreads();
