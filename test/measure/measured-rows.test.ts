import { describe, expect, it } from 'vitest';
import { SimHashIndex } from '../../src/index';
import { coreOf } from '../../src/index/simhash-index';
import { heldVectors } from '../../src/measure/recall';
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
    expect([...coreOf(index).rows.liveRows()]).toEqual(there);
    const rows = there.slice(7, 50);
    const { values } = heldVectors(index, rows) ?? {};
    expect(values).toEqual(Float32Array.from(rows.flatMap((row) => [...vectors[row]])));
    expect(heldVectors(index, [...rows, REMOVED[1]])).toBeNull();
  });
});
