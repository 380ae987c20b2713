// GloVe in full size (datasets/glove): rows to search, queries, and the true neighbours of these.
// The files are built at the first use, which needs `npm ci --prefix datasets`.

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { tableFromIPC } from 'apache-arrow';
import { vectorsFromArrow } from '../../dist/index.js';

const folder = new URL('../../datasets/glove/', import.meta.url);
const bytesOf = (name) => readFileSync(new URL(name, folder));

/** Builds the files where they are missing or damaged, and tells on stderr: stdout has results. */
export function buildGlove() {
  const build = fileURLToPath(new URL('build.mjs', folder));
  execFileSync(process.execPath, [build], { stdio: ['ignore', process.stderr, 'inherit'] });
}

/** The vectors of 'train' or 'queries'. */
export function gloveVectors(name) {
  return vectorsFromArrow(bytesOf(`${name}.arrow`), { column: 'vector' }).vectors;
}

/** The rows of the `k` nearest, up to 100, for each query. */
export function gloveTruth(k) {
  const [{ type, children }] = tableFromIPC(bytesOf('truth.arrow')).getChild('rows').data;
  const [{ values }] = children;
  return Array.from({ length: values.length / type.listSize }, (_, query) =>
    values.subarray(query * type.listSize, query * type.listSize + k),
  );
}

/** What tells these train rows from others: the head of their checksum. */
export function gloveMark() {
  return /(\w{8})\w+ {2}train\.arrow/.exec(String(bytesOf('SHA256SUMS')))[1];
}
