import { describe, expect, it } from 'vitest';
import { blocksOf, cut, keyBits, mankuLayout, type TableLayout } from '../../src/codes/pigeonhole';
import { searchCost } from '../../src/index/bands/band-layout';
import { Draws } from '../reference/random';
import { AnyOrder, build, makeRows, randomCode } from './band-rows';

/** Which bits make the keys of tables, and what a search by blocks will cost. */

function bitsOf(table: TableLayout[number]): number[] {
  return table.flatMap(({ firstBit, bits }) =>
    Array.from({ length: bits }, (_, i) => firstBit + i),
  );
}

describe('layouts', () => {
  it('cut a code in blocks that differ by one bit at most and cover it in order', () => {
    for (const bits of [1, 2, 7, 64, 100, 256]) {
      for (let blocks = 1; blocks <= bits; blocks++) {
        const whole = { firstBit: 0, bits };
        const layout = blocksOf([whole], blocks);
        expect(layout).toEqual(cut(whole, blocks).map((block) => [block]));
        const widths = layout.map(keyBits);
        expect(layout.flatMap(bitsOf)).toEqual(Array.from({ length: bits }, (_, bit) => bit));
        expect(Math.max(...widths) - Math.min(...widths)).toBeLessThanOrEqual(1);
        expect(layout.length).toBe(blocks);
      }
    }
  });

  it('cut runs that are apart as one that is whole', () => {
    const runs = [
      { firstBit: 3, bits: 4 },
      { firstBit: 10, bits: 1 },
      { firstBit: 20, bits: 6 },
    ];
    expect(blocksOf(runs, 3).map(bitsOf)).toEqual([
      [3, 4, 5, 6],
      [10, 20, 21, 22],
      [23, 24, 25],
    ]);
  });

  it('leave one of the 16 tables of Manku et al. alone, whichever three bits differ', () => {
    const layout = mankuLayout();
    expect(layout.length).toBe(16);
    expect(new Set(layout.map(keyBits))).toEqual(new Set([28]));
    const keys = layout.map((table) => new Set(bitsOf(table)));
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

  it('cost what a search of uniform codes meets', () => {
    const draws = new Draws('cost');
    const rows = makeRows('uniform', 20_000, 64, draws);
    for (const [blocks, radius] of [
      [4, 6],
      [5, 3],
      [2, 3],
    ] as const) {
      const bands = build(rows, 64, blocks);
      let units = 0;
      for (let i = 0; i < 200; i++) {
        const query = randomCode(64, draws);
        const { lookUps, candidates } = bands.search(query, new AnyOrder({ maxDistance: radius }));
        units += (2 * lookUps + candidates) / 200;
      }
      expect(units / searchCost(bands.options, radius)).toBeGreaterThan(0.9);
      expect(units / searchCost(bands.options, radius)).toBeLessThan(1.1);
    }
  });
});
