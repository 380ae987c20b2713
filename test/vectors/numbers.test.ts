import { describe, expect, it } from 'vitest';
import {
  cluster,
  dedup,
  pairs,
  SimHasher,
  SimHashIndex,
  scanVectors,
  scanVectorsAll,
} from '../../src/index';
import { collected } from '../reference/collected';
import { useKernel } from '../reference/kernels';
import { Draws } from '../reference/random';

/** Lengths decide nothing: vectors from 1e-300 to 1e300 long give what vectors of length 1 give. */

const DIMENSIONS = 24;
const COUNT = 60;
const SCALES = [2 ** -996, 2 ** -540, 2 ** -520, 2 ** -300, 1, 2 ** 300, 2 ** 515, 2 ** 990];
const draws = new Draws('numbers');
const values = Float64Array.from(draws.gaussians(DIMENSIONS * COUNT));
const row = (of: Float64Array, i: number) => of.subarray(i * DIMENSIONS, (i + 1) * DIMENSIONS);
/** Powers of two, so that no value is rounded. */
const scaled = (scaleOf: (row: number) => number) =>
  values.map((value, i) => value * scaleOf(Math.floor(i / DIMENSIONS)));
const mixed = scaled((i) => SCALES[i % SCALES.length]);

function cosine(a: Float64Array, b: Float64Array): number {
  const dot = (x: Float64Array, y: Float64Array) => x.reduce((sum, one, i) => sum + one * y[i], 0);
  return dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b));
}

it('the yardstick fails where squares leave the range of float64', () => {
  expect(cosine(row(mixed, 0), row(mixed, 8))).toBeNaN();
});

it.each(SCALES)('cosines with a query of %f times the length are right', (scale) => {
  for (const query of [0, 7]) {
    const given = row(values, query).map((value) => value * scale);
    const matrix = { values: mixed, dimensions: DIMENSIONS };
    const { rows, cosines } = scanVectors(matrix, given, { k: COUNT });
    const plain = { values, dimensions: DIMENSIONS };
    const expected = scanVectors(plain, row(values, query), { k: COUNT });
    expect([...rows]).toEqual([...expected.rows]);
    rows.forEach((other, i) => {
      expect(cosines[i]).toBeCloseTo(cosine(row(values, query), row(values, other)), 12);
    });
  }
});

describe.each(['scalar', 'auto'] as const)('%s kernel', (kernel) => {
  useKernel(kernel);
  it.each(['signs', 'gaussian', 'hadamard'] as const)(
    'codes by %s are the same',
    async (projection) => {
      const hasher = new SimHasher({ bits: 96, projection, dimensions: DIMENSIONS });
      const codes = await hasher.hashAll({ values, dimensions: DIMENSIONS });
      expect((await hasher.hashAll({ values: mixed, dimensions: DIMENSIONS })).bytes).toEqual(
        codes.bytes,
      );
      if (projection === 'hadamard') return;
      const indices = Uint32Array.from({ length: DIMENSIONS }, (_, i) => 3 * i);
      const sparse = new SimHasher({ bits: 96, projection });
      for (const i of [0, 1, 7]) {
        expect(sparse.hash({ indices, values: row(mixed, i) })).toEqual(
          sparse.hash({ indices, values: row(values, i) }),
        );
      }
    },
  );
});

it('clusters are the same', async () => {
  const one = await cluster({ values, dimensions: DIMENSIONS }, { clusters: 5, seed: 1 });
  const other = await cluster({ values: mixed, dimensions: DIMENSIONS }, { clusters: 5, seed: 1 });
  expect(other.labels).toEqual(one.labels);
  expect(other.objective).toBeCloseTo(one.objective, 12);
});

describe.each([1e-308, 1e-302, 1e301, 1e308])('vectors of float64, about %f long', (length) => {
  const matrix = { values: values.map((value) => (value * length) / 5), dimensions: DIMENSIONS };
  const plain = { values, dimensions: DIMENSIONS };

  it.each([
    ['scanVectors', () => scanVectors(matrix, row(values, 0))],
    ['a query of scanVectors', () => scanVectors(plain, row(matrix.values, 0))],
    ['cluster', () => cluster(matrix, { clusters: 2 })],
  ])('are refused by %s', async (_, call) => {
    await expect((async () => call())()).rejects.toThrow(
      /^(row|query) \d+: expected finite values, and a length of 1e-300 to 1e300$/,
    );
  });
});

// Kept as float32, these lengths became zeros and infinities: no pair was found, without an error.
describe('vectors by which pairs of codes are checked', async () => {
  const codes = await new SimHasher({ bits: 64 }).hashAll({ values, dimensions: DIMENSIONS });
  const sparse = {
    offsets: Uint32Array.from({ length: COUNT + 1 }, (_, i) => i * DIMENSIONS),
    indices: Uint32Array.from({ length: COUNT * DIMENSIONS }, (_, i) => i % DIMENSIONS),
  };
  const options = { maxDistance: 64, minCosine: -1 };

  it.each([1e-300, 1e-60, 1e60, 1e300, Number.NaN])('are refused, times %f', async (factor) => {
    const given = values.map((value) => value * factor);
    for (const vectors of [
      { values: given, dimensions: DIMENSIONS },
      { values: given, ...sparse },
    ]) {
      for (const call of [pairs, dedup]) {
        await expect((async () => call(codes, { ...options, vectors }))()).rejects.toThrow(
          /^row 0: (its values do not fit float32|expected finite values)/,
        );
      }
    }
  });

  it.each([1e-30, 1, 1e30])('are right, times %f', async (factor) => {
    const given = values.map((value) => value * factor);
    for (const vectors of [
      { values: given, dimensions: DIMENSIONS },
      { values: given, ...sparse },
    ]) {
      for await (const { a, b, similarities } of pairs(codes, { ...options, vectors })) {
        similarities?.forEach((found, i) => {
          expect(found).toBeCloseTo(cosine(row(values, a[i]), row(values, b[i])), 6);
        });
      }
    }
  });
});

it('equal cosines stay in the order of rows, whatever the lengths', async () => {
  const same = Float64Array.from(
    { length: 8 * 3 },
    (_, i) => [1, 2, 2][i % 3] * SCALES[(i / 3) | 0],
  );
  const matrix = { values: same, dimensions: 3 };
  for (const { rows, cosines } of await scanVectorsAll(matrix, matrix, { k: 8 })) {
    expect([...rows]).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    expect(new Set(cosines).size).toBe(1);
  }
});

it.each(['float32', 'int8'] as const)('an index with %s is right or refuses', async (vectors) => {
  let refused = 0;
  let taken = 0;
  for (let exponent = -300; exponent <= 300; exponent += 4) {
    const index = new SimHashIndex({ bits: 64, dimensions: DIMENSIONS, vectors });
    const both = new Float64Array(2 * DIMENSIONS);
    both.set(row(values, 0).map((value) => value * 10 ** exponent));
    both.set(
      row(values, 1).map((value) => value * 10 ** exponent),
      DIMENSIONS,
    );
    try {
      await index.addAll({ values: both, dimensions: DIMENSIONS });
    } catch (error) {
      expect(error).toBeInstanceOf(RangeError);
      expect((error as Error).message).toMatch('its values do not fit float32');
      refused++;
      continue;
    }
    taken++;
    const expected = cosine(row(values, 0), row(values, 1));
    const digits = vectors === 'float32' ? 6 : 1; // int8 rounds to 1 part in 127
    const [{ b, similarities }] = await collected(pairs(index, { maxDistance: 64, minCosine: -1 }));
    expect([...b]).toEqual([1]);
    expect(similarities?.[0]).toBeCloseTo(expected, digits);
    const { kept } = await dedup(index, { maxDistance: 64, minCosine: expected - 0.1 });
    expect([...kept]).toEqual([1, 0]);
  }
  expect(refused).toBeGreaterThan(50);
  expect(taken).toBeGreaterThan(15);
});
