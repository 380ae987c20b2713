import { describe, expect, it } from 'vitest';
import { runSteps } from '../../src/base/steps';
import { allocateIntegers, roundInto } from '../../src/k-means/points';
import {
  flatSecondsState,
  SecondCentroids,
  secondsStateOf,
} from '../../src/k-means/second-centroid';
import { trainTree } from '../../src/k-means/two-level';
import { UNIT } from '../../src/kernels/products';
import { Draws } from '../reference/random';

const WIDTH = 24;

function unitVectors(seed: number, count: number): Int16Array {
  const draws = new Draws(seed);
  const all = allocateIntegers(count, WIDTH);
  for (let i = 0; i < count; i++) {
    const vector = draws.gaussians(WIDTH);
    roundInto(vector, Math.hypot(...vector), all, i * WIDTH);
  }
  return all;
}

const vectorOf = (all: Int16Array, i: number) =>
  Array.from(all.subarray(i * WIDTH, (i + 1) * WIDTH), (value) => value / UNIT);
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
  const own = Uint32Array.from({ length: 300 }, (_, i) => {
    const products = Array.from({ length: 40 }, (_, c) =>
      dot(vectorOf(points, i), vectorOf(centroids, c)),
    );
    return products.indexOf(Math.max(...products));
  });

  it('has the least loss of all that are near, but for rounding', () => {
    const seconds = new SecondCentroids(flatSecondsState(centroids, WIDTH)).of(points, own);
    seconds.forEach((second, i) => {
      const losses = Array.from({ length: 40 }, (_, c) =>
        c === own[i]
          ? Number.POSITIVE_INFINITY
          : lossOf(vectorOf(points, i), vectorOf(centroids, own[i]), vectorOf(centroids, c)),
      );
      expect(second).not.toBe(own[i]);
      // Products of centroids are rounded to 1/127, and the 16 nearest centroids are compared.
      expect(losses[second]).toBeLessThan(Math.min(...losses) + 0.03);
    });
  });

  it('is seldom the next nearest, which lies along the first difference', () => {
    const seconds = new SecondCentroids(flatSecondsState(centroids, WIDTH)).of(points, own);
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

  it('is the same by every kernel, and with products of pairs made beforehand', () => {
    const sample = unitVectors(3, 4000);
    const tree = runSteps(trainTree(sample, WIDTH, { count: 200, seed: '1' }), {});
    const nearest = new Uint32Array(300);
    tree.nearestInto(points, nearest);
    const state = runSteps(secondsStateOf(tree), {});
    const wanted = new SecondCentroids(state).of(points, nearest);
    expect(state.pairs).toHaveLength(200 * 200);
    expect(new SecondCentroids({ ...state, pairs: null }).of(points, nearest)).toEqual(wanted);
    wanted.forEach((second, i) => {
      expect(second).not.toBe(nearest[i]);
    });
  });

  it('is the first one where there is no other', () => {
    const one = centroids.slice(0, WIDTH);
    const seconds = new SecondCentroids(flatSecondsState(one, WIDTH));
    expect(seconds.of(points, new Uint32Array(300))).toEqual(new Uint32Array(300));
  });
});
