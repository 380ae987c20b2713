// Are the generated vectors of lib/like-sentences.mjs like those that a model makes of sentences? Both side by side:
// cosines of the nearest, the tenth and the hundredth as rows become more, and what an optimized index makes of them.
// The sentences are those of datasets/sentences, embedded by all-MiniLM-L6-v2 at the first run (some minutes).

import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { tableFromIPC } from 'apache-arrow';
import { SimHashIndex, scanVectorsAll } from '../dist/index.js';
import { buildDataSet, pathOf } from './lib/data-sets.mjs';
import { likeSentences, rowsOf } from './lib/like-sentences.mjs';
import { findPython } from './lib/python.mjs';
import { announce, printTable } from './lib/table.mjs';

const DIMENSIONS = 384;
const QUERIES = 1000;
/** Queries whose cosines are shown. */
const SHOWN = 200;
const COUNTS = [1100, 11_000, 110_000, 351_575];
const ROWS = COUNTS.at(-1);
const RANKS = [1, 10, 100];

await announce();
const cache = fileURLToPath(new URL('.cache/', import.meta.url));
const draw = likeSentences(DIMENSIONS);
const sets = [
  ['sentences, all-MiniLM-L6-v2', ...ofSentences()],
  ['generated', draw(QUERIES), draw(ROWS)],
];
printTable(
  'Mean cosines of the nearest, the tenth and the hundredth row (middle 80 % of the queries)',
  ['vectors', ...COUNTS.map((count) => `of ${count.toLocaleString('en')}`), 'unrelated rows'],
  sets.map(([name, queries, rows]) => [
    ...[name, ...COUNTS.map((count) => cosines(part(rows, 0, count), part(queries, 0, SHOWN)))],
    unrelated(rows),
  ]),
);
printTable(
  `An index of ${ROWS.toLocaleString('en')} rows, int8, recall@10 .95 wanted`,
  ['vectors', 'recall', 'partitions', 'probes', 'copies', 'MB a query, read', 'queries/s'],
  sets.map(([name, queries, rows]) => [name, ...searched(queries, rows)]),
);

/** Queries and rows of the data set, in the model's vectors. */
function ofSentences() {
  const file = `${cache}sentences-minilm.f4`;
  if (!existsSync(file)) {
    buildDataSet('sentences');
    const texts = ['queries', 'train'].flatMap((name) => [
      ...tableFromIPC(readFileSync(pathOf('sentences', name))).getChild('sentence'),
    ]);
    const script = fileURLToPath(new URL('python/embed_sentences.py', import.meta.url));
    const stdio = ['pipe', 'inherit', 'inherit'];
    execFileSync(findPython(), [script, file, cache], { input: JSON.stringify(texts), stdio });
  }
  const { buffer, byteOffset, length } = readFileSync(file);
  const values = new Float32Array(buffer, byteOffset, length / 4);
  const all = { values, dimensions: DIMENSIONS };
  return [part(all, 0, QUERIES), part(all, QUERIES, QUERIES + ROWS)];
}

function part({ values }, first, end) {
  return { values: values.subarray(first * DIMENSIONS, end * DIMENSIONS), dimensions: DIMENSIONS };
}

function cosines(rows, queries) {
  const found = scanVectorsAll(rows, queries, { k: RANKS.at(-1) });
  return RANKS.map((rank) => {
    const all = Float64Array.from(found, (one) => one.cosines[rank - 1]).sort();
    const mean = all.reduce((sum, one) => sum + one, 0) / SHOWN;
    return `${short(mean)} (${short(all[SHOWN / 10])} to ${short(all[(9 * SHOWN) / 10])})`;
  }).join(', ');
}

/** Mean and standard deviation of the cosines of rows far apart. */
function unrelated(rows) {
  const all = Float64Array.from({ length: 100_000 }, (_, i) => {
    const [a, b] = [i, i + 150_000].map((row) => part(rows, row, row + 1).values);
    const dot = (x, y) => x.reduce((sum, one, at) => sum + one * y[at], 0);
    return dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b));
  });
  const mean = all.reduce((sum, one) => sum + one, 0) / all.length;
  const square = all.reduce((sum, one) => sum + (one - mean) ** 2, 0) / all.length;
  return `${short(mean)} +- ${short(Math.sqrt(square))}`;
}

function searched(queries, rows) {
  const setting = { bits: 256, dimensions: DIMENSIONS, projection: 'hadamard', vectors: 'int8' };
  const index = new SimHashIndex(setting);
  index.addAll(rows);
  const { partitions, probes, copies, cost } = index.optimize({ recall: 0.95 });
  const truth = scanVectorsAll(rows, queries, { k: 10 });
  const each = rowsOf(queries);
  let [hits, best] = [0, 0];
  for (let round = 0; round < 3; round++) {
    const start = performance.now();
    const found = each.map((query) => index.search(query, { k: 10 }));
    best = Math.max(best, (1000 * QUERIES) / (performance.now() - start));
    hits = found.reduce((sum, one, i) => {
      const near = new Set(truth[i].rows);
      return sum + one.rows.filter((row) => near.has(row)).length;
    }, 0);
  }
  const megabytes = (cost.bytes / 1e6).toFixed(2);
  return [short(hits / (10 * QUERIES), 3), partitions, probes, copies, megabytes, Math.round(best)];
}

function short(value, digits = 2) {
  return value.toFixed(digits).replace(/^(-?)0/, '$1');
}
