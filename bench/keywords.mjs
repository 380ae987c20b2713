// What do keywords do to a code? The recipe of the classic articles on Chinese: words by jieba, without
// stop words, the 22 or 11 heaviest by TF-IDF, 64-bit FNV-1a, weights added, signs taken. One passage
// is the last two thirds of the other and one more sentence: the two of datasets/messages, and 80
// more pairs from the same messages; next to them all words, and passages that share no sentence.

import { readFileSync } from 'node:fs';
import { hammingDistance, jieba, stopWords, TextHasher } from '../dist/index.js';
import { announce, mustHold, printTable } from './lib/table.mjs';
import { textsOf } from './lib/text-files.mjs';

/** Sentences of a passage: two thirds of them are in the other. */
const SENTENCES = 24;
/** What people set for 64 bits, and the share of pairs that a better threshold is to catch. */
const [USUAL, CAUGHT] = [3, 0.95];
const METHODS = [
  { name: '11 keywords', long: 11, short: 11 },
  { name: '22 keywords', long: 22, short: 22 },
  { name: '22 of the longer, 11 of the shorter', long: 22, short: 11 },
  { name: '44 keywords', long: 44, short: 44 },
  { name: 'all words' },
];

await announce();
const messages = textsOf('messages', 'zh');
const tokens = await jieba();
const options = { hash: 'fnv1a64', tokens, stopWords: await stopWords('zh') };
const frequencies = new TextHasher(options).fit(messages);
const hasherOf = (keywords) =>
  new TextHasher({
    ...{ ...options, bits: 64, projection: 'direct', frequencies },
    ...(keywords !== undefined && { keywords }),
  });

const read = (name) =>
  readFileSync(new URL(`../datasets/messages/${name}.txt`, import.meta.url), 'utf8');
printPairs('The two passages', [{ long: read('long'), short: read('short') }]);
const made = passages();
printPairs(`${made.length} pairs of passages: means, and 5..95 % of distances`, made);

/** Without overlap, the sentence that is added from far away. */
function passages() {
  const found = [];
  for (let from = 0; from + SENTENCES <= messages.length; from += SENTENCES) {
    const sentences = messages.slice(from, from + SENTENCES);
    const other = messages[(from + (messages.length >> 1)) % messages.length];
    const short = [...sentences.slice(SENTENCES / 3), other];
    found.push({ long: sentences.join(''), short: short.join('') });
  }
  return found.slice(0, 80);
}

/** Of many pairs also what a threshold can make of them. */
function printPairs(title, pairs) {
  const rows = METHODS.map(({ name, long, short }) => {
    const [longHasher, shortHasher] = [hasherOf(long), hasherOf(short)];
    const codes = pairs.map((pair) => [longHasher.hash(pair.long), shortHasher.hash(pair.short)]);
    const distances = codes.map(([a, b]) => hammingDistance(a, b)).sort((a, b) => a - b);
    const middle = distances.reduce((sum, distance) => sum + distance, 0) / distances.length;
    const likenesses = pairs.map((pair) => likeness(longHasher, shortHasher, pair));
    if (long === short) checkCosine(longHasher, pairs[0], likenesses[0].cosine);
    const own = [
      ...[name, ...['ofLong', 'ofShort', 'inBoth'].map((key) => mean(likenesses, key).toFixed(0))],
      mean(likenesses, 'cosine').toFixed(2),
    ];
    if (pairs.length === 1) return [...own, distances[0]];
    const at = (share) => distances[Math.ceil(share * distances.length) - 1];
    const unrelated = codes.flatMap(([a], i) =>
      codes.slice(0, i).map(([, b]) => ({ distance: hammingDistance(a, b) })),
    );
    const within = unrelated.map(({ distance }) => ({ isIn: Number(distance <= at(CAUGHT)) }));
    return [
      ...own,
      `${middle.toFixed(1)} (${at(0.05)}..${at(0.95)})`,
      (distances.filter((distance) => distance <= USUAL).length / distances.length).toFixed(2),
      mean(unrelated, 'distance').toFixed(1),
      `${at(CAUGHT)}: ${(100 * mean(within, 'isIn')).toFixed(2)} %`,
    ];
  });
  const head = ['words that count', 'longer', 'shorter', 'in both', 'cosine', 'distance'];
  const more = [`within ${USUAL}`, 'unrelated', `within what catches ${CAUGHT}`];
  printTable(title, pairs.length === 1 ? head : [...head, ...more], rows);
}

/** The words that stay, and their cosine in plain loops. */
function likeness(longHasher, shortHasher, { long, short }) {
  const [ours, theirs] = [longHasher.keywords(long), shortHasher.keywords(short)].map(
    (all) => new Map(all.map(({ word, weight }) => [word, weight])),
  );
  const length = (all) => Math.hypot(...all.values());
  let dot = 0;
  for (const [word, weight] of ours) dot += weight * (theirs.get(word) ?? 0);
  return {
    ...{ ofLong: ours.size, ofShort: theirs.size },
    inBoth: [...ours.keys()].filter((word) => theirs.has(word)).length,
    cosine: dot / (length(ours) * length(theirs)),
  };
}

function checkCosine(hasher, { long, short }, cosine) {
  const explained = hasher.explain(long, short).cosine;
  mustHold(Math.abs(explained - cosine) < 1e-12, `cosines, ${explained} and ${cosine}`);
}

function mean(all, key) {
  return all.reduce((sum, one) => sum + one[key], 0) / all.length;
}
