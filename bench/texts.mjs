// How fast do texts become codes? English licences and Chinese poems, from strings to 64 bits by words
// and TF-IDF, end to end; next to the package simhash-js on the same texts. And what memory does it
// take when texts go on and on: the vocabulary of a hasher is bounded, the table grows by words alone.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { tableFromIPC } from 'apache-arrow';
import { characters, shingles, TextHasher, words } from '../dist/index.js';
import { announce, mark, mustHold, printTable, short, span, times } from './lib/table.mjs';
import { race, timed } from './lib/timing.mjs';

const { SimHash } = createRequire(import.meta.url)('simhash-js/SimHash.js');
setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc');
const MOST_TEXTS = 10_000;
/** Texts that the rival hashes: it is slow. */
const RIVAL_TEXTS = 20;

await announce();
const lines = [];
const rates = new Map();
let bytesPerWord = 0;
for (const [name, file] of [
  ['English licences', 'licences/licences.arrow'],
  ['Chinese poems', 'poems/poems.arrow'],
]) {
  const texts = textsOf(file).slice(0, MOST_TEXTS);
  const bytes = sizeOf(texts);
  const frequencies = new TextHasher().fit(texts);
  const entries = [
    ['words, TF-IDF', { frequencies }, texts],
    ['words', {}, texts],
    ['words, never seen before', null, texts, hashAnew],
    ['words, fit alone', null, texts, fitAnew],
    ['shingles(3)', { tokens: shingles(3, words) }, texts.slice(0, 200)],
    ['characters(4)', { tokens: characters(4) }, texts.slice(0, 200)],
  ].map(([entry, options, some, runAnew]) => {
    return { entry, bytes: sizeOf(some), run: runAnew?.(some) ?? runOf(options, some) };
  });
  const rival = new SimHash();
  const few = texts.slice(0, RIVAL_TEXTS);
  entries.push({
    ...{ entry: 'simhash-js', bytes: sizeOf(few), isSlow: true },
    run: timed(() => few.map((text) => rival.hash(text))),
  });
  const results = await race(
    entries.map((one) => ({ name: one.entry, ...one })),
    4,
  );
  const rateOf = (one) => one.bytes / one.ms / 1000;
  const theirs = rateOf(results.at(-1));
  for (const one of results) {
    rates.set(`${name} ${one.entry}`, rateOf(one));
    lines.push([
      name,
      one.entry,
      short(rateOf(one)),
      short(one.ms),
      span(one),
      times(rateOf(one) / theirs),
    ]);
  }
  const size = `${short(frequencies.size)} words, ${short(frequencies.bytes / frequencies.size)} bytes each`;
  lines.push([name, `table of frequencies: ${size}`, '-', '-', '-', '-']);
  bytesPerWord = frequencies.bytes / frequencies.size; // of the last, which has most words
  mustHold(frequencies.documents === texts.length, 'documents of the table');
  console.error(`${name}: ${texts.length} texts, ${short(bytes / 1e6)} MB`);
}
printTable(
  'Texts to codes of 64 bits',
  ['texts', 'method', 'MB/s', 'ms', 'p10..p90', 'of simhash-js'],
  lines,
  2,
);
const few = heldAfter(10_000);
const many = heldAfter(80_000);
printTable(
  'What a hasher holds after texts whose words are half new',
  ['texts', 'new words', 'MB held'],
  [
    ['10,000', '500,000', short(few / 1e6)],
    ['80,000', '4,000,000', short(many / 1e6)],
  ],
  1,
);
mark('memory after eight times the texts, of that before', many / few, { most: 1.5 });
const english = rates.get('English licences words, TF-IDF');
mark('MB/s, English by words and TF-IDF', english, { least: 25 });
mark('bytes a word in the table of the poems', bytesPerWord, { most: 16 });
mark('speed of simhash-js, English', english / rates.get('English licences simhash-js'), {
  least: 5,
});
mark('MB/s, Chinese by pairs', rates.get('Chinese poems words, TF-IDF'), { least: 8 });

function textsOf(file) {
  const table = tableFromIPC(readFileSync(new URL(`../datasets/${file}`, import.meta.url)));
  return Array.from(table.getChild('text'));
}

function sizeOf(texts) {
  return texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
}

function runOf(options, texts) {
  const hasher = new TextHasher({ empty: 'null', ...options });
  return timed(() => countOf(hasher, texts));
}

function hashAnew(texts) {
  return timed(() => countOf(new TextHasher({ empty: 'null' }), texts));
}

function fitAnew(texts) {
  return timed(() => new TextHasher().fit(texts).size);
}

function countOf(hasher, texts) {
  let count = 0;
  for (const codes of hasher.hashStream(texts)) count += codes.count;
  return count;
}

/** Bytes of typed arrays that a hasher holds after so many texts of their own words each. */
function heldAfter(count) {
  const hasher = new TextHasher();
  const before = arrayBytes();
  for (const codes of hasher.hashStream(numbered(count))) mustHold(codes.count > 0, 'codes');
  const held = arrayBytes() - before;
  mustHold(hasher.hash('a word').length === 8, 'the hasher is alive');
  return held;
}

/** Texts of 100 words, half of which are in no other. */
function* numbered(count) {
  for (let text = 0; text < count; text++) {
    yield Array.from({ length: 100 }, (_, i) => (i % 2 ? `word${i}` : `${i}of${text}`)).join(' ');
  }
}

function arrayBytes() {
  collectGarbage();
  return process.memoryUsage().arrayBuffers;
}
