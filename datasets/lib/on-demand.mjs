// Files that are built on demand and not committed: written, or compared with their checksums.

import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';

/** The files of a set to search. */
export const SEARCH_FILES = ['train.arrow', 'queries.arrow', 'truth.arrow'];

/**
 * Builds the files of a folder, unless they are there as its SHA256SUMS says; with `--check` on the
 * command line it builds always, writes nothing and checks the files at hand. `make` gives the
 * bytes by name. A checksum that is not in SHA256SUMS and README.md fails the process.
 */
export async function build(folder, names, make) {
  const path = (name) => new URL(name, folder);
  const text = (name) => readFileSync(path(name), 'utf8');
  const isCheck = process.argv.includes('--check');
  const fileLine = (name) => existsSync(path(name)) && line(readFileSync(path(name)), name);

  if (!isCheck && names.every((name) => text('SHA256SUMS').includes(fileLine(name)))) {
    console.log(`up to date: ${names.join(', ')}`);
    return;
  }
  const made = await make();
  const differing = [];
  for (const name of names) {
    const expected = line(made[name], name);
    console.log(`${expected}, ${made[name].length} bytes`);
    for (const record of ['SHA256SUMS', 'README.md']) {
      if (!text(record).includes(expected)) differing.push(`${name} in ${record}`);
    }
    if (!isCheck) writeFileSync(path(name), made[name]);
    else if (existsSync(path(name)) && fileLine(name) !== expected) differing.push(name);
  }
  if (differing.length > 0) {
    console.error(`the checksum differs: ${differing.join(', ')}`);
    process.exitCode = 1;
  }
}

/** A line of SHA256SUMS. */
function line(bytes, name) {
  return `${createHash('sha256').update(bytes).digest('hex')}  ${name}`;
}
