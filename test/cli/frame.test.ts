import { execFileSync } from 'node:child_process';
import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { COMMON_OPTIONS, VERBS } from '../../src/cli/verbs';
import { command, ownFolder, root, rowsOf, run, runChild } from './run';

const NOUNS = 'datasets/nouns/nouns.arrow';

describe('halfspace', () => {
  it('tells its version', async () => {
    const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
    expect(await run(['--version'])).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' });
  });

  it('names all verbs in its help, and is misused without one', async () => {
    const help = await run(['--help']);
    expect(help.code).toBe(0);
    for (const { name, summary } of VERBS) {
      expect(help.stdout).toMatch(new RegExp(`^  ${name} +${summary}$`, 'm'));
    }
    expect(await run([])).toEqual({ ...help, code: 2 });
  });

  it('names the nearest verb for one that it does not know', async () => {
    expect(await run(['serach', 'x'])).toEqual({
      code: 2,
      stdout: '',
      stderr: 'halfspace: no verb "serach", did you mean search?\n',
    });
    expect((await run(['zzzzzzzz'])).stderr).toContain('the verbs are fingerprint, embed, index');
  });

  it('names the nearest option for one that it does not know', async () => {
    const { code, stderr } = await run(['search', 'x', '--max-distnace', '3']);
    expect([code, stderr]).toEqual([
      2,
      'halfspace: unknown option --max-distnace, did you mean --max-distance?\n',
    ]);
  });

  it('shows a stack with --debug only', async () => {
    const plain = await run(['info', '/no/such/file']);
    expect(plain.stderr).toBe('halfspace: /no/such/file: no such file or folder\n');
    const debug = await run(['info', '/no/such/file', '--debug']);
    expect(debug.stderr).toMatch(/\n +at /);
    expect([plain.code, debug.code]).toEqual([1, 1]);
  });
});

describe.each(VERBS.map(({ name }) => name))('%s --help', (name) => {
  it('tells usage and options, in lines of at most 100 columns', async () => {
    const { code, stdout, stderr } = await run([name, '--help']);
    expect([code, stderr]).toEqual([0, '']);
    const lines = stdout.split('\n');
    expect(lines[0]).toMatch(new RegExp(`^halfspace ${name}: .+`));
    expect(stdout).toMatch(new RegExp(`^Usage:\\n {2}halfspace ${name}( |$)`, 'm'));
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(100);
    expect(stdout).toMatch(/ {2}-q, --quiet +\S/);
  });

  it('has one long name and at most one short for each option, none of them twice', async () => {
    const verb = VERBS.find((one) => one.name === name);
    expect(await verb?.load()).toBeTypeOf('function');
    const options = [...(verb?.options ?? []), ...COMMON_OPTIONS];
    const names = options.map((option) => option.name);
    const shorts = options.flatMap((option) => option.short ?? []);
    expect(names).toEqual([...new Set(names)]);
    expect(shorts).toEqual([...new Set(shorts)]);
    for (const option of options) expect(option.short ?? 'x').toHaveLength(1);
  });
});

describe('rows out', () => {
  it('are JSONL in a pipe, and what --to or --json says', async () => {
    const args = ['fingerprint', '-', '--from', 'jsonl', '-q', '--bits', '8'];
    const input = '{"id":"a","vector":[1,2]}\n{"id":"b","vector":[-1,-2]}\n';
    const of = (...more: string[]) => run([...args, ...more], { input });
    const jsonl = await of();
    expect(jsonl.stderr).toBe('');
    expect(rowsOf(jsonl.stdout).map(({ id }) => id)).toEqual(['a', 'b']);
    expect((await of('--json')).stdout).toBe(jsonl.stdout);
    expect((await of('--to', 'csv')).stdout.split(/\r?\n/)[0]).toBe('id,code');
    const arrow = await of('--to', 'arrow');
    expect(arrow.stdout.slice(0, 6)).toBe('ARROW1');
  });

  it('are refused where a file exists, unless --force is given', async () => {
    const folder = await ownFolder();
    const out = join(folder, 'codes.jsonl');
    await writeFile(out, 'precious');
    const refused = await run(['fingerprint', NOUNS, '-o', out]);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toMatch(/codes\.jsonl.*--force|--force.*codes\.jsonl/);
    expect(await readFile(out, 'utf8')).toBe('precious');
    expect((await run(['fingerprint', NOUNS, '-o', out, '--force'])).code).toBe(0);
    expect(rowsOf(await readFile(out, 'utf8'))).toHaveLength(17_824);
    expect(await readdir(folder)).toEqual(['codes.jsonl']);
  });

  it('are refused where the output is the input, with --force too', async () => {
    const folder = await ownFolder();
    const file = join(folder, 'a.jsonl');
    await writeFile(file, '{"vector":[1,2]}\n');
    const { code, stderr } = await run(['fingerprint', file, '-o', file, '--force']);
    expect(code).toBe(1);
    expect(stderr).toContain('input');
    expect(await readFile(file, 'utf8')).toBe('{"vector":[1,2]}\n');
  });

  it('end without a word when the reader has gone, by the exit code of a closed pipe', async () => {
    const { code, stderr } = await runChild(['fingerprint', NOUNS, '-q', '--bits', '2048'], {
      meanwhile: (child) => child.stdout?.once('data', () => child.stdout?.destroy()),
    });
    expect([code, stderr]).toEqual([141, '']);
  });

  it('are not half there when the work fails', async () => {
    const folder = await ownFolder();
    const lines = Array.from({ length: 20_000 }, () => '{"vector":[1,2]}');
    await writeFile(join(folder, 'in.jsonl'), `${lines.join('\n')}\n{"vector":[1,2,3]}\n`);
    const { code } = await run(['fingerprint', 'in.jsonl', '-o', 'out.arrow'], { cwd: folder });
    expect(code).toBe(3);
    expect(await readdir(folder)).toEqual(['in.jsonl']);
  });
});

describe('a process', () => {
  it.each([
    [0, ['info', NOUNS]],
    [1, ['info', '/no/such/file']],
    [2, ['info', '--no-such-option']],
    [3, ['info', join(root, 'LICENSE'), '--from', 'arrow']],
  ] as const)(
    'ends with %i, and prints what a run in the process of tests does',
    async (code, args) => {
      const outcome = await runChild(args);
      expect(outcome.code).toBe(code);
      expect(outcome).toEqual(await run(args));
    },
  );

  it('reads a pipe and writes into one', async () => {
    const input = '{"vector":[1,2]}\n'.repeat(20_000);
    const args = ['fingerprint', '-', '--from', 'jsonl', '--threads', '2', '-q'];
    const outcome = await runChild(args, { input });
    expect(outcome).toEqual(await run(args, { input }));
    expect(rowsOf(outcome.stdout)).toHaveLength(20_000);
  });

  it('loads no more than its frame to answer --version', async () => {
    const folder = await ownFolder();
    // The scripts that a process loads are in its report of coverage.
    const env = { ...process.env, NODE_V8_COVERAGE: folder };
    execFileSync(process.execPath, [command, '--version'], { env });
    const [report] = await readdir(folder);
    const { result } = JSON.parse(await readFile(join(folder, report), 'utf8'));
    let bytes = 0;
    for (const { url } of result as { url: string }[]) {
      if (url.startsWith('file:')) bytes += (await stat(new URL(url))).size;
    }
    expect(bytes).toBeGreaterThan(5000);
    expect(bytes).toBeLessThan(50_000); // the command and the library are a megabyte
  });
});

describe('Ctrl-C', () => {
  const CODES = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    const title = `${signal} ends with ${CODES[signal]} and leaves no output`;
    it(title, { tags: 'thorough' }, async () => {
      const folder = await ownFolder();
      const outcome = await runChild(['fingerprint', '-', '--from', 'jsonl', '-o', 'out.arrow'], {
        cwd: folder,
        meanwhile: (child) => {
          // The input goes on for ever; once the output has begun, the signal comes.
          const more = setInterval(() => {
            child.stdin?.write('{"vector":[1,2]}\n'.repeat(5000));
            readdir(folder).then((names) => names.length > 0 && child.kill(signal));
          }, 50);
          child.on('close', () => clearInterval(more));
          if (child.stdin) child.stdin.end = () => child.stdin as never;
        },
      });
      expect([outcome.code, outcome.stdout]).toEqual([CODES[signal], '']);
      expect(await readdir(folder)).toEqual([]);
    });
  }
});

it('an index that was saved in spite of Ctrl-C is reported as saved', {
  tags: 'thorough',
}, async () => {
  const cwd = await ownFolder();
  const { code } = await runChild(['index', join(root, NOUNS), '-o', 'nouns.hs'], {
    cwd,
    meanwhile: (child) => {
      const look = setInterval(async () => {
        const names: string[] = await readdir(join(cwd, 'nouns.hs')).catch(() => []);
        if (names.some((name) => /^manifest-\d+\.json$/.test(name))) child.kill('SIGINT');
      }, 1);
      child.on('close', () => clearInterval(look));
    },
  });
  const verified = await run(['verify', 'nouns.hs'], { cwd });
  expect(verified.stdout).toBe('nouns.hs: sound, 17,824 rows\n');
  expect(code).toBe(0);
});

it('no escape of a file reaches the terminal by an error', async () => {
  const sequence = '\x1b[2J\x9b31m';
  const input = `${JSON.stringify({ [`a${sequence}`]: [1, 2], [`b${sequence}`]: [1, 2] })}\n`;
  const { code, stderr } = await run(['fingerprint', '-', '--from', 'jsonl'], { input });
  expect(code).toBe(2);
  expect(stderr).toContain('choose by --vector COLUMN');
  expect(stderr).not.toMatch(/[^\P{Cc}\n]/u);
});

it('writes nothing but its outputs', async () => {
  const folder = await ownFolder();
  await run(['fingerprint', join(root, NOUNS), '-o', 'codes.arrow', '-q'], { cwd: folder });
  expect(await readdir(folder)).toEqual(['codes.arrow']);
  expect((await stat(join(folder, 'codes.arrow'))).size).toBeGreaterThan(17_824 * 32);
});
