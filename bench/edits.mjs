// How far do edits move a text? Passages of the Brown corpus, one a document, and copies with 1, 2, 5,
// 10 and 20 % of the words replaced by others (datasets/edits/plant.mjs), by three kinds of tokens;
// weights are counts, or TF-IDF where it says so. Where does the usual 3 of 64 stand, which threshold
// catches the copies, and how many passages that have nothing to do with each other does it let in?
// Draws docs/edits.svg.

import { writeFileSync } from 'node:fs';
import { SHARES } from '../datasets/edits/plant.mjs';
import { characters, hammingDistance, shingles, TextHasher, words } from '../dist/index.js';
import { editsPicture } from './lib/edits-picture.mjs';
import { editedPassages } from './lib/passages.mjs';
import { announce, mustHold, printTable } from './lib/table.mjs';
import { isThere } from './lib/text-files.mjs';

const WIDTHS = [64, 128, 256];
const KINDS = [
  { name: 'words', tokens: words },
  { name: 'words, TF-IDF', tokens: words, isWeighed: true },
  { name: 'shingles(3)', tokens: shingles(3) },
  { name: 'characters(4)', tokens: characters(4) },
];
/** Words of a passage: one length for the curves, all for the thresholds. */
const LENGTH = 200;
const LENGTHS = [25, 50, 100, 200, 500, 1000];
const MOST = 400;
/** What people set for 64 bits. */
const USUAL = 3;
/** The share of copies that a threshold is to catch. */
const CAUGHT = 0.95;
/** Edits that thresholds are printed for. */
const ASKED = [0.02, 0.05, 0.1];

await announce();
if (isThere('prose')) {
  const byLength = new Map(LENGTHS.map((length) => [length, measure(length)]));
  tellCurves(byLength.get(LENGTH));
  tellUsual(byLength);
  for (const bits of WIDTHS) tellThresholds(byLength, bits);
  const file = new URL('../docs/edits.svg', import.meta.url);
  writeFileSync(
    file,
    editsPicture(byLength.get(LENGTH), { shares: SHARES, usual: USUAL / 64, length: LENGTH }),
  );
}

/** By kind and width: the sorted distances of each share's copies, and of unrelated passages. */
function measure(length) {
  const { originals, copies } = editedPassages(length, MOST);
  mustHold(originals.length === MOST, `passages of ${length} words`);
  return KINDS.flatMap(({ name, tokens, isWeighed }) =>
    WIDTHS.map((bits) => {
      const options = { bits, tokens, seed: 7 };
      if (isWeighed) options.frequencies = new TextHasher({ tokens }).fit(originals);
      const hasher = new TextHasher(options);
      const codes = originals.map((text) => hasher.hash(text));
      const unrelated = codes.flatMap((code, a) =>
        codes.slice(0, a).map((other) => hammingDistance(code, other)),
      );
      const edited = copies.map((texts) =>
        sorted(texts.map((text, i) => hammingDistance(codes[i], hasher.hash(text)))),
      );
      return { kind: name, bits, length, edited, unrelated: sorted(unrelated) };
    }),
  );
}

function tellCurves(curves) {
  const span = (distances) =>
    `${mean(distances).toFixed(1)} (${at(distances, 0.05)}..${at(distances, 0.95)})`;
  const rows = KINDS.flatMap(({ name }) => {
    const own = curves.filter(({ kind }) => kind === name);
    const edits = SHARES.map((share, i) => [
      ...[name, `${100 * share} %`],
      ...own.map(({ edited }) => span(edited[i])),
      beyond(own[0].edited[i]).toFixed(2),
    ]);
    return [...edits, [name, 'unrelated', ...own.map((one) => span(one.unrelated)), '']];
  });
  const widths = WIDTHS.map((bits) => `of ${bits} bits`);
  printTable(
    `${MOST} passages of ${LENGTH} words: mean distance of copies, and 5..95 %`,
    ['tokens', 'words replaced', ...widths, `beyond ${USUAL} of 64`],
    rows,
    2,
  );
}

/** What the usual threshold leaves out. */
function tellUsual(byLength) {
  const rows = KINDS.flatMap(({ name }) =>
    SHARES.slice(0, 2).map((share, i) => [
      ...[name, `${100 * share} %`],
      ...LENGTHS.map((length) => {
        const { edited } = find(byLength, { length, name, bits: 64 });
        return beyond(edited[i]).toFixed(2);
      }),
    ]),
  );
  printTable(
    `Share of copies that differ in more than ${USUAL} of 64 bits, by words of a passage (one word at least is replaced)`,
    ['tokens', 'words replaced', ...LENGTHS.map(String)],
    rows,
    2,
  );
}

/** The smallest threshold that catches most copies, and the share of unrelated pairs within it. */
function tellThresholds(byLength, bits) {
  const rows = KINDS.flatMap(({ name }) =>
    ASKED.map((share) => [
      ...[name, `${100 * share} %`],
      ...LENGTHS.map((length) => {
        const { edited, unrelated } = find(byLength, { length, name, bits });
        const threshold = at(edited[SHARES.indexOf(share)], CAUGHT);
        return `${threshold} (${ofMillion(unrelated, threshold)})`;
      }),
    ]),
  );
  printTable(
    `Smallest threshold of ${bits} bits that catches ${CAUGHT} of the copies, by words of a passage, and how many of a million unrelated pairs are within it`,
    ['tokens', 'words replaced', ...LENGTHS.map(String)],
    rows,
    2,
  );
}

function find(byLength, { length, name, bits }) {
  return byLength.get(length).find((one) => one.kind === name && one.bits === bits);
}

function sorted(numbers) {
  return Uint16Array.from(numbers).sort();
}

function mean(numbers) {
  return numbers.reduce((sum, one) => sum + one, 0) / numbers.length;
}

/** The smallest number that a share of them do not exceed. */
function at(numbers, share) {
  return numbers[Math.ceil(share * numbers.length) - 1];
}

function beyond(distances) {
  return distances.filter((distance) => distance > USUAL).length / distances.length;
}

function ofMillion(distances, threshold) {
  const within = distances.findIndex((distance) => distance > threshold);
  const share = (within < 0 ? distances.length : within) / distances.length;
  return Math.round(1e6 * share).toLocaleString('en-US');
}
