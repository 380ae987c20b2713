import * as crypto from 'node:crypto';
import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as arrow from 'apache-arrow';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as library from '../../src/index';
import * as nodeLibrary from '../../src/node';
import { examplesOf, printedBy, promisesOf, root } from './examples';

/** The examples of docs/text.md run, and print what the comment behind each console.log says. */
const examples = examplesOf('docs/text.md');
const modules = {
  ...{ halfspace: library, 'halfspace/node': nodeLibrary },
  ...{ 'apache-arrow': arrow, 'node:crypto': crypto, 'node:fs': fs },
};

let folder: string;
beforeAll(() => {
  folder = fs.mkdtempSync(join(tmpdir(), 'halfspace-text-'));
  writeDocuments(join(folder, 'documents'));
});
afterAll(() => {
  fs.rmSync(folder, { recursive: true });
});

/** Passages of 200 words, and their copies with 5 % of the words replaced. */
function writeDocuments(documents: string): void {
  fs.mkdirSync(documents);
  const table = arrow.tableFromIPC(fs.readFileSync(join(root, 'datasets/edits/edits.arrow')));
  for (const { passage, words, share, text } of table.toArray()) {
    if (words !== 200 || (share !== 0 && share !== 0.05)) continue;
    const name = `${passage}${share === 0 ? '' : '-edited'}.txt`;
    fs.writeFileSync(join(documents, name), text);
  }
}

describe('docs/text.md', () => {
  it('has examples, the first of fewer than ten lines', () => {
    expect(examples.length).toBeGreaterThan(4);
    expect(examples[0].split('\n').filter((line) => line.trim() !== '').length).toBeLessThan(10);
  });

  it.each(examples.map((code, i) => [i, code] as const))(
    'prints what its comments say: example %i',
    async (_, code) => {
      const promised = promisesOf(code);
      expect(promised.length).toBeGreaterThan(0);
      const paths = {
        'datasets/': `${root}datasets/`,
        documents: join(folder, 'documents'),
        'frequencies.arrow': join(folder, 'frequencies.arrow'),
      };
      expect(await printedBy(code, { modules, paths })).toEqual(promised);
    },
  );
});
