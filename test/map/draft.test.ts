import { describe, expect, it } from 'vitest';
import { SimHashIndex } from '../../src/index';
import { mainAxes } from '../../src/map/main-axes';
import { draftMap } from '../../src/map/map-rows';
import { Draws, dot } from '../reference/random';

const DIMENSIONS = 12;
const ROWS = 1500;
/** Not whole bytes. */
const BITS = 45;
const draws = new Draws('draft');
/** Two directions of large spread, which differ from the dimensions; the mean is not zero. */
const [first, second] = [draws.gaussians(DIMENSIONS), draws.gaussians(DIMENSIONS)];
const vectors = Array.from({ length: ROWS }, () => {
  const [a, b] = [2 * draws.gaussian(), draws.gaussian()];
  return draws
    .gaussians(DIMENSIONS)
    .map((value, i) => 1 + a * first[i] + b * second[i] + 0.2 * value);
});
const lengthOf = (values: ArrayLike<number>) => Math.sqrt(dot(values, values));

type Vectors = readonly ArrayLike<number>[];

/** Principal axes by the rotations of Jacobi on the matrix of covariances, widest first. */
function axesOf(points: Vectors): Float64Array[] {
  const n = points[0].length;
  const mean = Array.from({ length: n }, (_, i) => average(points.map((point) => point[i])));
  const matrix = mean.map((_, i) =>
    mean.map((_, j) => average(points.map((p) => (p[i] - mean[i]) * (p[j] - mean[j])))),
  );
  const turned = mean.map((_, i) => Float64Array.from(mean, (_, j) => Number(i === j)));
  for (let round = 0; round < 15; round++) {
    for (let p = 0; p < n; p++) {
      for (let q = p + 1; q < n; q++) {
        const angle = 0.5 * Math.atan2(2 * matrix[p][q], matrix[q][q] - matrix[p][p]);
        const [c, s] = [Math.cos(angle), Math.sin(angle)];
        for (const row of [...matrix, ...turned]) {
          [row[p], row[q]] = [c * row[p] - s * row[q], s * row[p] + c * row[q]];
        }
        for (let i = 0; i < n; i++) {
          const [x, y] = [matrix[p][i], matrix[q][i]];
          matrix[p][i] = c * x - s * y;
          matrix[q][i] = s * x + c * y;
        }
      }
    }
  }
  const order = mean.map((_, i) => i).sort((a, b) => matrix[b][b] - matrix[a][a]);
  return order.map((i) => Float64Array.from(turned, (row) => row[i]));
}

const average = (values: readonly number[]) => values.reduce((a, b) => a + b, 0) / values.length;

/** How well one list of numbers follows another, whatever their signs and widths. */
function correlation(a: ArrayLike<number>, b: ArrayLike<number>): number {
  const [one, two] = [a, b].map((values) => {
    const middle = average(Array.from(values));
    return Array.from(values, (value) => value - middle);
  });
  return Math.abs(dot(one, two)) / (lengthOf(one) * lengthOf(two));
}

it('main axes are the eigenvectors of the covariances', () => {
  const expected = axesOf(vectors);
  const found = mainAxes(Float64Array.from(vectors.flatMap((row) => [...row])), DIMENSIONS);
  found.forEach((axis, i) => {
    expect(lengthOf(axis)).toBeCloseTo(1, 9);
    expect(Math.abs(dot(axis, expected[i]))).toBeGreaterThan(1 - 1e-6);
    expect(Math.max(...axis)).toBeGreaterThan(-Math.min(...axis)); // signs are fixed
  });
});

describe('a draft', () => {
  const index = new SimHashIndex({ bits: BITS, dimensions: DIMENSIONS });
  index.addAll(vectors);
  index.remove(7);

  it('has all rows along the main axes of their bits', async () => {
    const { rows, x, y, labels, exemplars } = await draftMap(index);
    expect([...rows]).toEqual([...vectors.keys()].filter((row) => row !== 7));
    expect([...labels, ...exemplars].every((value) => value === 0)).toBe(true);
    const points = Array.from(rows, (row) => {
      const code = index.get(row)?.code as Uint8Array;
      return Array.from({ length: BITS }, (_, bit) => ((code[bit >> 3] >> (bit & 7)) & 1) - 0.5);
    });
    const [across, up] = axesOf(points).map((axis) => points.map((point) => dot(point, axis)));
    // They are found from some of the rows, in few rounds.
    expect(correlation(x, across)).toBeGreaterThan(0.98);
    expect(correlation(y, up)).toBeGreaterThan(0.95);
    expect(correlation(x, up)).toBeLessThan(0.2);
  });

  it('is the same again', async () => {
    expect(await draftMap(index)).toEqual(await draftMap(index));
  });
});
