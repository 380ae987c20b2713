import { describe, expect, it } from 'vitest';
import { commandLine } from '../../../src/cli/output/command-line';
import { drawnNumbers, shareAt } from '../../../src/measure/draw';
import { planeOf } from '../../../src/measure/plane';
import { Draws, dot } from '../../reference/random';

describe('rows drawn from a stream', () => {
  it('are all where there are no more, and else as many as wanted, ascending, each once', () => {
    expect(drawnNumbers(5, 9, 1)).toEqual([0, 1, 2, 3, 4]);
    expect(drawnNumbers(0, 9, 1)).toEqual([]);
    const drawn = drawnNumbers(10_000, 100, 7);
    expect(new Set(drawn).size).toBe(100);
    expect(drawn).toEqual([...drawn].sort((a, b) => a - b));
    expect(drawnNumbers(10_000, 100, 7)).toEqual(drawn);
    expect(drawnNumbers(10_000, 100, 8)).not.toEqual(drawn);
  });

  it('have the same chance, wherever they are', () => {
    const times = new Array(50).fill(0);
    const rounds = 4000;
    for (let seed = 0; seed < rounds; seed++)
      for (const i of drawnNumbers(50, 10, seed)) times[i]++;
    // Each is drawn in a fifth of the rounds: 800, with a standard deviation of 25.
    for (const one of times) expect(Math.abs(one - rounds / 5)).toBeLessThan(5 * 25.3);
  });

  it('are decided by shares that are even and do not hang together', () => {
    const shares = Array.from({ length: 20_000 }, (_, i) => shareAt(3, i));
    const mean = shares.reduce((sum, one) => sum + one, 0) / shares.length;
    expect(Math.abs(mean - 0.5)).toBeLessThan(5 * (0.2887 / Math.sqrt(shares.length)));
    let product = 0;
    for (let i = 1; i < shares.length; i++) product += (shares[i] - 0.5) * (shares[i - 1] - 0.5);
    expect(Math.abs(product / shares.length)).toBeLessThan(5 / 12 / Math.sqrt(shares.length));
    expect(Math.min(...shares)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...shares)).toBeLessThan(1);
  });
});

describe('points on a plane', () => {
  /** Points that spread 5, 3 and 0.1 along three directions of a space of ten. */
  const draws = new Draws('plane');
  const axes = [0, 1, 2].map((axis) =>
    Float64Array.from({ length: 10 }, (_, i) => +(i === 3 * axis)),
  );
  const coordinates = Array.from({ length: 400 }, () =>
    [5, 3, 0.1].map((spread) => spread * draws.gaussian()),
  );
  const values = Float64Array.from(
    coordinates.flatMap((point) =>
      Array.from(
        { length: 10 },
        (_, i) => 7 + point.reduce((sum, one, a) => sum + one * axes[a][i], 0),
      ),
    ),
  );

  it('lie by the two directions in which they differ most', () => {
    const { places, shares } = planeOf(values, 10);
    const spread = (axis: number) => {
      const own = coordinates.map((point) => point[axis]);
      const mean = own.reduce((sum, one) => sum + one, 0) / own.length;
      return own.map((one) => one - mean);
    };
    const all = [0, 1, 2].reduce((sum, axis) => sum + dot(spread(axis), spread(axis)), 0);
    for (const axis of [0, 1] as const) {
      const [found, true_] = [places.map((place) => place[axis]), spread(axis)];
      const cosine = dot(found, true_) / Math.sqrt(dot(found, found) * dot(true_, true_));
      expect(Math.abs(cosine)).toBeGreaterThan(0.99);
      expect(shares[axis]).toBeCloseTo(dot(true_, true_) / all, 2);
    }
  });

  it('lie in one place where all are one, and none where there are none', () => {
    expect(planeOf(new Float64Array(30).fill(2), 10).places).toEqual([
      [0, 0],
      [0, 0],
      [0, 0],
    ]);
    expect(planeOf(new Float64Array(), 10).places).toEqual([]);
  });
});

it('a command line has quotes where a shell needs them', () => {
  expect(commandLine(['halfspace', 'a b.csv', "it's", '--text', 'body', '$x', ''])).toBe(
    `halfspace 'a b.csv' 'it'\\''s' --text body '$x' ''`,
  );
});
