import { describe, expect, it } from 'vitest';
import { differences } from '../../src/explore/page/differences';
import { Draws } from '../reference/random';

const shown = (one: string, other: string) =>
  differences(one, other)
    .map(({ side, text }) => (side === 0 ? text : side < 0 ? `[-${text}]` : `[+${text}]`))
    .join('');

describe('differences of two texts', () => {
  it('are words, and runs of changed words are one change', () => {
    expect(shown('the old grey cat sat', 'the young cat sat down')).toBe(
      'the [-old grey][+young] cat sat[+ down]',
    );
    expect(shown('and break off the shoots', 'and pinch out the shoots')).toBe(
      'and [-break off][+pinch out] the shoots',
    );
    expect(shown('same', 'same')).toBe('same');
    expect(shown('', 'new')).toBe('[+new]');
    expect(shown('静夜思', '靜夜思')).toBe('[-静][+靜]夜思');
  });

  it('give both texts back, of any words', () => {
    const draws = new Draws('differences');
    const text = () =>
      Array.from(
        { length: draws.integer(40) },
        () => 'a b c ,\n鯨x'.split('')[draws.integer(9)],
      ).join('');
    for (let round = 0; round < 300; round++) {
      const [one, other] = [text(), text()];
      const pieces = differences(one, other);
      const of = (side: number) =>
        pieces.flatMap((piece) => (piece.side === -side ? [] : [piece.text])).join('');
      expect([of(-1), of(1)]).toEqual([one, other]);
    }
  });

  it('of long texts that share nothing take no product of their lengths', () => {
    const [one, other] = ['a', 'b'].map((word) => Array(50_000).fill(word).join(' '));
    const pieces = differences(`start ${one}`, `start ${other}`);
    expect(pieces.map(({ side }) => side)).toEqual([0, -1, 1]);
  });
});
