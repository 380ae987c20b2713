import { describe, expect, it } from 'vitest';
import { cluster } from '../../src/clusters/cluster';
import { coreOf, SimHashIndex } from '../../src/index/simhash-index';
import { dedup } from '../../src/near/dedup';
import { pairs } from '../../src/near/pairs';
import { Draws, dot } from '../reference/random';
import { groupRows } from './group-rows';

/** Rows of an index lie in the order of its partitions, and close up when others are removed. */

const ROWS = 1200;
const DIMENSIONS = 24;

/** Unit vectors of which each third row is near to the one before. */
function vectors(): Float32Array[] {
  const draws = new Draws(7);
  const rows: Float32Array[] = [];
  for (let row = 0; row < ROWS; row++) {
    const own = Float32Array.from({ length: DIMENSIONS }, () => draws.gaussian());
    const near = rows[row - 1];
    rows.push(row % 3 === 2 ? near.map((x, i) => x + 0.1 * own[i]) : own);
  }
  return rows;
}

const cosine = (a: ArrayLike<number>, b: ArrayLike<number>) =>
  dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b));

async function optimized(rows: readonly Float32Array[]): Promise<SimHashIndex> {
  const index = new SimHashIndex({ bits: 128, dimensions: DIMENSIONS, vectors: 'float32' });
  await index.addAll(rows);
  await index.optimize({ partitions: 16 });
  return index;
}

async function pairsOf(
  index: SimHashIndex,
  wanted: { minCosine: number } | { minJaccard: number },
) {
  const found: string[] = [];
  for await (const batch of pairs(index, wanted)) {
    batch.a.forEach((a, i) => {
      found.push(`${a} ${batch.b[i]}`);
    });
  }
  return found.sort();
}

describe('an index whose rows lie at other places than their numbers', () => {
  it('has the pairs of brute force by exact cosine', async () => {
    const rows = vectors();
    const index = await optimized(rows);
    for (let row = 0; row < ROWS; row += 50) index.remove(row);
    const expected: string[] = [];
    for (let a = 0; a < ROWS; a++) {
      for (let b = a + 1; b < ROWS; b++) {
        if (a % 50 === 0 || b % 50 === 0) continue;
        if (cosine(rows[a], rows[b]) >= 0.98) expected.push(`${a} ${b}`);
      }
    }
    expect(expected.length).toBeGreaterThan(200);
    expect(await pairsOf(index, { minCosine: 0.98 })).toEqual(expected.sort());
  });

  it('has the groups, plans and clusters that it had before', async () => {
    const rows = vectors();
    const plain = new SimHashIndex({ bits: 128, dimensions: DIMENSIONS, vectors: 'float32' });
    await plain.addAll(rows);
    const index = await optimized(rows);
    expect((await groupRows(index, { minCosine: 0.98 })).groupOf).toEqual(
      (await groupRows(plain, { minCosine: 0.98 })).groupOf,
    );
    const [plan, wanted] = [
      await dedup(index, { minCosine: 0.98 }),
      await dedup(plain, { minCosine: 0.98 }),
    ];
    expect(plan.similarities).toEqual(wanted.similarities);
    expect((await cluster(index, { clusters: 10 })).labels).toEqual(
      (await cluster(plain, { clusters: 10 })).labels,
    );
  });

  it('compares the sets of rows that closed up', async () => {
    const draws = new Draws(3);
    const index = new SimHashIndex<number>({
      bits: 128,
      projection: 'minwise',
      vectors: 'sparse',
    });
    const sets: Uint32Array[] = [];
    for (let row = 0; row < 300; row++) {
      const own = Uint32Array.from({ length: 30 }, () => draws.integer(1e6));
      sets.push(row % 2 === 0 ? own : own.map((x, i) => (i < 28 ? sets[row - 1][i] : x)));
      index.add({ indices: sets[row], values: new Float32Array(30).fill(1) });
    }
    for (let row = 0; row < 100; row += 2) index.remove(row);
    const { rows } = coreOf(index as unknown as SimHashIndex);
    for (const segment of [...rows.sealed()]) rows.compacted(segment);
    const expected = Array.from({ length: 100 }, (_, i) => `${100 + 2 * i} ${101 + 2 * i}`);
    expect(await pairsOf(index as unknown as SimHashIndex, { minJaccard: 0.8 })).toEqual(
      expected.sort(),
    );
  });
});
