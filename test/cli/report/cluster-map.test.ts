import { describe, expect, it } from 'vitest';
import { commandLine } from '../../../src/cli/output/figures';
import { planeOf } from '../../../src/cli/report/cluster-map';
import { Draws, dot } from '../../reference/random';

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
