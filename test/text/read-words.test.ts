import { describe, expect, it } from 'vitest';
import { TextHasher } from '../../src/text/text-hasher';
import { nextOdd } from '../../src/text/text-set';
import { hashWord, words } from '../../src/text/tokens';
import { Draws } from '../reference/random';

/**
 * The quick way to the words of a text, against `words`, which asks the engine for its rules.
 */

const hasher = new TextHasher();

/** The hashes of the words of a text, in its order. */
const quickly = (text: string) => Array.from(hasher.members(text), String);
const generally = (text: string) => words(text).map((word) => String(hashWord(word)));

const isOdd = (text: string) => nextOdd(text, 0) === 0;
const LAST_POINT = 0x10_ffff;

describe('the quick way has the words', () => {
  const both = (text: string) => [quickly, generally].map((way) => JSON.stringify(way(text)));
  const differs = (text: string) => new Set(both(text)).size > 1;

  it.each([
    ['by itself, beside letters, and doubled', (one: string) => `${one} A${one}b ${one}${one} `],
    ['beside letters of dense scripts', (one: string) => `漢${one}字か${one} ${one}カ`],
    ['before a mark, and after a sigma', (one: string) => `${one}\u0301 ΑΣ${one} ΑΣ${one}Α `],
  ])('for every code point %s', { tags: 'full' }, (_name, contextOf) => {
    const differing: number[] = [];
    for (let first = 0; first <= LAST_POINT; first += 512) {
      // Beyond the BMP, where all are read by the general way, two planes of letters and some more.
      if (first >= 0x3_0000 && first % 0x1_0000 >= 0x400) continue;
      const points = Array.from({ length: 512 }, (_, i) => first + i);
      const contexts = points.map((point) => contextOf(String.fromCodePoint(point)));
      const whole = contexts.join('\n');
      if (differs(whole)) differing.push(...points.filter((_, i) => differs(contexts[i])));
    }
    expect(differing.map((point) => point.toString(16))).toEqual([]);
  });

  it('for texts of all that is difficult, side by side', { tags: 'thorough' }, () => {
    const pieces = Array.from(
      "ΣσςΑα'.:<=>^´¨…·aBZ09 \n-,()ﬁ½①㈱㍻ⅣİıIßẞÅÅéñͺͅᾳᾼ٣अिन가각ㄱ각がガﾊﾞㇰ々ー〆〇漢字⼀，。！：．Ａ１\u3000\u00ad\u200d\ufeff\u2028\u0301\u0338😀𠀋𝛴",
    ).concat('\ud800', '\udc00', '\u3099', 'e\u0301', '가\u11a8', '=\u0338');
    const draws = new Draws(5);
    for (let i = 0; i < 20_000; i++) {
      const text = Array.from({ length: 1 + draws.integer(24) }, () => draws.pick(pieces)).join('');
      expect([text, quickly(text)]).toEqual([text, generally(text)]);
    }
  });
});

describe('the quick way', () => {
  it('has these words because whatever may compose with what is before it is odd', () => {
    let seen = 0;
    for (let point = 0; point <= LAST_POINT; point++) {
      const composed = String.fromCodePoint(point);
      const parts = Array.from(composed.normalize('NFD'));
      if (parts.length < 2 || composed.normalize('NFC') !== composed) continue;
      seen++;
      expect(isOdd(parts[parts.length - 1])).toBe(true);
    }
    expect(seen).toBeGreaterThan(10_000); // syllables of Hangul alone are 11,172
  });

  it('is taken: letters of most scripts, signs and spaces are not odd', () => {
    const plain =
      'The “naïve” Ελλάδα Москва שלום — ＡＢＣ１２ 近似，重复。これはテスト 한국어… ½'.slice(0, -1);
    expect(nextOdd(plain, 0)).toBe(plain.length);
    expect(['Σ', '\u0301', '½', 'ﬁ', '\ud83d', 'ᄀ', '゙'].every(isOdd)).toBe(true);
  });
});

it('a word that is longer than the room for one is read', () => {
  const long = 'x'.repeat(5000);
  const text = `a ${long} ${long}y ${long} ${'é'.repeat(300)}`;
  expect(quickly(text)).toEqual(text.split(' ').map((word) => String(hashWord(word))));
});

it('a run of a script without spaces that is longer than the room for letters is read', () => {
  for (const length of [2 ** 16 - 1, 2 ** 16, 2 ** 16 + 1, 2 ** 16 + 2, 2 ** 17]) {
    const letters = ['近似重复检测', 'a', 'bc', ' '].map((piece) => piece.repeat(length / 4));
    for (const text of [letters[0].slice(0, length), `${letters[0]}${letters.join('')}東`]) {
      expect(quickly(text).join()).toBe(generally(text).join());
    }
  }
});
