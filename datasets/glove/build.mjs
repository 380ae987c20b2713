// Builds train.arrow, queries.arrow and truth.arrow, unless they are here as SHA256SUMS says.
//
//   node datasets/glove/build.mjs          writes the files
//   node datasets/glove/build.mjs --check  writes nothing; builds, and checks the files at hand

import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';

const FILES = ['train.arrow', 'queries.arrow', 'truth.arrow'];
const RECORDS = ['SHA256SUMS', 'README.md'];

const here = (name) => new URL(name, import.meta.url);
const sha256 = (bytes) => createHash('sha256').update(bytes).digest('hex');
const recorded = readFileSync(here('SHA256SUMS'), 'utf8');
const isCheck = process.argv.includes('--check');

if (!isCheck && FILES.every(isAsRecorded)) console.log(`up to date: ${FILES.join(', ')}`);
else {
  // Imported here, so that a look at finished files needs neither packages nor library.
  const { makeFiles } = await import('./make.mjs');
  const made = makeFiles();
  const differing = FILES.flatMap((name) => settle(name, made[name]));
  if (differing.length > 0) {
    console.error(`the checksum differs: ${differing.join(', ')}`);
    process.exitCode = 1;
  }
}

function isAsRecorded(name) {
  return existsSync(here(name)) && recorded.includes(line(readFileSync(here(name)), name));
}

/** A line of SHA256SUMS. */
function line(bytes, name) {
  return `${sha256(bytes)}  ${name}`;
}

/** Writes a file or checks the one at hand, and gives what has another checksum for it. */
function settle(name, bytes) {
  const text = line(bytes, name);
  console.log(`${text}, ${bytes.length} bytes`);
  const differing = RECORDS.filter((record) => !readFileSync(here(record), 'utf8').includes(text));
  if (!isCheck) writeFileSync(here(name), bytes);
  else if (existsSync(here(name)) && line(readFileSync(here(name)), name) !== text) {
    differing.push('the file');
  }
  return differing.map((where) => `${name} in ${where}`);
}
