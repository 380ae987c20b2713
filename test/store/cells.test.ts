import { expect, it } from 'vitest';
import { Cells } from '../../src/store/cache';
import { Draws } from '../reference/random';

const keysOf = (cells: Cells, keys: number) =>
  Array.from({ length: keys }, (_, key) => key).filter((key) => cells.firstOf(key) >= 0);

it('what is wanted has cells of its own, and keeps them until it is evicted', () => {
  const draws = new Draws(7);
  for (let round = 0; round < 20; round++) {
    const keys = 1 + draws.integer(40);
    const sizes = Array.from({ length: keys }, () => 1 + draws.integer(9));
    const count = Math.max(...sizes) + draws.integer(60);
    const cells = new Cells(count, keys, (key) => sizes[key]);
    const held = () => new Map(keysOf(cells, keys).map((key) => [key, cells.firstOf(key)]));
    for (let step = 0; step < 60; step++) {
      const wanted = new Set<number>();
      let left = count;
      for (let i = draws.integer(keys); i >= 0; i--) {
        const key = draws.integer(keys);
        if (wanted.has(key) || sizes[key] > left) continue;
        wanted.add(key);
        left -= sizes[key];
      }
      const before = held();
      const missing = cells.take(Uint32Array.from(wanted));
      const after = held();
      expect([...wanted].filter((key) => !after.has(key))).toEqual([]);
      expect([...wanted].filter((key) => !before.has(key) && !missing.includes(key))).toEqual([]);
      const taken = new Set<number>();
      for (const [key, first] of after) {
        if (!missing.includes(key)) expect(first).toBe(before.get(key));
        for (let cell = first; cell < first + sizes[key]; cell++) {
          expect([cells.keyAt(cell), taken.has(cell), cell < count]).toEqual([key, false, true]);
          taken.add(cell);
        }
      }
      if (draws.integer(5) > 0) continue;
      cells.drop(missing);
      for (const key of missing) after.delete(key);
      expect(held()).toEqual(after);
    }
  }
});

it('keys that all fit are never evicted', () => {
  const cells = new Cells(10, 5, (key) => key);
  for (const key of [4, 1, 3, 2, 4, 3]) cells.take(Uint32Array.of(key));
  expect(cells.take(Uint32Array.of(1, 2, 3, 4))).toEqual([]);
});

it('one that was used since its last turn is spared once', () => {
  const cells = new Cells(3, 9, () => 1);
  for (const key of [0, 1, 2]) cells.take(Uint32Array.of(key));
  cells.take(Uint32Array.of(3)); // all were used: the round spares them, and 0 is the first again
  expect(keysOf(cells, 9)).toEqual([1, 2, 3]);
  cells.take(Uint32Array.of(1));
  cells.take(Uint32Array.of(4));
  expect(keysOf(cells, 9)).toEqual([1, 3, 4]);
});

it('wanted keys between which no other fits are moved', () => {
  const cells = new Cells(6, 9, (key) => (key < 6 ? 1 : 4));
  cells.take(Uint32Array.of(0, 1, 2, 3, 4, 5));
  expect(cells.take(Uint32Array.of(1, 4, 6))).toEqual([1, 4, 6]);
  expect(keysOf(cells, 9)).toEqual([1, 4, 6]);
});
