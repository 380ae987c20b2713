import { describe, expect, it } from 'vitest';
import { ResidualCodes, type ShortenedCentroid } from '../../src/index/partitions/residual-codes';
import { DenseVectors } from '../../src/index/vectors/dense-vectors';
import { integerWidth, UNIT } from '../../src/kernels/products';
import { ONE_WEIGHT } from '../../src/kernels/residuals';
import { scalarResiduals } from '../kernels/scalar/residuals';
import { Draws } from '../reference/random';
import { quickIf } from '../reference/tags';

/** Cosines that residual codes tell, next to those of the vectors. */

const ROWS = 400;

function example(dimensions: number, storage: 'float32' | 'int8', length: number, seed = 3n) {
  const draws = new Draws(dimensions);
  const base = Float64Array.from(draws.gaussians(dimensions));
  // Rows at all angles to the first one.
  const values = Float64Array.from(draws.gaussians(ROWS * dimensions), (value, i) => {
    return value + (base[i % dimensions] * 4 * Math.floor(i / dimensions)) / ROWS;
  });
  const vectors = new DenseVectors(storage, dimensions);
  vectors.append({ values, dimensions }, 0, ROWS, () => true);
  const residualCodes = ResidualCodes.of({ vectors, seed }, ROWS) as ResidualCodes;
  const norm = Math.sqrt(dot(base, base));
  const centroid = new Int16Array(integerWidth(dimensions));
  base.forEach((value, i) => {
    centroid[i] = Math.round((value / norm) * UNIT);
  });
  const shortened: ShortenedCentroid = { centroid, length };
  for (let row = 0; row < ROWS; row++) residualCodes.set(row, row, shortened);
  return { values, base, residualCodes, shortened };
}

function dot(x: ArrayLike<number>, y: ArrayLike<number>): number {
  return Array.from(x).reduce((sum, value, i) => sum + value * y[i], 0);
}

function cosine(a: ArrayLike<number>, b: ArrayLike<number>): number {
  return dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b));
}

/** The mean and the root of the mean square of the errors of all rows. */
function errorsOf(
  { values, residualCodes, shortened }: ReturnType<typeof example>,
  query: Float64Array,
) {
  const dimensions = query.length;
  const unit = query.map((value) => value / Math.sqrt(dot(query, query)));
  const search = scalarResiduals.search(
    residualCodes.parts.memories[0],
    residualCodes.tablesOf(unit),
    ROWS,
  );
  const more = (ONE_WEIGHT * shortened.length * dot(unit, shortened.centroid)) / UNIT;
  const [bits] = new Uint32Array(Float32Array.of(more).buffer);
  search.ranges(Uint32Array.of(0, 0, ROWS, bits));
  const { codes, weights, count } = search.hits();
  expect(count).toBe(ROWS);
  const errors = Array.from({ length: ROWS }, (_, i) => {
    const row = values.subarray(codes[i] * dimensions, (codes[i] + 1) * dimensions);
    return 1 - weights[i] / ONE_WEIGHT - cosine(row, query);
  });
  const mean = errors.reduce((sum, one) => sum + one, 0) / ROWS;
  return { mean, root: Math.sqrt(errors.reduce((sum, one) => sum + one * one, 0) / ROWS) };
}

describe.each(['float32', 'int8'] as const)('residual codes of %s', (keep) => {
  for (const [dimensions, error] of [
    [40, 0.05],
    [100, 0.045],
    [300, 0.03],
    [1000, 0.02],
  ]) {
    const title = `tell cosines of ${dimensions} dimensions within ${error}, without bias`;
    it(title, quickIf(dimensions < 1000), () => {
      for (const length of [0, 0.5]) {
        // The errors of one rotation go together, those of several do not.
        const all = [1n, 2n, 3n, 4n].map((seed) => {
          const one = example(dimensions, keep, length, seed);
          return errorsOf(one, one.base);
        });
        expect(Math.abs(all.reduce((sum, { mean }) => sum + mean, 0)) / 4).toBeLessThan(error / 4);
        for (const { root } of all) expect(root).toBeLessThan(error);
      }
    });
  }
});

it('a centroid near to the rows leaves less error', () => {
  const [apart, near] = [0, 0.6].map((length) => {
    const one = example(200, 'float32', length);
    const query = one.base.map((value, i) => value + Math.sin(i));
    return errorsOf(one, query).root;
  });
  expect(near).toBeLessThan(0.9 * apart);
});

it('a row that is as its shortened centroid is there, and a removed one is not', () => {
  const vectors = new DenseVectors('float32', 1);
  vectors.append({ values: Float64Array.of(2, 3), dimensions: 1 }, 0, 2, () => true);
  const residualCodes = ResidualCodes.of({ vectors, seed: 0n }, 2) as ResidualCodes;
  for (const row of [0, 1]) {
    residualCodes.set(row, row, { centroid: Int16Array.of(UNIT, 0, 0, 0, 0, 0, 0, 0), length: 1 });
  }
  residualCodes.remove(1);
  const search = scalarResiduals.search(
    residualCodes.parts.memories[0],
    residualCodes.tablesOf(Float64Array.of(1)),
    2,
  );
  const [more] = new Uint32Array(Float32Array.of(ONE_WEIGHT).buffer);
  search.ranges(Uint32Array.of(0, 0, 2, more));
  const { codes, weights, count } = search.hits();
  expect(count).toBe(1);
  expect([codes[0], weights[0]]).toEqual([0, 0]);
});

it('there are none where vectors are too wide', () => {
  const vectors = new DenseVectors('int8', 5000);
  expect(ResidualCodes.of({ vectors, seed: 0n }, 1)).toBeNull();
});
