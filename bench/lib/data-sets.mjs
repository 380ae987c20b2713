// The sets to search of datasets/: rows, queries, and the true neighbours of these. Files are built at
// the first use, which needs `npm ci --prefix datasets`.

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { tableFromIPC } from 'apache-arrow';
import { vectorsFromArrow } from '../../dist/index.js';

/** Of each set: what its rows are, and its files in datasets/. */
export const DATA_SETS = {
  glove: { rows: 'GloVe words', ...filesOf('glove') },
  images: { rows: 'images', ...filesOf('images') },
  sentences: { rows: 'sentences', ...filesOf('sentences') },
  '100k': { rows: 'GloVe words', ...filesOf('sizes', '100k-'), queries: 'glove/queries.arrow' },
  '1m': {
    rows: 'GloVe words, noisy copies',
    ...filesOf('sizes', '1m-'),
    queries: 'glove/queries.arrow',
  },
};

function filesOf(folder, prefix = '') {
  const [train, queries, truth] = ['train', 'queries', 'truth'].map(
    (part) => `${folder}/${prefix}${part}.arrow`,
  );
  return { train, queries, truth };
}

/** Builds the files where they are missing or damaged; says so on stderr, since stdout has results. */
export function buildDataSet(name) {
  const { train, queries } = DATA_SETS[name];
  for (const folder of new Set([queries, train].map((file) => file.split('/')[0]))) {
    const build = fileURLToPath(new URL(`../../datasets/${folder}/build.mjs`, import.meta.url));
    execFileSync(process.execPath, [build], { stdio: ['ignore', process.stderr, 'inherit'] });
  }
}

/** The path of the file of 'train', 'queries' or 'truth'. */
export function pathOf(name, part) {
  return fileURLToPath(new URL(`../../datasets/${DATA_SETS[name][part]}`, import.meta.url));
}

/** The vectors of 'train' or 'queries'. */
export function vectorsOf(name, part) {
  return vectorsFromArrow(readFileSync(pathOf(name, part)), { column: 'vector' }).vectors;
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
  const [folder, file] = DATA_SETS[name].train.split('/');
  const sums = new URL(`../../datasets/${folder}/SHA256SUMS`, import.meta.url);
  const line = readFileSync(sums, 'utf8')
    .split('\n')
    .find((one) => one.endsWith(`  ${file}`));
  return line.slice(0, 8);
}
