// What do bits, kept vectors and wanted recall cost? On GloVe in full size: memory a row, time to add and
// to optimize, queries a second, and the recall of 1,000 queries that the index has never seen.

import { SimHashIndex } from '../dist/index.js';
import { buildDataSet, truthOf, vectorsOf } from './lib/data-sets.mjs';
import { announce, mark, printTable, short } from './lib/table.mjs';

const K = 10;
const SLOW_QUERIES = 200;
/** What an index without kept vectors may hold, in times of its codes. */
const MOST_MEMORY = 1.4;

await announce();
buildDataSet('glove');
const vectors = vectorsOf('glove', 'train');
const { dimensions } = vectors;
const { values } = vectorsOf('glove', 'queries');
const truth = truthOf('glove', K).map((rows) => new Set(rows));
const queries = truth.map((_, i) => values.subarray(i * dimensions, (i + 1) * dimensions));
const rowCount = vectors.values.length / dimensions;

const scans = [];
/** Memory in times of the codes, once searched. */
const timesOfCodes = new Map();
for (const bits of [64, 128, 256, 512, 1024]) {
  const index = new SimHashIndex({ bits, dimensions, projection: 'hadamard' });
  const seconds = secondsOf(() => index.addAll(vectors));
  const memory = short(index.bytes.total / rowCount);
  for (const rank of ['hamming', 'estimate']) {
    const speed = found(index, { rank, method: 'scan' });
    const after = short(index.bytes.total / rowCount);
    scans.push([bits, rank, memory, after, short(seconds), ...speed]);
  }
  timesOfCodes.set(bits, index.bytes.total / rowCount / (bits / 8));
}
printTable(
  `${short(rowCount)} GloVe words, nothing kept, all codes scanned`,
  ['bits', 'rank', 'bytes a row', 'once searched', 's to add', 'recall@10', 'queries/s'],
  scans,
);
mark('memory of 256 bits once searched, in times of the codes', timesOfCodes.get(256), {
  most: MOST_MEMORY,
});

const optimized = [];
for (const storage of ['none', 'int8', 'float32']) {
  const index = new SimHashIndex({
    bits: 256,
    dimensions,
    projection: 'hadamard',
    vectors: storage,
  });
  index.addAll(vectors);
  for (const recall of storage === 'none' ? [0.6] : [0.9, 0.95, 0.99]) {
    let report;
    const seconds = secondsOf(() => {
      report = index.optimize({ recall, k: K });
    });
    optimized.push([
      ...[storage, recall, report.recall.toFixed(3), short(index.bytes.total / rowCount)],
      ...[short(seconds), report.method === 'scan' ? 'all' : report.probes, report.oversample],
      ...found(index, {}),
    ]);
  }
}
printTable(
  '256 bits, after optimize(); without kept vectors the truth is the distance',
  [
    ...['vectors', 'recall wanted', 'measured by it', 'bytes a row', 's to optimize'],
    ...['partitions visited', 'oversample', 'recall@10 by cosine', 'queries/s'],
  ],
  optimized,
);

/** Recall of all queries, and the speed of a second pass. */
function found(index, options) {
  const slow = options.method === 'scan' ? queries.slice(0, SLOW_QUERIES) : queries;
  const hits = slow.map((query, i) => {
    return index.search(query, { k: K, ...options }).rows.filter((row) => truth[i].has(row)).length;
  });
  const seconds = secondsOf(() => {
    for (const query of slow) index.search(query, { k: K, ...options });
  });
  const recall = hits.reduce((sum, one) => sum + one, 0) / (K * slow.length);
  return [recall.toFixed(3), short(slow.length / seconds)];
}

function secondsOf(work) {
  const start = performance.now();
  work();
  return (performance.now() - start) / 1000;
}
