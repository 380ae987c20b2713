import { describe, expect, it } from 'vitest';
import { LongWork } from '../../src/base/long-work';
import { type DenseMatrix, SimHashIndex } from '../../src/index';
import { trueNeighbors } from '../../src/measure/brute-force';
import { heldOf, liveRows, sampleOf } from '../../src/measure/measured-rows';
import { Draws, dot } from '../reference/random';

const DIMENSIONS = 16;
const draws = new Draws('measured rows');
const vectors = Array.from({ length: 240 }, () => draws.gaussians(DIMENSIONS));
const REMOVED = [3, 100, 239];

async function made(): Promise<SimHashIndex> {
  const index = new SimHashIndex({ bits: 96, dimensions: DIMENSIONS, vectors: 'float32' });
  await index.addAll(
    vectors,
    vectors.map((_, i) => `row ${i}`),
  );
  for (const row of REMOVED) index.remove(`row ${row}`);
  return index;
}

const there = vectors.map((_, row) => row).filter((row) => !REMOVED.includes(row));
const cosine = (a: number, b: number) =>
  dot(vectors[a], vectors[b]) /
  Math.sqrt(dot(vectors[a], vectors[a]) * dot(vectors[b], vectors[b]));

describe('rows of an index', async () => {
  const index = await made();

  it('are those that are there', () => {
    expect([...liveRows(index)]).toEqual(there);
    const sample = sampleOf(index, liveRows(index), { count: 50, seed: 2 });
    expect(sample.rows).toHaveLength(50);
    expect(sample.ids).toEqual(Array.from(sample.rows, (row) => `row ${row}`));
    expect([...sample.rows].every((row) => there.includes(row))).toBe(true);
    sample.rows.forEach((row, i) => {
      expect(sample.codes.at(i)).toEqual(index.get(`row ${row}`)?.code);
    });
  });

  it('have the true neighbours that comparing all with all gives', async () => {
    const self = Uint32Array.of(0, 50, 238);
    const queries = heldOf(index, self).vectors as DenseMatrix;
    const rows = liveRows(index);
    const found = await trueNeighbors(index, { rows, queries, self, k: 7 }, new LongWork());
    [0, 50, 238].forEach((query, i) => {
      const nearest = there
        .filter((row) => row !== query)
        .sort((a, b) => cosine(query, b) - cosine(query, a))
        .slice(0, 7);
      expect([...found[i]].sort()).toEqual(nearest.sort());
    });
  });
});
