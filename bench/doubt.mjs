// How true is what a search says of its own answer? The share that it expects to have found, `expectedMissing`
// of `explain`, against the share that it found, in ten bins; and searches that go on until a recall is expected.
// Signs and their number were chosen on GloVe; the other sets judge them. Draws docs/doubt.svg.

import { writeFileSync } from 'node:fs';
import { SimHashIndex } from '../dist/index.js';
import { buildDataSet, vectorsOf } from './lib/data-sets.mjs';
import { doubtPicture } from './lib/doubt-picture.mjs';
import { heldOut, nounVectors } from './lib/held-out.mjs';
import { announce, printTable } from './lib/table.mjs';

const K = 10;
const BINS = 10;
/** Queries of a bin that is judged. */
const ENOUGH = 200;
const CASES = [
  { vectors: 'float32', bits: 256, wanted: [0.6, 0.8, 0.95] },
  { vectors: 'int8', bits: 256, wanted: [0.9] },
  { vectors: 'none', bits: 512, wanted: [0.5] },
];
/** Recalls that are asked of single searches, of an index that is optimized for this one. */
const OPTIMIZED = 0.9;
const ASKED = [0.8, 0.9, 0.95, 0.99];

await announce();
for (const name of ['glove', 'images', 'sentences']) buildDataSet(name);
const chosen = process.argv.slice(2);
const SETS = [
  ['GloVe', () => heldOut(vectorsOf('glove', 'train'), 30_000, K, 100)],
  ['images', () => heldOut(vectorsOf('images', 'train'), 20_000, K, 200)],
  ['sentences', () => heldOut(vectorsOf('sentences', 'train'), 30_000, K, 300)],
  ['nouns', () => heldOut(nounVectors(), 14_824, K, 400)],
].filter(([name]) => chosen.length === 0 || chosen.includes(name));

const diagrams = [];
const byRecall = [];
for (const [name, make] of SETS) {
  const { rows, queries, truth } = make();
  const bins = Array.from({ length: BINS }, () => ({ queries: 0, said: 0, found: 0 }));
  for (const { vectors, bits, wanted } of CASES) {
    const index = new SimHashIndex({ bits, dimensions: rows.dimensions, vectors });
    index.addAll(rows);
    for (const recall of wanted) {
      const given = vectors === 'none' ? { vectors: rows } : {};
      index.optimize({ recall, k: K, ...given });
      for (const { said, found } of answered(index, queries, truth, {})) {
        const bin = bins[Math.min(BINS - 1, Math.floor(BINS * said))];
        bin.queries++;
        bin.said += said;
        bin.found += found;
      }
    }
    if (vectors === 'float32') addByRecall(name, index, queries, truth);
  }
  diagrams.push({ name, bins });
}
printTable(
  `Share of the ${K} nearest that searches say to have found, and what they found, by bins of what they say`,
  ['data', 'said', 'queries', 'mean said', 'mean found', 'error'],
  diagrams.flatMap(({ name, bins }) =>
    bins.flatMap(({ queries, said, found }, i) => {
      if (queries === 0) return [];
      const [mean, share] = [said / queries, found / queries];
      const range = `${(i / BINS).toFixed(1)}..${((i + 1) / BINS).toFixed(1)}`;
      const few = queries < ENOUGH ? ' (few)' : '';
      return [[name, range, queries, three(mean), three(share), three(share - mean) + few]];
    }),
  ),
  2,
);
const errors = diagrams.flatMap(({ bins }) =>
  bins
    .filter(({ queries }) => queries >= ENOUGH)
    .map(({ queries, said, found }) => Math.abs(said - found) / queries),
);
console.log(
  `\n${errors.length} bins of ${ENOUGH} queries or more: largest error ${three(Math.max(...errors))}, ` +
    `within .02 in ${errors.filter((error) => error <= 0.02).length}.`,
);
printTable(
  `\`search(query, { recall })\` of an index that is optimized for ${OPTIMIZED}`,
  ['data', 'recall asked for', 'found', 'says', 'partitions visited', 'rows ranked'],
  byRecall,
  2,
);
if (chosen.length === 0) {
  writeFileSync(new URL('../docs/doubt.svg', import.meta.url), doubtPicture(diagrams, ENOUGH));
}

function addByRecall(name, index, queries, truth) {
  index.optimize({ recall: OPTIMIZED, k: K });
  for (const recall of [null, ...ASKED]) {
    const all = answered(index, queries, truth, recall === null ? {} : { recall });
    const mean = (value) => all.reduce((sum, one) => sum + value(one), 0) / all.length;
    byRecall.push([
      ...[name, recall ?? 'as optimized', three(mean(({ found }) => found))],
      ...[three(mean(({ said }) => said)), mean(({ explain }) => explain.probes).toFixed(1)],
      mean(({ explain }) => explain.reranked).toFixed(0),
    ]);
  }
}

/** For each query what its search says to have found, what it found, and what it did. */
function answered(index, queries, truth, options) {
  const { values, dimensions } = queries;
  return truth.map((own, i) => {
    const query = values.subarray(i * dimensions, (i + 1) * dimensions);
    const { rows, explain } = index.search(query, { k: K, explain: true, ...options });
    const found = rows.filter((row) => own.has(row)).length / own.size;
    return { said: 1 - explain.expectedMissing / K, found, explain };
  });
}

function three(value) {
  return value.toFixed(3);
}
