// How well do codes find near-duplicates, and how well does MinHash? Licences, mail, Tang poems and the
// messages of the TypeScript compiler in Japanese, Korean and Chinese. True are pairs whose TF-IDF
// vectors have a cosine of .9 or more, or whose sets of tokens a Jaccard of .8 or more: the first is
// what codes estimate, the second what MinHash does. Codes are of the same TF-IDF vectors, those by
// minwise of the sets of the same tokens; MinHash
// (npm minhash) is of the same tokens, all pairs compared. Each has the threshold of its best F1, but
// "then exact": pairs within a distance that is set beforehand, by the exact measure.

import { createRequire } from 'node:module';
import { distanceFor, pairs, TextHasher } from '../dist/index.js';
import { announce, isSmall, mustHold, printTable, sized } from './lib/bench.mjs';
import { isThere, matrixOf, textsOf } from './lib/data-sets.mjs';

const { Minhash } = createRequire(import.meta.url)('minhash');
const [COSINE, JACCARD] = [0.9, 0.8];
/** The last takes as many bytes as the larger MinHash. */
const WIDTHS = [64, 256, 4096];
/** Whose near pairs are then looked at exactly. */
const EXACT = 256;
/** Values of a MinHash, 32 bits each: as many as is usual, and as many as 256 bits hold. */
const VALUES = [128, 8];
/** Of the pairs at the least cosine, so many are within the distance that is set beforehand. */
const CAUGHT = 0.99;
/** Codes are looked at up to this share of their bits. */
const WIDEST = 3 / 8;
/** Poems from the start of either edition: all pairs of all poems are too many to compare. */
const POEMS = 5000;
const SECOND_EDITION = 56_072;

const SETS = [
  {
    name: 'licences',
    set: 'licences',
    tokens: 'shingles:3',
    make: () => textsOf('licences'),
  },
  { name: 'mail', set: 'mail', tokens: 'shingles:3', make: () => textsOf('mail') },
  { name: 'Tang poems', set: 'poems', tokens: 'words', make: somePoems },
  { name: 'messages', set: 'messages', tokens: 'words', make: messages },
];

await announce();
for (const one of SETS) {
  if (isSmall ? one.set === 'messages' : isThere(one.set)) await measure(one);
}

async function measure({ name, tokens, make }) {
  const splitter = new TextHasher({ tokens }); // a keyword is a token, its weight its count
  const texts = make().filter((text) => splitter.keywords(text).length > 0);
  const rows = tfidfRows(texts, splitter);
  const codesByWidth = [];
  for (const bits of WIDTHS) codesByWidth.push(await codesOf(texts, tokens, bits));
  const most = distanceFor(COSINE, EXACT, CAUGHT);
  const candidates = await listed(codesByWidth[WIDTHS.indexOf(EXACT)], most);
  const keyOf = ({ a, b }) => a * texts.length + b;
  const near = new Set(candidates.map(keyOf));
  const sets = await codesOf(texts, tokens, EXACT, 'minwise');
  const mostOfSets = mostDistance(sets);
  const nearSets = new Set((await listed(sets, mostOfSets)).map(keyOf));
  const alike = pairsAlike(
    rows,
    (cosine, jaccard) => cosine >= COSINE - 1e-9 || jaccard >= JACCARD,
  );
  const signatures = VALUES.map((values) => signaturesOf(texts, splitter, values));
  checkEstimates(alike, signatures[0]);

  const truths = [
    { what: `cosine ≥ ${COSINE}`, isTrue: ({ cosine }) => cosine >= COSINE - 1e-9 },
    { what: `Jaccard ≥ ${JACCARD}`, isTrue: ({ jaccard }) => jaccard >= JACCARD },
  ];
  const widest = (codes) => listed(codes, Math.floor(WIDEST * codes.bits));
  const foundByWidth = await Promise.all(codesByWidth.map(widest));
  const foundSets = await widest(sets);
  const table = truths.flatMap(({ what, isTrue }) => {
    const truth = new Set(alike.filter(isTrue).map(keyOf));
    const entries = codesByWidth.map((codes, i) => {
      const found = foundByWidth[i];
      const { threshold, ...rest } = best(found, truth, (pair) => truth.has(keyOf(pair)));
      return [`${codes.bits} bits`, codes.bits / 8, `≤ ${threshold}`, rest];
    });
    const right = [...truth].filter((key) => near.has(key)).length;
    const { threshold: limit, ...ofSets } = best(foundSets, truth, (pair) =>
      truth.has(keyOf(pair)),
    );
    entries.push([`minwise, ${EXACT} bits`, EXACT / 8, `≤ ${limit}`, ofSets]);
    const verified = [...truth].filter((key) => nearSets.has(key)).length;
    entries.push([
      `minwise, ${EXACT} bits, then exact`,
      EXACT / 8,
      `≤ ${mostOfSets}`,
      shares(verified, verified, truth.size),
    ]);
    entries.push([
      `${EXACT} bits, then exact`,
      EXACT / 8,
      `≤ ${most}`,
      shares(right, right, truth.size),
    ]);
    const minhashes = signatures.map((own) => {
      const found = matchingPairs(own);
      const { threshold, ...rest } = best(found, truth, (pair) => truth.has(keyOf(pair)));
      return [`MinHash, ${own.values}`, 4 * own.values, `≥ ${own.values - threshold}`, rest];
    });
    const all = [...entries, ...minhashes];
    const top = Math.max(
      ...all.filter(([entry]) => !/exact/.test(entry)).map(([, , , { f1 }]) => f1),
    );
    return all.map(([entry, bytes, threshold, { precision, recall, f1 }]) => [
      ...[what, entry, bytes, threshold, precision.toFixed(3), recall.toFixed(3)],
      f1 === top ? `**${f1.toFixed(3)}**` : f1.toFixed(3),
    ]);
  });
  const counts = truths.map(
    ({ what, isTrue }) => `${alike.filter(isTrue).length.toLocaleString('en-US')} at ${what}`,
  );
  printTable(
    `${name}: ${texts.length.toLocaleString('en-US')} texts by ${splitter.tokensName}, pairs ${counts.join(', ')}`,
    ['true', 'method', 'bytes', 'threshold', 'precision', 'recall', 'F1'],
    table,
    2,
  );
}

/** The distance within which 99 % of the pairs at JACCARD are: that of the candidates of `pairs`. */
function mostDistance({ bits }) {
  const share = (1 - JACCARD) / 2;
  return Math.round(bits * share + 2.33 * Math.sqrt(bits * share * (1 - share)));
}

async function codesOf(texts, tokens, bits, projection = 'signs') {
  if (projection === 'minwise') {
    return new TextHasher({ bits, tokens, projection, seed: 7 }).hashAll(texts);
  }
  const frequencies = await new TextHasher({ tokens }).fit(texts);
  const hasher = new TextHasher({ bits, tokens, frequencies, seed: 7 });
  return hasher.hasher.hashAll(matrixOf(texts.map((text) => hasher.vectorize(text))));
}

/** All pairs of codes within a distance, with it. */
async function listed(codes, maxDistance) {
  const found = [];
  for await (const { a, b, distances } of pairs(codes, { maxDistance })) {
    for (let i = 0; i < a.length; i++) found.push({ a: a[i], b: b[i], distance: distances[i] });
  }
  return found;
}

/** The values of all texts one after another. */
function signaturesOf(texts, splitter, values) {
  const words = new Uint32Array(values * texts.length);
  texts.forEach((text, row) => {
    const one = new Minhash({ numPerm: values });
    for (const { word } of splitter.keywords(text)) one.update(word);
    words.set(one.hashvalues, values * row);
  });
  return { words, values, count: texts.length };
}

/** All pairs that have half of their values in common, at least; the distance is how many differ. */
function matchingPairs(signatures) {
  const { values, count } = signatures;
  const found = [];
  for (let b = 0; b < count; b++) {
    for (let a = 0; a < b; a++) {
      const distance = differing(signatures, a, b);
      if (distance <= values / 2) found.push({ a, b, distance });
    }
  }
  return found;
}

function differing({ words, values }, a, b) {
  let count = 0;
  for (let i = values * a, j = values * b; i < values * (a + 1); i++, j++) {
    if (words[i] !== words[j]) count++;
  }
  return count;
}

/** The threshold of the best F1. */
function best(found, truth, isRight) {
  const byDistance = [];
  for (const pair of found) {
    byDistance[pair.distance] ??= { all: 0, right: 0 };
    byDistance[pair.distance].all++;
    if (isRight(pair)) byDistance[pair.distance].right++;
  }
  let top = { threshold: 0, f1: -1 };
  let [all, right] = [0, 0];
  for (const [threshold, some] of byDistance.entries()) {
    all += some?.all ?? 0;
    right += some?.right ?? 0;
    const measured = shares(right, all, truth.size);
    if (measured.f1 > top.f1) top = { threshold, ...measured };
  }
  return top;
}

function shares(right, all, count) {
  return {
    precision: all === 0 ? 1 : right / all,
    recall: right / count,
    f1: (2 * right) / (all + count),
  };
}

/** The rival is not used wrongly: its estimates are about what they estimate. */
function checkEstimates(alike, signatures) {
  const errors = alike.map(({ a, b, jaccard }) => {
    return 1 - differing(signatures, a, b) / signatures.values - jaccard;
  });
  const mean = errors.reduce((sum, error) => sum + error, 0) / errors.length;
  mustHold(Math.abs(mean) < 0.03, `mean error of MinHash, ${mean}`);
}

function somePoems() {
  const texts = textsOf('poems');
  return [...texts.slice(0, POEMS), ...texts.slice(SECOND_EDITION, SECOND_EDITION + POEMS)];
}

function messages() {
  const all = ['ja', 'ko', 'zh'].flatMap((language) => textsOf('messages', language));
  return all.slice(0, sized(all.length, 1000));
}

// --- How alike texts are, in plain loops and without codes.

/** By text the numbers of its different tokens and their weights, scaled to length 1. */
function tfidfRows(texts, splitter) {
  const numbers = new Map();
  const counted = texts.map((text) => {
    const counts = new Map();
    for (const { word, weight } of splitter.keywords(text)) {
      const number = numbers.get(word) ?? numbers.size;
      numbers.set(word, number);
      counts.set(number, weight);
    }
    return counts;
  });
  const having = new Uint32Array(numbers.size);
  for (const counts of counted) for (const number of counts.keys()) having[number]++;
  return counted.map((counts) => {
    const own = Uint32Array.from(counts.keys());
    const weights = Float64Array.from(
      own,
      (number) => counts.get(number) * (Math.log((1 + texts.length) / (1 + having[number])) + 1),
    );
    const length = Math.hypot(...weights);
    return { numbers: own, weights: weights.map((weight) => weight / length) };
  });
}

/** Every pair of rows, a < b, that `isWanted(cosine, jaccard)`, with both. */
function pairsAlike(rows, isWanted) {
  const rowsWith = [];
  const found = [];
  const cosines = new Float64Array(rows.length);
  const shared = new Uint32Array(rows.length);
  for (const [b, { numbers, weights }] of rows.entries()) {
    cosines.fill(0, 0, b);
    shared.fill(0, 0, b);
    for (let i = 0; i < numbers.length; i++) {
      rowsWith[numbers[i]] ??= { others: [], theirs: [] };
      const { others, theirs } = rowsWith[numbers[i]];
      for (let j = 0; j < others.length; j++) {
        cosines[others[j]] += theirs[j] * weights[i];
        shared[others[j]]++;
      }
      others.push(b);
      theirs.push(weights[i]);
    }
    for (let a = 0; a < b; a++) {
      const jaccard = shared[a] / (numbers.length + rows[a].numbers.length - shared[a]);
      if (isWanted(cosines[a], jaccard)) found.push({ a, b, cosine: cosines[a], jaccard });
    }
  }
  return found;
}
