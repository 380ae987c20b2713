// Which setting finds near-duplicate texts best where nothing is known of them: the default of
// `halfspace dedup --text`. Texts of five kinds, and copies of some of them in which 1 to 10 % of the
// words (of Chinese the characters) are replaced. Recall is of the planted copies; a pair that was
// not planted is right where the two share half of their 3-shingles, exactly counted. Then records of
// persons and restaurants, whose truth is known, and documents that share a template.

import { planted } from '../datasets/edits/plant.mjs';
import { pairs, TextHasher } from '../dist/index.js';
import { announce, isSmall, printTable, sized } from './lib/bench.mjs';
import { isThere, matrixOf, passagesOf, textsOf } from './lib/data-sets.mjs';
import { generator } from './lib/random.mjs';

const COPIES = sized(300, 50);
const SHARES = [0.01, 0.02, 0.05, 0.1];
const RIGHT = 0.5;
const CJK = /\p{Script=Han}/u;

const prose = (least, most) => () => passagesOf(textsOf('prose'), { least, most, count: 3000 });
const SETS = isSmall
  ? [['passages', 'edits', () => textsOf('edits')]]
  : [
      ['prose, 20–60 words', 'prose', prose(20, 60)],
      ['prose, 100–500 words', 'prose', prose(100, 500)],
      ['licences', 'licences', () => textsOf('licences')],
      ['mail', 'mail', () => textsOf('mail').slice(0, 3000)],
      ['Tang poems', 'poems', () => textsOf('poems').slice(0, 5000)],
    ];

const log = { counting: 'log' };
const SETTINGS = [
  {
    name: 'words, TF-IDF, within 17 of 128',
    tfidf: true,
    tokens: 'words',
    bits: 128,
    maxDistance: 17,
  },
  ...[0.8, 0.85, 0.9].map((minCosine) => ({
    name: `words, TF-IDF, cosine ${minCosine}`,
    ...{ tfidf: true, tokens: 'words', bits: 256, minCosine },
  })),
  ...[0.65, 0.75].map((minCosine) => ({
    name: `shingles:2, TF-IDF, cosine ${minCosine}`,
    ...{ tfidf: true, ...log, tokens: 'shingles:2', bits: 256, minCosine },
  })),
  ...[0.5, 0.6, 0.7].map((minJaccard) => ({
    name: `shingles:2, Jaccard ${minJaccard}`,
    ...{ projection: 'minwise', tokens: 'shingles:2', bits: 256, minJaccard },
  })),
  ...[0.7, 0.8].map((minJaccard) => ({
    name: `words, Jaccard ${minJaccard}`,
    ...{ projection: 'minwise', tokens: 'words', bits: 256, minJaccard },
  })),
];

await announce();
await printPlanted();
await printRecords();
await printTemplates();

async function printPlanted() {
  const rows = SETTINGS.map(({ name }) => [name]);
  const sums = SETTINGS.map(() => 0);
  const sets = SETS.filter(([, set]) => isThere(set));
  for (const [, , make] of sets) {
    const { texts, originals } = withCopies(make().filter((text) => text.length > 20));
    const near = nearness(texts);
    for (const [i, setting] of SETTINGS.entries()) {
      let [right, copies] = [0, 0];
      const found = await foundBy(texts, setting);
      for (const [a, b] of found) {
        const isPlanted = originals.get(b) === a || originals.get(a) === b;
        if (isPlanted) copies++;
        if (isPlanted || near(a, b) >= RIGHT) right++;
      }
      const scores = scoresOf(right, found.length, copies / originals.size);
      sums[i] += scores.f1;
      rows[i].push(textOf(scores));
    }
  }
  rows.forEach((row, i) => {
    row.push((sums[i] / sets.length).toFixed(3));
  });
  const head = ['setting', ...sets.map(([name]) => name), 'mean F1'];
  printTable('F1 (precision, recall of planted copies) by setting', head, rows);
}

/** Short records with typing errors: those of one entity are the true pairs. */
async function printRecords() {
  const sets = ['people', 'restaurants'].filter((set) => !isSmall && isThere(set));
  const settings = [
    { name: 'words, Jaccard .5', projection: 'minwise', tokens: 'words', minJaccard: 0.5 },
    {
      ...{ name: 'characters:3, Jaccard .3', projection: 'minwise' },
      ...{ tokens: 'characters:3', minJaccard: 0.3 },
    },
    { name: 'words, TF-IDF, cosine .7', tfidf: true, tokens: 'words', minCosine: 0.7 },
  ];
  const rows = settings.map(({ name }) => [name]);
  for (const set of sets) {
    const [texts, entities] = [textsOf(set), textsOf(set, 'entity')];
    const sizes = new Map();
    for (const one of entities) sizes.set(one, (sizes.get(one) ?? 0) + 1);
    const count = [...sizes.values()].reduce((sum, size) => sum + (size * (size - 1)) / 2, 0);
    for (const [i, setting] of settings.entries()) {
      const found = await foundBy(texts, { bits: 256, ...setting });
      const right = found.filter(([a, b]) => entities[a] === entities[b]).length;
      rows[i].push(textOf(scoresOf(right, found.length, right / count)));
    }
  }
  if (sets.length > 0) printTable('Records of one entity', ['setting', ...sets], rows);
}

/**
 * Documents of 300 words of which a share is a template that all have in common; each has a copy in
 * which 5 % of the words are replaced. Printed: how many pairs of two different documents, and of a
 * document and its copy, are at a Jaccard similarity of the threshold or more.
 */
async function printTemplates() {
  const thresholds = [0.5, 0.6, 0.7, 0.8, 0.9];
  const { below } = generator(23);
  const vocabulary = textsOf('edits').flatMap((text) => text.split(/\s+/));
  const draw = (count) => Array.from({ length: count }, () => vocabulary[below(vocabulary.length)]);
  const rows = [];
  for (const share of [0.5, 0.6, 0.7, 0.8, 0.9]) {
    const template = draw(Math.round(300 * share));
    const originals = Array.from({ length: 100 }, () => {
      const own = draw(300 - template.length);
      const fields = 10; // the document's own words, in runs between those of the template
      return Array.from({ length: fields }, (_, i) => [
        ...template.slice((i * template.length) / fields, ((i + 1) * template.length) / fields),
        ...own.slice((i * own.length) / fields, ((i + 1) * own.length) / fields),
      ]).flat();
    });
    const copies = originals.map((own) => planted(own, { share: 0.05, vocabulary, below }));
    const texts = [...originals, ...copies].map((own) => own.join(' '));
    const cells = [];
    for (const minJaccard of thresholds) {
      const setting = { projection: 'minwise', tokens: 'shingles:2', bits: 256, minJaccard };
      const found = await foundBy(texts, setting);
      const right = found.filter(([a, b]) => Math.abs(a - b) === originals.length).length;
      const others = (texts.length * (texts.length - 1)) / 2 - originals.length;
      const wrong = (found.length - right) / others;
      cells.push(`${(right / originals.length).toFixed(2)} · ${wrong.toFixed(3)}`);
    }
    rows.push([`${100 * share} %`, ...cells]);
  }
  printTable(
    'Copies with 5 % edited words found · different documents of one template joined, by Jaccard similarity of pairs of words',
    ['template', ...thresholds.map(String)],
    rows,
  );
}

function scoresOf(right, found, recall) {
  const precision = found === 0 ? 1 : right / found;
  return { precision, recall, f1: (2 * precision * recall) / (precision + recall || 1) };
}

function textOf({ f1, precision, recall }) {
  return `${f1.toFixed(3)} (${precision.toFixed(2)}, ${recall.toFixed(2)})`;
}

async function foundBy(texts, { name, tfidf, minCosine, minJaccard, maxDistance, ...options }) {
  const frequencies = tfidf ? await new TextHasher(options).fit(texts) : undefined;
  const hasher = new TextHasher({ ...options, frequencies, empty: 'null' });
  const codes = await hasher.hashAll(texts);
  const found = [];
  const isExact = maxDistance === undefined;
  const vectors = isExact ? matrixOf(texts.map((text) => hasher.vectorize(text))) : undefined;
  for await (const { a, b } of pairs(codes, { minCosine, minJaccard, maxDistance, vectors })) {
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
  const shingles = new TextHasher({ tokens: 'shingles:3' });
  const sets = new Map();
  const setOf = (row) => {
    if (!sets.has(row)) sets.set(row, new Set(shingles.members(texts[row])));
    return sets.get(row);
  };
  return (a, b) => {
    const [one, other] = [setOf(a), setOf(b)];
    let common = 0;
    for (const token of one) if (other.has(token)) common++;
    return common / (one.size + other.size - common);
  };
}
