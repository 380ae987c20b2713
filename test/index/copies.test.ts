import { describe, expect, it } from 'vitest';
import { runSteps } from '../../src/base/steps';
import { copiesPay } from '../../src/index/copies-pay';
import { partsOf } from '../../src/index/simhash-index';
import { allocateIntegers, roundInto } from '../../src/k-means/points';
import { trainTree } from '../../src/k-means/two-level';
import { indexFromArrow, indexToArrow, SimHashIndex } from '../../src/node';
import { Draws } from '../reference/random';
import { found } from '../stored/places';

/** An optimized index whose rows are in two partitions each, next to brute force. */

const DIMENSIONS = 40;
const COUNT = 5000;

/** Vectors without clusters, which lie far from all centroids; some are equal to others. */
function scattered(seed: number, count: number): Float32Array {
  const values = new Draws(seed).gaussians(count * DIMENSIONS);
  const all = Float32Array.from(values);
  for (let row = 20; row < count; row += 20) all.copyWithin(row * DIMENSIONS, 0, DIMENSIONS);
  return all;
}

const values = scattered(1, COUNT);
const vectorOf = (all: Float32Array, i: number) =>
  all.subarray(i * DIMENSIONS, (i + 1) * DIMENSIONS);
const queries = Array.from({ length: 12 }, (_, i) => vectorOf(scattered(2, 40), 3 * i + 1));

function made(options: object = {}, optimize: object = {}): SimHashIndex {
  const index = new SimHashIndex({
    ...{ bits: 128, dimensions: DIMENSIONS, vectors: 'float32', projection: 'hadamard' },
    ...options,
  });
  index.addAll({ values, dimensions: DIMENSIONS });
  index.optimize({ partitions: 64, queries: 100, recall: 0.9, copies: true, ...optimize });
  return index;
}

const everywhere = { method: 'partitions', probes: 64, oversample: 500 } as const;

describe('rows in second partitions', () => {
  const index = made();

  it('are two entries of each distinct code, in different partitions', () => {
    const { distinctCodes, partitions } = partsOf(index);
    const [own, second] = [
      partitions?.partitionOfEach(distinctCodes.count),
      partitions?.secondOfEach(distinctCodes.count),
    ];
    expect(own?.every((p, i) => p !== second?.[i])).toBe(true);
    const entries = Array.from({ length: 64 }, (_, p) => partitions?.rowsOf(p) ?? 0);
    expect(entries.reduce((sum, count) => sum + count)).toBe(2 * distinctCodes.count);
  });

  it('are found once each, as by brute force, where all partitions are visited', () => {
    for (const query of queries) {
      const wanted = found(index.search(query, { k: 30, method: 'scan', oversample: 500 }));
      const answer = index.search(query, { ...everywhere, k: 30 });
      expect(found(answer)).toEqual(wanted);
      expect(new Set(answer.rows).size).toBe(30);
    }
  });

  it('are as many as asked for, however few are ranked', () => {
    for (const k of [1, 7, 100, 600]) {
      for (const probes of [1, 3, 64]) {
        const own = { k, probes, method: 'partitions', oversample: 1 } as const;
        const { rows } = index.search(queries[0], own);
        expect([k, probes, new Set(rows).size]).toEqual([k, probes, k]);
        const estimated = index.search(queries[0], { ...own, rank: 'estimate' });
        expect(new Set(estimated.rows).size).toBe(k);
      }
    }
  });

  it('need fewer probes for a recall than rows in one partition', () => {
    const one = made({}, { copies: false });
    const [copied, single] = [index, one].map((own) => {
      return queries.reduce((sum, query) => {
        const truth = new Set(index.search(query, { method: 'scan', oversample: 500 }).rows);
        const { rows } = own.search(query, { ...everywhere, probes: 8 });
        return sum + rows.filter((row) => truth.has(row)).length;
      }, 0);
    });
    expect(copied).toBeGreaterThan(1.2 * single);
    const [a, b] = [index, one].map((own) => own.report?.probes ?? 0);
    expect(a).toBeLessThan(b);
  });

  it('are the same rows for many queries in one call, and by the scalar kernel', {
    tags: 'thorough',
  }, () => {
    for (const options of [{ k: 9 }, { k: 9, probes: 40, oversample: 12 }] as const) {
      const together = index.searchAll(queries, options).map(found);
      expect(together).toEqual(queries.map((query) => found(index.search(query, options))));
      const scalar = made({ kernel: 'scalar' });
      expect(queries.map((query) => found(scalar.search(query, options)))).toEqual(together);
    }
  });

  it('follow rows that come and go', () => {
    const own = made({ vectors: 'int8' });
    const more = scattered(3, 900);
    own.addAll({ values: more, dimensions: DIMENSIONS });
    for (let row = 0; row < COUNT + 900; row += 3) own.remove(row);
    const check = () => {
      for (const query of queries) {
        const wanted = found(own.search(query, { k: 20, method: 'scan', oversample: 500 }));
        expect(found(own.search(query, { ...everywhere, k: 20 }))).toEqual(wanted);
      }
    };
    check();
    expect(partsOf(own).partitions?.addedCount).toBeGreaterThan(0);
    own.compact();
    expect(partsOf(own).partitions?.addedCount).toBe(0);
    expect(partsOf(own).partitions?.hasCopies).toBe(true);
    check();
  });

  it('are in the one Arrow file of an index, with their residual codes', () => {
    const read = indexFromArrow(indexToArrow(index));
    const [a, b] = [index, read].map((own) => partsOf(own).partitions);
    expect(b?.secondOfEach(100)).toEqual(a?.secondOfEach(100));
    const [own, other] = [a, b].map((one) => one?.residualCodes?.parts.memories[0].bytes);
    expect(other).toEqual(own);
    for (const query of queries) {
      expect(found(read.search(query))).toEqual(found(index.search(query)));
    }
  });

  it('are decided though a given neighbour has no code', () => {
    const own = new SimHashIndex({ bits: 64, dimensions: 2, vectors: 'float32', zero: 'null' });
    for (let i = 0; i < 400; i++) own.add(i === 7 ? [0, 0] : [Math.cos(i), Math.sin(i)]);
    const queries = [20, 90].map((i) => [Math.cos(i), Math.sin(i)]);
    const truth = [
      [20, 7, 64],
      [90, 46, 134],
    ];
    const report = own.optimize({ queries, truth, partitions: 8, k: 3, recall: 0.5 });
    expect(report.copies).toBe(false);
  });

  it('need vectors, and are wanted by true or false', () => {
    expect(() => made({ vectors: 'none' })).toThrow(
      `"vectors" expected 'int8' or 'float32', which copies need, got "none"`,
    );
    expect(() => made({}, { copies: 'yes' })).toThrow('"copies" expected true or false, got "yes"');
  });

  it('are made by default where they save much of what a search looks at', () => {
    const [width, count] = [40, 3000];
    const points = (seed: number, near: Int16Array | null) => {
      const draws = new Draws(seed);
      const all = allocateIntegers(count, width);
      for (let i = 0; i < count; i++) {
        const vector = draws.gaussians(width).map((value, j) => {
          return near === null ? value : near[i * width + j] / 5200 + 0.45 * value;
        });
        roundInto(vector, Math.hypot(...vector), all, i * width);
      }
      return all;
    };
    const neighbors = points(1, null);
    const tree = runSteps(trainTree(points(2, null), width, { count: 1024, seed: '1' }), {});
    const own = new Uint32Array(count);
    tree.nearestInto(neighbors, own);
    const queries = points(3, neighbors);
    const spread = { queries, neighbors, own, counts: Array.from(own, () => 1) };
    const sizes = new Uint32Array(1024).fill(1);
    const paysFor = (codes: number) => copiesPay(tree, { ...spread, sizes, codes }, 0.95);
    // A search of few codes mostly compares centroids, which copies do not change.
    expect([10_000, 10_000_000].map(paysFor)).toEqual([false, true]);
    // Each query is its neighbour: one partition holds it.
    const same = { ...spread, queries: neighbors, sizes, codes: 10_000_000 };
    expect(copiesPay(tree, same, 0.9)).toBe(false);
  });
});
