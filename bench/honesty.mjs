// Is the recall that optimize() states true? Over data sets, vectors held, bits, wanted recalls and seeds:
// how often the stated 95 % interval holds what thousands of new queries find, how often at least the stated
// share of them finds 9 of 10, and how often the wanted recall is reached, or said to be out of reach.

import { clusteredGaussian } from '../datasets/synthetic/synthetic.mjs';
import { SimHashIndex } from '../dist/index.js';
import { announce, isSmall, printTable, sized, words } from './lib/bench.mjs';
import { buildDataSet, heldOut, nouns, vectorsOf } from './lib/data-sets.mjs';
import { generator } from './lib/random.mjs';

const K = 10;
/** How far below the wanted recall still counts as reached. */
const SLACK = 0.003;
/** Cases of one seed share their evaluation rows, so that they err together. */
const SEEDS = sized([1, 2, 3, 4, 5, 6], [1]);
const QUERIES = sized(3000, 300);

await announce();
/** Names of sets choose among them. */
const SETS = [
  ['GloVe', glove, 20_000],
  ['nouns', () => nouns().vectors, 13_824],
  ['embeddings', () => embeddings(24_000), 20_000],
  ['images', () => images(16_000), 12_000],
].filter(([name]) => (isSmall ? name === 'nouns' : words.length === 0 || words.includes(name)));

const table = [];
const totals = { cases: 0, inside: 0, met: 0, refused: 0 };
for (const [seed, [name, make, count]] of SETS.entries()) {
  const options = { k: K, most: QUERIES, seed };
  const { rows, queries, truth } = await heldOut(await make(), sized(count, 3000), options);
  await addCases(name, truth, rows, queries, {
    vectors: 'float32',
    bits: 256,
    wanted: [0.9, 0.95, 0.99],
  });
  await addCases(name, truth, rows, queries, {
    vectors: 'int8',
    bits: 256,
    wanted: [0.8, 0.95, 0.97],
  });
}
printTable(
  `${totals.cases} cases, ${QUERIES.toLocaleString('en-US')} new queries each`,
  [
    'data',
    'rows',
    'held',
    'bits',
    'wanted',
    'seed',
    'said',
    'interval',
    'found',
    'inside',
    'result',
  ],
  table,
  3,
);
const share = (count, of = totals.cases) => `${((100 * count) / of).toFixed(1)} %`;
console.log(
  `\nThe stated 95 % interval holds what new queries find in ${share(totals.inside)} of the cases. The wanted recall ` +
    `is reached within ${SLACK} in ${share(totals.met, totals.cases - totals.refused)} of the ` +
    `${totals.cases - totals.refused} cases that say so; the other ${totals.refused} say that it is not.`,
);

async function glove() {
  await buildDataSet('glove');
  return vectorsOf('glove', 'train');
}

/** Vectors of 256 dimensions in clusters within clusters, as those of sentences are. */
function embeddings(count) {
  const settings = { count, dimensions: 256, seed: 'embeddings' };
  const { values } = clusteredGaussian({ ...settings, clusters: 40, spread: 1 });
  const finer = clusteredGaussian({ ...settings, seed: 'topics', clusters: 2000, spread: 0.6 });
  return { values: values.map((value, i) => 0.4 * value + finer.values[i]), dimensions: 256 };
}

/** Vectors of 196 values of 0 or more, many of them 0: sums of a few spots of light. */
function images(count) {
  const side = 14;
  const values = new Float32Array(count * side * side);
  const { unit, below } = generator(17);
  const strokes = Array.from({ length: 60 }, () => [unit() * side, unit() * side, 1 + 2 * unit()]);
  for (let image = 0; image < count; image++) {
    for (let spot = 0; spot < 4; spot++) {
      const [x, y, size] = strokes[below(strokes.length)];
      const [atX, atY] = [x + unit() - 0.5, y + unit() - 0.5];
      for (let i = 0; i < side * side; i++) {
        const square = ((i % side) - atX) ** 2 + (Math.floor(i / side) - atY) ** 2;
        const light = Math.exp(-square / size);
        if (light > 0.05) values[image * side * side + i] += Math.fround(Math.round(255 * light));
      }
    }
  }
  return { values, dimensions: side * side };
}

async function addCases(name, truth, rows, queries, { vectors, bits, wanted }) {
  const { dimensions } = rows;
  const index = new SimHashIndex({ bits, dimensions, vectors });
  await index.addAll(rows);
  for (const recall of wanted) {
    for (const seed of SEEDS) {
      const report = await index.optimize({ recall, k: K, seed });
      const found = await index.searchAll(queries, { k: K });
      const counts = found.map((one, i) => one.rows.filter((row) => truth[i].has(row)).length);
      addCase([name, rows.values.length / dimensions, vectors, bits, recall, seed], report, counts);
    }
  }
}

function addCase(cells, { recall: said, interval, reached, wanted }, counts) {
  const found = counts.reduce((sum, count) => sum + count, 0) / (K * counts.length);
  const [low, high] = interval;
  const isInside = low <= found && found <= high;
  const isMet = found >= wanted - SLACK;
  totals.cases++;
  totals.inside += isInside;
  totals.refused += !reached;
  totals.met += reached && isMet;
  const three = (value) => value.toFixed(3);
  const result = reached ? (isMet ? 'reached' : 'MISSED') : 'said to be out of reach';
  table.push([
    ...[...cells, three(said), `${three(low)}..${three(high)}`, three(found)],
    ...[isInside ? 'yes' : 'no', result],
  ]);
}
