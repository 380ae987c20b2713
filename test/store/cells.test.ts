import { expect, it } from 'vitest';
import { Cells } from '../../src/store/cache';
import { Draws } from '../reference/random';

const keysOf = (cells: Cells, keys: number) =>
  Array.from({ length: keys }, (_, key) => key).filter((key) => cells.firstOf(key) !== undefined);

it('what is wanted has cells of its own, until it is evicted', () => {
  const draws = new Draws(7);
  for (let round = 0; round < 20; round++) {
    const keys = 1 + draws.integer(40);
    const sizes = Array.from({ length: keys }, () => 1 + draws.integer(9));
    const count = Math.max(...sizes) + draws.integer(60);
    const owner = new Int32Array(count).fill(-1);
    const ownersOf = (key: number, first: number) => owner.subarray(first, first + sizes[key]);
    const cells: Cells = new Cells(
      count,
      (key) => sizes[key],
      (key) => {
        const first = cells.firstOf(key) as number;
        // Those that were given cells by this call of `take` are not filled yet.
        const [one, ...others] = new Set(ownersOf(key, first));
        expect([[key, -1].includes(one), others]).toEqual([true, []]);
        ownersOf(key, first).fill(-1);
      },
    );
    for (let step = 0; step < 60; step++) {
      const wanted = new Set<number>();
      let left = count;
      for (let i = draws.integer(keys); i >= 0; i--) {
        const key = draws.integer(keys);
        if (wanted.has(key) || sizes[key] > left) continue;
        wanted.add(key);
        left -= sizes[key];
      }
      const missing = cells.take(wanted);
      for (const key of missing) {
        const own = ownersOf(key, cells.firstOf(key) as number);
        expect([own.length, ...new Set(own)]).toEqual([sizes[key], -1]);
        own.fill(key);
      }
      for (const key of wanted) {
        const first = cells.firstOf(key) as number;
        expect(owner[first]).toBe(key);
        expect(cells.keyAt(first + sizes[key] - 1)).toBe(key);
      }
      if (draws.integer(5) === 0) cells.drop(missing);
      const held = keysOf(cells, keys).reduce((sum, key) => sum + sizes[key], 0);
      expect(owner.filter((key) => key >= 0)).toHaveLength(held);
    }
  }
});

it('keys that all fit are never evicted', () => {
  const evicted: number[] = [];
  const cells = new Cells(
    10,
    (key) => key,
    (key) => evicted.push(key),
  );
  for (const key of [4, 1, 3, 2, 4, 3]) cells.take(new Set([key]));
  expect(cells.take(new Set([1, 2, 3, 4]))).toEqual([]);
  expect(evicted).toEqual([]);
});

it('one that was used since its last turn is spared once', () => {
  const cells = new Cells(3, () => 1);
  for (const key of [0, 1, 2]) cells.take(new Set([key]));
  cells.take(new Set([3])); // all were used: the round spares them, and 0 is the first again
  expect(keysOf(cells, 9)).toEqual([1, 2, 3]);
  cells.take(new Set([1]));
  cells.take(new Set([4]));
  expect(keysOf(cells, 9)).toEqual([1, 3, 4]);
});

it('wanted keys between which no other fits are moved', () => {
  const cells = new Cells(6, (key) => (key < 6 ? 1 : 4));
  cells.take(new Set([0, 1, 2, 3, 4, 5]));
  expect(cells.take(new Set([1, 4, 6]))).toEqual([1, 4, 6]);
  expect(keysOf(cells, 9)).toEqual([1, 4, 6]);
});
