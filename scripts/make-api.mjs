// Writes docs/api.md from the comments of src (`npm run docs:api`). Fails where a comment or an example
// is missing, and with `--check` where the page is out of date.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeApi } from './lib/api.mjs';
import { root } from './lib/checks.mjs';

const page = join(root, 'docs/api.md');
const { text, problems } = makeApi();
if (problems.length === 0 && !process.argv.includes('--check')) writeFileSync(page, text);
else if (problems.length === 0 && readFileSync(page, 'utf8') !== text) {
  problems.push('docs/api.md is out of date: run `npm run docs:api`');
}
for (const problem of problems) console.error(problem);
if (problems.length > 0) process.exitCode = 1;
