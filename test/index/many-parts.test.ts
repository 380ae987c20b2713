import { describe, expect, it } from 'vitest';
import { LongWork } from '../../src/base/long-work';
import { MemoryIndex } from '../../src/index/memory-index';
import { coreOf, SimHashIndex } from '../../src/index/simhash-index';
import { Draws } from '../reference/random';

/** Rows in many segments, and rows that a search meets while they become a segment. */

const DIMENSIONS = 8;

function matrix(rows: number, seed: number) {
  const draws = new Draws(seed);
  const values = Float32Array.from({ length: rows * DIMENSIONS }, () => draws.gaussian());
  return { values, dimensions: DIMENSIONS };
}

/** An empty index whose tail becomes a segment at so many rows. */
function indexOf(tailRows: number, maxSegmentRows?: number): SimHashIndex<number> {
  const index = new SimHashIndex<number>({
    bits: 64,
    dimensions: DIMENSIONS,
    vectors: 'float32',
  });
  const core = coreOf(index as unknown as SimHashIndex);
  core.rows = new MemoryIndex({ ...core.rows.options, tailRows, maxSegmentRows });
  return index;
}

describe('an index of many parts', () => {
  it('keeps its rows where more than 256 segments become one', async () => {
    const rows = 600;
    const given = matrix(rows, 1);
    const index = indexOf(2, 2);
    for (let row = 0; row < rows; row++) {
      index.add(given.values.subarray(row * DIMENSIONS, (row + 1) * DIMENSIONS), 1000 + row);
    }
    expect(coreOf(index as unknown as SimHashIndex).rows.segmentCount).toBe(300);
    await index.optimize({ partitions: 4 });
    for (let row = 0; row < rows; row++) {
      const vector = given.values.slice(row * DIMENSIONS, (row + 1) * DIMENSIONS);
      expect(index.get(1000 + row)).toMatchObject({ row, vector });
    }
  });

  it('finds each row once where it is searched while rows get their partitions', {
    tags: 'thorough',
  }, async () => {
    const index = indexOf(1e9);
    await index.addAll(matrix(2000, 2));
    await index.optimize({ partitions: 16 });
    await index.addAll(matrix(9000, 3));
    const { rows } = coreOf(index as unknown as SimHashIndex);
    const query = matrix(1, 4).values;
    const all = { k: 20_000, probes: 16 };
    const turn = () => new Promise<void>((resolve) => setImmediate(resolve));
    const work = Object.assign(new LongWork({ threads: 1 }), { step: turn });
    let isSettled = false;
    const settling = rows.settle(work, true).then(() => {
      isSettled = true;
    });
    const counts = new Set<number>();
    const search = () => {
      const there = index.search(query, all).rows.filter((row) => row < 11_000);
      counts.add(new Set(there).size);
    };
    while (!isSettled) {
      search();
      await turn();
    }
    await settling;
    search();
    expect([...counts]).toEqual([11_000]);
  });
});
