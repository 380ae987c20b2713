import { describe, expect, it } from 'vitest';
import { blocksOf, cut, keyBits, mankuLayout, type TableLayout } from '../../src/codes/pigeonhole';
import { blocksFor, maxReads, reachOf } from '../../src/index/bands/band-layout';
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

  it('are searched to the radius at which uniform codes take as many reads as allowed', () => {
    const draws = new Draws('cost');
    const rows = makeRows('uniform', 20_000, 64, draws);
    for (const blocks of [2, 4, 5]) {
      const bands = build(rows, 64, blocks);
      const reach = reachOf(bands.options);
      const readsTo = (radius: number) => {
        let reads = 0;
        for (let i = 0; i < 200; i++) {
          const query = randomCode(64, draws);
          const found = bands.search(query, new AnyOrder({ maxDistance: radius }));
          reads += (2 * found.lookUps + found.compared) / 200;
        }
        return reads;
      };
      expect(reach).toBeGreaterThanOrEqual(0);
      expect(readsTo(reach)).toBeLessThan(1.1 * maxReads(64, 20_000));
      expect(readsTo(reach + 1)).toBeGreaterThan(0.9 * maxReads(64, 20_000));
      expect(reachOf(bands.options, 1e6)).toBe(-1);
    }
  });

  it('are as many as leave one block equal, or as number the codes', () => {
    expect([0, 1, 3, 4, 20].map((radius) => blocksFor(64, 400_000, radius))).toEqual([
      1, 2, 4, 4, 4,
    ]);
    expect(blocksFor(1024, 400_000, 1024)).toBe(16);
    expect(blocksFor(13, 0, 13)).toBe(13);
  });
});
