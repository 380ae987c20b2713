// Near-duplicates in real texts: which pairs does a threshold find, and which groups come of them?
// Texts are sparse vectors (3-word shingles, or character pairs of Chinese; log(1 + count)), codes
// 'signs'. True are, of licences, pairs at an exact cosine of .9; of Tang poems, pairs within a
// quarter of edited characters; of planted edits, a passage and its copies with 1, 2, 5, 10 and 20 %
// of the words replaced. Draws docs/duplicates.svg.

import { writeFileSync } from 'node:fs';
import { groupRows, pairs, SimHasher } from '../dist/index.js';
import { adjustedRand, adjustedRandOfPairs } from './lib/adjusted-rand.mjs';
import { duplicatesPicture } from './lib/duplicates-picture.mjs';
import { cosineOfRows } from './lib/exact-cosines.mjs';
import { EDITED, isBuilt, licences, plantedEdits, poems } from './lib/near-texts.mjs';
import { generator } from './lib/random.mjs';
import { announce, mustHold, printTable, short } from './lib/table.mjs';

const WIDTHS = [64, 128, 256];
/** Thresholds are looked at in steps of 1, 2 and 4 bits, up to this share of the width. */
const STEPS = 64;
/** Lines of a table on either side of the best. */
const AROUND = 2;
/** What the table of edits asks of 64 bits. */
const ASKED = [3, 6, 12];
const SETS = [
  { name: 'licences', built: 'licences', make: licences, share: 1 / 4 },
  { name: 'Tang poems', built: 'poems', make: poems, share: 1 / 4 },
  { name: 'planted edits', built: 'licences', make: plantedEdits, share: 3 / 8 },
];

await announce();
checkAdjustedRand();
const curves = [];
for (const set of SETS) {
  if (isBuilt(set.built)) measure(set);
  else {
    const what = `${set.name} left out: first \`node datasets/${set.built}/build.mjs\``;
    console.log(`\n**${what}**`);
    console.error(`!!! ${what}`);
  }
}
if (new Set(curves.map(({ set }) => set)).size === SETS.length) {
  const drawn = curves.filter(({ bits }) => bits !== 128);
  writeFileSync(new URL('../docs/duplicates.svg', import.meta.url), duplicatesPicture(drawn));
}

function measure({ name, make, share }) {
  const { rows, truth } = make();
  const count = rows.offsets.length - 1;
  const trueGroups = chained(truth, count);
  const table = [];
  const codesByWidth = WIDTHS.map((bits) => new SimHasher({ bits, seed: 7 }).hashAll(rows));
  for (const codes of codesByWidth) {
    const { bits } = codes;
    const points = pointsOf(codes, truth, share * bits);
    curves.push({ set: name, bits, points });
    const best = points.reduce((top, point, i) => (point.f1 > points[top].f1 ? i : top), 0);
    points.slice(Math.max(0, best - AROUND), best + AROUND + 1).forEach((point) => {
      const { maxDistance, found, precision, recall, f1 } = point;
      const rands = ['star', 'components'].map((grouping) => {
        const { groupOf } = groupRows(codes, { maxDistance, grouping });
        return adjustedRand(groupOf, trueGroups)
          .toFixed(3)
          .replace(/^-(?=0\.000$)/, '');
      });
      const printed = point === points[best] ? `**${f1.toFixed(3)}**` : f1.toFixed(3);
      const shares = [precision.toFixed(3), recall.toFixed(3), printed];
      table.push([bits, maxDistance, found.toLocaleString('en-US'), ...shares, ...rands]);
    });
  }
  const groups = new Set(truth.map(([a]) => trueGroups[a])).size;
  const numbers = [count, truth.length, groups].map((one) => one.toLocaleString('en-US'));
  printTable(
    `${name}: ${numbers[0]} texts, ${numbers[1]} true pairs in ${numbers[2]} groups`,
    [
      ...['bits', 'within', 'pairs found', 'precision', 'recall', 'F1'],
      ...['adjusted Rand, star', 'components'],
    ],
    table,
    0,
  );
  if (make === plantedEdits) tellEdits(rows, codesByWidth);
}

/** What the pairs within each threshold are worth. */
function pointsOf(codes, truth, most) {
  const { bits, count } = codes;
  const keyOf = (a, b) => a * count + b;
  const isTrue = new Set(truth.map(([a, b]) => keyOf(a, b)));
  const found = new Array(most + 1).fill(0);
  const hits = new Array(most + 1).fill(0);
  for (const { a, b, distances } of pairs(codes, { maxDistance: most })) {
    for (let i = 0; i < a.length; i++) {
      found[distances[i]]++;
      if (isTrue.has(keyOf(a[i], b[i]))) hits[distances[i]]++;
    }
  }
  if (count < 1000) checkPairs(codes, found);
  const sumTo = (numbers, end) => numbers.slice(0, end + 1).reduce((sum, one) => sum + one, 0);
  const points = [];
  for (let maxDistance = 0; maxDistance <= most; maxDistance += bits / STEPS) {
    const [all, right] = [sumTo(found, maxDistance), sumTo(hits, maxDistance)];
    points.push({
      maxDistance,
      found: all,
      precision: all === 0 ? 1 : right / all,
      recall: right / isTrue.size,
      f1: (2 * right) / (all + isTrue.size),
    });
  }
  return points;
}

/** The library's pairs against all pairs, one by one. */
function checkPairs(codes, found) {
  const counted = found.map(() => 0);
  for (let a = 0; a < codes.count; a++) {
    for (let b = 0; b < a; b++) {
      const distance = codes.distance(a, b);
      if (distance < counted.length) counted[distance]++;
    }
  }
  mustHold(counted.join() === found.join(), 'pairs and a loop over all');
}

/** By row the name of its group: rows that true pairs lead to from each other. */
function chained(truth, count) {
  const names = Uint32Array.from({ length: count }, (_, row) => row);
  const nameOf = (row) => {
    while (names[row] !== row) {
      names[row] = names[names[row]];
      row = names[row];
    }
    return row;
  };
  for (const [a, b] of truth) names[nameOf(a)] = nameOf(b);
  return names.map((_, row) => nameOf(row));
}

/** How far copies are from their original, by the share of words replaced. */
function tellEdits(rows, codesByWidth) {
  const family = EDITED.length + 1;
  const count = rows.offsets.length - 1;
  const originals = Array.from({ length: count / family }, (_, i) => i * family);
  const mean = (numbers) => numbers.reduce((sum, one) => sum + one, 0) / numbers.length;
  const table = EDITED.map((share, i) => {
    const cosines = originals.map((row) => cosineOfRows(rows, row, row + 1 + i));
    const distances = codesByWidth.map((codes) =>
      originals.map((row) => codes.distance(row, row + 1 + i)),
    );
    const printed = distances.flatMap((some, width) => {
      const expected = cosines.map((cosine) => (WIDTHS[width] * Math.acos(cosine)) / Math.PI);
      return [mean(some).toFixed(1), mean(expected).toFixed(1)];
    });
    const caught = ASKED.map((most) => mean(distances[0].map((one) => Number(one <= most))));
    return [
      ...[`${100 * share} %`, mean(cosines).toFixed(3), ...printed],
      ...caught.map((one) => one.toFixed(3)),
    ];
  });
  printTable(
    `${short(originals.length)} passages of 100 to 500 words and their copies: mean distance, and what the cosine expects`,
    [
      ...['words replaced', 'cosine'],
      ...WIDTHS.flatMap((bits) => [`of ${bits} bits`, 'expected']),
      ...ASKED.map((most) => `within ${most} of 64`),
    ],
    table,
    0,
  );
}

/** Against the counts of all pairs of rows, and what is known of it: same 1, random about 0. */
function checkAdjustedRand() {
  const { below } = generator(11);
  const random = (count, groups) => Array.from({ length: count }, () => below(groups));
  const close = (a, b, error) => Math.abs(a - b) < error;
  for (let i = 0; i < 20; i++) {
    const [ours, theirs] = [random(60, 1 + below(20)), random(60, 1 + below(20))];
    const merged = ours.map((name) => name >> 1);
    for (const other of [ours, theirs, merged]) {
      const [fast, slow] = [adjustedRand(ours, other), adjustedRandOfPairs(ours, other)];
      mustHold(close(fast, slow, 1e-9), `adjusted Rand, ${fast} and ${slow}`);
    }
    mustHold(close(adjustedRand(ours, ours), 1, 1e-9), 'adjusted Rand of the same grouping');
  }
  const chance = adjustedRand(random(20_000, 50), random(20_000, 50));
  mustHold(close(chance, 0, 0.01), `adjusted Rand of random groupings, ${chance}`);
}
