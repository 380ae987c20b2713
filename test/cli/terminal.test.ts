// @module-tag full

import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ownFolder, root, run, runInTerminal } from './run';

const NOUNS = join(root, 'datasets/nouns/nouns.arrow');
const DOCS = join(root, 'datasets/sample/docs.jsonl');
const ESCAPE = '\x1b';

/** Rows enough for a second of work. */
async function manyRows(folder: string, count = 150_000): Promise<string> {
  const line = '{"vector":[0.12,-0.5,0.25,0.75,-0.125,0.5,0.0625,1]}\n';
  await writeFile(join(folder, 'many.jsonl'), line.repeat(count));
  return join(folder, 'many.jsonl');
}

describe('in a terminal', () => {
  it('rows are a table as wide as the terminal, without colours', async () => {
    const cwd = await ownFolder();
    await run(['index', DOCS, '-o', 'docs.hs', '-q'], { cwd });
    const args = ['search', 'docs.hs', '--query', 'green tea', '-k', '3'];
    const { code, stdout } = await runInTerminal(args, { cwd, columns: 60 });
    expect(code).toBe(0);
    const lines = stdout.trimEnd().split('\r\n');
    expect(lines[0]).toMatch(/^query +rank +id +estimatedCos(?:ine|…) +body$/);
    expect(lines).toHaveLength(4);
    expect(lines[1]).toMatch(/^ +0 +1 +tea-[12] +0\.\d{4} +/);
    for (const line of lines.slice(1)) expect(line.length).toBeLessThanOrEqual(60);
    expect(stdout).not.toContain(ESCAPE);
  });

  it('progress tells the share and the time left, and is gone at the end', async () => {
    const cwd = await ownFolder();
    const input = await manyRows(cwd);
    const { code, stdout } = await runInTerminal(
      ['fingerprint', input, '-o', 'out.arrow', '--bits', '1024'],
      { cwd },
    );
    expect(code).toBe(0);
    expect(stdout).toMatch(/reading .*many\.jsonl {2}\d+ % {2}.* left/);
    // What is left of a line that is drawn again is what follows its last erasure.
    const shown = stdout.split('\r\n').map((line) => line.split(`${ESCAPE}[K`).at(-1));
    expect(shown.filter((line) => line?.includes('%'))).toEqual([]);
    expect(shown.some((line) => line?.includes('150,000 codes of 1024 bits'))).toBe(true);
  });

  it('--quiet shows neither progress nor sentences', async () => {
    const cwd = await ownFolder();
    const { code, stdout } = await runInTerminal(
      ['fingerprint', NOUNS, '-o', 'out.arrow', '--bits', '4096', '--quiet'],
      { cwd },
    );
    expect([code, stdout]).toEqual([0, '']);
  });

  it('Ctrl-C ends with 130 and leaves no output', async () => {
    const cwd = await ownFolder();
    const input = await manyRows(cwd, 400_000);
    const { code, stdout } = await runInTerminal(
      ['fingerprint', input, '-o', 'out.arrow', '--bits', '4096'],
      { cwd, interruptAfter: / %/ },
    );
    expect(code).toBe(130);
    expect(stdout).not.toContain('halfspace:');
    expect(await readdir(cwd)).toEqual(['many.jsonl']);
  });

  it('bytes that are not for people are refused', async () => {
    const { code, stdout } = await runInTerminal(['fingerprint', NOUNS, '--to', 'arrow']);
    expect(code).toBe(2);
    expect(stdout).toContain('arrow is not for a terminal: write it to a file by -o');
  });

  it('stdin that is the terminal itself is not waited for', async () => {
    const { code, stdout } = await runInTerminal(['fingerprint', '-', '--from', 'jsonl']);
    expect(code).toBe(2);
    expect(stdout).toContain('stdin is a terminal: name an input');
  });

  it('rows are JSON where that is asked for', async () => {
    const cwd = await ownFolder();
    await run(['index', DOCS, '-o', 'docs.hs', '-q'], { cwd });
    const args = ['search', 'docs.hs', '--query', 'green tea', '-k', '2', '--json'];
    const { stdout } = await runInTerminal(args, { cwd });
    expect(
      stdout
        .trim()
        .split(/\r?\n/)
        .map((line) => JSON.parse(line)),
    ).toHaveLength(2);
  });
});

describe('in a pipe', () => {
  it('there is no progress and there are no colours', async () => {
    const cwd = await ownFolder();
    const input = await manyRows(cwd);
    const { stdout, stderr } = await run(['fingerprint', input, '--bits', '8'], { cwd });
    expect(stderr.split('\n')).toHaveLength(3);
    expect(stdout + stderr).not.toContain(ESCAPE);
  });
});
