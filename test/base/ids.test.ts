import { describe, expect, it } from 'vitest';
import { compareIds } from '../../src/base/ids';
import { Draws } from '../reference/random';

/** Characters at the borders of what UTF-16 and UTF-8 order otherwise. */
const LETTERS = ['a', 'b', 'é', '\ud7ff', '\ue000', '\uffee', '\u{10000}', '😀', '\u{10ffff}'];

describe('the order of ids', () => {
  it('of texts is that of their UTF-8', () => {
    const draws = new Draws('order of ids');
    const text = () => Array.from({ length: draws.integer(4) }, () => draws.pick(LETTERS)).join('');
    let differing = 0;
    for (let i = 0; i < 5000; i++) {
      const [a, b] = [text(), text()];
      expect(Math.sign(compareIds(a, b))).toBe(Buffer.compare(Buffer.from(a), Buffer.from(b)));
      differing += Number(a < b !== compareIds(a, b) < 0);
    }
    expect(differing).toBeGreaterThan(50); // or the letters prove nothing
  });

  it('of numbers is that of their values', () => {
    expect([10, 9, -2].sort(compareIds)).toEqual([-2, 9, 10]);
    expect([2n ** 63n, 9n, 10n, -1n].sort(compareIds)).toEqual([-1n, 9n, 10n, 2n ** 63n]);
  });
});
