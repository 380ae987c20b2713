// The 10 nearest of every row: how much faster are lists of all rows at once than a query for each, and
// how do they compare with the randomized method of Ravichandran, Pantel & Hovy (2005)? On GloVe in full
// size, and on the nouns.

import { readFileSync } from 'node:fs';
import { Codes, neighborLists, SimHasher, scanAll, vectorsFromArrow } from '../dist/index.js';
import { buildDataSet, vectorsOf } from './lib/data-sets.mjs';
import { fromSource } from './lib/from-source.mjs';
import { generator } from './lib/random.mjs';
import { announce, mark, mustHold, printTable, short, times } from './lib/table.mjs';
import { timed, timeOf } from './lib/timing.mjs';

const { permutedNeighbors } = await fromSource(`export * from './permuted-neighbors';`);

const K = 10;
/** Queries of a scan in tiles: enough that a query more costs as much as one of all would. */
const SAMPLE = 2048;
/** The paper has 3,000 bits, 1,000 permutations and a window of 100, on 65,547 nouns. */
const PAPER = { bits: 3000, permutations: 1000, window: 100 };
const TRIALS = [
  ...[256, 1024].flatMap((bits) => [
    { bits, permutations: 10, window: 100 },
    { bits, permutations: 100, window: 20 },
    { bits, permutations: 100, window: 100 },
  ]),
  { ...PAPER, permutations: 10 },
  { ...PAPER, permutations: 100 },
  PAPER,
];

await announce();
buildDataSet('glove');
const glove = vectorsOf('glove', 'train');
const table = [];
let gain;
for (const bits of [64, 256]) {
  const codes = codesOf(glove, bits);
  const { count } = codes;
  const { queries, asked } = sampleOf(codes);
  const scan = () => scanAll(codes, queries, { k: K + 1 });
  const before = timeOf(scan);
  let lists;
  const ms = timed(() => {
    lists = neighborLists(codes, { k: K });
  })();
  const scanMs = (before + timeOf(scan)) / 2 / SAMPLE;
  checkLists(lists, scan(), asked);
  gain = scanMs / (ms / count);
  table.push(
    [bits, 'neighborLists, all rows', short(ms / 1000), short((1000 * ms) / count), times(gain)],
    [bits, `scanAll, ${short(SAMPLE)} rows`, '-', short(1000 * scanMs), times(1)],
  );
}
const words = glove.values.length / glove.dimensions;
printTable(
  `The ${K} nearest of each of ${short(words)} GloVe words, by distance`,
  ['bits', 'method', 's', 'µs a row', 'rate of scanAll'],
  table,
  2,
);
mark('rate of scanAll, 256 bits', gain, { least: 2 });

const file = readFileSync(new URL('../datasets/nouns/nouns.arrow', import.meta.url));
const { vectors: nouns } = vectorsFromArrow(file, { id: 'word' });
const rows = [];
const exact = new Map();
let share;
for (const { bits, permutations, window } of TRIALS) {
  const codes = codesOf(nouns, bits);
  if (!exact.has(bits)) {
    const truth = neighborLists(codes, { k: K });
    exact.set(bits, { truth, ms: timeOf(() => neighborLists(codes, { k: K })) });
    rows.push([bits, 'neighborLists', '-', '-', '1.000', short(exact.get(bits).ms / 1000), '-']);
  }
  const { truth, ms } = exact.get(bits);
  let lists;
  const options = { k: K, permutations, window, seed: 7 };
  const permutedMs = timed(() => {
    lists = permutedNeighbors(codes, options);
  })();
  share = ms / permutedMs;
  const recall = recallOf(lists, truth).toFixed(3);
  const figures = [permutations, window, recall, short(permutedMs / 1000), short(share)];
  rows.push([bits, 'permutedNeighbors', ...figures]);
}
printTable(
  `The ${K} nearest of each of ${short(nouns.values.length / nouns.dimensions)} nouns`,
  ['bits', 'method', 'permutations', 'window', `recall@${K}`, 's', 'exact / this'],
  rows,
  2,
);
mark("exact lists, in times of the permuted at the paper's settings", share, { most: 0.1 });

function codesOf(vectors, bits) {
  const { dimensions } = vectors;
  return new SimHasher({ bits, seed: 7, projection: 'hadamard', dimensions }).hashAll(vectors);
}

function sampleOf(codes) {
  const { below } = generator(7);
  const asked = Array.from({ length: SAMPLE }, () => below(codes.count));
  const queries = Codes.allocate(SAMPLE, { bits: codes.bits });
  asked.forEach((row, i) => {
    queries.at(i).set(codes.at(row));
  });
  return { queries, asked };
}

/** The lists are the scan's answers without the row itself. */
function checkLists({ offsets, rows, distances }, answers, asked) {
  for (const [i, near] of answers.entries()) {
    const [from, to] = [offsets[asked[i]], offsets[asked[i] + 1]];
    const others = Array.from(near.rows.keys()).filter((j) => near.rows[j] !== asked[i]);
    const expected = others.slice(0, K).map((j) => `${near.rows[j]} ${near.distances[j]}`);
    const found = Array.from(rows.subarray(from, to), (row, j) => `${row} ${distances[from + j]}`);
    mustHold(found.join() === expected.join(), `neighborLists and scanAll, row ${asked[i]}`);
  }
}

/** Share of the true neighbours that were found. */
function recallOf(lists, truth) {
  let hits = 0;
  for (let row = 0; row < truth.count; row++) {
    const near = new Set(lists.rows.subarray(lists.offsets[row], lists.offsets[row + 1]));
    for (const other of truth.rows.subarray(truth.offsets[row], truth.offsets[row + 1])) {
      if (near.has(other)) hits++;
    }
  }
  return hits / truth.rows.length;
}
