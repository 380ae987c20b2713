import { describe, expect, it } from 'vitest';
import { Grid } from '../../src/explore/page/grid';
import { Draws } from '../reference/random';

describe('points of a map', () => {
  const draws = new Draws('grid');
  const count = 3000;
  const x = Uint16Array.from({ length: count }, () => draws.integer(65_536));
  const y = Uint16Array.from({ length: count }, (_, i) =>
    i % 7 === 0 ? 300 : draws.integer(65_536),
  );
  const grid = new Grid(x, y);
  const square = (i: number, at: readonly number[]) => (x[i] - at[0]) ** 2 + (y[i] - at[1]) ** 2;

  it('are found as by comparing with all, within a radius', () => {
    for (const radius of [1, 40, 900, 70_000]) {
      for (let round = 0; round < 60; round++) {
        const at = [draws.integer(66_000) - 200, draws.integer(66_000) - 200];
        let best = -1;
        for (let i = 0; i < count; i++) {
          if (square(i, at) > radius * radius) continue;
          if (best < 0 || square(i, at) < square(best, at)) best = i;
        }
        expect(grid.nearest(at[0], at[1], radius)).toBe(best);
      }
    }
  });

  it('are in a circle drawn around them, and in no line of two corners', () => {
    const corners = Array.from({ length: 720 }, (_, i) => {
      const angle = (i * Math.PI) / 360;
      return [30_000 + 20_000 * Math.cos(angle), 30_000 + 20_000 * Math.sin(angle)] as const;
    });
    const inside = [...x.keys()].filter((i) => square(i, [30_000, 30_000]) < 19_990 ** 2);
    const near = [...x.keys()].filter((i) => square(i, [30_000, 30_000]) < 20_000 ** 2);
    const found = grid.within(corners);
    expect(found.length).toBeGreaterThan(500);
    expect(found.filter((i) => !near.includes(i))).toEqual([]);
    expect(inside.filter((i) => !found.includes(i))).toEqual([]);
    expect(grid.within(corners.slice(0, 2))).toEqual([]);
    expect(new Grid(new Uint16Array(), new Uint16Array()).within(corners)).toEqual([]);
  });
});
