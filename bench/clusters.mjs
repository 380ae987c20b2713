// Are clusters of codes those of vectors? k-means of all GloVe vectors next to FAISS's;
// and of 17,824 nouns in 26 categories of WordNet, from vectors, accumulators, and codes with centroids
// that are real-valued or codes themselves.

import { cluster, SimHasher } from '../dist/index.js';
import { announce, isSmall, measured, printTable, short, sized } from './lib/bench.mjs';
import { gloveName, nouns, vectorsOf } from './lib/data-sets.mjs';
import { openPython } from './lib/python.mjs';

const CLUSTERS = sized(1000, 50);
const ROUNDS = sized(2, 1);
const BITS = 256;
const SEEDS = sized([1, 2, 3, 4, 5, 6, 7, 8], [1]);

const python = await openPython();
await announce(python);
const name = await gloveName(isSmall);
await glove();
await categories();
python?.close();

async function glove() {
  const vectors = unitRows(vectorsOf(name, 'train'));
  const { values, dimensions } = vectors;
  const ours = { name: 'halfspace', all: [] };
  const faiss = { name: 'FAISS Kmeans, spherical', all: [] };
  if (python) await python.ask('vectors', { vectors: values, dimensions, bits: 8, seed: 7 });
  for (let round = 0; round < ROUNDS; round++) {
    if (python) {
      const { ms, objective } = await python.ask('kmeans', { clusters: CLUSTERS, seed: round });
      faiss.all.push({ ms, objective });
    }
    const options = { clusters: CLUSTERS, seed: round };
    const { result, seconds } = await measured(async () => await cluster(vectors, options));
    ours.all.push({ ms: 1000 * seconds, objective: result.objective });
  }
  const rows = [...(python ? [faiss] : []), ours].map(({ name, all }) => [
    ...[name, short(mean(all, 'ms') / 1000)],
    python ? `${short(mean(all, 'ms') / mean(faiss.all, 'ms'))} x` : '',
    mean(all, 'objective').toFixed(4),
  ]);
  const count = values.length / dimensions;
  printTable(
    `k-means of ${short(count)} GloVe vectors x ${dimensions} into ${short(CLUSTERS)}, mean of ${ROUNDS} seeds`,
    ['method', 'seconds', 'of FAISS', 'mean cosine'],
    rows,
  );
  console.log(
    "\nFAISS's time is that of its training on 256 vectors a cluster, 25 iterations; ours has all in " +
      'it: the labels of all rows, cohesion and exemplars. Mean cosine of all rows to ' +
      'their own centroid.',
  );
}

async function categories() {
  const { vectors, categories } = nouns();
  const { dimensions } = vectors;
  const clusters = new Set(categories).size;
  const hasherOf = (projection, seed) =>
    new SimHasher({ bits: BITS, dimensions, projection, seed: 1000 * seed });
  const codes = (projection) => async (seed) => await hasherOf(projection, seed).hashAll(vectors);
  const entries = [
    ['vectors', () => vectors],
    [`accumulators, ${BITS} of 'hadamard'`, (seed) => sumsOf(hasherOf('hadamard', seed), vectors)],
    [`codes, ${BITS} bits 'hadamard'`, codes('hadamard')],
    [`codes, ${BITS} bits 'signs'`, codes('signs')],
  ];
  const results = [];
  for (const [name, sourceOf, options] of entries) {
    const all = [];
    for (const seed of SEEDS) {
      const source = await sourceOf(seed);
      const { result, seconds } = await measured(
        async () => await cluster(source, { clusters, seed, ...options }),
      );
      all.push({ ms: 1000 * seconds, ...agreement(result.labels, categories) });
    }
    results.push({ name, all });
  }
  const ofVectors = mean(results[0].all, 'information');
  const rows = results.map(({ name, all }) => {
    const each = all.map(({ information }) => information);
    return [
      ...[name, mean(all, 'information').toFixed(3)],
      `${Math.min(...each).toFixed(3)}..${Math.max(...each).toFixed(3)}`,
      (mean(all, 'information') / ofVectors).toFixed(3),
      ...[mean(all, 'purity').toFixed(3), short(mean(all, 'ms'))],
    ];
  });
  const title = `${short(categories.length)} nouns in ${clusters} clusters, against as many categories`;
  const head = ['from', 'NMI', 'min..max', 'of vectors', 'purity', 'ms'];
  printTable(`${title}, mean of ${SEEDS.length} seeds`, head, rows);
  console.log('\nNMI: mutual information over the mean of both entropies.');
}

function unitRows({ values, dimensions }) {
  for (let from = 0; from < values.length; from += dimensions) {
    const row = values.subarray(from, from + dimensions);
    const length = Math.sqrt(row.reduce((sum, value) => sum + value * value, 0));
    for (let i = 0; i < dimensions; i++) row[i] /= length;
  }
  return { values, dimensions };
}

/** The accumulators of all rows, as a matrix. */
function sumsOf(hasher, { values, dimensions }) {
  const count = values.length / dimensions;
  const sums = new Float64Array(count * hasher.bits);
  for (let row = 0; row < count; row++) {
    const vector = values.subarray(row * dimensions, (row + 1) * dimensions);
    sums.set(hasher.accumulate(vector), row * hasher.bits);
  }
  return { values: sums, dimensions: hasher.bits };
}

/** Normalized mutual information with the categories, and the share in their cluster's commonest. */
function agreement(labels, categories) {
  const count = categories.length;
  const [ofCluster, ofCategory, ofBoth] = [new Map(), new Map(), new Map()];
  const add = (counts, key) => counts.set(key, (counts.get(key) ?? 0) + 1);
  categories.forEach((category, row) => {
    add(ofCluster, labels[row]);
    add(ofCategory, category);
    add(ofBoth, `${labels[row]} ${category}`);
  });
  const entropy = (counts) =>
    [...counts.values()].reduce((sum, one) => sum - (one / count) * Math.log(one / count), 0);
  const [clusters, groups, both] = [ofCluster, ofCategory, ofBoth].map(entropy);
  const most = new Map();
  for (const [key, one] of ofBoth) {
    const own = key.split(' ', 1)[0];
    most.set(own, Math.max(most.get(own) ?? 0, one));
  }
  return {
    information: (2 * (clusters + groups - both)) / (clusters + groups),
    purity: [...most.values()].reduce((sum, one) => sum + one, 0) / count,
  };
}

function mean(all, key) {
  return all.reduce((sum, one) => sum + one[key], 0) / all.length;
}
