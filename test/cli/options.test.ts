import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Verb } from '../../src/cli/call';
import { type Option, parse } from '../../src/cli/options';
import { CommandError, sentenceOf } from '../../src/cli/talk';
import { COMMON_OPTIONS, VERBS } from '../../src/cli/verbs';
import { ownFolder, run } from './run';

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
    const { code, stderr } = await run(words, { cwd });
    expect([code, stderr]).toEqual([expected, expect.stringMatching(sentence)]);
    // Nothing is left, not even an empty folder.
    expect(readdirSync(cwd).sort()).toEqual(['bad.jsonl', 'in.jsonl']);
  });

  it('of an output that is not whole yet', () => {
    const error = Object.assign(new Error('x'), {
      code: 'EFBIG',
      path: 'a/.b.csv.0123456789ab.tmp',
    });
    expect(sentenceOf(error)).toMatch(/^a\/b\.csv: larger than/);
  });
});
