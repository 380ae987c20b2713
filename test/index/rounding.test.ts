import { describe, expect, it } from 'vitest';
import { indexFromArrow, indexToArrow, SimHashIndex, scanVectors } from '../../src/index';
import { coreOf } from '../../src/index/simhash-index';
import { Draws } from '../reference/random';

const DIMENSIONS = 32;
const K = 10;

/** Vectors whose first coordinate is so many times as large as the others. */
function withOutlier(count: number, seed: string, times: number) {
  const values = new Draws(seed).gaussians(count * DIMENSIONS);
  for (let i = 0; i < values.length; i += DIMENSIONS) values[i] *= times;
  return { values: Float32Array.from(values), dimensions: DIMENSIONS };
}

/** The share of the true neighbours of new queries that an index finds. */
function foundBy(
  index: SimHashIndex,
  rows: { values: Float32Array; dimensions: number },
  queries: Float32Array,
) {
  let found = 0;
  const count = queries.length / DIMENSIONS;
  for (let i = 0; i < count; i++) {
    const query = queries.subarray(i * DIMENSIONS, (i + 1) * DIMENSIONS);
    const truth = new Set(scanVectors(rows, query, { k: K }).rows);
    for (const row of index.search(query, { k: K }).rows) found += Number(truth.has(row));
  }
  return found / (K * count);
}

describe('vectors held as int8', () => {
  for (const times of [30, 1000]) {
    it(`know what they lost, a coordinate ${times} times the others`, {
      tags: 'thorough',
    }, async () => {
      const rows = withOutlier(2000, 'rows', times);
      const index = new SimHashIndex({ bits: 128, dimensions: DIMENSIONS, vectors: 'int8' });
      await index.addAll(rows);
      const loaded = indexFromArrow(indexToArrow(index));
      const { recall } = await index.optimize({ recall: 0.9, queries: 300 });
      const found = foundBy(index, rows, withOutlier(100, 'queries', times).values);
      expect(Math.abs(recall - found)).toBeLessThan(0.06);
      // Files say it too.
      if (times !== 30) return;
      expect((await loaded.optimize({ recall: 0.9, queries: 300 })).recall).toBe(recall);
    });
  }

  it('take zeros that nothing was lost of for what they are', async () => {
    const rows = withOutlier(3000, 'sparse', 1);
    rows.values.forEach((value, i) => {
      if (Math.abs(value) < 1) rows.values[i] = 0;
    });
    const index = new SimHashIndex({ bits: 128, dimensions: DIMENSIONS, vectors: 'int8' });
    await index.addAll(rows);
    expect(coreOf(index).dense?.zeros).toMatchObject({ squares: 0 });
    expect(coreOf(index).dense?.zeros.count).toBeGreaterThan(rows.values.length / 2);
  });

  it.each([3e38, 1e-38, 3e-43, 1e-44])('keep their direction at lengths of %e', async (length) => {
    const { values } = withOutlier(500, 'scaled', 1);
    const most = values.reduce((max, value) => Math.max(max, Math.abs(value)), 0);
    const scaled = values.map((value) => (value / most) * length);
    const index = new SimHashIndex({ bits: 64, dimensions: DIMENSIONS, vectors: 'int8' });
    await index.addAll({ values: scaled, dimensions: DIMENSIONS });
    for (const row of [0, 499]) {
      const given = scaled.subarray(row * DIMENSIONS, (row + 1) * DIMENSIONS);
      const held = index.get(row)?.vector as Float32Array;
      const step = Math.max(...given.map(Math.abs)) / 254 + 2 ** -150;
      given.forEach((value, i) => {
        expect(Math.abs(held[i] - value)).toBeLessThanOrEqual(1.001 * step);
      });
    }
    expect((await index.optimize({ recall: 0.5, queries: 50 })).recall).toBeGreaterThan(0.5);
  });
});
