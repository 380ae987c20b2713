import { describe, expect, it } from 'vitest';
import { TextHasher, type TextHasherOptions } from '../../src/text/text-hasher';
import { hashWord, type Tokens, words } from '../../src/text/tokens';
import { Draws } from '../reference/random';

/** Texts that are read as sets of numbers, against the rule of docs/format.md in big integers. */

const MASK = 0xffff_ffffn;

function numberOf(run: readonly string[]): bigint {
  let [low, high] = [0n, 0n];
  for (const word of run) {
    const hash = hashWord(word);
    low = (low * 0x9e3779b1n + (hash & MASK)) & MASK;
    high = (high * 0x85ebca77n + (hash >> 32n)) & MASK;
  }
  return (high << 32n) | low;
}

/** Each number and how often it occurs, ascending. */
function naiveSet(text: string, width: number): [bigint, number][] {
  const all = [...words(text)];
  const counts = new Map<bigint, number>();
  const enter = (run: string[]) => {
    const number = numberOf(run);
    counts.set(number, (counts.get(number) ?? 0) + 1);
  };
  for (let i = 0; i + width <= all.length; i++) enter(all.slice(i, i + width));
  if (all.length > 0 && all.length < width) enter(all);
  return [...counts].sort(([a], [b]) => (a < b ? -1 : 1));
}

const hasherOf = (tokens: Tokens, options?: TextHasherOptions) =>
  new TextHasher({ bits: 128, tokens, projection: 'minwise', empty: 'null', ...options });

function setOf(hasher: TextHasher, text: string): [bigint, number][] {
  const { indices, values } = hasher.vectorize(text);
  return Array.from(indices as BigUint64Array, (one, i) => [one, values[i]]);
}

const draws = new Draws('text sets');
const PIECES = [
  ...['tea', 'Cup', 'a', 'I', 'né', 'naïve', 'ΑΣ', 'ﬁne', '東京都', 'カ', 'か', '한국', 'ก', '😀'],
  ...[' ', ' ', ' ', ' ', '\n', ', ', '-', '’', '。', '\u0301', '9', 'x_y', 'Ωm', 'İ', '\ud800'],
];
const randomText = (length: number) =>
  Array.from({ length }, () => PIECES[draws.integer(PIECES.length)]).join('');

describe('texts as sets', () => {
  it('have the numbers of the rule', () => {
    for (let trial = 0; trial < 300; trial++) {
      const text = randomText(draws.integer(60));
      for (const width of [1, 2, 5]) {
        const tokens = width === 1 ? 'words' : (`shingles:${width}` as const);
        expect(setOf(hasherOf(tokens), text), text).toEqual(naiveSet(text, width));
      }
    }
  });

  const title = 'have them in texts that are read in several parts, and in words that fill a part';
  it(title, () => {
    const long = `${randomText(9000)} `;
    const texts = [
      long.repeat(4),
      `${'word '.repeat(20_000)}end`,
      'x'.repeat(70_000),
      `${'a '.repeat(40_000)}${'y'.repeat(70_000)} ${'東'.repeat(66_000)} b c`,
    ];
    for (const text of texts) {
      expect(setOf(hasherOf('shingles:3'), text)).toEqual(naiveSet(text, 3));
    }
  });

  it('have them in ASCII of any length', () => {
    const ascii = (length: number) =>
      String.fromCharCode(...Array.from({ length }, () => draws.integer(128)));
    for (let length = 0; length < 200; length++) {
      const letters = 'aZ09'.repeat(length).slice(0, length);
      for (const text of [ascii(length), letters, `${letters} ${ascii(20)}`, ` ${letters}-`]) {
        const hasher = hasherOf('shingles:2');
        expect(setOf(hasher, text), text).toEqual(naiveSet(text, 2));
      }
    }
    // The longest text that is read at once, one more, and the same as words of one letter.
    for (const text of ['b'.repeat(65_536), 'b'.repeat(65_537), 'c '.repeat(32_768)]) {
      expect(setOf(hasherOf('shingles:2'), text)).toEqual(naiveSet(text, 2));
    }
  });

  it('have the codes of their vectors, whichever way they are read', async () => {
    const texts = Array.from({ length: 1500 }, () => randomText(draws.integer(30)));
    const hasher = hasherOf('shingles:2');
    const codes = await hasher.hashAll(texts);
    expect(codes.count).toBe(1500);
    texts.forEach((text, row) => {
      const vector = hasher.vectorize(text);
      expect(codes.isNull(row)).toBe(vector.values.length === 0);
      if (!codes.isNull(row)) expect(hasher.hasher.hash(vector)).toEqual(codes.at(row));
    });
  });
});

it('shingles are their strings where weights count', () => {
  const simhash = new TextHasher({ tokens: 'shingles:2' }).vectorize('green tea');
  expect([...(simhash.indices as BigUint64Array)]).toEqual([hashWord('green tea')]);
});

it('refuses what is no text, and counts as it is told', async () => {
  const hasher = hasherOf(words, { counting: 'log' });
  expect(() => hasher.vectorize(7 as never)).toThrow(TypeError);
  await expect(hasher.hashAll([7 as never])).rejects.toThrow(TypeError);
  const [one] = hasher.vectorize('tea tea').values;
  expect(one).toBeCloseTo(1 + Math.log(2), 14);
  expect(hasherOf(words, { counting: 'binary' }).vectorize('tea tea').values[0]).toBe(1);
  const strict = new TextHasher({ projection: 'minwise' });
  await expect(strict.hashAll(['tea', ''])).rejects.toThrow(
    'row 1: an all-zero vector, or a text without tokens, has no direction',
  );
});
