// Everything of a release but the upload: versions, CHANGELOG, tag, the packed package, its licences,
// and a fresh installation of it that is used by import, by require and by its command.
//
// npm run release:check -- [--tag v0.2.0] [--to FOLDER, which gets the tarball that was checked]

import assert from 'node:assert/strict';
import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { parseArgs } from 'node:util';
import { check, root, run, runChecks } from './lib/checks.mjs';
import { checkTarball, installInto, packInto } from './lib/packed.mjs';
import { changesOf, versions } from './lib/release.mjs';

const { values: options } = parseArgs({
  options: { tag: { type: 'string' }, to: { type: 'string' } },
});

/** Licences that allow what ours allows. */
const LICENCES = ['0BSD', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', 'ISC', 'MIT'];
/** Packages whose code is in our files, by where it is. */
const BUNDLED = [
  ...['apache-arrow', 'flatbuffers', 'tslib'], // in the file for pages without a bundler
  ...['assemblyscript', 'diff', 'lit-html', 'seedrandom', 'zstddec'],
];

const manifest = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
const { version } = manifest;
const folder = await mkdtemp(join(tmpdir(), 'halfspace-release-'));
const consumer = join(folder, 'consumer');

/** One code, whose bits are the same everywhere, and one search. */
const SMOKE = `
const hasher = new SimHasher({ bits: 64, seed: 7 });
const code = Buffer.from(hasher.hash([1, -2, 3])).toString('hex');
const index = new SimHashIndex({ bits: 64 });
index.add([1, 0, 0], 'a');
index.add([0, 1, 0], 'b');
console.log(code, index.search([0.1, 1, 0], { k: 1 }).ids[0]);
`;
const SMOKES = {
  'esm.mjs': `import { SimHasher, SimHashIndex } from 'halfspace/node';${SMOKE}`,
  'cjs.cjs': `const { SimHasher, SimHashIndex } = require('halfspace/node');${SMOKE}`,
};

async function checkStatements() {
  await check('every file that states the version states the same', () => {
    for (const [file, one] of Object.entries(versions())) assert.equal(one, version, file);
    return version;
  });
  await check('the CHANGELOG says what is new', () => {
    const lines = changesOf(version).split('\n');
    assert.ok(lines[0].startsWith('- '), `no section about ${version} with lines that begin "- "`);
    return `${lines.length} lines`;
  });
  await check('the tag is that of the version', async () => {
    const here = await run('git', ['tag', '--points-at', 'HEAD', 'v*']);
    const tags = options.tag === undefined ? here.split('\n').filter(Boolean) : [options.tag];
    for (const tag of tags) assert.equal(tag, `v${version}`);
    return tags.length === 0 ? `none yet; it will be v${version}` : tags.join(', ');
  });
  await check('the repository is known', () =>
    manifest.repository === undefined
      ? 'WARNING: package.json has no "repository", which only its owner knows: run npm run ' +
        'release:repository -- https://HOST/OWNER/NAME'
      : manifest.repository.url,
  );
}

/** Several licences, as of code of others within, are joined by AND. */
function checkLicence(name, license) {
  const isAllowed = license.split(' AND ').every((one) => LICENCES.includes(one));
  assert.ok(isAllowed, `${name} has the licence ${license}`);
}

async function checkLicences(packages) {
  await check('every package that is installed has a licence like ours', () => {
    for (const [path, { license }] of packages) {
      checkLicence(path, license);
    }
    return `${packages.size} packages, each once`;
  });
  await check('THIRD-PARTY-NOTICES has the packages in our files', async () => {
    const installed = join(consumer, 'node_modules/halfspace');
    const notices = await readFile(join(installed, 'THIRD-PARTY-NOTICES'), 'utf8');
    const named = [...notices.matchAll(/^-{80}\n\n(\S+) (\S+) \(([^)]+)\)\n/gm)];
    assert.deepEqual(
      named.map(([, name]) => name),
      [...BUNDLED].sort(),
    );
    for (const [, name, one, license] of named) {
      const path = join(root, 'node_modules', name, 'package.json');
      assert.equal(one, JSON.parse(await readFile(path, 'utf8')).version, name);
      checkLicence(name, license);
    }
    return named.map(([, name]) => name).join(', ');
  });
}

async function main() {
  await checkStatements();
  const tarball = await packInto(folder);
  await checkTarball(tarball);
  let packages;
  await check('installs into an empty folder without a lock', async () => {
    packages = await installInto(consumer, tarball);
  });
  await checkLicences(packages);
  const said = [];
  for (const [file, text] of Object.entries(SMOKES)) {
    await check(`works as a user writes it: ${file}`, async () => {
      await writeFile(join(consumer, file), text);
      said.push((await run(process.execPath, [file], { cwd: consumer })).trim());
      assert.match(said[0], /^[0-9a-f]{16} b$/);
      assert.equal(said.at(-1), said[0]);
      return said[0];
    });
  }
  await check('the command works', async () => {
    const halfspace = (...words) => run('npx', ['halfspace', ...words], { cwd: consumer });
    assert.equal(await halfspace('--version'), `${version}\n`);
    const sample = 'node_modules/halfspace/datasets/sample/docs.jsonl';
    assert.match(await halfspace('dedup', sample, '--text', 'body', '-o', 'plan.jsonl'), /^/);
    assert.match(await readFile(join(consumer, 'plan.jsonl'), 'utf8'), /"drop"/);
  });
  if (options.to === undefined) return;
  await check('the tarball is kept', async () => {
    await mkdir(options.to, { recursive: true });
    await copyFile(tarball, join(options.to, basename(tarball)));
    return `npm publish ${join(options.to, basename(tarball))}`;
  });
}

await runChecks(main, () => rm(folder, { recursive: true, force: true }));
