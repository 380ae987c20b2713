// The files as bytes: GloVe's train rows in two more sizes, and the nearest rows of GloVe's queries.
// Fewer rows are drawn; more rows are all of them and copies with noise.

import seedrandom from 'seedrandom';

import { METADATA, readSets } from '../glove/make.mjs';
import { drawn } from '../lib/held-out.mjs';
import { truthFile, vectorsFile } from '../lib/search-files.mjs';

const FEW = 100_000;
const MANY = 1_000_000;
/** Length of the noise of a copy, as a fraction of its row's length, on average. */
const NOISE = 0.6;

export async function makeFiles() {
  const { train, queries } = readSets();
  return {
    ...(await filesOf('100k', fewer(train), queries, 'rows drawn of them')),
    ...(await filesOf(
      '1m',
      more(train),
      queries,
      `copies with noise of ${NOISE} of a row's length`,
    )),
  };
}

async function filesOf(size, train, queries, how) {
  const metadata = { ...METADATA, source: `${METADATA.source}; ${how}` };
  return {
    [`${size}-train.arrow`]: vectorsFile(train, 'word', metadata),
    [`${size}-truth.arrow`]: await truthFile({
      name: size,
      train,
      queries,
      column: 'word',
      metadata,
    }),
  };
}

/** Some rows, in their order. */
function fewer({ labels, values, dimensions }) {
  const rows = [...drawn(labels.length, FEW, '100k')].sort((a, b) => a - b);
  const taken = new Float32Array(FEW * dimensions);
  rows.forEach((row, i) => {
    taken.set(values.subarray(row * dimensions, (row + 1) * dimensions), i * dimensions);
  });
  return { labels: rows.map((row) => labels[row]), values: taken, dimensions };
}

/** All rows, then copies of them in turn; the noise of a copy is uniform in each dimension. */
function more({ labels, values, dimensions }) {
  const random = seedrandom.alea('1m');
  const taken = new Float32Array(MANY * dimensions);
  taken.set(values);
  for (let row = labels.length; row < MANY; row++) {
    const from = (row % labels.length) * dimensions;
    let squares = 0;
    for (let i = 0; i < dimensions; i++) squares += values[from + i] ** 2;
    // A uniform number in -1..1 has a mean square of 1 / 3.
    const scale = NOISE * Math.sqrt((3 * squares) / dimensions);
    for (let i = 0; i < dimensions; i++) {
      taken[row * dimensions + i] = values[from + i] + scale * (2 * random() - 1);
    }
  }
  const repeated = Array.from({ length: MANY }, (_, row) => labels[row % labels.length]);
  return { labels: repeated, values: taken, dimensions };
}
