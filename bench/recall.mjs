// How many bits are enough? Recall of the 10 nearest by exact cosine, by bits and dimensions: from codes
// alone, and with the best candidates of the codes ranked by their vectors. Rows are real (nouns, 100
// wide) and generated like sentences (lib/like-sentences.mjs). Of the nouns also the projections, the
// error of the cosine, and the share of neighbours of one category.

import {
  estimateAngle,
  hammingDistance,
  SimHasher,
  scanAll,
  scanVectorsAll,
} from '../dist/index.js';
import { announce, printTable, short, sized } from './lib/bench.mjs';
import { nouns } from './lib/data-sets.mjs';
import { likeSentences } from './lib/like-sentences.mjs';
import { generator } from './lib/random.mjs';

const K = 10;
const QUERIES = sized(500, 50);
const ROWS = sized(20_000, 2000);
const SEEDS = sized([7, 1007, 2007], [7]);
const WIDTHS = [64, 128, 256, 512, 1024, 2048];
/** Candidates of the codes, for each of k, whose vectors are then compared. */
const OVERSAMPLE = 10;

await announce();
await byDimensions();
await byProjection();

async function byDimensions() {
  const sets = [{ name: 'nouns × 100', ...(await asked(nouns().vectors)) }];
  for (const dimensions of [384, 768, 1536]) {
    const { values } = await likeSentences(dimensions)(ROWS + QUERIES);
    sets.push({ name: `${short(ROWS)} × ${dimensions}`, ...(await asked({ values, dimensions })) });
  }
  const lines = [];
  for (const bits of WIDTHS) {
    const cells = [];
    for (const { vectors, queries, truth } of sets) {
      const options = {
        bits,
        seed: SEEDS[0],
        projection: 'hadamard',
        dimensions: vectors.dimensions,
      };
      const hasher = new SimHasher(options);
      const codes = await hasher.hashAll(vectors);
      const near = await scanAll(codes, await hasher.hashAll(queries), { k: OVERSAMPLE * K });
      const shares = [K, OVERSAMPLE * K].map((k) =>
        recallOf(
          near.map(({ rows }) => rows.slice(0, k)),
          truth,
        ).toFixed(2),
      );
      cells.push(shares.join(' · '));
    }
    lines.push([bits, bits / 8, ...cells]);
  }
  printTable(
    `Recall@${K} of ${short(QUERIES)} queries, 'hadamard': codes alone · best ${OVERSAMPLE * K} by codes, ranked by vectors`,
    ['bits', 'bytes a row', ...sets.map(({ name }) => name)],
    lines,
    0,
  );
}

async function byProjection() {
  const { vectors, categories } = nouns();
  const { values, dimensions } = vectors;
  const { vectors: rows, queries, truth, chosen } = await asked(vectors);
  const { below } = generator(7);
  const count = values.length / dimensions;
  const pairs = Array.from({ length: 20_000 }, () => [below(count), below(count)]);
  const rowOf = (row) => values.subarray(row * dimensions, (row + 1) * dimensions);
  const cosines = pairs.map(([a, b]) => cosine(rowOf(a), rowOf(b)));
  const lines = [];
  for (const bits of WIDTHS) {
    for (const projection of ['hadamard', 'signs', 'gaussian']) {
      const sums = { recall: 0, category: 0, error: 0 };
      for (const seed of SEEDS) {
        const hasher = new SimHasher({ bits, seed, projection, dimensions });
        const codes = await hasher.hashAll(rows);
        const near = await scanAll(codes, await hasher.hashAll(queries), { k: K });
        sums.recall +=
          recallOf(
            near.map(({ rows }) => rows),
            truth,
          ) / SEEDS.length;
        sums.category += sameCategory(near, chosen, categories) / SEEDS.length;
        const all = await hasher.hashAll(vectors);
        const errors = pairs.map(([a, b], i) => {
          const distance = hammingDistance(all.at(a), all.at(b));
          return Math.abs(estimateAngle(distance, bits).estimatedCosine - cosines[i]);
        });
        sums.error += errors.reduce((sum, one) => sum + one) / errors.length / SEEDS.length;
      }
      const { recall, category, error } = sums;
      lines.push([
        bits,
        `'${projection}'`,
        recall.toFixed(3),
        category.toFixed(3),
        error.toFixed(4),
      ]);
    }
  }
  printTable(
    `${short(count)} nouns × ${dimensions}, mean of ${SEEDS.length} seeds`,
    ['bits', 'projection', `recall@${K}`, 'same category', 'error of the cosine'],
    lines,
    2,
  );
}

/** The last rows of a matrix, after mixing, are queries; `chosen` has their rows, then the others. */
async function asked({ values, dimensions }) {
  const { below } = generator(3);
  const order = Array.from({ length: values.length / dimensions }, (_, row) => row);
  for (let i = order.length - 1; i > 0; i--) {
    const j = below(i + 1);
    [order[i], order[j]] = [order[j], order[i]];
  }
  const part = (rows) => {
    const own = new Float32Array(rows.length * dimensions);
    rows.forEach((row, i) => {
      own.set(values.subarray(row * dimensions, (row + 1) * dimensions), i * dimensions);
    });
    return { values: own, dimensions };
  };
  const chosen = { queries: order.slice(0, QUERIES), rows: order.slice(QUERIES) };
  const [queries, vectors] = [part(chosen.queries), part(chosen.rows)];
  const found = await scanVectorsAll(vectors, queries, { k: K });
  return { vectors, queries, chosen, truth: found.map(({ rows }) => new Set(rows)) };
}

function recallOf(found, truth) {
  const hits = found.map((rows, i) => [...rows].filter((row) => truth[i].has(row)).length);
  return hits.reduce((sum, one) => sum + one, 0) / (K * truth.length);
}

function sameCategory(found, { queries, rows }, categories) {
  let same = 0;
  found.forEach((one, i) => {
    for (const row of one.rows) same += categories[rows[row]] === categories[queries[i]] ? 1 : 0;
  });
  return same / (K * queries.length);
}

function cosine(a, b) {
  let [dot, aa, bb] = [0, 0, 0];
  for (let i = 0; i < a.length; i++) {
    dot += a[i] * b[i];
    aa += a[i] * a[i];
    bb += b[i] * b[i];
  }
  return dot / Math.sqrt(aa * bb);
}
