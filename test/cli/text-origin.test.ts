import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { run } from './run';

/** Codes of texts that were read otherwise are refused wherever rows meet rows. */

const folder = mkdtempSync(join(tmpdir(), 'halfspace-origin-'));
afterAll(() => rmSync(folder, { recursive: true }));
const at = (name: string) => join(folder, name);
const docs = Array.from({ length: 12 }, (_, i) => ({
  id: `d${i}`,
  text: `the ${i % 5}th house on the hill has a red door and ${i} small windows`,
}));
const lines = (some: readonly object[]) => some.map((one) => `${JSON.stringify(one)}\n`).join('');

beforeAll(async () => {
  writeFileSync(at('docs.jsonl'), lines(docs));
  writeFileSync(at('new.jsonl'), lines(docs.map(({ id, text }) => ({ id: `n${id}`, text }))));
  const hash = (input: string, output: string, ...more: string[]) =>
    run(['fingerprint', at(input), '--bits', '64', '-o', at(output), ...more]);
  const made = [
    await hash('docs.jsonl', 'words.arrow', '--columns', 'id'),
    await hash('new.jsonl', 'same.arrow', '--columns', 'id'),
    await hash('new.jsonl', 'log.arrow', '--columns', 'id', '--counting', 'log'),
    await run([
      'index',
      at('docs.jsonl'),
      '--bits',
      '64',
      '--columns',
      'none',
      '-o',
      at('docs.hs'),
    ]),
    await run(['index', at('words.arrow'), '-o', at('codes.hs')]),
    await run(['index', at('docs.jsonl'), '--bits', '64', '--tf-idf', '-o', at('tfidf.hs')]),
  ];
  expect(made.map(({ code, stderr }) => (code === 0 ? 0 : stderr))).toEqual(made.map(() => 0));
});

const both = /read by: words, counts raw; got those read by: words, counts log/;

describe.each<[string, (codes: string) => string[], RegExp]>([
  ['pairs of two files', (codes) => ['pairs', at('words.arrow'), at(codes)], both],
  ['a plan of two files', (codes) => ['dedup', at('words.arrow'), at(codes)], both],
  ['pairs with an index', (codes) => ['pairs', at('docs.hs'), at(codes)], both],
  ['a plan against an index', (codes) => ['dedup', at(codes), '--against', at('docs.hs')], both],
  ['a plan against codes', (codes) => ['dedup', at(codes), '--against', at('codes.hs')], both],
  ['a search', (codes) => ['search', at('docs.hs'), at(codes)], both],
  ['an index that grows', (codes) => ['index', at(codes), '--append', '-o', at('docs.hs')], both],
  ['an index of codes', (codes) => ['index', at(codes), '--append', '-o', at('codes.hs')], both],
])('%s', (_, args, sentence) => {
  const near = (words: string[]) =>
    /search|index/.test(words[0]) ? words : [...words, '--max-distance', '4'];

  it('refuses codes of texts with other weights, and names both', async () => {
    const { code, stderr, stdout } = await run(near(args('log.arrow')));
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(sentence);
  });

  it('takes codes of texts that were read alike', async () => {
    const { code, stderr } = await run(near(args('same.arrow')));
    expect([code, stderr]).toEqual([0, expect.any(String)]);
  });
});

it('texts are not hashed by other words than the codes that they are compared with', async () => {
  const near = ['--max-distance', '4', '--bits', '64'];
  const { code, stderr } = await run(['pairs', at('words.arrow'), at('new.jsonl'), ...near]);
  expect([code, stderr]).toEqual([1, expect.stringMatching(/shingles:2/)]);
  const told = ['--tokens', 'words', '--counting', 'raw'];
  const same = await run(['pairs', at('words.arrow'), at('new.jsonl'), ...near, ...told]);
  expect(same.code).toBe(0);
});

it('codes by frequencies are for an index with the same table', async () => {
  const own = await run([
    ...['fingerprint', at('new.jsonl'), '--bits', '64', '--columns', 'id', '-o', at('own.arrow')],
    ...['--frequencies', at('tfidf.hs')],
  ]);
  expect(own.code).toBe(0);
  expect((await run(['search', at('tfidf.hs'), at('own.arrow')])).code).toBe(0);
  const { code, stderr } = await run(['search', at('tfidf.hs'), at('same.arrow')]);
  expect([code, stderr]).toEqual([1, expect.stringMatching(/frequencies of 12 documents/)]);
});
