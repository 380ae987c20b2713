// One work by one build, as `root` names it: the median of some calls, in milliseconds. Only what all
// versions name alike is called.

import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { answer, request } from './child.mjs';
import { generator } from './random.mjs';
import { summary, timed } from './timing.mjs';

const { root, work } = request();
const { Codes, neighborLists, pairs, SimHasher, SimHashIndex, scan, scanAll } = await import(
  pathToFileURL(join(root, 'dist/index.js')).href
);

const codesOf = (count, bits, seed) => {
  const { word } = generator(seed);
  const bytes = new Uint8Array((count * bits) / 8);
  const words = new Uint32Array(bytes.buffer);
  for (let i = 0; i < words.length; i++) words[i] = word();
  return Codes.from(bytes, { bits });
};

/** Vectors around 300 centers. */
function vectorsOf(count, dimensions) {
  const { normal, below } = generator(5);
  const centers = Array.from({ length: 300 * dimensions }, normal);
  const values = new Float32Array(count * dimensions);
  for (let row = 0; row < count; row++) {
    const center = dimensions * below(300);
    for (let i = 0; i < dimensions; i++)
      values[row * dimensions + i] = centers[center + i] + 0.7 * normal();
  }
  return { values, dimensions };
}

function sparseOf(count, entries) {
  const { below, unit } = generator(6);
  const rows = Array.from({ length: count }, () => ({
    indices: [...new Set(Array.from({ length: entries }, () => below(100_000)))],
  }));
  return rows.map(({ indices }) => ({ indices, values: indices.map(() => unit() - 0.5) }));
}

const WORKS = {
  'scan 64': () => scanned(64),
  'scan 256': () => scanned(256),
  'scan of 100': () => {
    const [codes, queries] = [codesOf(1_000_000, 256, 7), codesOf(100, 256, 8)];
    return () => scanAll(codes, queries, { k: 10 });
  },
  sparse: () => hashed({ bits: 256 }, sparseOf(5000, 200)),
  'dense hadamard': () => {
    const options = { bits: 384, projection: 'hadamard', dimensions: 384 };
    return hashed(options, vectorsOf(8192, 384));
  },
  'dense signs': () => hashed({ bits: 256, dimensions: 100 }, vectorsOf(8192, 100)),
  pairs: () => {
    const codes = codesOf(1_000_000, 64, 7);
    return () => Array.from(pairs(codes, { maxDistance: 3 }));
  },
  lists: () => {
    const codes = codesOf(20_000, 256, 7);
    return () => neighborLists(codes, { k: 10 });
  },
  index: () => {
    const vectors = vectorsOf(20_000, 64);
    return () => indexOf(vectors);
  },
  search: () => {
    const vectors = vectorsOf(50_000, 64);
    const index = indexOf(vectors);
    const queries = Array.from({ length: 300 }, (_, i) =>
      vectors.values.slice(64 * 7 * i, 64 * (7 * i + 1)),
    );
    return () => queries.map((query) => index.search(query, { k: 10 }));
  },
};

function scanned(bits) {
  const [codes, queries] = [codesOf(1_000_000, bits, 7), codesOf(20, bits, 8)];
  return () => Array.from({ length: 20 }, (_, i) => scan(codes, queries.at(i), { k: 10 }));
}

function hashed(options, batch) {
  const hasher = new SimHasher({ seed: 7, ...options });
  return () => hasher.hashAll(batch);
}

function indexOf({ values, dimensions }) {
  // What holds vectors was called `keep` in 0.1.
  const kept = [{ vectors: 'float32' }, { keep: 'float32' }];
  const options = { bits: 256, projection: 'hadamard', dimensions };
  let index;
  for (const held of kept) {
    try {
      index = new SimHashIndex({ ...options, ...held });
      break;
    } catch (error) {
      if (held === kept[1]) throw error;
    }
  }
  index.addAll({ values, dimensions });
  index.optimize({ recall: 0.95 });
  return index;
}

const run = timed(WORKS[work]());
run(0);
run(1);
answer(summary(Array.from({ length: 5 }, (_, i) => run(i + 2))).ms);
