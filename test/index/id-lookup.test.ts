import { beforeEach, expect, it, vi } from 'vitest';
import { IdLookup } from '../../src/index/ids';
import { Draws } from '../reference/random';

/** What takes the place of the hashes under a secret; null for these. */
const secret = vi.hoisted(() => ({ hash: null as ((value: number) => number) | null }));

vi.mock('../../src/base/hash-tables', async (original) => {
  const real = await original<typeof import('../../src/base/hash-tables')>();
  const scrambled: typeof real.scrambled = (value, own) =>
    secret.hash === null ? real.scrambled(value, own) : secret.hash(value);
  return { ...real, scrambled };
});

beforeEach(() => {
  secret.hash = null;
});

it.each([
  ['their own', null],
  ['one, the last cell', () => -1],
  [
    'of the last cells and the first',
    (value: number) => [-1, -1 - 2 ** 28, 0][Math.abs(value % 3)],
  ],
  ['their number in the highest bits', (value: number) => value << 26],
] as const)('ids with hashes that are %s are found as a map finds them', (_, hash) => {
  const draws = new Draws('ids that collide');
  for (const idOf of [
    (i: number) => i,
    (i: number) => `id ${i}`,
    (i: number) => BigInt(i) << 40n,
  ]) {
    secret.hash = hash;
    const lookup = new IdLookup(0);
    const ids: (number | string | bigint)[] = [];
    const model = new Map<number | string | bigint, number>();
    for (let turn = 0; turn < 600; turn++) {
      const id = idOf(draws.integer(60));
      const position = model.get(id);
      if (position === undefined) {
        model.set(id, ids.length);
        lookup.add(id, ids.length);
        ids.push(id);
      } else {
        lookup.remove(id, position);
        model.delete(id);
      }
      const all = Array.from({ length: 60 }, (_, i) => idOf(i));
      const found = all.map((one) =>
        lookup.find(one, (at) => ids[at] === one && model.get(one) === at),
      );
      expect(found).toEqual(all.map((one) => model.get(one) ?? -1));
    }
    // What is removed leaves nothing behind: the table is as large as its ids at one time need.
    expect(lookup.bytes).toBeLessThanOrEqual(8 * 128);
  }
});
