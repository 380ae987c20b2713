/**
 * The lists of docs/contributing.md that lead from a call to its answer, held against the functions
 * that V8 counts in such a call.
 */

import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, it } from 'vitest';
import { bundleInto } from '../reference/bundle';
import { ownFolder, root, runChild } from './run';

const page = readFileSync(join(root, 'docs/contributing.md'), 'utf8');

/** One script that ran, as V8 counts it. */
interface Counted {
  readonly url: string;
  readonly functions: readonly {
    readonly functionName: string;
    readonly ranges: readonly { readonly count: number; readonly startOffset: number }[];
  }[];
}

/** The files of src of which a named function ran; bundles name them in comments. */
function filesRun(scripts: readonly Counted[]): string[] {
  const found = new Set<string>();
  for (const { url, functions } of scripts) {
    const text = readFileSync(new URL(url), 'utf8');
    const files = [...text.matchAll(/^\/\/ (?:\S*\/)?src\/(\S+\.ts)$/gm)];
    for (const { functionName, ranges } of functions) {
      const [{ count, startOffset }] = ranges;
      if (functionName === '' || count === 0) continue;
      const file = files.filter(({ index }) => index <= startOffset).at(-1);
      if (file !== undefined) found.add(file[1]);
    }
  }
  return [...found];
}

/** The file that each entry of the list in a section begins with, and the whole section. */
function roadOf(title: string): { files: string[]; section: string } {
  const [, after] = page.split(`## ${title}\n`);
  const [section] = after.split('\n## ');
  const files = [...section.matchAll(/^ *(?:-|\d+\.) `([\w/.-]+\.ts)`/gm)].map(([, file]) => file);
  return { files, section };
}

it('a query by distance passes the files of the list, and no other that it does not name', {
  tags: 'thorough',
}, async () => {
  const { files, section } = roadOf('How a query by distance runs');
  const folder = await ownFolder();
  await bundleInto(folder, pathToFileURL(join(root, 'src/index.ts')));
  const script = join(folder, 'query.mjs');
  await writeFile(script, COUNTED_QUERY);
  const said = execFileSync(process.execPath, [script], { encoding: 'utf8' });
  const ran = filesRun(JSON.parse(said));
  expect(files.length).toBeGreaterThan(8);
  expect(files.length).toBeLessThanOrEqual(12);
  expect(files.filter((file) => !ran.includes(file))).toEqual([]);
  const named = [...section.matchAll(/`([\w/.-]+\.ts)`/g)].map(([, file]) => `/${file}`);
  const others = ran.filter((file) => !/^(base|kernels)\//.test(file));
  expect(others.length).toBeGreaterThan(12);
  expect(others.filter((file) => !named.some((one) => `/${file}`.endsWith(one)))).toEqual([]);
});

/** Counts one query, the second of two, so that nothing is prepared in it. */
const COUNTED_QUERY = `
import { Session } from 'node:inspector/promises';
import { SimHashIndex } from './child.mjs';
process.env.HALFSPACE_KERNEL = 'scalar';
const index = new SimHashIndex({ bits: 64 });
for (let i = 0; i < 50; i++) index.add([Math.sin(i), Math.cos(2 * i), Math.sin(3 * i)]);
await index.addAll([[1, 2, 3], [1, 2, 3]]);
index.search([1, 2, 3], { rank: 'hamming' });
const session = new Session();
session.connect();
await session.post('Profiler.enable');
await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
index.search([1, 2, 3], { rank: 'hamming' });
const { result } = await session.post('Profiler.takePreciseCoverage');
console.log(JSON.stringify(result.filter(({ url }) => url.endsWith('/child.mjs'))));
`;

it('a row of JSONL passes the 25 files of the list on its way to a plan', async () => {
  const { files } = roadOf('How a JSONL row becomes a line of a plan');
  const folder = await ownFolder();
  const words = ['--text', 'body', '-o', join(folder, 'plan.jsonl')];
  const counts = join(folder, 'counts');
  const input = 'datasets/sample/docs.jsonl';
  const { code } = await runChild(['dedup', input, ...words], {
    env: { NODE_V8_COVERAGE: counts },
  });
  expect(code).toBe(0);
  const ran = readdirSync(counts).flatMap((name) => {
    const { result } = JSON.parse(readFileSync(join(counts, name), 'utf8'));
    return filesRun(result.filter(({ url }: Counted) => /halfspace-test/.test(url)));
  });
  expect(files.length).toBeGreaterThan(15);
  expect(files.length).toBeLessThanOrEqual(25);
  expect(files.filter((file) => !ran.includes(file))).toEqual([]);
});
