import { expect, it } from 'vitest';
import { Centroids } from '../../src/index/partitions/centroids';
import { ResidualCodes } from '../../src/index/partitions/residual-codes';
import { allocateIntegers, roundInto } from '../../src/k-means/points';
import { UNIT } from '../../src/kernels/products';
import { Draws } from '../reference/random';

/** Routing by codes of centroids, next to products with all of them. */

const WIDTH = 784;
const COUNT = 1024;

/** Unit vectors around a few directions, so that some centroids are near each other. */
function directions(count: number, seed: number): Float64Array[] {
  const around = Array.from({ length: 40 }, (_, i) => new Draws(i).gaussians(WIDTH));
  const draws = new Draws(seed);
  return Array.from({ length: count }, () => {
    const middle = around[draws.integer(around.length)];
    const values = draws.gaussians(WIDTH).map((value, i) => value + middle[i]);
    const length = Math.hypot(...values);
    return Float64Array.from(values, (value) => value / length);
  });
}

const values = allocateIntegers(COUNT, WIDTH);
directions(COUNT, 50).forEach((unit, row) => {
  roundInto(unit, 1, values, row * WIDTH);
});
const queries = directions(60, 51).map((unit) => {
  const point = new Int16Array(WIDTH);
  roundInto(unit, 1, point, 0);
  return { point, unit };
});

/** Centroids with codes, or without; none of a folder's vectors are read to route. */
function centroidsOf(isCoded: boolean): Centroids {
  const vectors = { dimensions: WIDTH, valuesAt: () => new Float32Array(), normOf: () => 1 };
  const residualCodes = ResidualCodes.of({ vectors, seed: 9n }, 0);
  return new Centroids(values, WIDTH, isCoded ? residualCodes : null);
}

const copied = ({ order, products }: { order: Uint32Array; products: Int32Array }) => ({
  order: [...order],
  products: [...products],
});

it('finds nearly all centroids that products with all of them find, with the same products', () => {
  const [coded, exact] = [centroidsOf(true), centroidsOf(false)];
  let found = 0;
  for (const query of queries) {
    const [a, b] = [coded, exact].map((centroids) => copied(centroids.nearest(query, 24)));
    const productOf = new Map(b.order.map((p, i) => [p, b.products[i]]));
    a.order.forEach((p, i) => {
      let product = 0;
      query.point.forEach((value, at) => {
        product += value * values[p * WIDTH + at];
      });
      expect(a.products[i]).toBe(product);
      if (productOf.has(p)) found++;
    });
    // The nearest is found, and what replaces one that is missed is hardly farther away.
    expect(Math.max(...a.products)).toBe(Math.max(...b.products));
    expect((Math.min(...b.products) - Math.min(...a.products)) / UNIT ** 2).toBeLessThan(0.01);
  }
  expect(found / (24 * queries.length)).toBeGreaterThan(0.97);
});

it('compares all centroids with a query without a vector, and where many are wanted', () => {
  const [coded, exact] = [centroidsOf(true), centroidsOf(false)];
  for (const { point, unit } of queries.slice(0, 5)) {
    const query = { point, unit: null };
    expect(copied(coded.nearest(query, 24))).toEqual(copied(exact.nearest(query, 24)));
    const many = { point, unit };
    expect(copied(coded.nearest(many, 65))).toEqual(copied(exact.nearest(many, 65)));
  }
});
