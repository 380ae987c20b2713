import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  blockLayout,
  guaranteedDistance,
  isDisjoint,
  keyBits,
  MANKU_TABLES,
  mankuLayout,
} from '../../src/codes/pigeonhole';
import { searchCost } from '../../src/index/bands/band-layout';
import { Draws } from '../reference/random';
import { AnyOrder, bitsOf, build, makeRows, randomCode, randomLayout } from './band-rows';

/** A layout tells how far equal keys reach, and what a search will cost. */
const SEED = 2012;

describe('layouts', () => {
  it('cut a code in blocks that differ by one bit at most and cover it in order', () => {
    for (const bits of [1, 2, 7, 64, 100, 256]) {
      for (let blocks = 1; blocks <= bits; blocks++) {
        const layout = blockLayout(bits, blocks);
        const widths = layout.map(keyBits);
        expect(layout.flatMap(bitsOf)).toEqual(Array.from({ length: bits }, (_, bit) => bit));
        expect(Math.max(...widths) - Math.min(...widths)).toBeLessThanOrEqual(1);
        expect([layout.length, isDisjoint(layout)]).toEqual([blocks, true]);
      }
    }
  });

  it.each([
    [4, [16]],
    [10, [25, 26]],
    [16, [28]],
    [20, [31, 32, 33]],
  ] as const)('are those of Manku et al., section 3: %i tables of %j bits', (tables, widths) => {
    const layout = mankuLayout(tables);
    expect(layout.length).toBe(tables);
    expect([...new Set(layout.map(keyBits))].sort()).toEqual(widths);
    expect(new Set(layout.map((table) => bitsOf(table).sort().join())).size).toBe(tables);
    expect(guaranteedDistance(layout)).toBe(3);
    expect(isDisjoint(layout)).toBe(tables === 4);
  });

  it.each(MANKU_TABLES)('leave one of %i tables alone, whichever three bits differ', (tables) => {
    const keys = mankuLayout(tables).map((table) => new Set(bitsOf(table)));
    let triples = 0;
    let missed = 0;
    for (let a = 0; a < 64; a++) {
      for (let b = 0; b < a; b++) {
        for (let c = 0; c < b; c++, triples++) {
          if (!keys.some((key) => !key.has(a) && !key.has(b) && !key.has(c))) missed++;
        }
      }
    }
    expect([triples, missed]).toEqual([41_664, 0]);
  });

  it('guarantee one less than the fewest bits that touch all tables', () => {
    fc.assert(
      fc.property(fc.integer(), fc.integer({ min: 1, max: 10 }), (seed, bits) => {
        const layout = randomLayout(bits, new Draws(seed));
        const keys = layout.map((table) =>
          bitsOf(table).reduce((mask, bit) => mask | (1 << bit), 0),
        );
        let fewest = bits;
        for (let set = 1; set < 1 << bits; set++) {
          if (!keys.every((key) => (key & set) !== 0)) continue;
          fewest = Math.min(fewest, [...set.toString(2)].filter((digit) => digit === '1').length);
        }
        expect(guaranteedDistance(layout)).toBe(fewest - 1);
      }),
      { seed: SEED, numRuns: 200 },
    );
  });

  it('cost what a search of uniform codes meets', () => {
    const draws = new Draws('cost');
    const rows = makeRows('uniform', 20_000, 64, draws);
    for (const [layout, radius] of [
      [blockLayout(64, 4), 6],
      [blockLayout(64, 5), 3],
      [blockLayout(64, 2), 3],
      [mankuLayout(10), 3],
      [mankuLayout(20), 3],
    ] as const) {
      const bands = build(rows, 64, layout);
      let units = 0;
      for (let i = 0; i < 200; i++) {
        const query = randomCode(64, draws);
        const { lookUps, candidates } = bands.search(query, new AnyOrder({ maxDistance: radius }));
        units += (2 * lookUps + candidates) / 200;
      }
      expect(units / searchCost(layout, rows.length, radius)).toBeGreaterThan(0.9);
      expect(units / searchCost(layout, rows.length, radius)).toBeLessThan(1.1);
    }
    expect(searchCost(mankuLayout(20), 1000, 4)).toBe(Number.POSITIVE_INFINITY);
  });
});
