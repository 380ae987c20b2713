// What a release states of itself, in every place that states it: its version and what has changed.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './checks.mjs';

const text = (path) => readFileSync(join(root, path), 'utf8');
const first = (path, pattern) => pattern.exec(text(path))?.[1] ?? 'none';

/** The version in each file that states one; `none` where it is missing. The command has the first. */
export function versions() {
  const lock = JSON.parse(text('package-lock.json'));
  return {
    'package.json': JSON.parse(text('package.json')).version,
    'package-lock.json': lock.version,
    'package-lock.json, the root package': lock.packages[''].version,
    'CHANGELOG.md': first('CHANGELOG.md', /^## (\S+)/m),
    'python/pyproject.toml': first('python/pyproject.toml', /^version = "(.*)"$/m),
  };
}

/** The section of the CHANGELOG about a version, without its title. */
export function changesOf(version) {
  const [, after = ''] = text('CHANGELOG.md').split(new RegExp(`^## ${version}\\b.*\n`, 'm'));
  return after.split(/^## /m)[0].trim();
}
