import { describe, expect, it } from 'vitest';
import { CommandError } from '../../src/cli/errors';
import type { Option } from '../../src/cli/options';
import { parse } from '../../src/cli/parse';

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
