// How fast do texts become codes? English licences and Chinese poems, from strings to 64 bits by words
// and TF-IDF, end to end; beside the package simhash-js on the same texts.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tableFromIPC } from 'apache-arrow';
import { characters, shingles, TextHasher, words } from '../dist/index.js';
import { announce, mark, mustHold, printTable, short, span, times } from './lib/table.mjs';
import { race, timed } from './lib/timing.mjs';

const { SimHash } = createRequire(import.meta.url)('simhash-js/SimHash.js');
const MOST_TEXTS = 10_000;
/** Texts that the rival hashes: it is slow. */
const RIVAL_TEXTS = 20;

await announce();
const lines = [];
const rates = new Map();
for (const [name, file] of [
  ['English licences', 'licences/licences.arrow'],
  ['Chinese poems', 'poems/poems.arrow'],
]) {
  const texts = textsOf(file).slice(0, MOST_TEXTS);
  const bytes = sizeOf(texts);
  const frequencies = new TextHasher().fit(texts);
  const ways = [
    ['words, TF-IDF', { frequencies }, texts],
    ['words', {}, texts],
    ['words, fit alone', null, texts],
    ['shingles(3)', { tokens: shingles(3, words) }, texts.slice(0, 200)],
    ['characters(4)', { tokens: characters(4) }, texts.slice(0, 200)],
  ].map(([way, options, some]) => ({ way, bytes: sizeOf(some), run: runOf(options, some) }));
  const rival = new SimHash();
  const few = texts.slice(0, RIVAL_TEXTS);
  ways.push({
    ...{ way: 'simhash-js', bytes: sizeOf(few), isSlow: true },
    run: timed(() => few.map((text) => rival.hash(text))),
  });
  const results = await race(
    ways.map((one) => ({ name: one.way, ...one })),
    4,
  );
  const rateOf = (one) => one.bytes / one.ms / 1000;
  const theirs = rateOf(results.at(-1));
  for (const one of results) {
    rates.set(`${name} ${one.way}`, rateOf(one));
    lines.push([
      name,
      one.way,
      short(rateOf(one)),
      short(one.ms),
      span(one),
      times(rateOf(one) / theirs),
    ]);
  }
  const size = `${short(frequencies.size)} words, ${short(frequencies.bytes / frequencies.size)} bytes each`;
  lines.push([name, `table of frequencies: ${size}`, '-', '-', '-', '-']);
  mustHold(frequencies.documents === texts.length, 'documents of the table');
  console.error(`${name}: ${texts.length} texts, ${short(bytes / 1e6)} MB`);
}
printTable(
  'Texts to codes of 64 bits',
  ['texts', 'way', 'MB/s', 'ms', 'p10..p90', 'of simhash-js'],
  lines,
  2,
);
const english = rates.get('English licences words, TF-IDF');
mark('MB/s, English by words and TF-IDF', english, { least: 25 });
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
  if (options === null) return timed(() => new TextHasher().fit(texts).size);
  const hasher = new TextHasher({ empty: 'null', ...options });
  return timed(() => {
    let count = 0;
    for (const codes of hasher.hashAll(texts)) count += codes.count;
    return count;
  });
}
