import { expect, it } from 'vitest';
import { IdLookup, idsOnce } from '../../src/index/ids';
import { Draws } from '../reference/random';

it.each([
  ['numbers', (i: number) => i],
  ['strings', (i: number) => `id ${i}`],
  ['bigints', (i: number) => BigInt(i) << 40n],
])('finds ids as a map does, %s', (_, idOf) => {
  const draws = new Draws('ids');
  const lookup = new IdLookup();
  const model = new Map<number | string | bigint, number>();
  for (let turn = 0; turn < 600; turn++) {
    const id = idOf(draws.integer(60));
    const position = model.get(id);
    if (position === undefined || turn % 3 === 0) {
      model.set(id, turn);
      lookup.set(id, turn);
      // The position before, which the id has no more.
      if (position !== undefined) lookup.remove(id, position);
    } else {
      lookup.remove(id, position);
      model.delete(id);
    }
    const all = Array.from({ length: 60 }, (_, i) => idOf(i));
    expect(all.map((one) => lookup.find(one))).toEqual(all.map((one) => model.get(one)));
  }
  expect(lookup.bytes).toBe(40 * model.size);
});

it('holds more ids than one Map can', { tags: 'full' }, () => {
  const lookup = new IdLookup();
  const count = 2 ** 24 + 10;
  for (let i = 0; i < count; i++) lookup.set(i, i);
  for (let i = 0; i < count; i += 99_991) expect(lookup.find(i)).toBe(i);
  expect(lookup.find(count)).toBeUndefined();
  lookup.remove(3, 3);
  expect(lookup.find(3)).toBeUndefined();
});

it('refuses an id that is given twice or is there', () => {
  const check = idsOnce(['a', 'b', 'a', 'c'], (id) => id === 'c');
  check(0, 2);
  expect(() => check(2, 3)).toThrow('"ids"[2] expected an id that is not there yet, got "a"');
  expect(() => check(3, 4)).toThrow('"ids"[3]');
});
