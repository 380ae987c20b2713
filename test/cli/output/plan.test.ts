import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openRows } from '../../../src/node';
import { ownFolder, rowsOf, run } from '../run';

/** 40 words, and the same with another one in their middle: 37 of 41 pairs of words are common. */
const WORDS = Array.from({ length: 40 }, (_, i) => `word${i}`);
const TEXTS = [WORDS, WORDS.map((word, i) => (i === 20 ? 'other' : word))];

it('similarities have six digits in every format', async () => {
  const cwd = await ownFolder();
  const lines = TEXTS.map((words) => JSON.stringify({ body: words.join(' ') }));
  writeFileSync(join(cwd, 'docs.jsonl'), `${lines.join('\n')}\n`);
  for (const name of ['all.jsonl', 'all.csv', 'all.arrow']) {
    const words = ['dedup', 'docs.jsonl', '--text', 'body', '-q', '-o', name];
    expect((await run(words, { cwd })).code).toBe(0);
    const found: number[] = [];
    for await (const batch of await openRows(join(cwd, name))) {
      found.push(...batch.values('jaccard').map(Number));
    }
    expect([name, found]).toEqual([name, [1, 0.902439]]);
  }
  const made = await run(['dedup', 'docs.jsonl', '--text', 'body', '-q'], { cwd });
  expect(rowsOf<{ jaccard: number }>(made.stdout)[1].jaccard).toBe(0.902439);
  expect(readFileSync(join(cwd, 'all.csv'), 'utf8')).toContain('0.902439,');
});
