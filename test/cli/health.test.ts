// @module-tag full

import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ownFolder, root, run } from './run';

const NOUNS = 'datasets/nouns/nouns.arrow';
const DOCS = join(root, 'datasets/sample/docs.jsonl');

async function docsIndex(): Promise<string> {
  const cwd = await ownFolder();
  await run(['index', DOCS, '-o', 'docs.hs', '-q'], { cwd });
  return cwd;
}

describe('info', () => {
  it('of a file tells its format, rows and columns', async () => {
    const { code, stdout } = await run(['info', NOUNS]);
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /: arrow, 17,824 rows, columns .*, vector \(FixedSizeList\[100\]<Float16>\)$/m,
    );
    const json = JSON.parse((await run(['info', NOUNS, '--json'])).stdout);
    expect(json).toMatchObject({ kind: 'file', format: 'arrow', rows: 17_824 });
    expect(json.columns.map(({ name }: { name: string }) => name)).toEqual([
      ...['word', 'category', 'vector'],
    ]);
  });

  it('of an index tells what it was made with, and its recall once it is measured', async () => {
    const cwd = await docsIndex();
    const before = await run(['info', 'docs.hs'], { cwd });
    expect(before.stdout).toMatch(/^ *rows +40$/m);
    expect(before.stdout).toMatch(/^ *bits +256$/m);
    expect(before.stdout).toMatch(/^ *texts +tokens words, counting raw$/m);
    expect(before.stdout).toMatch(/^ *recall +not measured/m);
    await run(['index', 'docs.hs', '--optimize', '-k', '3', '-q'], { cwd });
    const after = await run(['info', 'docs.hs'], { cwd });
    expect(after.stdout).toMatch(
      /^ *recall +[\d.]+ % of the true 3 nearest by distance of codes \(95 %: .* to .*, 20 rows held out\), method/m,
    );
    const json = JSON.parse((await run(['info', 'docs.hs', '--json'], { cwd })).stdout);
    expect(json).toMatchObject({ kind: 'index', rows: 40, generation: 2, report: { k: 3 } });
  });
});

describe('verify', () => {
  it('finds nothing wrong with what is sound', async () => {
    const cwd = await docsIndex();
    expect(await run(['verify', 'docs.hs'], { cwd })).toEqual({
      ...{ code: 0, stdout: 'docs.hs: sound, 40 rows\n', stderr: '' },
    });
    const file = await run(['verify', NOUNS]);
    expect([file.code, file.stdout]).toEqual([0, `${NOUNS}: sound, 17,824 rows\n`]);
  });

  it('names each damaged file of an index, and ends with 1', async () => {
    const cwd = await docsIndex();
    const names = await readdir(join(cwd, 'docs.hs'));
    const damaged = names.filter((name) => name.endsWith('.arrow'));
    expect(damaged.length).toBeGreaterThan(1);
    for (const name of damaged) {
      const path = join(cwd, 'docs.hs', name);
      const bytes = await readFile(path);
      bytes[bytes.length >> 1] ^= 1;
      await writeFile(path, bytes);
    }
    const { code, stdout } = await run(['verify', 'docs.hs'], { cwd });
    expect(code).toBe(1);
    for (const name of damaged) expect(stdout).toContain(name);
    const json = JSON.parse((await run(['verify', 'docs.hs', '--json'], { cwd })).stdout);
    expect(json.problems).toHaveLength(damaged.length);
  });

  it('finds a code that was changed in a file of codes', async () => {
    const cwd = await ownFolder();
    await run(['fingerprint', DOCS, '--columns', 'id', '-o', 'codes.arrow', '-q'], { cwd });
    expect((await run(['verify', 'codes.arrow'], { cwd })).code).toBe(0);
    const bytes = await readFile(join(cwd, 'codes.arrow'));
    const { stdout } = await run(['fingerprint', DOCS, '-q'], { cwd });
    const first = Buffer.from(JSON.parse(stdout.split('\n')[0]).code, 'hex');
    const at = bytes.indexOf(first);
    expect(at).toBeGreaterThan(0);
    bytes[at] ^= 4;
    await writeFile(join(cwd, 'codes.arrow'), bytes);
    const { code, stderr } = await run(['verify', 'codes.arrow'], { cwd });
    expect(code).toBe(3);
    expect(stderr).toMatch(/^halfspace: codes\.arrow: /);
  });

  it('finds a line that cannot be read, and a file that was cut', async () => {
    const cwd = await ownFolder();
    await writeFile(join(cwd, 'bad.jsonl'), '{"a":1}\n{"a":\n');
    const line = await run(['verify', 'bad.jsonl'], { cwd });
    expect([line.code, line.stdout]).toEqual([3, '']);
    expect(line.stderr).toMatch(/^halfspace: bad\.jsonl: .*line 2/);
    const whole = await readFile(join(root, NOUNS));
    await writeFile(join(cwd, 'cut.arrow'), whole.subarray(0, whole.length - 1000));
    const cut = await run(['verify', 'cut.arrow'], { cwd });
    expect(cut.code).toBe(3);
    expect(cut.stderr).toMatch(/^halfspace: cut\.arrow: /);
  });

  it('is told apart from a file that is not there', async () => {
    const { code, stdout, stderr } = await run(['verify', 'nowhere']);
    expect([code, stdout, stderr]).toEqual([
      ...[1, '', 'halfspace: nowhere: no such file or folder\n'],
    ]);
  });
});
