import * as fs from 'node:fs';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { SIMHASHER_DEFAULTS } from '../../src/hashing/simhash';
import * as library from '../../src/index';
import * as nodeLibrary from '../../src/node';
import { readVectors } from '../reference/arrow';
import { quickIf } from '../reference/tags';
import { startHost, type WebHost } from '../store/web-host';
import { examplesOf, printedBy, promisesOf, root } from './examples';

/** The examples of the docs run, and print what the comment behind each console.log says. */
const options = readFileSync(join(root, 'docs/index.md'), 'utf8');
const modules = {
  ...{ halfspace: library, 'halfspace/node': nodeLibrary },
  ...{ 'node:fs': fs, 'node:fs/promises': fs.promises },
};
/** The recipes with other programs run in scripts/check-interop.mjs. */
const isRecipe = (code: string) => code.includes('@energetic-ai');

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'halfspace-readme-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

/** What docs/index.md finds at an address. */
let published: string;
let host: WebHost;
beforeAll(async () => {
  published = mkdtempSync(join(tmpdir(), 'halfspace-published-'));
  const nouns = `${root}datasets/nouns/nouns.arrow`;
  const { vectors, ids } = await readVectors(nouns, { id: 'word' });
  const index = new library.SimHashIndex<string>({
    ...{ bits: 256, dimensions: 100, projection: 'hadamard', vectors: 'float32' },
  });
  await index.addAll(vectors, ids as string[]);
  await index.optimize({ queries: 100 });
  await nodeLibrary.saveIndex(index, published);
  host = await startHost(published);
}, 60_000);
afterAll(async () => {
  await host.close();
  rmSync(published, { recursive: true });
});

describe.each(['README.md', 'docs/index.md', 'docs/groups.md'])('%s', (name) => {
  const examples = examplesOf(name).filter((code) => !isRecipe(code));

  it('has examples', () => {
    expect(examples.length).toBeGreaterThan(1);
  });

  for (const [i, code] of examples.entries()) {
    // All nouns are optimized by an example of README.md, which is quick, and by others.
    const options = quickIf(name === 'README.md' || !code.includes('index.optimize('));
    it(`prints what its comments say: example ${i}`, options, async () => {
      const promised = promisesOf(code);
      expect(promised.length).toBeGreaterThan(0);
      const written = [...code.matchAll(/'([\w-]+\.(?:arrow|csv|hs))'/g)].map(([, file]) => file);
      const paths = Object.fromEntries(written.map((file) => [file, join(folder, file)]));
      paths['https://example.com/nouns.hs/'] = host.url;
      paths['datasets/'] = `${root}datasets/`;
      expect(await printedBy(code, { modules, paths })).toEqual(promised);
    });
  }
});

it('docs/index.md names the default of every option', () => {
  for (const [name, value] of Object.entries(SIMHASHER_DEFAULTS)) {
    expect(options).toContain(`| \`${name}\` | \`${inspect(value)}\` |`);
  }
});
