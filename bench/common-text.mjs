// Templates that are filled differently must not be duplicates, and copies and reprints must:
// `dedup`, and the same with `--common none`, on real texts of this machine with planted fillings,
// copies, versions and reprints. The texts are read at run time and are no part of the repository:
// those of /usr/share/doc and of /usr/share/man, on which the rule was chosen, and the guides of
// CMake and scripts of Vim, on which it was not.
//
// Printed: the share of the pairs of different fillings of one template that are in one group; of
// the planted copies that are found by whole texts the share that is found; by kind of version
// the share of the rows that are dropped, where all but one of each family are duplicates; and CPU
// seconds of the command, the least of some runs in turns.

import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { readPlan } from '../dist/node.js';
import { announce, printTable, sized } from './lib/bench.mjs';
import { generator } from './lib/random.mjs';

const COMMAND = new URL('../dist/cli.js', import.meta.url).pathname;
const OPTIONS = [['--common', 'none'], []];
/** Texts that are read, templates, and documents with many copies, versions and reprints. */
const TEXTS = sized(4000, 150);
const TEMPLATES = sized(200, 8);
const FAMILIES = sized(25, 2);
/** Members of a family: more than the eight rows of a template. */
const MEMBERS = 15;
/** Largest share of the words that is edited in a copy. */
const EDITS = 0.08;
const ROUNDS = sized(3, 1);

const CORPORA = [
  { name: 'documents', folder: '/usr/share/doc', seed: 17, own: [0.08, 0.25], isPlain: true },
  { name: 'manuals', folder: '/usr/share/man', seed: 71, own: [0.06, 0.22], isPlain: false },
  { name: 'guides', folder: '/usr/share/cmake-3.25', seed: 37, own: [0.06, 0.25], isPlain: false },
  { name: 'scripts', folder: '/usr/share/vim', seed: 53, own: [0.06, 0.25], isPlain: false },
];

await announce();
for (const corpus of CORPORA) await measure(corpus);

async function measure(corpus) {
  const made = plantedCorpus(corpus);
  const folder = mkdtempSync(join(tmpdir(), 'halfspace-common-'));
  const file = join(folder, 'texts.jsonl');
  writeFileSync(file, made.rows.map(({ text }) => `${JSON.stringify({ text })}\n`).join(''));
  const results = OPTIONS.map(() => ({ cpu: [], groups: null }));
  for (let round = 0; round < ROUNDS; round++) {
    for (const [i, options] of OPTIONS.entries()) {
      const plan = join(folder, 'plan.arrow');
      results[i].cpu.push(await dedup([file, '--text', 'text', ...options, '-o', plan]));
      results[i].groups ??= (await readPlan(plan)).groups;
      rmSync(plan);
    }
  }
  rmSync(folder, { recursive: true });
  const found = results.map(({ groups }) => foundIn(made, groups, results[0].groups));
  const kinds = Object.keys(found[0]);
  const least = Math.min(...results[0].cpu);
  printTable(
    `${corpus.name}: ${made.rows.length} texts`,
    ['option', ...kinds, 'CPU'],
    OPTIONS.map((options, i) => [
      options.join(' ') || 'default',
      ...kinds.map((kind) => found[i][kind].toFixed(3)),
      `${(Math.min(...results[i].cpu) / least).toFixed(2)} (${least.toFixed(1)} s)`,
    ]),
  );
}

/** CPU seconds of a run of the command, by the kernel's count of the children that ended. */
async function dedup(args) {
  const child = spawn(
    '/usr/bin/env',
    ['bash', '-c', 'time "$@"', '-', process.execPath, COMMAND, 'dedup', ...args],
    {
      env: { ...process.env, TIMEFORMAT: 'CPU %U %S', HALFSPACE_THREADS: '1' },
      stdio: ['ignore', 'ignore', 'pipe'],
    },
  );
  let said = '';
  for await (const part of child.stderr) said += part;
  const [, user, system] = /CPU ([\d.]+) ([\d.]+)/.exec(said) ?? [];
  if (user === undefined || /^halfspace: /m.test(said)) throw new Error(said);
  if (process.env.VERBOSE) console.error(said);
  return Number(user) + Number(system);
}

/** What the groups of a plan join; of copies those that are joined without the option. */
function foundIn({ rows }, groups, before) {
  const shareOf = (pairs) =>
    pairs.filter(([a, b]) => groups[a] === groups[b]).length / Math.max(1, pairs.length);
  const membersOf = (key) => {
    const members = new Map();
    rows.forEach((row, i) => {
      if (row[key] === undefined) return;
      const own = members.get(row[key]) ?? [];
      own.push(i);
      members.set(row[key], own);
    });
    return [...members.values()];
  };
  const others = membersOf('template').flatMap((own) =>
    own.flatMap((a, i) => own.slice(i + 1).map((b) => [a, b])),
  );
  const copies = (isFilling) =>
    rows.flatMap(({ copyOf }, i) =>
      copyOf !== undefined &&
      before[copyOf] === before[i] &&
      (rows[copyOf].template !== undefined) === isFilling
        ? [[copyOf, i]]
        : [],
    );
  const dropped = (kind) => {
    const families = membersOf(kind);
    const sum = families.reduce(
      (all, own) => all + own.length - new Set(own.map((row) => groups[row])).size,
      0,
    );
    return sum / families.reduce((all, own) => all + own.length - 1, 0);
  };
  return {
    'fillings joined': shareOf(others),
    'copies of texts': shareOf(copies(false)),
    'copies of fillings': shareOf(copies(true)),
    'edited 15 times': dropped('edited'),
    'versions 1 to 15': dropped('version'),
    'with a heading': dropped('headed'),
    'between own texts': dropped('reprint'),
    'and with a notice inside': dropped('noticed'),
  };
}

/** Real texts, fillings of templates made of some of them, copies, and families; in no order. */
function plantedCorpus({ folder, seed, own, isPlain }) {
  const random = generator(seed);
  const texts = textsIn(folder, random);
  const vocabulary = texts.flatMap((text) => text.slice(0, 400));
  const phrase = (count, from = texts) => {
    const text = from[random.below(from.length)];
    const start = random.below(Math.max(1, text.length - count));
    return text.slice(start, start + count);
  };
  const word = () => vocabulary[random.below(vocabulary.length)];
  const between = (low, high) => low + random.below(high - low + 1);
  const fill = (count) => (isPlain ? Array.from({ length: count }, word) : phrase(count));
  // Templates and families are made of texts that are not rows themselves.
  const sources = texts.splice(Math.floor(0.7 * texts.length));
  const rows = texts.map((text) => ({ text }));
  const edited = (text, share) => editedOf(text, share, { random, word });

  for (let template = 0; template < TEMPLATES; template++) {
    const fixed = phrase(between(80, 500), sources);
    const slots = between(3, 15);
    const share = own[0] + random.unit() * (own[1] - own[0]);
    // In manuals two slots have one of few values, and some parts are left out now and then.
    const values = Array.from({ length: isPlain ? 0 : 2 }, () =>
      [1, 2, 3, 4, 5].map(() => fill(3)),
    );
    const gaps = slots - values.length;
    const perGap = Math.max(1, Math.round((share * fixed.length) / (1 - share) / gaps));
    const isOptional = !isPlain && template % 5 === 0;
    const fillings = Math.round(5 * 12 ** random.unit());
    for (let i = 0; i < fillings; i++) {
      const parts = [];
      for (let slot = 0; slot < slots; slot++) {
        const part = fixed.slice(
          (slot * fixed.length) / slots,
          ((slot + 1) * fixed.length) / slots,
        );
        if (!(isOptional && slot % 5 === 4 && random.unit() < 0.3)) parts.push(part);
        const value = values[slot]?.[random.below(5)];
        parts.push(value ?? fill(between(1, 2 * perGap - 1)));
      }
      rows.push({ text: parts.flat(), template });
    }
  }
  const originals = rows.length;
  for (let i = 0; i < originals; i++) {
    if (random.unit() > (rows[i].template === undefined ? 0.1 : 0.2)) continue;
    rows.push({ text: edited(rows[i].text, EDITS * random.unit()), copyOf: i });
  }
  for (let family = 0; family < FAMILIES; family++) {
    // Of three texts each, so that no other text is near to it.
    const of = () => [0, 1, 2].flatMap(() => phrase(between(50, 170), sources));
    const [base, headed, reprinted, noticed] = [of(), of(), of(), of()];
    let version = of();
    for (let i = 0; i < MEMBERS; i++) {
      rows.push({ text: edited(base, EDITS * random.unit()), edited: family });
      rows.push({ text: version, version: family });
      version = edited(version, 0.01);
      const around = (text) => {
        const own = Math.round(text.length * (0.02 + 0.1 * random.unit()));
        return [...phrase(own), ...text, ...phrase(own >> 1)];
      };
      rows.push({ text: [...phrase(between(4, 60)), ...headed], headed: family });
      rows.push({ text: around(reprinted), reprint: family });
      const inside = between(1, noticed.length - 1);
      const notice = phrase(between(3, 6));
      const text = [...noticed.slice(0, inside), ...notice, ...noticed.slice(inside)];
      rows.push({ text: around(text), noticed: family });
    }
  }
  return { rows: rows.map(({ text, ...row }) => ({ ...row, text: text.join(' ') })) };
}

/** A text in which a share of the words is replaced, left out, doubled by another or exchanged. */
function editedOf(text, share, { random, word }) {
  const own = [...text];
  const count = Math.max(1, Math.round(share * own.length));
  for (let i = 0; i < count; i++) {
    const at = random.below(own.length - 1);
    const kind = random.below(4);
    if (kind === 0) own[at] = word();
    else if (kind === 1) own.splice(at, 1);
    else if (kind === 2) own.splice(at, 0, word());
    else [own[at], own[at + 1]] = [own[at + 1], own[at]];
  }
  return own;
}

/** The words of texts of 60 to 3,000 words below a folder, drawn without repeating equal ones. */
function textsIn(folder, random) {
  const paths = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((one) => one.isFile() && /\.(txt|md|rst|gz|vim)$|copyright|README|NEWS/.test(one.name))
    .map((one) => join(one.parentPath ?? one.path, one.name))
    .sort();
  const seen = new Set();
  const texts = [];
  for (let left = paths.length; left > 0 && texts.length < 1.5 * TEXTS; left--) {
    const at = random.below(left);
    [paths[at], paths[left - 1]] = [paths[left - 1], paths[at]];
    const path = paths[left - 1];
    const bytes = readFileSync(path);
    const text = (path.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString('utf8');
    const words = text
      .replaceAll(/^\.\w+|\\f.|\\/gm, ' ')
      .trim()
      .split(/\s+/)
      .slice(0, 3000);
    if (words.length < 60 || /[\0\ufffd]/.test(text) || seen.has(words.join(' '))) continue;
    seen.add(words.join(' '));
    texts.push(words);
  }
  return texts;
}
