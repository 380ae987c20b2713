import { describe, expect, it } from 'vitest';
import { SimHashIndex } from '../../src/index/simhash-index';
import { Draws } from '../reference/random';

const ROWS = 6000;
const DIMENSIONS = 24;

function optimized(): { index: SimHashIndex; queries: Float32Array[] } {
  const draws = new Draws(77);
  const centroids = Array.from({ length: 30 }, () => draws.gaussians(DIMENSIONS));
  const vector = () => {
    const centroid = draws.pick(centroids);
    return Float32Array.from(centroid, (value) => value + 0.4 * draws.gaussian());
  };
  const index = new SimHashIndex({ bits: 128, dimensions: DIMENSIONS, vectors: 'float32' });
  index.addAll(Array.from({ length: ROWS }, vector));
  index.optimize({ recall: 0.9, queries: 100 });
  return { index, queries: Array.from({ length: 6 }, vector) };
}

describe('a filter that searches in turn', () => {
  const { index, queries } = optimized();
  const others = Array.from({ length: 300 }, (_, i) => queries[i % 6]);

  it.each([
    ['exact', 'partitions'],
    ['exact', 'scan'],
    ['estimate', 'partitions'],
    ['estimate', 'scan'],
    ['hamming', 'scan'],
    ['hamming', 'bands'],
  ] as const)('does not change what it filters: %s by %s', (rank, method) => {
    const isWanted = (row: number) => row % 7 > 2;
    const options = { rank, method, k: 12 };
    const plain = { ...options, filter: (_: unknown, row: number) => isWanted(row) };
    let calls = 0;
    const nested = {
      ...options,
      filter: (_: unknown, row: number) => {
        index.search(others[calls++ % others.length], { ...options, k: 3 });
        return isWanted(row);
      },
    };
    const [query, other] = queries;
    expect(index.search(query, nested).rows).toEqual(index.search(query, plain).rows);
    expect(calls).toBeGreaterThan(0);
    const both = (given: typeof plain) =>
      index.searchAll([query, other], given).map(({ rows }) => rows);
    expect(both(nested)).toEqual(both(plain));
  });
});

describe('as many neighbours as there are rows, and more', () => {
  const { index, queries } = optimized();

  it.each(['exact', 'estimate', 'hamming'] as const)('are all rows, by rank %s', (rank) => {
    for (const k of [ROWS, 2 ** 32, 2 ** 40]) {
      const { rows } = index.search(queries[0], { k, rank });
      expect(new Set(rows).size, `k = ${k}`).toBe(ROWS);
    }
  });
});
