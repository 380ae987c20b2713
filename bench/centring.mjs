// Does centring pay? Recall of the 10 nearest by exact cosine, ranked by distance and by estimate, with
// and without the mean of the directions subtracted before hashing: GloVe words, and the same words
// pushed in one direction, as many embeddings are by nature.

import { meanOf, SimHashIndex, scanVectorsAll } from '../dist/index.js';
import { buildDataSet, vectorsOf } from './lib/data-sets.mjs';
import { announce, printTable } from './lib/table.mjs';

const ROWS = 100_000;
const QUERIES = 300;
const K = 10;
const PUSHES = [0, 0.5, 1, 2];

await announce();
buildDataSet('glove');
const { dimensions } = vectorsOf('glove', 'train');
const some = (name, count) => vectorsOf('glove', name).values.slice(0, count * dimensions);

const rows = [];
for (const push of PUSHES) {
  const vectors = { values: pushed(some('train', ROWS), push), dimensions };
  const queries = { values: pushed(some('queries', QUERIES), push), dimensions };
  const truth = scanVectorsAll(vectors, queries, { k: K }).map(({ rows }) => new Set(rows));
  const mean = meanOf(vectors);
  for (const bits of [64, 256]) {
    const cells = ['hamming', 'estimate'].flatMap((rank) => {
      return [undefined, mean].map((given) => {
        const index = new SimHashIndex({
          ...{ bits, dimensions, projection: 'hadamard' },
          ...(given && { mean: given }),
        });
        index.addAll(vectors);
        const found = index.searchAll(queries, { k: K, rank });
        const hits = found.map(({ rows }, i) => rows.filter((row) => truth[i].has(row)).length);
        return (hits.reduce((sum, one) => sum + one, 0) / (K * QUERIES)).toFixed(3);
      });
    });
    const length = Math.sqrt(mean.reduce((sum, value) => sum + value * value, 0));
    rows.push([push, length.toFixed(2), bits, ...cells]);
  }
}
printTable(
  `Recall@${K} of ${QUERIES} queries among ${ROWS} GloVe words, no re-ranking`,
  [
    ...['pushed by', 'length of the mean', 'bits', 'distance', 'distance, centred'],
    ...['estimate', 'estimate, centred'],
  ],
  rows,
  0,
);

/** Unit vectors with `push` added to their first coordinate. */
function pushed(values, push) {
  for (let from = 0; from < values.length; from += dimensions) {
    const row = values.subarray(from, from + dimensions);
    const length = Math.sqrt(row.reduce((sum, value) => sum + value * value, 0));
    for (let i = 0; i < dimensions; i++) row[i] /= length;
    row[0] += push;
  }
  return values;
}
