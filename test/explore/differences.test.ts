import { describe, expect, it } from 'vitest';
import { differences } from '../../src/explore/page/review-view';
import { Draws } from '../reference/random';

const shown = (one: string, other: string) =>
  differences(one, other)
    .map(({ side, text }) => (side === 0 ? text : side < 0 ? `[-${text}]` : `[+${text}]`))
    .join('');

describe('differences of two texts', () => {
  it('are words, and runs of changed words are one change', () => {
    expect(shown('the old grey cat sat', 'the young cat sat down')).toBe(
      'the[- old grey][+ young] cat sat[+ down]',
    );
    expect(shown('and break off the shoots', 'and pinch out the shoots')).toBe(
      'and[- break off][+ pinch out] the shoots',
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

  it('of whole documents show each change in its place', () => {
    const lines = Array.from({ length: 400 }, (_, i) => `line ${i} of ${i * 7919} words.\n`);
    const other = lines.map((line, i) => (i % 100 === 50 ? line.replace('words', 'other') : line));
    expect(differences(lines.join(''), other.join('')).filter(({ side }) => side !== 0)).toEqual(
      Array.from({ length: 8 }, (_, i) =>
        i % 2 === 0 ? { side: -1, text: ' words' } : { side: 1, text: ' other' },
      ),
    );
  });

  it('of long texts that share nothing take no product of their lengths', () => {
    const [one, other] = ['a', 'b'].map((word) => Array(50_000).fill(word).join(' '));
    const pieces = differences(`start ${one}`, `start ${other}`);
    expect(pieces.map(({ side }) => side)).toEqual([-1, 1]);
  });
});
