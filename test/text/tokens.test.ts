import { describe, expect, it } from 'vitest';
import { splitterOf, type Tokens, words } from '../../src/text/tokens';

/** Tokens of each kind, by examples of several scripts. */

const splitBy = (tokens: Tokens, text: string) => [...splitterOf(tokens).split(text)];

describe('words', () => {
  it.each([
    ['The cat, the CAT; 3 cats!', ['the', 'cat', 'the', 'cat', '3', 'cats']],
    ['Straße naïve Ελλάδα Москва', ['straße', 'naïve', 'ελλάδα', 'москва']],
    ['ﬁne ＡＢＣ１２', ['fine', 'abc12']],
    ['近似重复检测', ['近似', '似重', '重复', '复检', '检测']],
    ['山 と 川', ['山', 'と', '川']],
    ['これはテスト', ['これ', 'れは', 'はテ', 'テス', 'スト']],
    ['GPT4模型v2', ['gpt4', '模型', 'v2']],
    ['한국어 문서', ['한국', '국어', '문서']],
    ['हिन्दी में', ['हिन्दी', 'में']],
    ['', []],
    ['... — !', []],
    ['a\ud800b', ['a', 'b']],
  ])('%s', (text, expected) => {
    expect(words(text)).toEqual(expected);
  });

  it('ASCII text takes the quick way to the same tokens', () => {
    const text = 'It is 10 o’clock, Mr. Smith-Jones said "no_way".';
    expect(words(`${text.replace('’', "'")}`)).toEqual(words(text));
    expect(words(`${text} é`)).toEqual([...words(text), 'é']);
  });
});

describe('characters and shingles', () => {
  it('overlap', () => {
    expect(splitBy('characters:3', 'Ab  cd')).toEqual(['ab ', 'b c', ' cd']);
    expect(splitBy('characters:2', '😀😁x')).toEqual(['😀😁', '😁x']);
    expect(splitBy('shingles:2', 'a b c d')).toEqual(['a b', 'b c', 'c d']);
  });

  it('a shorter text is one', () => {
    expect(splitBy('characters:9', 'abc')).toEqual(['abc']);
    expect(splitBy('shingles:3', 'a b')).toEqual(['a b']);
    expect(splitBy('shingles:3', '')).toEqual([]);
    expect(splitBy('characters:4', '  ')).toEqual([]);
  });

  it('refuse no characters', () => {
    for (const tokens of ['characters:0', 'shingles:1.5', 'shingles:1001', 'words:1'] as Tokens[])
      expect(() => splitterOf(tokens)).toThrow(`(N in 1..1000), got "${tokens}"`);
    expect(splitterOf('shingles:1000').wordsInToken).toBe(1000);
  });
});

it('kinds name themselves', () => {
  const kinds: Tokens[] = ['words', 'characters:4', 'shingles:3'];
  expect(kinds.map((tokens) => splitterOf(tokens).kind)).toEqual(kinds);
});
