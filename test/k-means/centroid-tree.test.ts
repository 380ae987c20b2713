import { describe, expect, it } from 'vitest';
import { LongWork } from '../../src/base/long-work';
import { checkedTree, nearestIn, orderInto } from '../../src/k-means/centroid-tree';
import { trainTree } from '../../src/k-means/k-means';
import { pointWidth, product as productAt } from '../../src/kernels/products';
import { pointsFrom } from '../kernels/scalar/products';
import { Draws } from '../reference/random';

const DIMENSIONS = 12;
const width = pointWidth(DIMENSIONS);
const draws = new Draws('two levels');
const centres = Array.from({ length: 300 }, () => draws.gaussians(DIMENSIONS));

/** Points around random centres. */
function sampled(count: number): Int8Array {
  const vectors = Array.from({ length: count }, () => {
    const centre = centres[draws.integer(centres.length)];
    return centre.map((value) => value + 0.3 * draws.gaussian());
  });
  return pointsFrom(vectors).values;
}

const product = (a: Int8Array, i: number, b: Int8Array, j: number) =>
  productAt(a, i * width, b, j * width, width);

/** For each vector the largest product with a centroid, by plain loops over all of them. */
function largest(vectors: Int8Array, centroids: Int8Array): number[] {
  return Array.from({ length: vectors.length / width }, (_, i) =>
    Math.max(
      ...Array.from({ length: centroids.length / width }, (_, c) =>
        product(centroids, c, vectors, i),
      ),
    ),
  );
}

describe.each([40, 256])('%i centroids in two levels', async (count) => {
  const sample = sampled(6000);
  const before = sample.slice();
  const tree = await trainTree(sample, width, count, new LongWork());
  const others = sampled(500);
  const found = nearestIn(tree, others);

  it('are all there, of unit length, and the vectors of the sample are only put in order', () => {
    expect(tree.centroids).toHaveLength(count * width);
    for (let c = 0; c < count; c++) {
      const square = product(tree.centroids, c, tree.centroids, c);
      expect(Math.abs(square - 1)).toBeLessThan(0.001);
    }
    const rowsOf = (vectors: Int8Array) =>
      Array.from({ length: 6000 }, (_, i) =>
        vectors.subarray(i * width, (i + 1) * width).join(),
      ).sort();
    expect(rowsOf(sample)).toEqual(rowsOf(before));
  });

  it('are found nearest, or nearly as near', () => {
    const best = largest(others, tree.centroids);
    let equal = 0;
    let lost = 0;
    for (let i = 0; i < 500; i++) {
      const own = product(tree.centroids, found[i], others, i);
      expect(own).toBeLessThanOrEqual(best[i]);
      equal += Number(own === best[i]);
      lost += best[i] - own;
    }
    expect(equal / 500).toBeGreaterThan(count === 40 ? 0.999 : 0.9);
    expect(lost / 500).toBeLessThan(0.005);
  });

  it('lie nearer to new vectors than as many of the vectors themselves', () => {
    const mean = (values: number[]) => values.reduce((sum, one) => sum + one, 0) / values.length;
    const trained = mean(largest(others, tree.centroids));
    const drawn = mean(largest(others, before.subarray(0, count * width)));
    expect(trained).toBeGreaterThan(drawn + 0.01);
  });

  it('are numbered so that of those of a group that are left the nearest follows each', () => {
    const { centroids, starts } = tree;
    for (let group = 0; group + 1 < starts.length; group++) {
      for (let c = starts[group]; c + 1 < starts[group + 1]; c++) {
        const next = product(centroids, c, centroids, c + 1);
        for (let other = c + 2; other < starts[group + 1]; other++) {
          expect(product(centroids, c, centroids, other)).toBeLessThanOrEqual(next);
        }
      }
    }
  });

  it('are the same for the same sample', async () => {
    const again = await trainTree(before.slice(), width, count, new LongWork());
    expect(again.centroids).toEqual(tree.centroids);
  });
});

it('of as many vectors as centroids each has one', async () => {
  const sample = sampled(130);
  const tree = await trainTree(sample, width, 130, new LongWork());
  const found = nearestIn(tree, sample);
  expect(tree.centroids).toHaveLength(130 * width);
  expect(new Set(found).size).toBeGreaterThan(60);
});

it('of many centroids the few nearest to a query are nearly always those of all', async () => {
  const count = 1600;
  const tree = await trainTree(sampled(16000), width, count, new LongWork());
  const queries = sampled(100);
  let hits = 0;
  for (let i = 0; i < 100; i++) {
    const query = queries.subarray(i * width, (i + 1) * width);
    const all = Array.from({ length: count }, (_, c) => product(tree.centroids, c, query, 0));
    const [order, products] = [new Uint32Array(4), new Float32Array(4)];
    orderInto(tree, query, order, products);
    expect([...products]).toEqual(Array.from(order, (c) => all[c]));
    const least = [...all].sort((a, b) => b - a)[3];
    hits += order.filter((c) => all[c] >= least).length;
    const [every, own] = [new Uint32Array(count), new Float32Array(count)];
    orderInto(tree, query, every, own);
    expect(new Set(every).size).toBe(count);
  }
  expect(hits).toBeGreaterThan(0.95 * 400);
});

describe('the tree of a file', () => {
  const of = (starts: unknown) =>
    checkedTree({ centroids: new Int8Array(128), coarse: new Int8Array(64), starts, width: 32 });

  it('has groups of all centroids, which may be empty', () => {
    expect([...of([0, 1, 4]).starts]).toEqual([0, 1, 4]);
    expect([...of([0, 0, 4]).starts]).toEqual([0, 0, 4]);
  });

  it.each([
    ['no list', 'none', 'expected an array of numbers'],
    ['a list that begins behind the first', [1, 2, 4], '"starts"[0]'],
    ['numbers that fall', [0, 3, 2], '"starts"[2]'],
    ['a number beyond the last', [0, 5, 4], '"starts"[1]'],
    ['a number that is none', [0, 1.5, 4], '"starts"[1]'],
    ['centroids in no group', [0, 1, 3], 'do not fit'],
    ['a group without a coarse centroid', [0, 1, 2, 4], 'do not fit'],
  ])('is refused with %s', (_, starts, message) => {
    expect(() => of(starts)).toThrow(message);
  });
});
