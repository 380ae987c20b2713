import { describe, expect, it } from 'vitest';
import { FormatError } from '../../src/base/check';
import { SimHasher } from '../../src/hashing/simhash';
import { frequenciesFromArrow, frequenciesToArrow } from '../../src/text/frequency-file';
import { FrequencyTable } from '../../src/text/frequency-table';
import { TextHasher, type TextHasherOptions } from '../../src/text/text-hasher';
import { hashWord, splitterOf, type Tokens, words } from '../../src/text/tokens';
import { runInChild } from '../table/in-child';
import type { LongLineReport } from './long-line.child';

/** What texts may be, and what tables may be given, that is not as it should be. */

const wordsOf = (hasher: TextHasher, text: string) => hasher.keywords(text).map(({ word }) => word);

describe('a text without words', () => {
  it.each([
    ['is empty', ''],
    ['has signs alone', ' ... — !?\n\u0000'],
    ['has signs of another script', '。、'],
  ])('that %s is an error, or has a null code', async (_name, text) => {
    const hasher = new TextHasher();
    expect(() => hasher.hash(text)).toThrow(RangeError);
    expect(() => hasher.hash(text)).toThrow('a text without tokens, has no direction');
    await expect(hasher.hashAll(['a', text])).rejects.toThrow('row 1: an all-zero vector');
    expect(hasher.vectorize(text).values.length).toBe(0);
    expect(hasher.keywords(text)).toEqual([]);
    const codes = await new TextHasher({ empty: 'null' }).hashAll(['a', text]);
    expect([codes.isNull(0), codes.isNull(1)]).toEqual([false, true]);
  });

  it('counts as a document', () => {
    const table = new TextHasher().fit(['', 'a', '']);
    expect([table.documents, table.size]).toEqual([3, 1]);
  });

  it('is not one that is no string', () => {
    for (const text of [undefined, null, 7, ['a']] as never[]) {
      expect(() => new TextHasher().hash(text)).toThrow('"text" expected a string');
      expect(() => new TextHasher().fit([text])).toThrow('"text" expected a string');
    }
  });
});

describe('lone surrogates', () => {
  it('are no part of a word', () => {
    const hasher = new TextHasher();
    expect(wordsOf(hasher, 'a\ud800b \udc00c\udc00 \ud800')).toEqual(['a', 'b', 'c']);
    expect(hasher.hash('a\ud800b')).toEqual(hasher.hash('a b'));
  });

  it('in tokens of your own hash as U+FFFD', () => {
    const tokens = (text: string) => text.split(' ');
    const hasher = new TextHasher({ tokens });
    expect(hasher.vectorize('x\ud800y').indices).toEqual(hasher.vectorize('x\ufffdy').indices);
    expect(hasher.vectorize('\udc00\ud83d\ude00').indices).toEqual(
      hasher.vectorize('\ufffd😀').indices,
    );
  });

  it('are characters of n-grams', () => {
    const hasher = new TextHasher({ tokens: 'characters:2' });
    expect(wordsOf(hasher, 'a\ud800b').sort()).toEqual(['a\ud800', '\ud800b']);
  });
});

describe('one line of 100 MB', () => {
  it.each([
    ['words', 'one two three four ', 4, 1],
    ['Chinese without a sign', '近似重复检测', 6, 1],
    ['one word', 'abcdefghij', 1, 16],
  ])(
    'of %s takes memory in proportion',
    { tags: 'full', timeout: 300_000 },
    async (_name, piece, words, most) => {
      const report = await runInChild<LongLineReport>('../text/long-line.child.ts', {
        args: [piece, '100'],
        nodeOptions: ['--expose-gc'],
        timeoutMs: 300_000,
      });
      expect(report.words).toBe(words);
      expect(report.peakBytes).toBeLessThan(most * 100e6);
      expect(report.keptBytes).toBeLessThan(32e6);
    },
  );

  it.each([
    ['words', 'one two three four '],
    ['no space', 'abcdefghij'],
    ['marks, which are read by the general way', 'e\u0301 a '],
    ['odd characters without a cut', '😀漢字.'],
  ])('would take time in proportion: %s', (_name, piece) => {
    const timeOf = (length: number) => {
      const line = piece.repeat(length / piece.length);
      const start = process.cpuUsage();
      new TextHasher({ empty: 'null' }).vectorize(line);
      const { user, system } = process.cpuUsage(start);
      return user + system;
    };
    timeOf(200_000);
    const times = [125_000, 1_000_000].map(timeOf);
    // An exponent of 1 is expected; of 2, it would be 64 times.
    expect(Math.log(times[1] / times[0]) / Math.log(8)).toBeLessThan(1.6);
  });
});

describe('a table of frequencies', () => {
  const texts = ['red apple', 'green apple', 'red tree'];
  const own = Object.assign((text: string) => text.split(' '), {});

  it.each<[string, TextHasherOptions, string]>([
    ['tokens', { tokens: 'shingles:2' }, "tokens 'words', not 'shingles:2'"],
    ['tokens of your own', { tokens: own }, "tokens 'words', not 'own'"],
    [
      'tokens of your own by name',
      { tokens: Object.assign((text: string) => text.split(' '), { kind: 'mine' }) },
      "tokens 'words', not 'mine'",
    ],
  ])('says by its file that it is of other %s', (_name, options, message) => {
    const frequencies = frequenciesFromArrow(frequenciesToArrow(new TextHasher().fit(texts)));
    expect(() => new TextHasher({ ...options, frequencies })).toThrow(
      `the frequency table was made with ${message}`,
    );
    const other = new TextHasher(options).fit(texts);
    expect(() => other.merge(frequencies)).toThrow('the frequency table was made with');
  });

  it('serves every seed, since words are hashed without one', () => {
    const frequencies = new TextHasher({ seed: 1 }).fit(texts);
    const [one, other] = [1, 2].map((seed) => new TextHasher({ seed, bits: 256, frequencies }));
    expect(one.vectorize(texts[0])).toEqual(other.vectorize(texts[0]));
    expect(one.hash(texts[0])).not.toEqual(other.hash(texts[0]));
  });

  it('is not a file of codes', async () => {
    const codes = await new SimHasher().hashAll([[1, 2]]);
    expect(codes.count).toBe(1);
    expect(() => frequenciesFromArrow(Uint8Array.of(1, 2, 3), { file: 'a.arrow' })).toThrow(
      FormatError,
    );
  });
});

describe('weights that are no numbers', () => {
  it('are refused as vectors, with the row and the dimension', () => {
    const vector = new TextHasher().vectorize('red apple');
    const values = Float64Array.of(1, Number.NaN);
    expect(() => new SimHasher().hash({ ...vector, values })).toThrow(
      `row 0: expected finite values, got NaN at dimension ${vector.indices[1]}`,
    );
  });
});

describe('what is not known is refused, and what is known listed', () => {
  const make = (options: object) => () => new TextHasher(options as never);
  it.each<[object, string]>([
    [{ tokens: 'bigrams' }, `"tokens" expected 'words', 'characters:N' or 'shingles:N' (N in 1`],
    [{ tokens: 'words:2' }, '(N in 1..1000), got "words:2"'],
    [{ tokens: null }, 'or a function from a text to strings, got null'],
    [{ tokens: { shingles: 2 } }, '"tokens" expected \'words\''],
    [{ counting: 'sqrt' }, `"counting" expected one of 'raw', 'log', 'binary', got "sqrt"`],
    [{ projection: 'hadamard' }, `"projection" expected one of 'signs', 'gaussian', 'direct'`],
    [{ counts: 'log' }, 'counting'],
  ])('%j', (options, message) => {
    expect(make(options)).toThrow(message);
  });

  it('tokens that are no strings', () => {
    const tokens = () => ['a', 7] as never;
    expect(() => new TextHasher({ tokens }).hash('x')).toThrow(
      '"tokens" gave a number, not a string',
    );
    expect(() => new TextHasher({ tokens: (() => 7) as never }).hash('x')).toThrow(TypeError);
  });

  it('words are what they are by default', () => {
    expect(new TextHasher().tokensName).toBe('words');
  });
});

describe('arguments of the wrong type', () => {
  const of = (call: (...args: never[]) => unknown, ...args: unknown[]) => {
    return () => {
      const answer = call(...(args as never[]));
      if (typeof answer === 'function') return [...(answer as (text: string) => string[])('a b')];
      return typeof answer === 'bigint' ? answer : [...(answer as string[])];
    };
  };
  const splitBy = (tokens: Tokens) => splitterOf(tokens).split;
  const hasher = new TextHasher();
  const unnamed = Object.assign((text: string) => [text], { kind: 1n as never });
  const detached = new Uint8Array(3);
  structuredClone(detached.buffer, { transfer: [detached.buffer] });

  it.each<[string, () => unknown, string]>([
    ['words', of(words, 7), '"text" expected a string, got 7'],
    ['characters', of(splitBy('characters:2'), null), '"text" expected a string, got null'],
    ['shingles', of(splitBy('shingles:2'), {}), '"text" expected a string, got Object'],
    ['tokens that are none', of(splitBy((() => 1) as never), 'a'), '"tokens" expected a function'],
    ['hashWord', of(hashWord, { length: 2 ** 53 }), '"word" expected a string, got Object'],
    ['keywords', of(hasher.keywords.bind(hasher), 'a', 1n), '"count" expected a number, got 1n'],
    ['a name', () => new TextHasher({ tokens: unnamed }), 'tokens."kind" expected a string'],
    ['a table', () => new FrequencyTable({} as never), '"tokens" expected a string'],
  ])('are refused: %s', (_name, call, message) => {
    expect(call).toThrow(TypeError);
    expect(call).toThrow(message);
  });
});
