// Runs every bench, or those named, prints what they print, and writes it to results.md with command,
// machine and date; sections of others stay as they are, each says what it was run on.

import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { openPython } from './lib/python.mjs';
import { machineLine } from './lib/table.mjs';

const SCRIPTS = [
  ...[
    'scan',
    'scan-many',
    'sparse',
    'dense',
    'replaced',
    'arrow',
    'growth',
    'recall',
    'query-cost',
    'stored',
    'build',
  ],
  ...[
    'rivals glove',
    'rivals images',
    'rivals sentences',
    'sizes',
    'choices',
    'honesty',
    'spilling',
    'centring',
    'classics',
    'exact',
    'plans',
    'pauses',
    'duplicates',
  ],
  ...['pairs', 'nouns', 'groupings', 'clusters', 'texts'],
  ...[
    'edits',
    'keywords',
    'near-duplicates',
    'records',
    'shingle-speed',
    'text-settings',
    'command',
    'http',
  ],
];
const results = new URL('results.md', import.meta.url);
const named = process.argv.slice(2);
for (const name of named) if (!SCRIPTS.includes(name)) throw new Error(`no bench "${name}"`);

const started = performance.now();
const { head, sections } = named.length > 0 ? earlier() : { head: await newHead(), sections: {} };
console.log(head);

let failed = 0;
for (const name of named.length > 0 ? named : SCRIPTS) {
  const [script, ...words] = name.split(' ');
  const path = fileURLToPath(new URL(`${script}.mjs`, import.meta.url));
  const heading = `## ${name}\n\n${question(path)}`;
  console.log(`\n${heading}`);
  const { output, code } = await run(path, words);
  if (code !== 0) {
    failed++;
    console.error(`!!! ${name} FAILED with exit code ${code}`);
  }
  const printed = code === 0 ? output.trim() : `${output}\n\n**FAILED**, see the log.`.trim();
  sections[name] = `${heading}\n\n${printed}`;
}
const parts = SCRIPTS.flatMap((name) => sections[name] ?? []);
writeFileSync(results, `${[head, ...parts].join('\n\n')}\n`);
console.error(
  `\n${Math.round((performance.now() - started) / 1000)} s, ${failed} failed; wrote bench/results.md`,
);
process.exitCode = failed === 0 ? 0 : 1;

async function newHead() {
  const python = await openPython();
  const machine = await machineLine(python);
  python?.close();
  return [
    '# Results',
    `\`npm run bench --prefix bench\` on ${machine}; where a section names another, on that.`,
    'Made by run-all.mjs, not by hand. Times in milliseconds are medians; times of other machines differ, ratios less.',
  ].join('\n\n');
}

/** What results.md holds, by section. */
function earlier() {
  const [head, ...rest] = readFileSync(results, 'utf8')
    .trim()
    .split(/\n\n(?=## )/);
  return { head, sections: Object.fromEntries(rest.map((one) => [/^## (.+)/.exec(one)[1], one])) };
}

/** The comment that opens a script is the question it answers. */
function question(path) {
  const lines = readFileSync(path, 'utf8').split('\n');
  const end = lines.findIndex((line) => !line.startsWith('//'));
  return lines
    .slice(0, end)
    .map((line) => line.slice(3))
    .join('\n');
}

function run(path, words) {
  // A script that is run by itself names the machine and the commit.
  const env = { ...process.env, ...(named.length === 0 && { HALFSPACE_BENCH_ALL: '1' }) };
  const child = spawn(process.execPath, [path, ...words], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text) => {
    output += text;
    process.stdout.write(text);
  });
  return new Promise((resolve) => child.on('close', (code) => resolve({ output, code })));
}
