/** docs/api.md is what the comments of src make, and its examples print what they say. */

import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import * as library from '../../src/index';
import * as nodeLibrary from '../../src/node';
import { examplesOf, printedBy, promisesOf, root } from './examples';

// That of `embed` runs without the package, and without a network.
vi.mock('@huggingface/transformers', () => import('../reference/transformers.mjs'));

const modules = {
  ...{ halfspace: library, 'halfspace/node': nodeLibrary },
  ...{ 'node:fs': fs, 'node:fs/promises': fs.promises },
};
const examples = examplesOf('docs/api.md');

let folder: string;
beforeEach(() => {
  folder = fs.mkdtempSync(join(tmpdir(), 'halfspace-api-'));
});
afterEach(() => {
  fs.rmSync(folder, { recursive: true });
});

describe('docs/api.md', () => {
  it('is what `npm run docs:api` writes', { tags: 'thorough' }, () => {
    expect(() => execFileSync('node', [`${root}scripts/make-api.mjs`, '--check'])).not.toThrow();
  });

  it('has every exported value in an example', () => {
    const sections = fs.readFileSync(`${root}docs/api.md`, 'utf8').split('\n### ');
    const own = sections
      .filter((text) => text.includes('```ts'))
      .map((text) => text.split('\n')[0]);
    const used = new Set([...own, ...(examples.join('\n').match(/\w+/g) ?? [])]);
    expect(Object.keys(nodeLibrary).filter((name) => !used.has(name))).toEqual([]);
  });

  it.each(examples.map((code, i) => [code.split('\n').at(-2), i, code] as const))(
    'prints what its comment says: %s',
    async (_, _i, code) => {
      const promised = promisesOf(code);
      expect(promised.length).toBeGreaterThan(0);
      const written = [...code.matchAll(/'([\w-]+\.(?:arrow|csv|hs))'/g)].map(([, file]) => file);
      const paths = Object.fromEntries(written.map((file) => [file, join(folder, file)]));
      paths['datasets/'] = `${root}datasets/`;
      const printed = await printedBy(code, { modules, paths });
      expect(printed.map((line) => line.replace(`${folder}/`, ''))).toEqual(promised);
    },
  );
});
