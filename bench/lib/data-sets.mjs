// The sets of datasets/: vectors with queries and their true neighbours, and texts. Files are built at
// the first use, which needs `npm ci --prefix datasets`; those of `nouns` are in the repository.

import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { tableFromIPC } from 'apache-arrow';
import { searchFiles } from '../../datasets/lib/search-files.mjs';
import { rowsFromArrow, scanVectorsAll } from '../../dist/index.js';
import { generator } from './random.mjs';

const datasets = new URL('../../datasets/', import.meta.url);
const cache = new URL('../.cache/', import.meta.url);

/** Of each set to search: what its rows are. */
export const DATA_SETS = {
  glove: { rows: 'GloVe words' },
  images: { rows: 'images' },
  sentences: { rows: 'sentences' },
  nouns: { rows: 'nouns' },
};

/** Builds the files where they are missing or damaged; progress goes to stderr. */
export async function buildDataSet(name) {
  if (name === 'nouns') return splitNouns();
  const build = fileURLToPath(new URL(`${name}/build.mjs`, datasets));
  execFileSync(process.execPath, [build], { stdio: ['ignore', process.stderr, 'inherit'] });
}

/** Every seventeenth noun is a query, the others are the rows. */
async function splitNouns() {
  if (existsSync(pathOf('nouns', 'truth'))) return;
  const { vectors, ids } = nouns();
  const { values, dimensions } = vectors;
  const part = (isWanted) => {
    const rows = ids.flatMap((_, row) => (isWanted(row) ? row : []));
    const own = rows.map((row) => values.subarray(row * dimensions, (row + 1) * dimensions));
    const all = new Float32Array(rows.length * dimensions);
    own.forEach((vector, i) => {
      all.set(vector, i * dimensions);
    });
    return { labels: rows.map((row) => ids[row]), values: all, dimensions };
  };
  const files = await searchFiles({
    name: 'nouns',
    train: part((row) => row % 17 !== 0),
    queries: part((row) => row % 17 === 0),
    column: 'word',
    metadata: {},
  });
  mkdirSync(cache, { recursive: true });
  for (const [name, bytes] of Object.entries(files)) {
    writeFileSync(new URL(`nouns-${name}`, cache), bytes);
  }
}

/** The nouns, their vectors and their categories. */
export function nouns() {
  const file = readFileSync(new URL('nouns/nouns.arrow', datasets));
  const rows = rowsFromArrow(file);
  const [vectors, ids] = [rows.vectors('vector'), rows.ids('word')];
  return { vectors, ids, categories: [...tableFromIPC(file).getChild('category')] };
}

/** The path of the file of 'train', 'queries' or 'truth'. */
export function pathOf(name, part) {
  const url =
    name === 'nouns'
      ? new URL(`nouns-${part}.arrow`, cache)
      : new URL(`${name}/${part}.arrow`, datasets);
  return fileURLToPath(url);
}

/** The vectors of 'train' or 'queries'. */
export function vectorsOf(name, part) {
  return rowsFromArrow(readFileSync(pathOf(name, part))).vectors('vector');
}

/** The rows of the `k` nearest, up to 100, for each query. */
export function truthOf(name, k) {
  const table = tableFromIPC(readFileSync(pathOf(name, 'truth')));
  const [{ type, children }] = table.getChild('rows').data;
  const [{ values }] = children;
  return Array.from({ length: values.length / type.listSize }, (_, query) =>
    values.subarray(query * type.listSize, query * type.listSize + k),
  );
}

/** The head of the checksum of the train rows, which differs from those of other rows. */
export function checksumOf(name) {
  if (name === 'nouns') return 'split';
  const lines = readFileSync(new URL(`${name}/SHA256SUMS`, datasets), 'utf8').split('\n');
  return lines.find((line) => line.endsWith('  train.arrow')).slice(0, 8);
}

/** The vectors of GloVe, or of the nouns in a small run. */
export async function gloveName(isSmall) {
  const name = isSmall ? 'nouns' : 'glove';
  await buildDataSet(name);
  return name;
}

/**
 * `count` random rows of a matrix, up to `most` of the others as queries, and for each of these the set
 * of its `k` nearest.
 */
export async function heldOut({ values, dimensions }, count, { k, most, seed }) {
  const { below } = generator(seed);
  const order = Uint32Array.from({ length: values.length / dimensions }, (_, i) => i);
  const take = (from, size) => {
    const part = new Float32Array(size * dimensions);
    for (let i = 0; i < size; i++) {
      const other = from + i + below(order.length - from - i);
      [order[from + i], order[other]] = [order[other], order[from + i]];
      const at = order[from + i] * dimensions;
      part.set(values.subarray(at, at + dimensions), i * dimensions);
    }
    return { values: part, dimensions };
  };
  const rows = take(0, count);
  const queries = take(count, Math.min(most, order.length - count));
  const truth = (await scanVectorsAll(rows, queries, { k })).map((one) => new Set(one.rows));
  return { rows, queries, truth };
}

// --- Texts.

/** Whether a set of texts is built; if not, prints how to build it. */
export function isThere(set) {
  if (existsSync(fileOf(set))) return true;
  const what = `${set} left out: first \`node datasets/${set}/build.mjs\``;
  console.log(`\n**${what}**`);
  console.error(`!!! ${what}`);
  return false;
}

export function textsOf(set, column = 'text') {
  return Array.from(tableFromIPC(readFileSync(fileOf(set))).getChild(column));
}

function fileOf(set) {
  return new URL(`${set}/${set}.arrow`, datasets);
}

/** At most `count` passages of `least` to `most` words of running prose, one after another. */
export function passagesOf(texts, { least, most, count }) {
  const { below } = generator(5);
  const found = [];
  for (const text of texts) {
    const all = text.split(/\s+/);
    for (let at = 0; at < all.length && found.length < count; ) {
      const length = least + below(most - least + 1);
      if (at + length <= all.length) found.push(all.slice(at, at + length).join(' '));
      at += length;
    }
  }
  return found;
}

/** Sparse vectors as one batch, as the library takes them. */
export function matrixOf(vectors) {
  const offsets = new Uint32Array(vectors.length + 1);
  vectors.forEach(({ values }, row) => {
    offsets[row + 1] = offsets[row] + values.length;
  });
  const indices = new BigUint64Array(offsets.at(-1));
  const values = new Float64Array(offsets.at(-1));
  vectors.forEach((vector, row) => {
    indices.set(vector.indices, offsets[row]);
    values.set(vector.values, offsets[row]);
  });
  return { offsets, indices, values };
}
