import { describe, expect, it } from 'vitest';
import { FrequencyTable, pairs, TextHasher } from '../../src';
import { normalized, type Tokens } from '../../src/text/tokens';

/** What is taken out of texts before they become tokens. */

const plain = (text: string, ...rules: Parameters<typeof normalized>[1]) =>
  normalized(text, rules).replaceAll(/\s+/g, ' ').trim();

describe('html', () => {
  it.each([
    ['<p>Green <b class="x">tea</b></p>', 'Green tea'],
    ['one<br/>two<!-- not <b>this</b> -->three', 'one two three'],
    ['a <script type="x">if (a < b) { f("</p>") }</script > b', 'a b'],
    ['a<STYLE>p > q { color: red }</Style>b', 'a b'],
    ['<!DOCTYPE html><?xml version="1.0"?>x', 'x'],
    [
      'fish &amp; chips &lt;3 &#233;&#xE9; &quot;&apos;&nbsp;&copy;',
      'fish & chips <3 éé "\' &copy;',
    ],
    ['a < b and b > c, x<3', 'a < b and b > c, x<3'],
    ['if a <b then', 'if a <b then'],
    ['open <!-- to the end', 'open'],
    ['open <script> to the end', 'open'],
    ['&#1114112; &#xfffffff;', '&#1114112; &#xfffffff;'],
  ])('%s', (text, expected) => {
    expect(plain(text, 'html')).toBe(expected);
  });

  it.each(['<!--', '<script', '<script>', '</script', '<a', '&#', '<a <b', '<!-- -', '&&'])(
    'that is not closed takes linear time: %s',
    (part) => {
      // In quadratic time, a quarter of a million of them would take minutes.
      expect(normalized(part.repeat(2 ** 18), ['html', 'numbers', 'punctuation'])).not.toContain(
        '&#',
      );
    },
  );
});

it('numbers and punctuation of any script leave blanks', () => {
  expect(plain('page 12 of 1,234: ٣ rows, Ⅷ½ x2y', 'numbers')).toBe('page of , : rows, x y');
  expect(plain('“Well”, 3 € + 5—that’s it。', 'punctuation')).toBe('Well 3 5 that s it');
});

describe.each(['signs', 'minwise'] as const)('a hasher of %s', (projection) => {
  const raw = [
    '<p>Page 12</p> of the report &amp; its annex, seen 2024-01-05.',
    '<div id="7">Page 13</div> of the report: its annex; seen 2025-12-31!',
  ];
  // Written out: what the rules leave.
  const left = ['page of the report its annex seen', 'page of the report its annex seen'];
  const normalize = ['punctuation', 'html', 'numbers'] as const;

  it.each<[string, Tokens]>([
    ['words', 'words'],
    ['shingles', 'shingles:2'],
    ['characters', 'characters:4'],
    ['tokens of the caller', (text: string) => text.toLowerCase().match(/\S+/g) ?? []],
  ])('reads %s of texts without them, in every call', async (_, tokens) => {
    const hasher = new TextHasher({ bits: 64, projection, tokens, normalize });
    const other = new TextHasher({ bits: 64, projection, tokens });
    const expected = (await other.hashAll(left)).bytes;
    expect((await hasher.hashAll(raw)).bytes).toEqual(expected);
    expect((await hasher.hashAll(raw)).bytes).toEqual(expected);
    expect((await hasher.hashAll(raw.values())).bytes).toEqual(expected);
    expect(hasher.hash(raw[0])).toEqual(other.hash(left[0]));
    expect(hasher.vectorize(raw[0])).toEqual(other.vectorize(left[0]));
    expect(hasher.keywords(raw[1])).toEqual(other.keywords(left[1]));
    expect(hasher.hash(raw[0])).toEqual(hasher.hash(raw[1]));
    expect(hasher.fit(raw).size).toBe(other.fit(left).size);
  });

  it('keeps them in what codes and tables say, and refuses others', async () => {
    const hasher = new TextHasher({ bits: 64, projection, normalize });
    const same = new TextHasher({
      bits: 64,
      projection,
      normalize: ['html', 'numbers', 'punctuation'],
    });
    const other = new TextHasher({ bits: 64, projection });
    expect(hasher.origin.texts).toContain('words without html and numbers and punctuation');
    expect(other.origin.texts).not.toContain('without');
    const near = { maxDistance: 64 };
    const [ours, alike, plain] = await Promise.all(
      [hasher, same, other].map((one) => one.hashAll(raw)),
    );
    expect(() => pairs(ours, alike, near)).not.toThrow();
    expect(() => pairs(ours, plain, near)).toThrow(/without html/);
    const frequencies = hasher.fit(raw);
    expect(frequencies).toBeInstanceOf(FrequencyTable);
    expect(() => new TextHasher({ frequencies })).toThrow(/without html/);
    expect(() => new TextHasher({ frequencies, normalize })).not.toThrow();
  });
});

it('names what it does not know', () => {
  const normalize = ['case'] as never;
  expect(() => new TextHasher({ normalize })).toThrow(/"normalize" expected .*html.*got "case"/);
  expect(() => new TextHasher({ normalize: 'html' as never })).toThrow(
    /"normalize" expected an array/,
  );
});
