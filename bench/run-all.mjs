// Runs every bench, prints what it prints, and writes it to results.md with command, machine and date.

import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { openPython } from './lib/python.mjs';
import { machineLine } from './lib/table.mjs';

const SCRIPTS = ['scan', 'scan-many', 'sparse', 'dense', 'replaced', 'arrow', 'growth', 'recall'];

const started = performance.now();
const python = await openPython();
const parts = [
  '# Results',
  `\`npm run bench --prefix bench\` on ${await machineLine(python)}.`,
  'Made by run-all.mjs, not by hand. Times in milliseconds are medians; times of other machines differ, ratios less.',
];
python?.close();
console.log(parts.join('\n\n'));

let failed = 0;
for (const name of SCRIPTS) {
  const path = fileURLToPath(new URL(`${name}.mjs`, import.meta.url));
  const heading = `## ${name}\n\n${question(path)}`;
  console.log(`\n${heading}`);
  const { output, code } = await run(path);
  if (code !== 0) {
    failed++;
    console.error(`!!! ${name}.mjs FAILED with exit code ${code}`);
  }
  parts.push(heading, code === 0 ? output.trim() : `${output}\n\n**FAILED**, see the log.`.trim());
}
writeFileSync(new URL('results.md', import.meta.url), `${parts.join('\n\n')}\n`);
console.error(
  `\n${Math.round((performance.now() - started) / 1000)} s, ${failed} failed; wrote bench/results.md`,
);
process.exitCode = failed === 0 ? 0 : 1;

/** The comment that opens a script says what it asks. */
function question(path) {
  const lines = readFileSync(path, 'utf8').split('\n');
  const end = lines.findIndex((line) => !line.startsWith('//'));
  return lines
    .slice(0, end)
    .map((line) => line.slice(3))
    .join('\n');
}

function run(path) {
  const env = { ...process.env, HALFSPACE_BENCH_ALL: '1' };
  const child = spawn(process.execPath, [path], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text) => {
    output += text;
    process.stdout.write(text);
  });
  return new Promise((resolve) => child.on('close', (code) => resolve({ output, code })));
}
