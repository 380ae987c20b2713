import { readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Verb } from '../../src/cli/call';
import { type Option, parse } from '../../src/cli/options';
import { CommandError } from '../../src/cli/talk';
import { COMMON_OPTIONS, VERBS } from '../../src/cli/verbs';
import { ownFolder, root, run, runLines } from './run';

const DOCS = join(root, 'datasets/sample/docs.jsonl');
const NOT_PERMITTED = 'not permitted, see its owner and mode';

const OPTIONS: readonly Option[] = [
  { name: 'output', short: 'o', value: 'FILE', help: '' },
  { name: 'max-distance', value: 'N', kind: 'integer', help: '' },
  { name: 'recall', value: 'SHARE', kind: 'number', help: '' },
  { name: 'columns', value: 'NAMES', kind: 'list', help: '' },
  { name: 'to', value: 'FORMAT', choices: ['arrow', 'csv'], help: '' },
  { name: 'force', help: '' },
];

const parsed = (...words: string[]) => {
  const { args, given } = parse(words, OPTIONS);
  return { args, given: Object.fromEntries(given) };
};

function misuseOf(...words: string[]): string {
  try {
    parse(words, OPTIONS);
  } catch (error) {
    expect(error).toBeInstanceOf(CommandError);
    expect((error as CommandError).exitCode).toBe(2);
    return (error as Error).message;
  }
  throw new Error(`${words.join(' ')} was taken`);
}

describe('parse', () => {
  it('tells arguments from options, in any order and spelling', () => {
    const expected = { args: ['in', '-'], given: { output: ['out'], 'max-distance': ['3'] } };
    expect(parsed('in', '-o', 'out', '-', '--max-distance', '3')).toEqual(expected);
    expect(parsed('--max-distance=3', 'in', '-oout', '-')).toEqual(expected);
  });

  it('takes what follows -- as arguments', () => {
    expect(parsed('--force', '--', '--force', '-x').args).toEqual(['--force', '-x']);
  });

  it('takes a list by commas and by the option again', () => {
    expect(parsed('--columns', 'a, b', '--columns=c').given.columns).toEqual(['a', 'b', 'c']);
  });

  it('takes negative numbers and - as values', () => {
    expect(parsed('--max-distance', '-5', '-o', '-').given).toEqual({
      'max-distance': ['-5'],
      output: ['-'],
    });
  });

  it('names the nearest option for one that it does not know', () => {
    expect(misuseOf('--max-distnace', '3')).toBe(
      'unknown option --max-distnace, did you mean --max-distance?',
    );
    expect(misuseOf('--max')).toContain('did you mean --max-distance?');
    expect(misuseOf('--zzzzzzzzzzzzzz')).toBe('unknown option --zzzzzzzzzzzzzz');
    expect(misuseOf('-x')).toContain('unknown option -x');
  });

  it.each([
    [['--output'], '--output expected a value: --output FILE'],
    [['--output', '--force'], '--output expected a value: --output FILE'],
    [['--output='], '--output expected a value: --output FILE'],
    [['--force=yes'], '--force takes no value'],
    [['-o', 'a', '-o', 'b'], '--output is given twice, give it once'],
    [['--max-distance', '1.5'], '--max-distance expected an integer, got "1.5"'],
    [['--max-distance', 'three'], '--max-distance expected an integer, got "three"'],
    [['--max-distance', '0x10'], '--max-distance expected an integer, got "0x10"'],
    [['--recall', 'high'], '--recall expected a number, got "high"'],
    [['--to', 'xml'], '--to expected one of arrow, csv, got "xml"'],
  ])('refuses %j', (words, message) => {
    expect(misuseOf(...words)).toBe(message);
  });
});

describe('help', () => {
  it.each(VERBS.map(({ name }) => name))(
    'of %s shows at most 25 options and those of all verbs',
    async (name) => {
      const { stdout } = await run([name, '--help']);
      const verb = VERBS.find((one) => one.name === name) as Verb;
      const shown = verb.options.filter(({ isHidden }) => !isHidden);
      expect(shown.length).toBeLessThanOrEqual(25);
      const [, first] = /\nOptions:\n(.*?)\n\n/s.exec(stdout) ?? [];
      expect((first?.match(/^ {2}(?:-\w, | {4})--/gm) ?? []).length).toBe(
        verb.first?.split(' ').length ?? shown.length + COMMON_OPTIONS.length,
      );
      expect(verb.first?.split(' ').length ?? 0).toBeLessThanOrEqual(10);
      for (const one of shown) expect(stdout).toMatch(new RegExp(`--${one.name}\\b`));
      for (const one of verb.first?.split(' ') ?? [])
        expect(shown.map((option) => option.name)).toContain(one);
      for (const line of stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(100);
    },
  );

  it('says the defaults that are taken', async () => {
    const cwd = await ownFolder();
    writeFileSync(join(cwd, 'in.jsonl'), '{"body":"one two three"}\n{"body":"one two four"}\n');
    const plan = await run(['dedup', 'in.jsonl', '--text', 'body'], { cwd });
    const same = ['--tokens', 'shingles:2', '--min-jaccard', '0.6', '--keep', 'first'];
    const said = await run(['dedup', 'in.jsonl', '--text', 'body', ...same], { cwd });
    expect(said.stdout).toBe(plan.stdout);
    const { stdout } = await run(['dedup', '--help']);
    expect(stdout).toMatch(/--tokens KIND .*\[shingles:2\]/);
    expect(stdout).toContain('(texts: 0.6)');
  });
});

describe('errors name what the user named', () => {
  it.each<[string, string[], number, RegExp]>([
    ['a wrong column', ['index', 'in.jsonl', '--text', 'x', '-o', 'a.hs'], 2, /no column "x"/],
    [
      'no index yet',
      ['search', 'in.jsonl', '--query', 'a'],
      2,
      /make one first, by halfspace index in\.jsonl -o in\.hs/,
    ],
    ['no folder', ['fingerprint', 'in.jsonl', '-o', 'no/x.csv'], 1, /needs a folder no, which/],
    ['a long name', ['info', 'a'.repeat(256)], 1, /a: its name is too long for the file system$/m],
    ['a link to itself', ['info', 'loop'], 1, /^halfspace: loop: a link that leads back/],
    [
      'no format',
      ['fingerprint', 'in.jsonl', '-o', 'x.bin'],
      2,
      /^halfspace: --output expected a/m,
    ],
    ['a format that is read', ['pairs', 'in.jsonl', '-o', 'x.npy'], 2, /--output expected a name/],
    ['no values', ['info', 'blank.jsonl'], 3, /^halfspace: blank\.jsonl: no line has a value$/m],
    ['no fitting column', ['pairs', 'flags.jsonl'], 3, /no column of vectors or texts or codes/],
    ['no input', ['pairs', 'none.jsonl'], 1, /^halfspace: none\.jsonl: no such file or folder$/m],
    [
      'no space',
      ['pairs', 'in.jsonl', '-o', '/dev/full', '--to', 'csv'],
      1,
      /\/dev\/full: no space left/,
    ],
    [
      'no row',
      ['index', 'bad.jsonl', '--vector', 'v', '-o', 'bad.hs', '--memory', '64M'],
      3,
      /bad\.jsonl: /,
    ],
  ])('%s', async (_, words, expected, sentence) => {
    const cwd = await ownFolder();
    writeFileSync(join(cwd, 'in.jsonl'), '{"body":"one two"}\n{"body":"one two"}\n');
    writeFileSync(join(cwd, 'bad.jsonl'), '{"v":[1,2]}\n{"v":[1]}\n');
    writeFileSync(join(cwd, 'flags.jsonl'), '{"flag":true}\n');
    writeFileSync(join(cwd, 'blank.jsonl'), '\n \n');
    symlinkSync('loop', join(cwd, 'loop'));
    const { code, stderr } = await run(words, { cwd });
    expect([code, stderr]).toEqual([expected, expect.stringMatching(sentence)]);
    // Nothing is left, not even an empty folder.
    const inputs = ['bad.jsonl', 'blank.jsonl', 'flags.jsonl', 'in.jsonl', 'loop'];
    expect(readdirSync(cwd).sort()).toEqual(inputs);
  });

  it('of an output that is not whole yet', async () => {
    const cwd = await ownFolder();
    const words = 'datasets/sample/docs.jsonl --text body --columns body -q -o';
    const line = `ulimit -f 1; cd '${root}'; halfspace fingerprint ${words} ${cwd}/out.csv`;
    const { code, stderr } = await runLines(line, cwd);
    expect([code, stderr]).toEqual([1, expect.stringContaining('/out.csv: larger than')]);
    expect(readdirSync(cwd)).toEqual([]);
  });

  it('of a folder that is changed where nothing can be written', async () => {
    const cwd = await ownFolder();
    await run(['index', DOCS, '--text', 'body', '-o', 'docs.hs', '-q'], { cwd });
    const line = 'ulimit -f 0; halfspace index docs.hs --remove tea-1';
    expect(await runLines(line, cwd)).toMatchObject({
      ...{ code: 1, stderr: expect.stringMatching(/^halfspace: docs\.hs: larger than/) },
    });
  });

  it('of an index that may not be read', async (context) => {
    const cwd = await ownFolder();
    await run(['index', DOCS, '--text', 'body', '-o', 'docs.hs', '-q'], { cwd });
    const [file] = readdirSync(join(cwd, 'docs.hs')).filter((name) => name.startsWith('rows'));
    // The superuser may read all, but without these capabilities.
    const isRoot = process.getuid?.() === 0;
    const own = isRoot ? 'setpriv --bounding-set -dac_override,-dac_read_search' : '';
    if (isRoot && (await runLines(`${own} true`, cwd)).code !== 0) return context.skip();
    const of = (path: string, verb: string) =>
      runLines(`chmod 000 ${path}; ${own} halfspace ${verb}`, cwd);
    expect(await of(`docs.hs/${file}`, 'verify docs.hs')).toMatchObject({
      ...{ code: 1, stdout: `${file}: permission denied\n`, stderr: '' },
    });
    for (const verb of ['search docs.hs --query tea', 'index docs.hs --compact', 'info docs.hs']) {
      expect(await of('docs.hs', verb)).toEqual({
        ...{ code: 1, stdout: '', stderr: `halfspace: docs.hs: ${NOT_PERMITTED}\n` },
      });
    }
    await chmod(join(cwd, 'docs.hs'), 0o700);
  });
});
