// What do two threads gain over one? The same work, equal answers, interleaved rounds. On a machine
// whose cores are busy look at the CPU time. The longest wait is that of the event loop, by its delay.
//
// BENCH_CORE=0,1 node bench/threads.mjs [part of a name]

import { createHash } from 'node:crypto';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import {
  closeThreads,
  cluster,
  pairs,
  SimHasher,
  SimHashIndex,
  TextHasher,
} from '../dist/index.js';
import {
  announce,
  hasCores,
  isSmall,
  measured,
  mustHold,
  printTable,
  short,
  sized,
  summary,
  times,
  words,
} from './lib/bench.mjs';
import { gloveName, vectorsOf } from './lib/data-sets.mjs';
import { clusteredVectors, randomTexts, uniformCodes } from './lib/random.mjs';

if (!hasCores && !isSmall) throw new Error('say BENCH_CORE=0,1: two cores, or more');
const ROUNDS = sized(5, 1);
const WARM_MS = sized(3000, 10);

await announce();
const rows = (count) => Math.round(sized(1, 0.01) * count);
const name = await gloveName(isSmall);
const [dense, asked] = ['train', 'queries'].map((part) => vectorsOf(name, part));
const hadamard = new SimHasher({ bits: 256, dimensions: 100, projection: 'hadamard' });
const textHasher = new TextHasher({ bits: 256, tokens: 'shingles:2' });
const someTexts = randomTexts(rows(10_000));
const wide = clusteredVectors(rows(100_000), 384);
const wideHasher = new SimHasher({ bits: 256, dimensions: 384, projection: 'hadamard' });
const options = { bits: 256, dimensions: 100, vectors: 'float32', projection: 'hadamard' };
const index = new SimHashIndex(options);
await index.addAll(dense);
const queries = { ...asked, values: asked.values.slice(0, 100 * 1000) };
const optimized = new SimHashIndex(options);
await optimized.addAll(dense);
await optimized.optimize({ recall: 0.95 });
const many = new SimHashIndex({ bits: 256 });
await many.addAll(uniformCodes(rows(10_000_000), 256, 3));
const one = uniformCodes(1, 256, 4);

const uniform = uniformCodes(rows(10_000_000), 64, 12);
async function allPairs(source, near, call) {
  let count = 0;
  let sum = 0;
  for await (const { a, b } of pairs(source, { ...near, ...call })) {
    count += a.length;
    for (let i = 0; i < a.length; i++) sum = (sum * 31 + a[i] * 7 + b[i]) % 1e9;
  }
  return [count, sum];
}

const JOBS = [
  ['hash all rows, 384 wide', (call) => wideHasher.hashAll(wide, call)],
  ['hash all rows, 100 wide', (call) => hadamard.hashAll(dense, call)],
  ['texts to codes', (call) => textHasher.hashAll(someTexts, call)],
  ['one query, scan', (call) => many.searchAll(one, call)],
  ['1,000 searches, optimized', (call) => optimized.searchAll(queries, call)],
  ['k-means, 500 clusters', (call) => cluster(index, { clusters: sized(500, 20), ...call })],
  ['pairs within 3', (call) => allPairs(uniform, { maxDistance: 3 }, call)],
  [
    'adding and optimize',
    async (call) => {
      const fresh = new SimHashIndex(options);
      await fresh.addAll(dense, undefined, call);
      return fresh.optimize({ recall: 0.95, ...call });
    },
  ],
].filter(([name]) => words.length === 0 || name.includes(words[0]));

/** Milliseconds by the clock and of CPU, and the longest delay of the event loop. */
async function run(work, threads) {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  const { result, seconds, cpu } = await measured(() => work({ threads }));
  delay.disable();
  return { ms: 1000 * seconds, cpu, wait: delay.max / 1e6, result };
}

function digest(answer) {
  const text = JSON.stringify(answer, (_, value) =>
    ArrayBuffer.isView(value)
      ? Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64')
      : value,
  );
  return createHash('sha256').update(text).digest('hex');
}

const table = [];
for (const [name, work] of JOBS) {
  const digests = [];
  for (const threads of [1, 2]) digests.push(digest((await run(work, threads)).result));
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
  const of = (threads, what) => summary(rounds[threads].map((round) => round[what])).ms;
  table.push([
    ...[name, short(of(1, 'ms')), short(of(2, 'ms')), times(of(1, 'ms') / of(2, 'ms'))],
    ...[times(of(2, 'cpu') / of(1, 'cpu')), short(Math.max(of(1, 'wait'), of(2, 'wait')))],
  ]);
  console.error(table.at(-1).join('  '));
}
const head = ['work', 'ms, 1 thread', 'ms, 2', '1 / 2', 'CPU of 2 / 1', 'longest wait, ms'];
printTable('Two threads against one', head, table);
await closeThreads();
