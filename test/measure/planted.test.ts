import { describe, expect, it } from 'vitest';
import { TextHasher } from '../../src';
import { LongWork } from '../../src/base/long-work';
import { plantCopies, scoreCopies } from '../../src/measure/calibrate';
import { splitterOf } from '../../src/text/tokens';
import { Draws } from '../reference/random';

const draws = new Draws('outcomes');
const texts = Array.from({ length: 200 }, () =>
  Array.from({ length: 30 }, () => `w${draws.integer(500)}`).join(' '),
);

/** Fewest single words that are put in, taken out or replaced to make one text the other. */
function editsBetween(one: readonly string[], other: readonly string[]): number {
  let before = Array.from({ length: other.length + 1 }, (_, i) => i);
  for (const [i, word] of one.entries()) {
    const row = [i + 1];
    for (const [j, another] of other.entries()) {
      row.push(Math.min(row[j] + 1, before[j + 1] + 1, before[j] + Number(word !== another)));
    }
    before = row;
  }
  return before[other.length];
}

const wordsOf = (text: string) => text.split(' ').filter((word) => word !== '');

describe('planted copies', () => {
  const share = 0.1;
  const copies = plantCopies(texts, { share, seed: 'a' });

  it('are two of each text: one that is the same, and one that is not', () => {
    expect(copies.map(({ original }) => original)).toEqual(texts.flatMap((_, i) => [i, i]));
    expect(copies.map(({ isSame }) => isSame)).toEqual(texts.flatMap(() => [true, false]));
  });

  it('have some of the words edited, by all parts of the share, or by twice the share', () => {
    const editsOf = (isSame: boolean) =>
      copies
        .filter((copy) => copy.isSame === isSame)
        .map(({ original, text }) => editsBetween(wordsOf(texts[original]), wordsOf(text)));
    // Of 30 words 1, 1, 2 (rounded) and 3 are edited; exchanging two is two replacements.
    const same = editsOf(true);
    expect(Math.min(...same)).toBe(1);
    expect(Math.max(...same)).toBeLessThanOrEqual(6);
    expect(same.filter((count) => count === 1).length).toBeGreaterThan(50);
    const others = editsOf(false);
    expect(Math.min(...others)).toBeGreaterThanOrEqual(3); // edits of one word may cancel out
    expect(Math.max(...others)).toBeLessThanOrEqual(12);
  });

  it('are the same for the same seed, and others for others', () => {
    expect(plantCopies(texts, { share, seed: 'a' })).toEqual(copies);
    expect(plantCopies(texts, { share, seed: 'b' })).not.toEqual(copies);
  });

  it('are made of texts in which one word is no larger share', () => {
    const short = texts.map((text) => text.split(' ').slice(0, 9).join(' '));
    expect(plantCopies(short, { share, seed: 'a' })).toEqual([]);
  });

  it('of scripts without blanks have characters edited', () => {
    const poem = '床前明月光疑是地上霜舉頭望明月低頭思故鄉';
    const [copy] = plantCopies([poem], { share: 0.5, seed: 'a' });
    expect(copy.text).not.toBe(poem);
    expect(copy.text).not.toContain(' ');
  });

  it('are compared with their originals as sets are by the definition', async () => {
    const hasher = new TextHasher({
      tokens: 'shingles:2',
      projection: 'minwise',
      empty: 'null',
    });
    const scored = await scoreCopies(texts, hasher, { share, seed: 'a' }, new LongWork());
    expect(scored.length).toBe(copies.length);
    for (const [i, { original, text, isSame }] of copies.entries()) {
      const [one, other] = [texts[original], text].map(
        (own) => new Set(splitterOf('shingles:2').split(own)),
      );
      const common = [...one].filter((token) => other.has(token)).length;
      expect(scored[i].similarity).toBeCloseTo(common / (one.size + other.size - common), 12);
      expect(scored[i].isSame).toBe(isSame);
    }
  });

  it('of texts without tokens are left out', async () => {
    const hasher = new TextHasher({ tokens: () => [], projection: 'minwise', empty: 'null' });
    expect(await scoreCopies(texts, hasher, { share, seed: 'a' }, new LongWork())).toEqual([]);
  });
});
