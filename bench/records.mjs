// Which records are of one person, or of one restaurant? Short records with typing errors, whose truth
// is known: simhash codes of TF-IDF vectors, minwise codes of sets, and both with each pair checked
// exactly, next to MinHash of npm (minhash) and of PyPI (datasketch, rensa) of the same tokens, all pairs
// compared, so that no band loses any. Each has the threshold of its best F1; groups are the chains of
// its pairs, compared with the true ones by the adjusted Rand index.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { characters, pairs, TextHasher, words } from '../dist/index.js';
import { adjustedRand } from './lib/adjusted-rand.mjs';
import { findPython, pythonChild } from './lib/python.mjs';
import { matrixOf } from './lib/sparse-matrix.mjs';
import { announce, printTable } from './lib/table.mjs';
import { isThere, textsOf } from './lib/text-files.mjs';

const { Minhash } = createRequire(import.meta.url)('minhash');
const BITS = 256;
const VALUES = 128;
/** Lower similarities are not looked at, nor wider distances. */
const [LEAST, WIDEST] = [0.3, 104];
const TOKENS = [words, characters(2), characters(3)];

await announce();
const python = findPython('datasketch, rensa');
const child = python && pythonChild(python, 'shingles.py');
async function measure(set) {
  const texts = textsOf(set, 'text');
  const entities = textsOf(set, 'entity');
  const sizes = new Map();
  for (const one of entities) sizes.set(one, (sizes.get(one) ?? 0) + 1);
  const count = [...sizes.values()].reduce((sum, n) => sum + (n * (n - 1)) / 2, 0);
  const truth = { entities, count };
  const rows = [];
  for (const tokens of TOKENS) {
    for (const [method, { bytes, find, name }] of Object.entries(methodsOf(texts, tokens))) {
      const started = performance.now();
      const found = await find();
      const seconds = (performance.now() - started) / 1000;
      const { threshold, precision, recall, f1, rand } = best(found, truth);
      const shares = [precision, recall, f1, rand].map((share) => share.toFixed(3));
      rows.push([
        tokens.kind,
        method,
        bytes,
        `${name} ${threshold}`,
        ...shares,
        seconds.toFixed(1),
      ]);
    }
  }
  printTable(
    `${set}: ${texts.length} records, ${count} pairs of one entity`,
    ['tokens', 'method', 'bytes', 'threshold', 'precision', 'recall', 'F1', 'Rand', 's'],
    rows,
    2,
  );
}

/** By method how its pairs are found, each with a key that is less the more alike they are. */
function methodsOf(texts, tokens) {
  const frequencies = new TextHasher({ tokens }).fit(texts);
  const weighed = new TextHasher({ tokens, bits: BITS, frequencies });
  const sets = new TextHasher({ tokens, bits: BITS, projection: 'minwise' });
  const vectorsOf = (hasher) => matrixOf(texts.map((text) => hasher.vectorize(text)));
  const checked = (hasher, measure, field) => () =>
    listed(pairs(hasher.hashAll(texts), { [measure]: LEAST, vectors: vectorsOf(hasher) }), (one) =>
      one[field].map((similarity) => Math.round(-1000 * similarity)),
    );
  const within = (hasher) => () =>
    listed(pairs(hasher.hashAll(texts), { maxDistance: WIDEST }), ({ distances }) => distances);
  return {
    simhash: { bytes: BITS / 8, name: 'distance', find: within(weighed) },
    'simhash, checked': {
      ...{ bytes: BITS / 8, name: 'cosine', find: checked(weighed, 'minCosine', 'cosines') },
    },
    minwise: { bytes: BITS / 8, name: 'distance', find: within(sets) },
    'minwise, checked': {
      ...{ bytes: BITS / 8, name: 'Jaccard', find: checked(sets, 'minJaccard', 'jaccards') },
    },
    ...Object.fromEntries(
      Object.entries(MIN_HASHES).map(([method, hashesOf]) => [
        method,
        {
          ...{ bytes: 4 * VALUES, name: 'differ' },
          find: async () => alike(await hashesOf(texts.map((text) => [...new Set(tokens(text))]))),
        },
      ]),
    ),
  };
}

/** VALUES min-hashes of each of some sets, one set after another. */
const MIN_HASHES = {
  'MinHash of npm': (sets) => {
    const values = new Uint32Array(VALUES * sets.length);
    for (const [row, set] of sets.entries()) {
      const one = new Minhash({ numPerm: VALUES });
      for (const token of set) one.update(token);
      values.set(one.hashvalues, VALUES * row);
    }
    return values;
  },
  ...(child && {
    datasketch: (sets) => hashesBy('datasketch', sets),
    rensa: (sets) => hashesBy('rensa', sets),
  }),
};

for (const set of ['people', 'restaurants']) if (isThere(set)) await measure(set);
child?.close();

async function hashesBy(engine, sets) {
  const folder = mkdtempSync(join(tmpdir(), 'halfspace-bench-'));
  const path = join(folder, 'sets.json');
  writeFileSync(path, JSON.stringify(sets));
  const { values } = await child.ask('hashes', { engine, path });
  rmSync(folder, { recursive: true });
  return Float64Array.from(values);
}

/** All pairs of batches, with their keys. */
function listed(batches, keysOf) {
  const found = [];
  for (const batch of batches) {
    const keys = keysOf(batch);
    for (let i = 0; i < batch.a.length; i++) {
      found.push({ a: batch.a[i], b: batch.b[i], key: keys[i] });
    }
  }
  return found;
}

/** All pairs that have three tenths of their min-hashes in common; the key is how many differ. */
function alike(values) {
  const found = [];
  for (let b = 0; b < values.length / VALUES; b++) {
    for (let a = 0; a < b; a++) {
      let key = 0;
      for (let i = 0; i < VALUES; i++) {
        if (values[VALUES * a + i] !== values[VALUES * b + i]) key++;
      }
      if (key <= (1 - LEAST) * VALUES) found.push({ a, b, key });
    }
  }
  return found;
}

/** The threshold of the best F1, and the groups of its pairs against the true ones. */
function best(found, { entities, count }) {
  found.sort((one, other) => one.key - other.key);
  let top = { f1: -1 };
  let right = 0;
  for (let i = 0; i < found.length; i++) {
    if (entities[found[i].a] === entities[found[i].b]) right++;
    if (found[i].key === found[i + 1]?.key) continue;
    const f1 = (2 * right) / (i + 1 + count);
    if (f1 > top.f1) top = { f1, end: i + 1, precision: right / (i + 1), recall: right / count };
  }
  const { key } = found[top.end - 1];
  const rand = adjustedRand(chains(found.slice(0, top.end), entities.length), entities);
  return { ...top, rand, threshold: key < 0 ? `≥ ${-key / 1000}` : `≤ ${key}` };
}

/** By row the least row that a chain of pairs leads to. */
function chains(found, count) {
  const parents = Uint32Array.from({ length: count }, (_, row) => row);
  const rootOf = (row) => {
    let root = row;
    while (parents[root] !== root) root = parents[root];
    parents[row] = root;
    return root;
  };
  for (const { a, b } of found) {
    const [one, other] = [rootOf(a), rootOf(b)];
    parents[Math.max(one, other)] = Math.min(one, other);
  }
  return Array.from(parents, (_, row) => rootOf(row));
}
