// Are the nearest nouns of one kind? 17,824 nouns with GloVe vectors, each in one of 26 categories of
// WordNet: the share of a noun's 10 nearest that are in its own category, by bits and by rank.

import { readFileSync } from 'node:fs';
import { tableFromIPC } from 'apache-arrow';
import { SimHashIndex, scanVectorsAll, vectorsFromArrow } from '../dist/index.js';
import { announce, mark, printTable } from './lib/table.mjs';

const K = 10;
/** Rows that rank 'exact' looks at, for each of k. */
const OVERSAMPLE = 10;
const SEEDS = [7, 1007, 2007];

await announce();
const file = readFileSync(new URL('../datasets/nouns/nouns.arrow', import.meta.url));
const { vectors } = vectorsFromArrow(file, { id: 'word' });
const { values, dimensions } = vectors;
const count = values.length / dimensions;
const categories = [...tableFromIPC(file).getChild('category')];

const truth = share(scanVectorsAll(vectors, vectors, { k: K + 1 }));
const lines = [['vectors, exact cosine', '', '', '', truth.toFixed(3)]];
const shares = new Map();
for (const projection of ['hadamard', 'signs']) {
  for (const bits of [64, 256, 1024]) {
    const all = SEEDS.map((seed) => ranked(projection, bits, seed));
    const means = ['hamming', 'estimate', 'exact'].map((rank, i) => {
      const mean = all.reduce((sum, one) => sum + one[i], 0) / all.length;
      shares.set(`${projection} ${bits} ${rank}`, mean);
      return mean.toFixed(3);
    });
    lines.push([`'${projection}', ${bits} bits`, ...means, '']);
  }
}
printTable(
  `${K} nearest of each noun in its own category, mean of ${SEEDS.length} seeds`,
  ['codes', "'hamming'", "'estimate'", `'exact', of ${OVERSAMPLE * K}`, 'exact cosine'],
  lines,
);
mark("share, 'hadamard' 256 bits by 'estimate'", shares.get('hadamard 256 estimate'), {
  least: 0.54,
});
mark("share, 'hadamard' 256 bits by 'exact'", shares.get('hadamard 256 exact'), { least: 0.56 });

function ranked(projection, bits, seed) {
  const options = { bits, dimensions, projection, seed, vectors: 'float32' };
  const index = new SimHashIndex(options);
  index.addAll(vectors);
  return ['hamming', 'estimate', 'exact'].map((rank) =>
    share(index.searchAll(vectors, { k: K + 1, rank, oversample: OVERSAMPLE })),
  );
}

/** Of the neighbours but the noun itself. */
function share(found) {
  let same = 0;
  found.forEach(({ rows }, noun) => {
    const others = [...rows].filter((row) => row !== noun).slice(0, K);
    for (const row of others) same += Number(categories[row] === categories[noun]);
  });
  return same / (K * count);
}
