// How long does it take to remove near-duplicates from a large JSONL file, end to end, in how much
// memory, and how many planted copies go? Documents of about 2 KB are put together of sentences of
// real text (prose and mail of datasets/); a tenth are copies of an earlier one with 1 to 10 % of the
// words replaced. Plan and apply by the command, on all cores, next to pipelines of rensa and, where
// HALFSPACE_TEXT_DEDUP names a Python that has it (pip install text-dedup==0.4.0), of text-dedup.
//
//   node bench/large-dedup.mjs rows=1000000 [folder=/tmp/large] [only=halfspace,rensa] [python=python3]

import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import {
  createReadStream,
  createWriteStream,
  existsSync,
  mkdirSync,
  rmSync,
  statSync,
} from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { pythonEnvironment } from '../datasets/lib/python-env.mjs';
import { announce, bytesText, printTable, short, sized, words } from './lib/bench.mjs';
import { isThere, textsOf } from './lib/data-sets.mjs';
import { generator } from './lib/random.mjs';

const given = Object.fromEntries(words.map((one) => one.split('=')));
const rows = Number(given.rows ?? sized(100_000, 500));
const folder = given.folder ?? '/tmp/halfspace-large';
const only = given.only?.split(',');
/** Characters of a document, share of copies, and of their words that are replaced. */
const CHARACTERS = 2000;
const COPIES = 0.1;
const EDITS = [0.01, 0.02, 0.05, 0.1];
/** Copies are of one of so many documents before. */
const WINDOW = 10_000;

const pathOf = (name) => fileURLToPath(new URL(name, import.meta.url));
const input = join(folder, `docs-${rows}.jsonl`);

await announce();
if (isThere('prose') && isThere('mail')) {
  mkdirSync(folder, { recursive: true });
  if (!existsSync(input)) await generate();
  const python = given.python ?? pythonEnvironment(new URL('.', import.meta.url));
  const table = [];
  for (const [name, commands] of Object.entries(pipelines(python))) {
    if (only && !only.includes(name)) continue;
    table.push(await measure(python, name, commands));
  }
  const size = bytesText(statSync(input).size);
  printTable(
    `${rows.toLocaleString('en-US')} documents, ${size}`,
    ['pipeline', 'wall s', 'CPU s', 'peak', 'rows kept', 'copies gone', 'families gone'],
    table,
  );
}

/** Writes the documents; the id of a copy names its original. */
async function generate() {
  const { below, unit } = generator(19);
  const sentences = [...textsOf('prose'), ...textsOf('mail')].flatMap((text) =>
    text
      .split(/(?<=[.!?])\s+/)
      .map((one) => one.replaceAll(/\s+/g, ' ').trim())
      .filter((one) => one.length >= 40 && one.length <= 400),
  );
  const vocabulary = sentences.flatMap((one) => one.split(' ')).slice(0, 500_000);
  const out = createWriteStream(input);
  const recent = [];
  for (let row = 0; row < rows; row++) {
    let id = `d${row}`;
    let text = '';
    if (row > 0 && unit() < COPIES) {
      const original = recent[below(recent.length)];
      const copy = original.text.split(' ');
      const edits = Math.ceil(EDITS[below(EDITS.length)] * copy.length);
      for (let i = 0; i < edits; i++)
        copy[below(copy.length)] = vocabulary[below(vocabulary.length)];
      text = copy.join(' ');
      id = `c${row}-of-${original.id}`;
    } else {
      while (text.length < CHARACTERS) text += `${sentences[below(sentences.length)]} `;
      const kept = { id, text };
      if (recent.length < WINDOW) recent.push(kept);
      else recent[below(WINDOW)] = kept;
    }
    if (!out.write(`${JSON.stringify({ id, text })}\n`)) await once(out, 'drain');
  }
  out.end();
  await once(out, 'finish');
}

/** By name the commands of a pipeline, the last of which writes `kept`. */
function pipelines(python) {
  const command = [process.execPath, pathOf('../dist/cli.js'), 'dedup', input];
  const plan = join(folder, 'plan.jsonl');
  const kept = (name) => join(folder, `kept-${name}.jsonl`);
  const textDedup = process.env.HALFSPACE_TEXT_DEDUP;
  return {
    halfspace: [
      [...command, '--text', 'text', '-o', plan, '--force'],
      [...command, '--apply', plan, '-o', kept('halfspace'), '--force'],
    ],
    rensa: [[python, pathOf('python/dedup_rensa.py'), input, kept('rensa')]],
    ...(textDedup && {
      'text-dedup': [
        [
          ...[textDedup, pathOf('python/dedup_text_dedup.py')],
          ...[input, kept('text-dedup'), join(folder, 'cache')],
        ],
      ],
    }),
  };
}

/** A row of the table: what a pipeline took, and what it left. */
async function measure(python, name, commands) {
  const used = commands.map((command) => {
    const options = { stdio: ['ignore', 'pipe', 'inherit'] };
    return JSON.parse(execFileSync(python, [pathOf('python/timed.py'), ...command], options));
  });
  const sum = (field) => used.reduce((all, one) => all + one[field], 0);
  if (used.some(({ code }) => code !== 0)) return [name, 'failed', '-', '-', '-', '-', '-'];
  const out = join(folder, `kept-${name}.jsonl`);
  const [planted, left] = [await rowsOf(input), await rowsOf(out)];
  const share = (one, all) => `${((100 * one) / all).toFixed(2)} %`;
  const extra = ({ all, families }) => all - families;
  const peak = Math.max(...used.map((one) => one.peak));
  rmSync(out);
  return [
    ...[name, short(sum('wall')), short(sum('cpu')), bytesText(peak), left.all],
    share(extra(planted) - extra(left), extra(planted)),
    share(planted.families - left.families, planted.families),
  ];
}

/** How many records a file has, and of how many families: an original and its copies. */
async function rowsOf(path) {
  const families = new Set();
  let all = 0;
  for await (const line of createInterface({ input: createReadStream(path) })) {
    all++;
    families.add(/"id":"(?:c\d+-of-)?(d\d+)"/.exec(line)?.[1]);
  }
  return { all, families: families.size };
}
