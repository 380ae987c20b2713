import { describe, expect, it } from 'vitest';
import { SimHashIndex } from '../../src/index';
import { liveRows, sampleOf } from '../../src/measure/recall';
import { Draws } from '../reference/random';

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
});
