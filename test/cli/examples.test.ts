import { symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { VERBS } from '../../src/cli/verbs';
import { ownFolder, root, run, runLines } from './run';

// That of `explore` serves until it is stopped (explore.test.ts), that of `embed` needs a package, and
// demo.test.ts has that of `demo`.
const ENDING = VERBS.map(({ name }) => name).filter((name) => !/^(explore|embed|demo)$/.test(name));

it.each(ENDING)('the example of %s --help works', async (name) => {
  const { stdout } = await run([name, '--help']);
  const [, example] = /\nExample:\n((?: {2}.*\n)+)/.exec(stdout) ?? [];
  expect(example).toContain(`halfspace ${name}`);
  const cwd = await ownFolder();
  await symlink(join(root, 'datasets'), join(cwd, 'datasets'));
  // That of `search`, of two commands and with quotes, runs in a shell, the others in this process.
  const [, ...words] = example.trim().split(' ');
  const outcome = name === 'search' ? await runLines(example, cwd) : await run(words, { cwd });
  const { code, stderr } = outcome;
  expect([code, stderr]).toEqual([0, expect.any(String)]);
});
