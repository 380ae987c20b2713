import { execFile } from 'node:child_process';
import { symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { VERBS } from '../../src/cli/verbs';
import { command, ownFolder, root, run } from './run';

it.each(VERBS.map(({ name }) => name))('the example of %s --help works', async (name) => {
  const { stdout } = await run([name, '--help']);
  const [, example] = /\nExample:\n((?: {2}.*\n)+)/.exec(stdout) ?? [];
  expect(example).toContain(`halfspace ${name}`);
  const cwd = await ownFolder();
  await symlink(join(root, 'datasets'), join(cwd, 'datasets'));
  await writeFile(
    join(cwd, 'halfspace'),
    `#!/bin/sh\nexec '${process.execPath}' '${command}' "$@"\n`,
    {
      mode: 0o755,
    },
  );
  const env = { ...process.env, PATH: `${cwd}:${process.env.PATH}` };
  const done = promisify(execFile)('bash', ['-e', '-c', example], { cwd, env });
  await expect(done).resolves.toBeDefined();
});
