// The three files as bytes: the words split in train rows and held-out queries, and the nearest
// train rows of each query by exact cosine.

import seedrandom from 'seedrandom';

import { readEmbeddings } from './embeddings.mjs';
import { truthFile, vectorsFile } from './tables.mjs';
import { nearest } from './truth.mjs';

const QUERIES = 1000;
const SEED = 'glove';
const NEAREST = 100;

export function makeFiles() {
  progress('reading the embeddings');
  const { words, take } = readEmbeddings();
  const held = heldOutRows(words.length);
  const train = take([...words.keys()].filter((row) => !held.has(row)));
  const queries = take([...words.keys()].filter((row) => held.has(row)));
  const truth = nearest(train, queries, NEAREST, tellTenths());
  return {
    'train.arrow': vectorsFile(train),
    'queries.arrow': vectorsFile(queries),
    'truth.arrow': truthFile(queries.words, truth, NEAREST),
  };
}

/** Different rows of `total`, drawn by a seeded generator, each as likely as any other. */
function heldOutRows(total) {
  const random = seedrandom(SEED);
  const rows = new Set();
  while (rows.size < QUERIES) rows.add(Math.floor(random() * total));
  return rows;
}

/** Tells each tenth of the work once. */
function tellTenths() {
  let told = -1;
  return (done, total) => {
    const tenths = Math.floor((10 * done) / total);
    if (tenths > told) progress(`exact cosines of ${QUERIES} queries: ${10 * tenths} %`);
    told = tenths;
  };
}

function progress(text) {
  console.error(`glove: ${text}`);
}
