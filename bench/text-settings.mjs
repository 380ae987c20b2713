// Which setting finds near-duplicate texts best where nothing is known of them: the default of
// `halfspace dedup --text`. Texts of five kinds, and copies of some of them in which 1 to 10 % of the
// words (of Chinese the characters) are replaced. Recall is of the planted copies; a pair that was
// not planted is right where the two share half of their 3-shingles, exactly counted.

import { planted } from '../datasets/edits/plant.mjs';
import { pairs, shingles, TextHasher, words } from '../dist/index.js';
import { passagesOfProse } from './lib/prose-passages.mjs';
import { generator } from './lib/random.mjs';
import { matrixOf } from './lib/sparse-matrix.mjs';
import { announce, printTable } from './lib/table.mjs';
import { isThere, textsOf } from './lib/text-files.mjs';

const COPIES = 300;
const SHARES = [0.01, 0.02, 0.05, 0.1];
const RIGHT = 0.5;
const CJK = /\p{Script=Han}/u;

const SETS = [
  ['prose, 20–60 words', 'prose', () => passagesOfProse(20, 60, 3000)],
  ['prose, 100–500 words', 'prose', () => passagesOfProse(100, 500, 3000)],
  ['licences', 'licences', () => textsOf('licences', 'text')],
  ['mail', 'mail', () => textsOf('mail', 'text').slice(0, 3000)],
  ['Tang poems', 'poems', () => textsOf('poems', 'text').slice(0, 5000)],
];

const log = { counting: 'log' };
const SETTINGS = [
  {
    name: 'shingles:2, log, within 40 of 256',
    ...log,
    tokens: shingles(2),
    bits: 256,
    maxDistance: 40,
  },
  {
    name: 'words, TF-IDF, within 17 of 128',
    tfidf: true,
    tokens: words,
    bits: 128,
    maxDistance: 17,
  },
  {
    name: 'words, TF-IDF, within 34 of 256',
    tfidf: true,
    tokens: words,
    bits: 256,
    maxDistance: 34,
  },
  ...[0.8, 0.85, 0.9].map((minCosine) => ({
    name: `words, TF-IDF, cosine ${minCosine}`,
    ...{ tfidf: true, tokens: words, bits: 256, minCosine },
  })),
  ...[0.65, 0.75].map((minCosine) => ({
    name: `shingles:2, TF-IDF, cosine ${minCosine}`,
    ...{ tfidf: true, ...log, tokens: shingles(2), bits: 256, minCosine },
  })),
  ...[0.5, 0.6, 0.7].map((minJaccard) => ({
    name: `shingles:2, Jaccard ${minJaccard}`,
    ...{ projection: 'minwise', tokens: shingles(2), bits: 256, minJaccard },
  })),
  ...[0.7, 0.8].map((minJaccard) => ({
    name: `words, Jaccard ${minJaccard}`,
    ...{ projection: 'minwise', tokens: words, bits: 256, minJaccard },
  })),
];

await announce();
const rows = SETTINGS.map(({ name }) => [name]);
const sums = SETTINGS.map(() => []);
const names = [];
for (const [name, set, make] of SETS) {
  if (!isThere(set)) continue;
  names.push(name);
  const { texts, originals } = withCopies(make().filter((text) => text.length > 20));
  const near = nearness(texts);
  SETTINGS.forEach((setting, i) => {
    const started = performance.now();
    const found = foundBy(texts, setting);
    const seconds = (performance.now() - started) / 1000;
    let [right, planted] = [0, 0];
    for (const [a, b] of found) {
      const isPlanted = originals.get(b) === a || originals.get(a) === b;
      if (isPlanted) planted++;
      if (isPlanted || near(a, b) >= RIGHT) right++;
    }
    const recall = planted / originals.size;
    const precision = found.length === 0 ? 1 : right / found.length;
    const f1 = (2 * precision * recall) / (precision + recall || 1);
    sums[i].push(f1);
    rows[i].push(
      `${f1.toFixed(3)} (${precision.toFixed(2)}, ${recall.toFixed(2)}, ${seconds.toFixed(1)} s)`,
    );
    console.error(name, SETTINGS[i].name, rows[i].at(-1));
  });
}
rows.forEach((row, i) => {
  row.push((sums[i].reduce((sum, f1) => sum + f1, 0) / names.length).toFixed(3));
});
printTable(
  'F1 (precision, recall of the copies, time) by setting',
  ['setting', ...names, 'mean F1'],
  rows,
  1,
);

function foundBy(texts, { name, tfidf, minCosine, minJaccard, maxDistance, ...options }) {
  const frequencies = tfidf ? new TextHasher(options).fit(texts) : undefined;
  const hasher = new TextHasher({ ...options, frequencies, empty: 'null' });
  const codes = hasher.hashAll(texts);
  const found = [];
  const isExact = maxDistance === undefined;
  const vectors = isExact ? matrixOf(texts.map((text) => hasher.vectorize(text))) : undefined;
  for (const { a, b } of pairs(codes, { minCosine, minJaccard, maxDistance, vectors })) {
    for (let i = 0; i < a.length; i++) found.push([a[i], b[i]]);
  }
  return found;
}

/** The texts and copies of some of them behind; by row of a copy the row of its original. */
function withCopies(texts) {
  const { below } = generator(11);
  const cut = (text) => (CJK.test(text) ? Array.from(text) : text.split(/\s+/));
  const vocabulary = texts.slice(0, 500).flatMap(cut);
  const originals = new Map();
  const all = [...texts];
  for (let i = 0; i < COPIES; i++) {
    const row = below(texts.length);
    const words = cut(texts[row]);
    if (words.length < 10) continue;
    const share = SHARES[i % SHARES.length];
    originals.set(all.length, row);
    all.push(planted(words, { share, vocabulary, below }).join(CJK.test(texts[row]) ? '' : ' '));
  }
  return { texts: all, originals };
}

function nearness(texts) {
  const sets = new Map();
  const setOf = (row) => {
    if (!sets.has(row)) sets.set(row, new Set(shingles(3)(texts[row])));
    return sets.get(row);
  };
  return (a, b) => {
    const [one, other] = [setOf(a), setOf(b)];
    let common = 0;
    for (const token of one) if (other.has(token)) common++;
    return common / (one.size + other.size - common);
  };
}
