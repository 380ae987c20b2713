// The package as npm would publish it: packed, judged by tools for packages, and installed into an
// empty folder without the lock of this repository.

import assert from 'node:assert/strict';
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { check, root, run } from './checks.mjs';

export const kilobytes = (bytes) => `${(bytes / 1024).toFixed(1)} KB`;
export const tool = (name) => join(root, 'node_modules/.bin', name);

/** The most bytes of the packed package: 1 MB. */
const PACKED_LIMIT = 1_000_000;

/** Builds and packs into a folder, and returns the path of the tarball. */
export async function packInto(folder) {
  let tarball;
  await check('builds and packs', async () => {
    await run('npm', ['pack', '--pack-destination', folder]);
    const name = (await readdir(folder)).find((file) => file.endsWith('.tgz'));
    tarball = join(folder, name);
    const { size } = await stat(tarball);
    assert.ok(size <= PACKED_LIMIT, `${size} bytes, more than ${PACKED_LIMIT}`);
    return `${name}, ${kilobytes(size)}`;
  });
  return tarball;
}

/** What publint and attw find in a tarball. */
export async function checkTarball(tarball) {
  await check('publint finds no problem', async () => {
    const data = await readFile(tarball);
    const { messages, pkg } = await publint({ pack: { tarball: data.buffer }, strict: true });
    const found = messages.map((message) => formatMessage(message, pkg, { color: false }));
    assert.deepEqual(found, []);
  });

  await check('attw finds the right types for node16 and bundlers', async () => {
    // The profile leaves out Node 10's resolution, which ignores "exports" and finds no halfspace/node.
    const options = ['--profile', 'node16', '--no-definitely-typed', '--no-color', '--no-emoji'];
    await run(tool('attw'), [tarball, ...options, '--format', 'ascii']);
  });
}

/** Installs a tarball into a new folder; returns what npm chose there, by path. */
export async function installInto(folder, tarball) {
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'package.json'), '{ "private": true }');
  await run('npm', ['install', tarball, '--no-audit', '--no-fund'], { cwd: folder });
  const lock = JSON.parse(await readFile(join(folder, 'package-lock.json'), 'utf8'));
  const packages = Object.entries(lock.packages).filter(([path]) => path !== '');
  const names = packages.map(([path]) => path.replace(/^.*node_modules\//, ''));
  const repeated = names.filter((name, i) => names.indexOf(name) !== i);
  assert.deepEqual(repeated, [], 'packages that are installed more than once');
  return new Map(packages);
}
