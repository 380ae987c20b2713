import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';
import { expect, it } from 'vitest';
import { packageFolders } from '../../scripts/lib/notices.mjs';
import { changesOf, versions } from '../../scripts/lib/release.mjs';
import { root } from './examples';

const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

it('every file that states the version states the same', () => {
  const { version } = manifest;
  expect(version).toMatch(/^\d+\.\d+\.\d+$/);
  const found = versions();
  expect(Object.keys(found).length).toBeGreaterThan(4);
  for (const [file, one] of Object.entries(found)) expect([file, one]).toEqual([file, version]);
});

it('the CHANGELOG has one section for it, of lines that begin with what they are about', () => {
  const lines = changesOf(manifest.version).split('\n');
  expect(lines.length).toBeGreaterThan(3);
  for (const line of lines) expect(line).toMatch(/^- \*\*[^*]+\*\*/);
});

it('the package says whose it is, and leaves to a hosted CI what only such a one can do', () => {
  const { homepage, bugs, author, publishConfig, scripts } = manifest;
  for (const page of [homepage, bugs.url]) expect(page).toMatch(/^https:\/\//);
  expect(author).toBe('halfspace');
  expect(publishConfig).toEqual({ access: 'public' });
  // npm runs these where a package is installed from its files, without the sources.
  for (const name of ['prepare', 'install', 'postinstall']) expect(scripts[name]).toBeUndefined();
});

it('the notices have the packages whose code is in an output, and no others', async () => {
  const contents = `
    import 'node:fs';
    import { alea } from 'seedrandom';
    import { html } from 'lit-html';
    import * as unused from 'apache-arrow';
    console.log(alea, html);`;
  const stdin = { contents, resolveDir: root };
  const { metafile } = await build({
    ...{ stdin, bundle: true, write: false, metafile: true },
    ...{ platform: 'node', external: ['apache-arrow'] },
  });
  const names = packageFolders(metafile).map((folder) => folder.replace(/^.*node_modules\//, ''));
  expect(names.sort()).toEqual(['lit-html', 'seedrandom']);
});
