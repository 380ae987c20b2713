// For how long do the asynchronous forms block the event loop, and how soon does a signal stop them? A
// page or a server is to answer in between. Next to the longest pause by the clock stands the longest
// by the CPU time of the calling thread (Linux counts it), which other programs do not lengthen.
//
// node bench/pauses.mjs [rows, 1 for the usual number] [part of a name]

import { setTimeout } from 'node:timers/promises';
import {
  closeThreads,
  clusterAsync,
  clusterByDensityAsync,
  dedupAsync,
  groupRowsAsync,
  pairs,
  SimHasher,
  SimHashIndex,
  shingles,
  TextHasher,
} from '../dist/index.js';
import { ownCpu } from './lib/own-cpu.mjs';
import { clusteredCodes, generator } from './lib/random.mjs';
import { clusteredVectors, randomTexts } from './lib/rows.mjs';
import { announce, mark, printTable, short } from './lib/table.mjs';

const MOST_PAUSE_MS = 50;
const MOST_STOP_MS = 100;
/** When a call is stopped: at these shares of its time. */
const STOPS = [0.1, 0.5, 0.9];
const SCALE = Number(process.argv[2] ?? 1);
const ONLY = process.argv[3] ?? '';

await announce();

const rows = (count) => Math.round(SCALE * count);
const vectors = clusteredVectors(rows(340_000), 100);
const more = { ...vectors, values: vectors.values.slice(0, 100 * rows(50_000)) };
const queries = { ...vectors, values: vectors.values.slice(0, 100 * 1000) };
const sparse = sparseRows(rows(200_000));
const texts = randomTexts(rows(20_000));
const codes = clusteredCodes(rows(1_000_000), 64, 9);
const { unit } = generator(2);
const values = Float64Array.from({ length: codes.count }, unit);
// Made by the calls that need them: the collector, which looks through a million of them from time to
// time, would count as a pause of the others.
const names = once(() => Array.from(values, (value, row) => value.toString(36) + row));
const days = once(() => Array.from(values, (value) => new Date(1e12 * value)));

const options = { bits: 256, dimensions: 100, vectors: 'float32', projection: 'hadamard' };
const empty = () => new SimHashIndex(options);
const full = () => {
  const index = empty();
  index.addAll(vectors);
  return index;
};
const index = full();
const optimized = full();
optimized.optimize({ recall: 0.95 });
const fewer = new SimHashIndex(options);
fewer.addAll(more);
const hasher = new SimHasher({ bits: 256 });
const textHasher = new TextHasher({ bits: 256, tokens: shingles(2) });

function sparseRows(count) {
  const offsets = Uint32Array.from({ length: count + 1 }, (_, row) => 40 * row);
  const { below, unit } = generator(6);
  const indices = Uint32Array.from({ length: 40 * count }, () => below(1e6));
  return { offsets, indices, values: Float32Array.from(indices, unit) };
}

/** A value that is made when it is first asked for. */
function once(make) {
  let made;
  return () => (made ??= make());
}

async function drain(batches) {
  for await (const _ of batches);
}

const near = { maxDistance: 3 };
const components = { ...near, grouping: 'components' };
/** Name, the call, and what it begins with where that changes. */
const CALLS = [
  ['hashAllAsync', (call) => hasher.hashAllAsync(vectors, call)],
  ['hashAllAsync, sparse', (call) => hasher.hashAllAsync(sparse, call)],
  ['hashAllAsync, texts', (call) => textHasher.hashAllAsync(texts, call)],
  ['addAllAsync', (call, own) => own.addAllAsync(vectors, undefined, call), empty],
  [
    'addAllAsync, ids',
    (call, own) => own.addAllAsync(vectors, names().slice(0, rows(340_000)), call),
    () => names() && empty(),
  ],
  [
    'addAllAsync, codes',
    (call, own) => own.addAllAsync(codes, undefined, call),
    () => new SimHashIndex({ bits: 64 }),
  ],
  [
    'searchAllAsync, distance',
    (call) => index.searchAllAsync(queries, { rank: 'hamming', ...call }),
  ],
  ['searchAllAsync, cosine', (call) => index.searchAllAsync(queries, call)],
  ['searchAllAsync, optimized', (call) => optimized.searchAllAsync(queries, call)],
  ['withinAllAsync', (call) => index.withinAllAsync(queries, { maxDistance: 60, ...call })],
  ['optimizeAsync', (call, own) => own.optimizeAsync({ recall: 0.95, ...call }), full],
  [
    'addAllAsync, optimized',
    (call, own) => own.addAllAsync(more, undefined, call),
    () => optimized,
  ],
  ['pairs', (call) => drain(pairs(codes, { ...near, ...call }))],
  ['pairs by cosine', (call) => drain(pairs(fewer, { minCosine: 0.9, ...call }))],
  ['groupRowsAsync', (call) => groupRowsAsync(codes, { ...near, ...call })],
  ['dedupAsync', (call) => dedupAsync(codes, { ...components, ...call })],
  [
    'dedupAsync, keep random',
    (call) => dedupAsync(codes, { ...components, keep: { random: 1 }, ...call }),
  ],
  [
    'dedupAsync, keep highest number',
    (call) => dedupAsync(codes, { ...components, keep: { highest: values }, ...call }),
  ],
  [
    'dedupAsync, keep highest text',
    (call) => dedupAsync(codes, { ...components, keep: { highest: names() }, ...call }),
    names,
  ],
  [
    'dedupAsync, keep highest date',
    (call) => dedupAsync(codes, { ...components, keep: { highest: days() }, ...call }),
    days,
  ],
  ['clusterAsync, 500', (call) => clusterAsync(index, { clusters: 500, ...call })],
  ['clusterAsync, 5,000', (call) => clusterAsync(index, { clusters: 5000, ...call })],
  [
    'clusterByDensityAsync',
    (call) => clusterByDensityAsync(fewer, { minClusterSize: 20, ...call }),
  ],
].filter(([name]) => name.includes(ONLY));

/** Looks every millisecond until it is stopped; the longest time and CPU time between two looks. */
function watch() {
  const read = () => [performance.now(), ownCpu()];
  let before = read();
  const longest = [0, 0];
  const look = () => {
    const now = read();
    for (const i of [0, 1]) longest[i] = Math.max(longest[i], now[i] - before[i]);
    before = now;
  };
  const timer = setInterval(look, 1);
  return () => {
    clearInterval(timer);
    look();
    return longest;
  };
}

/** The call as a whole: its time, and its longest pause by the clock and by CPU. */
async function whole(call, make, threads) {
  const own = make?.();
  await setTimeout(20);
  const stop = watch();
  const start = performance.now();
  await call({ threads }, own);
  const ms = performance.now() - start;
  await setTimeout(5);
  return [ms, ...stop()];
}

/** Milliseconds from the abort to the end of the call. */
async function stopped(call, make, threads, after) {
  const own = make?.();
  const controller = new AbortController();
  let asked = Number.NaN;
  const timer = globalThis.setTimeout(() => {
    asked = performance.now();
    controller.abort();
  }, after);
  try {
    await call({ threads, signal: controller.signal }, own);
    return 0;
  } catch {
    return performance.now() - asked;
  } finally {
    clearTimeout(timer);
  }
}

const table = [];
for (const [name, call, make] of CALLS) {
  for (const threads of [1, 2]) {
    const [ms, ...longest] = await whole(call, make, threads);
    const stops = [];
    for (const share of STOPS) stops.push(await stopped(call, make, threads, share * ms));
    table.push([name, threads, ms, ...longest, Math.max(...stops)]);
    console.error(
      table
        .at(-1)
        .map((cell) => (cell > 2 ? short(cell) : cell))
        .join('  '),
    );
  }
}
const head = ['call', 'threads', 'whole call', 'longest pause', 'the same in CPU', 'slowest stop'];
printTable(
  'Pauses of the event loop, ms',
  head,
  table.map(([name, threads, ...numbers]) => [name, threads, ...numbers.map(short)]),
);
const most = (column) => Math.max(...table.map((row) => row[column]));
mark('longest pause in ms, by CPU time', most(4), { most: MOST_PAUSE_MS });
mark('slowest stop in ms', most(5), { most: MOST_STOP_MS });
await closeThreads();
