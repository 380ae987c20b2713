// Real texts with near-duplicates, as sparse rows with the pairs that are truly near: licences, the
// Tang poems in two editions, and passages of licences with planted edits.

import { existsSync, readFileSync } from 'node:fs';
import { tableFromIPC } from 'apache-arrow';
import { pairsByCosine } from './exact-cosines.mjs';
import { generator } from './random.mjs';
import { charactersOf, shingleRows, wordsOf } from './shingles.mjs';

const WORDS = 3;
const CHARACTERS = 2;
const LEAST_COSINE = 0.9;
/** Words of a passage, and how alike two different ones may be. */
const [FEWEST, MOST] = [100, 500];
const UNRELATED = 0.3;
/** Shares of a passage's words that are replaced, one copy each. */
export const EDITED = [0.01, 0.02, 0.05, 0.1, 0.2];

/** Whether a data set is built. */
export function isBuilt(set) {
  return existsSync(fileOf(set, set));
}

/** True where the exact cosine is high: the texts as they are say no more. */
export function licences() {
  const rows = shingleRows(licenceTexts(), wordsOf, WORDS);
  return { rows, truth: pairsByCosine(rows, LEAST_COSINE) };
}

/** True where few edits of characters lead from one to the other, in two editions or in one. */
export function poems() {
  const texts = column('poems', 'poems', 'text');
  const [a, b] = ['a', 'b'].map((name) => column('poems', 'pairs', name));
  return {
    rows: shingleRows(texts, charactersOf, CHARACTERS),
    truth: a.map((row, i) => [row, b[i]]),
  };
}

/** Passages, each followed by its copies, as many as EDITED has; true within each such family. */
export function plantedEdits() {
  const random = generator(7);
  const originals = unrelatedPassages(random);
  const vocabulary = originals.flat();
  const family = EDITED.length + 1;
  const texts = originals.flatMap((words) => [
    words.join(' '),
    ...EDITED.map((share) => edited(words, share, vocabulary, random).join(' ')),
  ]);
  const truth = [];
  for (let row = 0; row < texts.length; row++) {
    for (let other = row - (row % family); other < row; other++) truth.push([other, row]);
  }
  return { rows: shingleRows(texts, wordsOf, WORDS), truth };
}

/** Consecutive passages of all licences, without those that are like one before. */
function unrelatedPassages({ below }) {
  const passages = licenceTexts().flatMap((text) => {
    const words = wordsOf(text);
    const parts = [];
    for (let from = 0; from + FEWEST <= words.length; from += parts.at(-1).length) {
      parts.push(words.slice(from, from + FEWEST + below(MOST - FEWEST + 1)));
    }
    return parts;
  });
  const rows = shingleRows(
    passages.map((words) => words.join(' ')),
    wordsOf,
    WORDS,
  );
  const isLeft = new Array(passages.length).fill(false);
  // By the later row, so that it is settled which of the earlier ones are kept.
  for (const [a, b] of pairsByCosine(rows, UNRELATED)) isLeft[b] ||= !isLeft[a];
  return passages.filter((_, row) => !isLeft[row]);
}

/** A copy with a share of its words, one at least, replaced by others of the vocabulary. */
function edited(words, share, vocabulary, { below }) {
  const copy = words.slice();
  const places = new Set();
  const count = Math.max(1, Math.round(share * words.length));
  while (places.size < count) places.add(below(words.length));
  for (const place of places) {
    while (copy[place] === words[place]) copy[place] = vocabulary[below(vocabulary.length)];
  }
  return copy;
}

function licenceTexts() {
  return column('licences', 'licences', 'text');
}

function column(set, file, name) {
  return [...tableFromIPC(readFileSync(fileOf(set, file))).getChild(name)];
}

function fileOf(set, file) {
  return new URL(`${file}.arrow`, folderOf(set));
}

function folderOf(set) {
  return new URL(`../../datasets/${set}/`, import.meta.url);
}
