import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { SIMHASHER_DEFAULTS } from '../../src/hashing/simhash';
import * as library from '../../src/index';
import * as nodeLibrary from '../../src/node';

/** The examples of the docs run, and print what the comment behind each console.log says. */
const root = fileURLToPath(new URL('../../', import.meta.url));
const readme = readFileSync(join(root, 'README.md'), 'utf8');
const examplesOf = (name: string) => {
  const text = readFileSync(join(root, name), 'utf8');
  return [...text.matchAll(/```js\n(.*?)```/gs)].map((match) => match[1]);
};

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'halfspace-readme-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true });
  vi.restoreAllMocks();
});

/** Runs an example as the body of an async function; its imports become destructuring. */
async function run(code: string): Promise<void> {
  const body = code
    .replaceAll(/import (\{[^}]*\}) from 'halfspace';/g, 'const $1 = library;')
    .replaceAll(/import (\{[^}]*\}) from 'halfspace\/node';/g, 'const $1 = nodeLibrary;')
    .replaceAll("'datasets/", `'${root}datasets/`)
    .replaceAll(/'([\w-]+\.(?:arrow|csv))'/g, `'${folder}/$1'`);
  expect(body).not.toContain('import ');
  const AsyncFunction = (async () => {}).constructor as FunctionConstructor;
  await new AsyncFunction('library', 'nodeLibrary', body)(library, nodeLibrary);
}

describe.each(['README.md', 'docs/groups.md'])('%s', (name) => {
  const examples = examplesOf(name);

  it('has examples', () => {
    expect(examples.length).toBeGreaterThan(2);
  });

  it.each(examples.map((code, i) => [i, code] as const))(
    'tells the truth in example %i',
    async (_, code) => {
      const printed: string[] = [];
      vi.spyOn(console, 'log').mockImplementation((...values) => {
        const text = values.map((value) => (typeof value === 'string' ? value : inspect(value)));
        printed.push(text.join(' '));
      });
      await run(code);
      const promised = [...code.matchAll(/console\.log\(.*\); \/\/ (.*)/g)].map(
        (match) => match[1],
      );
      expect(promised.length).toBeGreaterThan(0);
      expect(printed).toEqual(promised);
    },
  );
});

it('the README names the default of every option', () => {
  for (const [name, value] of Object.entries(SIMHASHER_DEFAULTS)) {
    expect(readme).toContain(`| \`${name}\` | \`${inspect(value)}\` |`);
  }
});
