// @module-tag full

import { execFile } from 'node:child_process';
import { it } from 'vitest';
import { root } from '../docs/examples';

/** Runs the command; its exit code and all that it printed. */
function faults(...args: string[]): Promise<{ code: number; text: string }> {
  const words = ['scripts/faults.mjs', '--seed', '7', ...args];
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      words,
      { cwd: root, timeout: 1_180_000 },
      (error, stdout, stderr) => {
        resolve({ code: error === null ? 0 : Number(error.code), text: stdout + stderr });
      },
    );
  });
}

// Next to each other: kills mostly wait.
it.concurrent.for([
  ['killed 30 times', ['--kills', '30'], /✓ kills: 3\d kills, \d+ reads/],
  ['robbed of power 300 times', ['--losses', '300'], /✓ losses: 30\d losses of power/],
  ['denied each call in turn', ['--errors'], /✓ errors: \d{3,} failing calls/],
] as const)(
  'every writer leaves the old state or the new one, %s',
  { timeout: 1_200_000 },
  async ([_name, args, words], { expect }) => {
    const { code, text } = await faults(...args);
    expect(text).toMatch(words);
    expect(text).toContain('1 passed, 0 failed');
    expect(code).toBe(0);
  },
);

it.concurrent.for([['--kills', '40'], ['--losses', '60'], ['--errors']])(
  'a writer that writes in place is found out by %s',
  { timeout: 1_200_000 },
  async (args, { expect }) => {
    const { code, text } = await faults(...args, '--work', 'in-place');
    expect(text).toMatch(/expected state \d+ to \d+/);
    expect(code).toBe(1);
  },
);
