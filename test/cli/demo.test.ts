import { existsSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { rowsOf, run, runChild, runInTerminal } from './run';

/** The folder that the demo says it made; it is removed after the test. */
function folderOf(stdout: string): string {
  const folder = /^\$ cd (\S+halfspace-demo-\w+)\r?$/m.exec(stdout)?.[1] as string;
  expect(dirname(folder)).not.toBe('.');
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

it('finds and drops duplicates, searches, and writes the page', async () => {
  const { code, stdout, stderr } = await runChild(['demo']);
  expect(code).toBe(0);
  const folder = folderOf(stdout);
  const commands = stdout.split('\n').filter((line) => line.startsWith('$ halfspace '));
  expect(commands.map((line) => line.split(' ')[2])).toEqual([
    ...['dedup', 'dedup', 'index', 'search', 'explore'],
  ]);
  expect(stderr).toContain('40 rows: 30 to keep, 10 to drop (25.0 %), in 10 groups');
  const found = rowsOf<{ id: string }>(stdout.replaceAll(/^\$.*$/gm, ''));
  expect(found.map(({ id }) => id)).toContain('tea-1');
  expect(existsSync(join(folder, 'page.html'))).toBe(true);
});

it('serves the page on a terminal, until Ctrl-C', async () => {
  const { code, stdout } = await runInTerminal(['demo'], { interruptAfter: /http:\S+/ });
  folderOf(stdout);
  expect(code).toBe(130);
  expect(stdout).toMatch(/explore docs.jsonl --text body --plan plan.jsonl\r\nhttp:\/\//);
});

it('takes no input', async () => {
  const { code, stderr } = await run(['demo', 'docs.jsonl']);
  expect([code, stderr]).toEqual([2, 'halfspace: demo takes no input\n']);
});
