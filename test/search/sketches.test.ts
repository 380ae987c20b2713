import { describe, expect, it } from 'vitest';
import { SimHasher } from '../../src/hashing/simhash';
import { ONE_WEIGHT, scalarSketches } from '../../src/kernels/sketches.scalar';
import { KeptVectors } from '../../src/search/kept-vectors';
import { Sketches } from '../../src/search/sketches';
import { Draws } from '../reference/random';

/** Cosines that sketches tell, beside those of the vectors. */

const ROWS = 400;

function example(dimensions: number, keep: 'float32' | 'int8', mean: Float64Array | null = null) {
  const draws = new Draws(dimensions);
  const base = draws.gaussians(dimensions);
  // Rows at all angles to the first one.
  const values = Float64Array.from(draws.gaussians(ROWS * dimensions), (value, i) => {
    return value + (base[i % dimensions] * 4 * Math.floor(i / dimensions)) / ROWS;
  });
  const vectors = new KeptVectors(keep, dimensions);
  vectors.append(values, () => true);
  const hasher = new SimHasher({ bits: 1024, projection: 'hadamard', dimensions, seed: 3 });
  const sketches = Sketches.of({ vectors, hasher, mean }, ROWS) as Sketches;
  for (let row = 0; row < ROWS; row++) sketches.set(row, row);
  return { values, base: Float64Array.from(base), hasher, sketches };
}

function cosine(a: ArrayLike<number>, b: ArrayLike<number>): number {
  const dot = (x: ArrayLike<number>, y: ArrayLike<number>) =>
    Array.from(x).reduce((sum, value, i) => sum + value * y[i], 0);
  return dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b));
}

describe.each(['float32', 'int8'] as const)('sketches of %s', (keep) => {
  it.each([
    [40, 0.05],
    [100, 0.045],
    [300, 0.03],
    [1000, 0.02],
  ])('tell cosines of %i dimensions within %f, without bias', (dimensions, error) => {
    const { values, base, sketches } = example(dimensions, keep);
    const search = scalarSketches.search(sketches.memory, sketches.tablesOf(base, null), ROWS);
    search.ranges(Uint32Array.of(0, 0, ROWS, 0));
    const { codes, weights, count } = search.hits();
    expect(count).toBe(ROWS);
    const errors = Array.from({ length: ROWS }, (_, i) => {
      const row = values.subarray(codes[i] * dimensions, (codes[i] + 1) * dimensions);
      return 1 - weights[i] / ONE_WEIGHT - cosine(row, base);
    });
    const mean = errors.reduce((sum, one) => sum + one, 0) / ROWS;
    const square = errors.reduce((sum, one) => sum + one * one, 0) / ROWS;
    expect(Math.abs(mean)).toBeLessThan(error / 4);
    expect(Math.sqrt(square)).toBeLessThan(error);
  });
});

it('a query is the same by the accumulators of the index and by its own', () => {
  const dimensions = 200;
  const { base, hasher, sketches } = example(dimensions, 'float32');
  const sums = hasher.accumulate(base);
  expect(sketches.tablesOf(base, sums)).toEqual(sketches.tablesOf(base, null));
  // Of a centred index, the accumulators are of another vector.
  const centred = example(dimensions, 'float32', new Float64Array(dimensions).fill(0.1)).sketches;
  expect(
    centred.tablesOf(
      base,
      sums.map((sum) => -sum),
    ),
  ).toEqual(centred.tablesOf(base, null));
});

it('there are none where vectors are too wide', () => {
  const dimensions = 5000;
  const vectors = new KeptVectors('int8', dimensions);
  const hasher = new SimHasher({ bits: 64, projection: 'hadamard', dimensions });
  expect(Sketches.of({ vectors, hasher, mean: null }, 1)).toBeNull();
});
