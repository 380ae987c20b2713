import { copyFile, readFile, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { VERBS } from '../../src/cli/verbs';
import { ownFolder, root, runLines } from './run';

/** The commands of the README run, and print what stands below them. */

/** Blocks of commands and of what they print, but those that install or start a server. */
async function blocksOfReadme(): Promise<RegExpMatchArray[]> {
  const [commands] = (await readFile(join(root, 'README.md'), 'utf8')).split('\n## The library\n');
  const blocks = [...commands.matchAll(/```(sh)?\n(.*?)```/gs)];
  return blocks.filter(([text]) => !/npm install|halfspace (explore|demo)/.test(text));
}

it('the commands of the README do what it says', { tags: 'thorough' }, async () => {
  const cwd = await ownFolder();
  await copyFile(join(root, 'datasets/sample/docs.jsonl'), join(cwd, 'docs.jsonl'));
  await symlink(join(root, 'datasets'), join(cwd, 'datasets'));
  const blocks = await blocksOfReadme();
  expect(blocks.map(([, kind]) => kind)).toEqual(['sh', 'sh', undefined]);
  let printed = '';
  for (const [, kind, text] of blocks) {
    if (kind === undefined) {
      expect(printed).toBe(text);
      continue;
    }
    const { code, stdout, stderr } = await runLines(text.replaceAll('npx ', ''), cwd);
    expect([code, stderr]).toEqual([0, expect.any(String)]);
    printed = stdout;
  }
  const lines = async (file: string) => (await readFile(join(cwd, file), 'utf8')).split('\n');
  const kept = await lines('kept.jsonl');
  expect(kept.length).toBeLessThan((await lines('docs.jsonl')).length);
  for (const line of kept) expect(await lines('docs.jsonl')).toContain(line);
});

it.each(['docs/command.md', 'README.md'])('%s names every verb', async (file) => {
  const text = await readFile(join(root, file), 'utf8');
  const unnamed = VERBS.filter(({ name }) => !new RegExp(`(\`|halfspace )${name}\\b`).test(text));
  expect(unnamed.map(({ name }) => name)).toEqual([]);
});
