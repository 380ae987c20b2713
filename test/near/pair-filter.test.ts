import { describe, expect, it } from 'vitest';
import { pairs } from '../../src/near/pairs';
import { collection, type Pair, pairsByBruteForce, SHAPES } from '../near/collections';
import { Draws } from '../reference/random';

/** Pairs within groups of rows, against brute force that is filtered. */

describe.each(SHAPES)('%s codes', (shape) => {
  it('by groups, some of one row, some rows in none', async () => {
    const draws = new Draws(`groups ${shape}`);
    for (const [bits, groups] of [
      [64, 3],
      [13, 40],
      [100, 1],
      [256, 300],
    ]) {
      const codes = collection(shape, 300, bits, 2);
      const group = Int32Array.from({ length: 300 }, () => draws.integer(groups + 1) - 1);
      const expected = pairsByBruteForce(codes, null, 5).filter(
        ([a, b]) => group[a] >= 0 && group[a] === group[b],
      );
      const found: Pair[] = [];
      for await (const { a, b, distances } of pairs(codes, { group, maxDistance: 5 })) {
        for (let i = 0; i < a.length; i++) found.push([a[i], b[i], distances[i]]);
      }
      expect(found).toEqual(expected);
    }
  });
});

it('refuses groups of other lengths, and of two collections', () => {
  const codes = collection('uniform', 5, 64, 7);
  const group = new Int32Array(4);
  expect(() => pairs(codes, { maxDistance: 1, group })).toThrow(
    '"group" expected a group for each of 5 rows, got 4',
  );
  const grouped = { maxDistance: 1, group: new Int32Array(5) };
  expect(() => pairs(codes, codes, grouped)).toThrow('of one collection');
});
