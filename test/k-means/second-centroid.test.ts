import { describe, expect, it } from 'vitest';
import { LongWork } from '../../src/base/long-work';
import { type CentroidTree, nearestIn, nearestTwo } from '../../src/k-means/centroid-tree';
import { allocatePoints, trainTree } from '../../src/k-means/k-means';
import { PairedRows, pointWidth, scaleOf } from '../../src/kernels/products';
import { pointsFrom } from '../kernels/scalar/products';
import { Draws } from '../reference/random';

const DIMENSIONS = 24;
const WIDTH = pointWidth(DIMENSIONS);

function unitVectors(seed: number, count: number): Int8Array {
  const draws = new Draws(seed);
  const all = allocatePoints(count, WIDTH);
  all.set(pointsFrom(Array.from({ length: count }, () => draws.gaussians(DIMENSIONS))).values);
  return all;
}

/** A tree of one group, in which all centroids are compared. */
function flatTree(centroids: Int8Array) {
  const starts = Uint32Array.of(0, centroids.length / WIDTH);
  return { centroids, coarse: new Int8Array(WIDTH), starts, width: WIDTH };
}

const twoOf = (tree: CentroidTree, vectors: Int8Array) =>
  nearestTwo(tree, new PairedRows({ values: tree.centroids, width: WIDTH }, tree.starts), vectors);
const vectorOf = (all: Int8Array, i: number) => {
  const scale = scaleOf(all, i * WIDTH, WIDTH);
  return Array.from(all.subarray(i * WIDTH, i * WIDTH + DIMENSIONS), (value) => value * scale);
};
const dot = (a: number[], b: number[]) => a.reduce((sum, value, i) => sum + value * b[i], 0);

/** SOAR's loss by its definition: differences of vectors from centroids of half their length. */
function lossOf(vector: number[], first: number[], other: number[]): number {
  const residual = vector.map((value, i) => value - first[i] / 2);
  const next = vector.map((value, i) => value - other[i] / 2);
  return dot(next, next) + (1.5 * dot(residual, next) ** 2) / dot(residual, residual);
}

describe('the second centroid of a vector', () => {
  const points = unitVectors(1, 300);
  const centroids = unitVectors(2, 40);
  const nearest = Uint32Array.from({ length: 300 }, (_, i) => {
    const products = Array.from({ length: 40 }, (_, c) =>
      dot(vectorOf(points, i), vectorOf(centroids, c)),
    );
    return products.indexOf(Math.max(...products));
  });

  it('has the least loss of all that are near, but for rounding', () => {
    const { own, seconds } = twoOf(flatTree(centroids), points);
    expect(own).toEqual(nearest);
    seconds.forEach((second, i) => {
      const losses = Array.from({ length: 40 }, (_, c) =>
        c === own[i]
          ? Number.POSITIVE_INFINITY
          : lossOf(vectorOf(points, i), vectorOf(centroids, own[i]), vectorOf(centroids, c)),
      );
      expect(second).not.toBe(own[i]);
      // Products of centroids are rounded to 1/127.
      expect(losses[second]).toBeLessThan(Math.min(...losses) + 0.02);
    });
  });

  it('is seldom the next nearest, which lies along the first difference', () => {
    const { own, seconds } = twoOf(flatTree(centroids), points);
    const along = (pick: (i: number) => number) => {
      let sum = 0;
      for (let i = 0; i < 300; i++) {
        const [vector, first, next] = [
          vectorOf(points, i),
          vectorOf(centroids, own[i]),
          vectorOf(centroids, pick(i)),
        ];
        const a = vector.map((value, j) => value - first[j] / 2);
        const b = vector.map((value, j) => value - next[j] / 2);
        sum += dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b));
      }
      return sum / 300;
    };
    const nextNearest = (i: number) => {
      const products = Array.from({ length: 40 }, (_, c) =>
        c === own[i] ? -2 : dot(vectorOf(points, i), vectorOf(centroids, c)),
      );
      return products.indexOf(Math.max(...products));
    };
    expect(along((i) => seconds[i])).toBeLessThan(along(nextNearest));
  });

  it('is another one in a tree of many groups', async () => {
    const sample = unitVectors(3, 4000);
    const tree = await trainTree(sample, WIDTH, 200, new LongWork());
    const nearest = nearestIn(tree, points);
    const { own, seconds } = twoOf(tree, points);
    expect(own).toEqual(nearest);
    seconds.forEach((second, i) => {
      expect(second).not.toBe(own[i]);
      expect(second).toBeLessThan(200);
    });
  });

  it('is the first one where there is no other', () => {
    const one = centroids.slice(0, WIDTH);
    const none = new Uint32Array(300);
    expect(twoOf(flatTree(one), points)).toEqual({ own: none, seconds: none });
  });
});
