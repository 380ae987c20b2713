import { describe, expect, it } from 'vitest';
import {
  type Colour,
  inked,
  nearestPoint,
  paint,
  pixelOf,
  pointsWithin,
  stampOf,
} from '../../src/explore/page/scatter';
import { Draws } from '../reference/random';

const GROUND: Colour = [250, 250, 250];
const PALETTE: Colour[] = [
  [10, 20, 30],
  [200, 100, 50],
];

/** Points drawn in the order of their numbers, one pixel each. */
function made(count: number) {
  const draws = new Draws('points');
  const places = () => Uint16Array.from({ length: count }, () => draws.integer(65_536));
  return { x: places(), y: places(), values: Uint8Array.from({ length: count }, (_, i) => i % 2) };
}

function canvasOf(width: number, height: number) {
  return { pixels: new Uint32Array(width * height).fill(pixelOf(GROUND)), width, height };
}

describe('points', () => {
  it('of one pixel are where the camera sees them, the last one on top', () => {
    const { x, y, values } = made(3000);
    const points = inked(x, y, { values, palette: PALETTE, ground: GROUND, isShown: null });
    const canvas = canvasOf(120, 80);
    const camera = { x: 30_000, y: 33_000, scale: 0.002 };
    paint(canvas, points, { ...camera, size: 1 });
    const expected = new Map<string, number>();
    for (let i = 0; i < x.length; i++) {
      const column = Math.floor(60 + (x[i] - camera.x) * camera.scale);
      const line = Math.floor(40 + (y[i] - camera.y) * camera.scale);
      expected.set(`${column} ${line}`, values[i]);
    }
    for (let line = 0; line < 80; line++) {
      for (let column = 0; column < 120; column++) {
        const value = expected.get(`${column} ${line}`);
        const colour = value === undefined ? GROUND : PALETTE[value];
        expect([column, line, canvas.pixels[line * 120 + column]]).toEqual([
          ...[column, line],
          pixelOf(colour),
        ]);
      }
    }
  });

  it('that are larger are soft discs, and never beyond the canvas', () => {
    for (const size of [2, 3, 5.5, 12]) {
      const side = Math.sqrt(stampOf(size).length);
      const around = canvasOf(40, 40);
      // Two points at the corners are not wholly on the canvas, or within it where they are squares.
      const at = { x: Uint16Array.of(20, 0, 39), y: Uint16Array.of(20, 0, 39) };
      const ink = new Uint32Array(3).fill(pixelOf(PALETTE[0]));
      paint(around, { ...at, ink }, { x: 20, y: 20, scale: 1, size });
      const isNear = (i: number) => Math.abs((i % 40) - 20) <= 10;
      const drawn = [...around.pixels.keys()].filter(
        (i) => around.pixels[i] !== pixelOf(GROUND) && isNear(i),
      );
      expect(around.pixels[20 * 40 + 20]).toBe(pixelOf(PALETTE[0]));
      for (const i of drawn) {
        expect(Math.abs((i % 40) - 20)).toBeLessThanOrEqual(side >> 1);
        expect(Math.abs(Math.floor(i / 40) - 20)).toBeLessThanOrEqual(side >> 1);
      }
      // As much colour as a disc of this width, or a square, has.
      const covered = drawn.reduce((sum, i) => {
        return sum + (GROUND[0] - (around.pixels[i] & 255)) / (GROUND[0] - PALETTE[0][0]);
      }, 0);
      const area = size <= 2 ? size * size : (Math.PI * size * size) / 4;
      expect(covered / area).toBeGreaterThan(0.85);
      expect(covered / area).toBeLessThan(1.2);
    }
  });

  it('that fade are pale and lie below the others', () => {
    const x = Uint16Array.of(5, 5, 9);
    const isShown = Uint8Array.of(1, 0, 0);
    const values = Uint8Array.of(1, 0, 0);
    const points = inked(x, x, { values, palette: PALETTE, ground: GROUND, isShown });
    const canvas = canvasOf(16, 16);
    paint(canvas, points, { x: 8, y: 8, scale: 1, size: 1 });
    expect(canvas.pixels[5 * 16 + 5]).toBe(pixelOf(PALETTE[1]));
    const pale = canvas.pixels[9 * 16 + 9] & 255;
    expect(pale).toBeGreaterThan((PALETTE[0][0] + GROUND[0]) / 2);
    expect(pale).toBeLessThan(GROUND[0]);
  });
});

describe('points of a map', () => {
  const draws = new Draws('places');
  const count = 3000;
  const x = Uint16Array.from({ length: count }, () => draws.integer(65_536));
  const y = Uint16Array.from({ length: count }, (_, i) =>
    i % 7 === 0 ? 300 : draws.integer(65_536),
  );
  const square = (i: number, at: readonly number[]) => (x[i] - at[0]) ** 2 + (y[i] - at[1]) ** 2;

  it('are found as by comparing with all, within a radius', () => {
    for (const radius of [1, 40, 900, 70_000]) {
      for (let round = 0; round < 60; round++) {
        const at = [draws.integer(66_000) - 200, draws.integer(66_000) - 200] as const;
        let best = -1;
        for (let i = 0; i < count; i++) {
          if (square(i, at) > radius * radius) continue;
          if (best < 0 || square(i, at) < square(best, at)) best = i;
        }
        expect(nearestPoint({ x, y }, at, radius)).toBe(best);
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
    const found = pointsWithin({ x, y }, corners);
    expect(found.length).toBeGreaterThan(500);
    expect(found.filter((i) => !near.includes(i))).toEqual([]);
    expect(inside.filter((i) => !found.includes(i))).toEqual([]);
    expect(pointsWithin({ x, y }, corners.slice(0, 2))).toEqual([]);
  });
});
