// @module-tag full

import { execFileSync } from 'node:child_process';
import { existsSync, lstatSync, symlinkSync } from 'node:fs';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { closeBrowser, hasChromium, openPage, overflow } from './explore/browser';
import { ownFolder, root, rowsOf, run, runChild, runInTerminal } from './run';

const DOCS = join(root, 'datasets/sample/docs.jsonl');
/** An escape of C0, one of C1, a mark that turns the text around, and an end of line. */
const OBEYED = '\x1b[2J\x9b31m\u202e\u2028gnp';
const HARMLESS = /^[\P{Cc}\n\t\r]*$/u;

function expectNothingObeyed(text: string): void {
  expect(text).toMatch(HARMLESS);
  expect(text).not.toMatch(/[\p{Bidi_C}\u2028\u2029]/u);
}

afterAll(closeBrowser);

describe('what a terminal would obey', () => {
  it('does not reach stderr by names of columns, ids and files', async () => {
    const cwd = await ownFolder();
    const row = { id: `a${OBEYED}`, [`b${OBEYED}`]: [1, 2], [`c${OBEYED}`]: [1, 2] };
    const name = `x${OBEYED}.jsonl`;
    await writeFile(join(cwd, name), `${JSON.stringify(row)}\n`);
    const several = await run(['fingerprint', name], { cwd });
    expect([several.code, several.stderr.includes('choose by --vector')]).toEqual([2, true]);
    expectNothingObeyed(several.stderr);
    const made = await run(['index', name, '--vector', `b${OBEYED}`, '-o', 'x.hs'], { cwd });
    expect(made).toMatchObject({ code: 0 });
    expectNothingObeyed(made.stderr);
    const missing = await run(['search', 'x.hs', '--row-id', `q${OBEYED}`], { cwd });
    expect([missing.code, missing.stderr.includes('no row of the id q')]).toEqual([1, true]);
    expectNothingObeyed(missing.stderr);
    const lost = await run(['verify', `no${OBEYED}`], { cwd });
    expect(lost.stderr).toContain('no such file');
    expectNothingObeyed(lost.stderr);
  });

  it('does not reach a terminal by rows, whatever their format, and files get it', async () => {
    const cwd = await ownFolder();
    const row = { id: `a${OBEYED}`, vector: [1, 2] };
    await writeFile(join(cwd, 'x.jsonl'), `${JSON.stringify(row)}\n`);
    for (const words of [[], ['--to', 'csv'], ['--to', 'jsonl'], ['--json']]) {
      const args = ['fingerprint', 'x.jsonl', '-q', ...words];
      const { code, stdout } = await runInTerminal(args, { cwd, env: { NO_COLOR: '1' } });
      expect([code, stdout.includes('\ufffd')]).toEqual([0, true]);
      expectNothingObeyed(stdout);
    }
    const info = await runInTerminal(['info', 'x.jsonl', '--json'], { cwd });
    expectNothingObeyed(info.stdout);
    const { stdout } = await run(['fingerprint', 'x.jsonl', '-q'], { cwd });
    expect(rowsOf<{ id: string }>(stdout)[0].id).toBe(row.id);
  });
});

describe('outputs', () => {
  it('leave a link that leads nowhere, unless --force is given', async () => {
    const cwd = await ownFolder();
    symlinkSync('nowhere', join(cwd, 'link.jsonl'));
    const args = ['fingerprint', DOCS, '--text', 'body', '-o', 'link.jsonl'];
    const refused = await run(args, { cwd });
    expect([refused.code, refused.stderr.includes('a link to nothing')]).toEqual([1, true]);
    expect(lstatSync(join(cwd, 'link.jsonl')).isSymbolicLink()).toBe(true);
    expect((await run([...args, '--force'], { cwd })).code).toBe(0);
    expect(rowsOf(await readFile(join(cwd, 'link.jsonl'), 'utf8'))).toHaveLength(40);
    expect(existsSync(join(cwd, 'nowhere'))).toBe(false);
  });

  it.each([
    ['output', ['fingerprint', DOCS, '--text', 'body', '-o', 'pipe.jsonl']],
    ['input', ['fingerprint', 'pipe.jsonl', '--text', 'body', '-o', 'out.jsonl']],
  ])('end at a signal while an %s is a pipe without another end', async (_, args) => {
    const cwd = await ownFolder();
    execFileSync('mkfifo', [join(cwd, 'pipe.jsonl')]);
    let ended: NodeJS.Signals | null = null;
    const { code } = await runChild(args, {
      cwd,
      meanwhile: (child) => {
        child.on('exit', (_, signal) => {
          ended = signal;
        });
        setTimeout(() => child.kill('SIGINT'), 4000);
      },
    });
    expect([code, ended]).toEqual([null, 'SIGINT']);
    expect(await readdir(cwd)).toEqual(['pipe.jsonl']);
  });

  it('go into a pipe that is read', async () => {
    const cwd = await ownFolder();
    execFileSync('mkfifo', [join(cwd, 'pipe.jsonl')]);
    const [read] = await Promise.all([
      readFile(join(cwd, 'pipe.jsonl'), 'utf8'),
      run(['fingerprint', DOCS, '--text', 'body', '-o', 'pipe.jsonl', '-q'], { cwd }),
    ]);
    expect(rowsOf(read)).toHaveLength(40);
  });
});

it('verify finds an index sound that lacks only the copy of its manifest, and says so', async () => {
  const cwd = await ownFolder();
  await run(['index', DOCS, '--text', 'body', '-o', 'docs.hs', '-q'], { cwd });
  await rm(join(cwd, 'docs.hs', 'manifest.json'));
  const { code, stdout, stderr } = await run(['verify', 'docs.hs'], { cwd });
  expect([code, stdout]).toEqual([0, 'docs.hs: sound, 40 rows\n']);
  expect(stderr).toMatch(/^manifest\.json is missing: web hosts need it/);
});

it('explore -o that is stopped leaves the page that is there', async () => {
  const cwd = await ownFolder();
  const line = '{"vector":[0.12,-0.5,0.25,0.75,-0.125,0.5,0.0625,1]}\n';
  await writeFile(join(cwd, 'many.jsonl'), line.repeat(300_000));
  await run(['index', 'many.jsonl', '--vectors', 'float32', '-o', 'many.hs', '-q'], { cwd });
  await writeFile(join(cwd, 'page.html'), 'good');
  for (const wait of [500, 800, 1100]) {
    const { code, stderr } = await runChild(['explore', 'many.hs', '-o', 'page.html', '--force'], {
      cwd,
      meanwhile: (child) => setTimeout(() => child.kill('SIGINT'), wait),
    });
    // Null where a busy machine did not let it stop in time, and the signal itself ended it.
    expect([130, null]).toContain(code);
    expect(stderr).not.toContain('damaged');
    expect(await readFile(join(cwd, 'page.html'), 'utf8')).toBe('good');
  }
});

describe('a page', () => {
  const hostile = '</title><script>alert(1)</script><img src=x onerror=alert(2)>';

  async function pageOf(cwd: string): Promise<string> {
    const rows = Array.from({ length: 12 }, (_, i) =>
      JSON.stringify({
        id: `${hostile}${'long'.repeat(i)}${i}`,
        body: `${hostile} 鯨の本 ${'unbroken'.repeat(20)} word${i} word${i % 3} other${i % 2}`,
      }),
    );
    await writeFile(join(cwd, 'x.jsonl'), `${rows.join('\n')}\n`);
    const own = join(cwd, `x ${hostile.replaceAll('/', '_')}.hs`);
    expect((await run(['index', 'x.jsonl', '--text', 'body', '-o', own], { cwd })).code).toBe(0);
    const made = await run(['explore', own, '-o', 'x.html'], { cwd });
    expect(made.code).toBe(0);
    return join(cwd, 'x.html');
  }

  it('allows itself nothing but its own script and style, and names no folder', async () => {
    const cwd = await ownFolder();
    const pages = [await pageOf(cwd), join(cwd, 'docs.html')];
    const page = ['explore', DOCS, '--text', 'body', '-o', 'docs.html'];
    expect((await run(page, { cwd })).code).toBe(0);
    for (const path of pages) {
      const text = await readFile(path, 'utf8');
      const [, policy] =
        /<meta http-equiv="Content-Security-Policy" content="([^"]*)">/.exec(text) ?? [];
      expect(policy).toMatch(
        /^default-src 'none'; script-src 'sha256-[\w+/=]{44}'; style-src 'sha256-[\w+/=]{44}'; img-src data:; base-uri 'none'; form-action 'none'$/,
      );
      expect(text.indexOf('Content-Security-Policy')).toBeLessThan(text.indexOf('<title>'));
      expect(text).not.toMatch(/<img|<script>alert/);
      expect(/<title>(.*)<\/title>\n/.exec(text)?.[1]).not.toMatch(/halfspace-cli-|datasets/);
    }
  });

  it.runIf(hasChromium)('is styled, and fits a screen of 390 pixels', async () => {
    const { page, problems } = await openPage(await pageOf(await ownFolder()));
    for (const width of [390, 1200]) {
      await page.setViewportSize({ width, height: 800 });
      expect([width, await overflow(page)]).toEqual([width, 0]);
    }
    expect(await page.locator('img').count()).toBe(0);
    const ground = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    expect(ground).toBe('rgb(246, 247, 248)');
    expect(problems).toEqual([]);
  });
});

describe('a column named __proto__', () => {
  const line = (id: string, value: number) => `{"id":"${id}","__proto__":${value},"body":"a b"}\n`;

  it('has the type of --types, and is not passed over', async () => {
    const cwd = await ownFolder();
    await writeFile(join(cwd, 'x.csv'), '__proto__,body\nword,a b\n');
    const args = ['index', 'x.csv', '--text', 'body', '-o', 'x.hs', '--types', '__proto__=number'];
    const { code, stderr } = await run(args, { cwd });
    expect([code, stderr]).toEqual([3, expect.stringContaining('column "__proto__" expected a')]);
  });

  it('is appended in the type that the index has, filtered and shown from its file', async () => {
    const cwd = await ownFolder();
    await writeFile(join(cwd, 'first.jsonl'), line('p', 6.5));
    await writeFile(join(cwd, 'next.jsonl'), line('q', 5));
    const index = ['--text', 'body', '-o', 'x.hs', '-q'];
    expect(await run(['index', 'first.jsonl', ...index], { cwd })).toMatchObject({ code: 0 });
    const appended = await run(['index', 'next.jsonl', ...index, '--append'], { cwd });
    expect(appended).toMatchObject({ code: 0, stderr: '' });
    const asked = ['--memory', '64M', '--filter', '__proto__ < 6', '--columns', '__proto__'];
    const found = await run(['search', 'x.hs', '--query', 'a', ...asked], { cwd });
    expect(found).toMatchObject({ code: 0, stderr: '' });
    expect(found.stdout).toContain('"id":"q"');
    expect(found.stdout).toContain('"__proto__":5}');
    expect(found.stdout.trim().split('\n')).toHaveLength(1);
  });
});

it('rows are appended whose lists are empty or whole, or whose values are all texts', async () => {
  const cwd = await ownFolder();
  const lines = (...rows: object[]) => rows.map((row) => `${JSON.stringify(row)}\n`).join('');
  const old = { id: 'p', body: 'a b', tags: ['x', 'y'], sizes: [0.5], mixed: 'm' };
  const added = [
    { id: 'q', body: 'a b c', tags: [], sizes: [1, 2], mixed: 'n "1"' },
    { id: 'r', body: 'a b c d', tags: null, sizes: [], mixed: null },
  ];
  await writeFile(join(cwd, 'first.jsonl'), lines(old, { ...old, id: 'o', mixed: 7 }));
  await writeFile(join(cwd, 'next.jsonl'), lines(...added));
  const index = ['--text', 'body', '-o', 'x.hs', '-q'];
  const carried = ['--columns', 'body,tags,sizes,mixed'];
  expect(await run(['index', 'first.jsonl', ...index, ...carried], { cwd })).toMatchObject({
    code: 0,
  });
  const appended = await run(['index', 'next.jsonl', ...index, '--append'], { cwd });
  expect(appended).toMatchObject({ code: 0, stderr: '' });
  const found = await run(['search', 'x.hs', '--row-id', 'o', ...carried], { cwd });
  const shown = found.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  for (const row of added) expect(shown.find(({ id }) => id === row.id)).toMatchObject(row);
});
