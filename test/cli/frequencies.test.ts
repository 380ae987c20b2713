import { readFileSync, writeFileSync } from 'node:fs';
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

it('tables of parts, of a file and of a stream, add up to that of the whole', {
  tags: 'thorough',
}, async () => {
  const cwd = await ownFolder();
  writeFileSync(join(cwd, 'all.jsonl'), lines.join(''));
  writeFileSync(join(cwd, 'part.jsonl'), lines.slice(0, 50).join(''));
  const text = ['--text', 'body', '-q'];
  const outcomes = [
    await run(['frequencies', 'part.jsonl', '-o', 'a.arrow', ...text], { cwd }),
    await run(['frequencies', '-', '--from', 'jsonl', '-o', 'b.arrow', ...text], {
      cwd,
      input: lines.slice(50).join(''),
    }),
    await run(['frequencies', 'a.arrow', 'b.arrow', '--merge', '-o', 'sum.arrow'], { cwd }),
  ];
  expect(outcomes.map(({ code }) => code)).toEqual([0, 0, 0]);
  expect(outcomes[2].stderr).toBe('60 words of 90 texts in sum.arrow\n');
  const table = frequenciesFromArrow(readFileSync(join(cwd, 'sum.arrow')));
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

it('a table of other tokens, a file that is there and a missing name are refused', {
  tags: 'thorough',
}, async () => {
  const cwd = await ownFolder();
  writeFileSync(join(cwd, 'all.jsonl'), lines.join(''));
  const make = (name: string, ...options: string[]) =>
    run(['frequencies', 'all.jsonl', '-o', name, '--text', 'body', ...options], { cwd });
  expect((await make('words.arrow')).code).toBe(0);
  expect((await make('pairs.arrow', '--tokens', 'shingles:2')).code).toBe(0);
  const before = readFileSync(join(cwd, 'words.arrow'));
  const merge = ['frequencies', '--merge', 'words.arrow', 'pairs.arrow'];
  for (const [words, code, message] of [
    [
      [...merge, '-o', 'sum.arrow'],
      1,
      "pairs.arrow has tokens 'shingles(2, words)', words.arrow has 'words'",
    ],
    [[...merge, '-o', 'words.arrow', '--force'], 1, 'words.arrow'],
    [['frequencies', 'all.jsonl', '-o', 'words.arrow', '--text', 'body'], 1, 'exists'],
    [['frequencies', 'all.jsonl', '--text', 'body'], 2, '-o table.arrow'],
    [['frequencies', '--merge', '-o', 'sum.arrow'], 2, '--merge takes tables'],
    [['frequencies', '--merge', 'all.jsonl', '-o', 'sum.arrow'], 3, 'all.jsonl'],
  ] as const) {
    const outcome = await run([...words], { cwd });
    expect([outcome.code, outcome.stderr]).toEqual([code, expect.stringContaining(message)]);
  }
  expect(readFileSync(join(cwd, 'words.arrow'))).toEqual(before);
});
