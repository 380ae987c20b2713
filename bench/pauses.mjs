// For how long do the asynchronous forms block the event loop? The longest pause of each call on GloVe
// in full size; a page or a server is to answer in between.

import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout } from 'node:timers/promises';
import { SimHashIndex } from '../dist/index.js';
import { buildDataSet, vectorsOf } from './lib/data-sets.mjs';
import { announce, mark, printTable, short } from './lib/table.mjs';

const MOST_MS = 50;

await announce();
buildDataSet('glove');
const vectors = vectorsOf('glove', 'train');
const queries = vectorsOf('glove', 'queries');
const { dimensions } = vectors;
const index = new SimHashIndex({
  bits: 256,
  dimensions,
  projection: 'hadamard',
  vectors: 'float32',
});
const more = { values: vectors.values.slice(0, 50_000 * dimensions), dimensions };

const rows = [];
for (const [name, call] of [
  ['addAllAsync', () => index.addAllAsync(vectors)],
  ['searchAllAsync, distance', () => index.searchAllAsync(queries, { rank: 'hamming' })],
  ['searchAllAsync, cosine', () => index.searchAllAsync(queries, {})],
  ['withinAllAsync', () => index.withinAllAsync(queries, { maxDistance: 60 })],
  ['optimizeAsync', () => index.optimizeAsync({ recall: 0.95 })],
  ['searchAllAsync, optimized', () => index.searchAllAsync(queries, {})],
  ['addAllAsync of 50,000 more', () => index.addAllAsync(more)],
]) {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  await setTimeout(50);
  delay.enable();
  const start = performance.now();
  await call();
  const ms = performance.now() - start;
  await setTimeout(5);
  delay.disable();
  rows.push([name, short(ms), short(delay.percentile(99) / 1e6), short(delay.max / 1e6)]);
}
printTable(
  'Pauses of the event loop, ms',
  ['call', 'whole call', '99 of 100 pauses at most', 'longest'],
  rows,
);
const longest = Math.max(...rows.map((row) => Number(String(row[3]).replaceAll(',', ''))));
mark('longest pause in ms', longest, { most: MOST_MS });
