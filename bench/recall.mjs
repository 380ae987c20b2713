// How well do codes find what vectors find? On 17,824 nouns (GloVe, 100 wide): recall of the 10 nearest by
// Hamming distance against those by exact cosine, error of the cosine, and neighbours of one category.
// The three projections next to FAISS's rotated LSH, and the vectors themselves.

import { readFileSync } from 'node:fs';
import { tableFromIPC } from 'apache-arrow';
import {
  Codes,
  estimateAngle,
  hammingDistance,
  SimHasher,
  scanAll,
  scanVectorsAll,
  vectorsFromArrow,
} from '../dist/index.js';
import { openPython } from './lib/python.mjs';
import { generator } from './lib/random.mjs';
import { announce, printTable, short } from './lib/table.mjs';
import { summary, timeOf } from './lib/timing.mjs';

const QUERIES = 1000;
const K = 10;
const PAIRS = 20_000;
const SEEDS = [7, 1007, 2007];

const python = await openPython();
await announce(python);
const file = readFileSync(new URL('../datasets/nouns/nouns.arrow', import.meta.url));
const { vectors } = vectorsFromArrow(file, { id: 'word' });
const { values, dimensions } = vectors;
const count = values.length / dimensions;
const categories = [...tableFromIPC(file).getChild('category')];

const { below } = generator(7);
const queryRows = Uint32Array.from({ length: QUERIES }, () => below(count));
const pairs = Array.from({ length: PAIRS }, () => [below(count), below(count)]);
const pairCosines = pairs.map(([a, b]) => cosine(a, b));

const queryVectors = new Float32Array(QUERIES * dimensions);
queryRows.forEach((row, i) => {
  queryVectors.set(values.subarray(row * dimensions, (row + 1) * dimensions), i * dimensions);
});
const queries = { values: queryVectors, dimensions };
const truth = scanVectorsAll(vectors, queries, { k: K + 1 }).map(({ rows }, i) =>
  others(rows, queryRows[i]),
);

const exactMs = timeOf(() => scanVectorsAll(vectors, queries, { k: K + 1 }));

const table = [];
const exact = [
  'float32 vectors',
  '',
  4 * dimensions,
  '1.000',
  '',
  share(truth).toFixed(3),
  '0.0000',
];
table.push([...exact, '', short((1000 * exactMs) / QUERIES)]);
for (const bits of [64, 128, 256, 512, 1024]) {
  for (const projection of ['hadamard', 'signs', 'gaussian']) {
    const tries = [];
    for (const seed of SEEDS) {
      const hasher = new SimHasher({ bits, seed, projection, dimensions });
      const codes = hasher.hashAll(vectors);
      const ms = timeOf(() => hasher.hashAll(vectors));
      tries.push({ ms, ...quality(codes) });
    }
    addRow(`halfspace '${projection}'`, bits, tries);
  }
  if (python) addRow('FAISS IndexLSH, rotated', bits, [await faiss(bits)]);
}
printTable(
  `${short(count)} nouns x ${dimensions}: the ${K} nearest of ${short(QUERIES)} nouns, ${SEEDS.length} seeds`,
  [
    ...['method', 'bits', 'bytes a row', 'recall@10', 'min..max', 'same category', 'cosine error'],
    ...['µs to encode', 'µs to search'],
  ],
  table,
);
console.log(
  '\nCosine error: mean of |estimate - exact| over 20,000 random pairs. Time a row, a query.',
);
python?.close();

function addRow(name, bits, tries) {
  const middle = (key) => summary(tries.map((one) => one[key])).ms;
  const recalls = tries.map(({ recall }) => recall);
  const range = `${Math.min(...recalls).toFixed(3)}..${Math.max(...recalls).toFixed(3)}`;
  const cells = [name, bits, bits / 8, middle('recall').toFixed(3), range];
  cells.push(middle('sameCategory').toFixed(3), middle('error').toFixed(4));
  table.push([...cells, short((1000 * middle('ms')) / count), short(middle('searchMicros'))]);
}

async function faiss(bits) {
  await python.ask('vectors', { vectors: values, dimensions, bits, seed: 7 });
  await python.encode('faiss', count); // warms up
  const { ms, bytes } = await python.encode('faiss', count);
  return { ms, ...quality(Codes.from(bytes, { bits })) };
}

function quality(codes) {
  const { bits, bytesPerCode } = codes;
  const queries = Codes.allocate(QUERIES, { bits });
  queryRows.forEach((row, i) => {
    queries.bytes.set(codes.at(row), i * bytesPerCode);
  });
  const neighbors = scanAll(codes, queries, { k: K + 1 });
  const ms = timeOf(() => scanAll(codes, queries, { k: K + 1 }));
  const rows = neighbors.map((one, i) => others(one.rows, queryRows[i]));
  let hits = 0;
  for (const [i, near] of rows.entries())
    hits += near.filter((row) => truth[i].includes(row)).length;
  let error = 0;
  for (const [i, [a, b]] of pairs.entries()) {
    error += Math.abs(
      estimateAngle(hammingDistance(codes.at(a), codes.at(b)), bits).estimatedCosine -
        pairCosines[i],
    );
  }
  return {
    recall: hits / (K * QUERIES),
    sameCategory: share(rows),
    error: error / PAIRS,
    searchMicros: (1000 * ms) / QUERIES,
  };
}

/** The K nearest without the query's own row. */
function others(rows, own) {
  return rows.filter((row) => row !== own).slice(0, K);
}

/** Share of neighbours in the query's own category. */
function share(neighbors) {
  let same = 0;
  for (const [i, rows] of neighbors.entries()) {
    for (const row of rows) same += categories[row] === categories[queryRows[i]] ? 1 : 0;
  }
  return same / (K * QUERIES);
}

function cosine(a, b) {
  let [dot, aa, bb] = [0, 0, 0];
  for (let i = 0; i < dimensions; i++) {
    const x = values[a * dimensions + i];
    const y = values[b * dimensions + i];
    dot += x * y;
    aa += x * x;
    bb += y * y;
  }
  return dot / Math.sqrt(aa * bb);
}
