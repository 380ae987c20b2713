import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { frequenciesFromArrow, TextHasher } from '../../src/index';
import { Draws } from '../reference/random';
import { ownFolder, rowsOf, run } from './run';

const draws = new Draws('frequencies');
const texts = Array.from({ length: 90 }, () =>
  Array.from({ length: 12 }, () => `w${draws.integer(60)}`).join(' '),
);
const lines = texts.map((body, id) => `${JSON.stringify({ id, body })}\n`);

it('the table of several files is that of all texts, and so is that of a stream', {
  tags: 'thorough',
}, async () => {
  const cwd = await ownFolder();
  writeFileSync(join(cwd, 'all.jsonl'), lines.join(''));
  writeFileSync(join(cwd, 'a.jsonl'), lines.slice(0, 50).join(''));
  writeFileSync(join(cwd, 'b.jsonl'), lines.slice(50).join(''));
  const text = ['--text', 'body', '-q'];
  const parts = await run(
    ['frequencies', 'a.jsonl', 'b.jsonl', '-o', 'sum.arrow', ...text.slice(0, 2)],
    { cwd },
  );
  expect([parts.code, parts.stderr]).toEqual([0, '60 words of 90 texts in sum.arrow\n']);
  const words = ['frequencies', '-', '--from', 'jsonl', '-o', 'stream.arrow', ...text];
  expect((await run(words, { cwd, input: lines.join('') })).code).toBe(0);
  const [sum, stream] = ['sum.arrow', 'stream.arrow'].map((name) => readFileSync(join(cwd, name)));
  expect(stream).toEqual(sum);
  const table = frequenciesFromArrow(sum);
  const whole = new TextHasher().fit(texts);
  expect([table.documents, table.entries()]).toEqual([90, whole.entries()]);
  const codesBy = async (...options: string[]) => {
    const words = ['fingerprint', 'all.jsonl', ...text, '--to', 'jsonl', ...options];
    return rowsOf<{ code: string }>((await run(words, { cwd })).stdout).map(({ code }) => code);
  };
  const codes = await codesBy('--frequencies', 'sum.arrow');
  expect(codes).toEqual(await codesBy('--tf-idf'));
  expect(codes).not.toEqual(await codesBy());
});

it('a null is no text, and an empty one is', async () => {
  const cwd = await ownFolder();
  const input = '{"b":"green tea"}\n{"b":null}\n{"b":"black tea"}\n{"b":"..."}\n';
  const words = ['frequencies', '-', '--from', 'jsonl', '--text', 'b', '-o', 'table.arrow'];
  const { code, stderr } = await run(words, { cwd, input });
  expect([code, stderr]).toEqual([0, '3 words of 3 texts in table.arrow\n']);
});

it('a name of another format, two kinds of weights and a table of other tokens are refused', async () => {
  const cwd = await ownFolder();
  writeFileSync(join(cwd, 'all.jsonl'), lines.join(''));
  const text = ['all.jsonl', '--text', 'body'];
  expect((await run(['frequencies', ...text, '-o', 'words.arrow'], { cwd })).code).toBe(0);
  const weights = ['--frequencies', 'words.arrow'];
  for (const [words, code, message] of [
    [['frequencies', '-o', 'sum.csv'], 2, '-o expected a name in .arrow, got sum.csv'],
    [['fingerprint', '--tf-idf', ...weights], 2, '--frequencies does not go with --tf-idf'],
    [
      ['fingerprint', '--tokens', 'characters:3', ...weights],
      3,
      'words.arrow: the frequency table',
    ],
  ] as const) {
    const outcome = await run([...words, ...text], { cwd });
    expect([outcome.code, outcome.stderr]).toEqual([code, expect.stringContaining(message)]);
  }
  expect(readdirSync(cwd).sort()).toEqual(['all.jsonl', 'words.arrow']);
});

it('a file given twice, a file that is there and a missing name are refused', {
  tags: 'thorough',
}, async () => {
  const cwd = await ownFolder();
  writeFileSync(join(cwd, 'all.jsonl'), lines.join(''));
  writeFileSync(join(cwd, 'words.arrow'), 'old');
  const text = ['--text', 'body'];
  for (const [words, code, message] of [
    [['all.jsonl', './all.jsonl', '-o', 'sum.arrow'], 3, 'the same file as all.jsonl, given twice'],
    [['all.jsonl', '-o', 'words.arrow'], 1, 'exists'],
    [['all.jsonl'], 2, '-o table.arrow'],
    [['-o', 'sum.arrow'], 2, 'an input is missing'],
  ] as const) {
    const outcome = await run(['frequencies', ...words, ...text], { cwd });
    expect([outcome.code, outcome.stderr]).toEqual([code, expect.stringContaining(message)]);
  }
  expect(readdirSync(cwd).sort()).toEqual(['all.jsonl', 'words.arrow']);
});
