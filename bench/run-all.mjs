// Runs every bench, or those named, one after another, and prints what they print: tables in Markdown.
// `--json=bench/figures.json` keeps the figures that the site draws; `--small` shows that each bench
// starts and ends.

import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { isSmall, words } from './lib/bench.mjs';

const BENCHES = [
  ...['rivals glove', 'rivals images', 'rivals sentences', 'scan', 'exact', 'pairs', 'hashing'],
  ...['recall', 'honesty', 'clusters', 'texts', 'near-duplicates', 'text-settings', 'common-text'],
  'large-dedup',
  ...['threads', 'folders', 'one-query', 'build', 'explore'],
];
const SMALL = ['rivals nouns', ...BENCHES.slice(3)];

let failed = 0;
for (const name of words.length > 0 ? words : isSmall ? SMALL : BENCHES) {
  const [script, ...more] = name.split(' ');
  console.log(`\n## ${name}\n`);
  const given = ['--expose-gc', fileURLToPath(new URL(`${script}.mjs`, import.meta.url)), ...more];
  given.push(...process.argv.filter((word) => /^--(small$|json=)/.test(word)));
  const env = { ...process.env, ...(script === 'threads' && { BENCH_CORE: '0,1' }) };
  const { status } = spawnSync(process.execPath, given, { stdio: 'inherit', env });
  if (status !== 0) failed++;
  if (status !== 0) console.error(`!!! ${name} FAILED with exit code ${status}`);
}
process.exitCode = failed === 0 ? 0 : 1;
