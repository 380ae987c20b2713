import { describe, expect, it } from 'vitest';
import { measureRecall, SimHashIndex } from '../../src/index';
import { Draws, dot } from '../reference/random';

const DIMENSIONS = 16;
const K = 5;
const draws = new Draws('recall');
const centers = Array.from({ length: 20 }, () => draws.gaussians(DIMENSIONS));
const vectors = Array.from({ length: 400 }, (_, i) =>
  draws.gaussians(DIMENSIONS).map((value, j) => centers[i % 20][j] + 0.8 * value),
);
const REMOVED = [0, 77, 399];
const live = vectors.map((_, row) => row).filter((row) => !REMOVED.includes(row));

async function made(): Promise<SimHashIndex> {
  const index = new SimHashIndex({
    bits: 64,
    dimensions: DIMENSIONS,
    projection: 'hadamard',
    vectors: 'float32',
  });
  await index.addAll(vectors);
  for (const row of REMOVED) index.remove(row);
  return index;
}

const cosine = (a: ArrayLike<number>, b: ArrayLike<number>) =>
  dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b));

/** The k nearest live rows, without `self`. */
function nearest(query: ArrayLike<number>, self: number | null): Set<number> {
  const others = live.filter((row) => row !== self);
  const cosines = vectors.map((vector) => cosine(query, Float32Array.from(vector)));
  return new Set(others.sort((a, b) => cosines[b] - cosines[a]).slice(0, K));
}

describe('recall against brute force', async () => {
  const index = await made();

  it('of all rows of an index is the share that its searches find', async () => {
    let found = 0;
    for (const row of live) {
      const truth = nearest(Float32Array.from(vectors[row]), row);
      const answer = index.search(vectors[row], { k: K + 1, rank: 'hamming' });
      const others = [...answer.rows].filter((other) => other !== row).slice(0, K);
      found += others.filter((other) => truth.has(other)).length;
    }
    const search = { rank: 'hamming' } as const;
    const measured = await measureRecall(index, { k: K, sample: 1000, search });
    expect(measured.recall).toBeCloseTo(found / (K * live.length), 12);
    expect(measured).toMatchObject({ queries: live.length });
    expect(measured.recall).toBeGreaterThan(0.3);
    expect(measured.recall).toBeLessThan(0.95);
    expect(measured.interval[0]).toBeLessThan(measured.recall);
    expect(measured.interval[1]).toBeGreaterThan(measured.recall);
  });

  it('shows a progress that rises and ends once', async () => {
    const shares: number[] = [];
    const onProgress = (done: number, total: number) => shares.push(done / total);
    await measureRecall(index, { k: K, sample: 1000, threads: 1, onProgress });
    expect(shares).toEqual([...shares].sort((a, b) => a - b));
    expect([shares.indexOf(1), shares.length > 2]).toEqual([shares.length - 1, true]);
  });

  it('of queries that are no rows is by the whole answer', async () => {
    const queries = Array.from({ length: 30 }, () => draws.gaussians(DIMENSIONS));
    let found = 0;
    for (const query of queries) {
      const truth = nearest(query, null);
      const { rows } = index.search(query, { k: K, oversample: 2 });
      found += [...rows].filter((row) => truth.has(row)).length;
    }
    const measured = await measureRecall(index, { queries, k: K, search: { oversample: 2 } });
    expect(measured.recall).toBeCloseTo(found / (K * 30), 12);
    expect(measured.queries).toBe(30);
  });

  it('is 1 where every row is ranked by cosine', async () => {
    const search = { oversample: 400 };
    const measured = await measureRecall(index, { k: K, sample: 50, search });
    expect(measured.recall).toBe(1);
    // Fifty queries without a miss do not prove that none is ever missed.
    expect(measured.interval[0]).toBeLessThan(0.95);
    expect(measured.interval[1]).toBe(1);
  });

  // Of rows that are equally near only the lower ones counted, which optimize counts all.
  it('counts rows as near as the k-th as found, whichever of them a search returns', async () => {
    const options = {
      bits: 64,
      dimensions: 2,
      projection: 'gaussian',
      vectors: 'float32',
    } as const;
    const equal = new SimHashIndex(options);
    await equal.addAll(Array.from({ length: 20 }, (_, i) => [1, i % 2 === 0 ? 1 : -1]));
    const [search, queries] = [{ rank: 'hamming' } as const, [[1, 0]]];
    const { rows } = equal.search(queries[0], { k: 10, ...search });
    expect([...rows]).not.toEqual(Array.from({ length: 10 }, (_, i) => i));
    const measured = await measureRecall(equal, { k: 10, queries, search });
    expect(measured.recall).toBe(1);
  });

  it('of sparse vectors is by their cosines', async () => {
    const sparse = new SimHashIndex({ bits: 64, vectors: 'sparse' });
    const rows = vectors.map((row) => ({ indices: [...row.keys()], values: [...row] }));
    await sparse.addAll(rows);
    for (const row of REMOVED) sparse.remove(row);
    const queries = rows.slice(5, 15);
    let found = 0;
    for (const [i, query] of queries.entries()) {
      const truth = nearest(Float32Array.from(vectors[5 + i]), null);
      found += [...sparse.search(query, { k: K }).rows].filter((row) => truth.has(row)).length;
    }
    const measured = await measureRecall(sparse, { queries, k: K });
    expect(measured).toMatchObject({ recall: found / (10 * K) });
  });

  it('is the same again for a seed, reports progress and stops at a signal', async () => {
    const done: number[] = [];
    const onProgress = (some: number, total: number) => done.push(some / total);
    const options = { k: K, sample: 30, seed: 9n };
    const measured = await measureRecall(index, { ...options, onProgress });
    expect(await measureRecall(index, options)).toEqual(measured);
    expect(done).toEqual([...done].sort((a, b) => a - b));
    expect(done.at(-1)).toBe(1);
    const signal = AbortSignal.abort();
    await expect(measureRecall(index, { signal })).rejects.toThrow(/abort/i);
  });

  it('refuses what it cannot measure', async () => {
    const wrong: [object, RegExp][] = [
      [{ queries: [] }, /recall needs a query and a row/],
      [{ k: 0 }, /"k" expected an integer from 1 on, got 0/],
      [{ sample: 0 }, /"sample" expected an integer in 1..100000, got 0/],
      [{ seed: 'a' }, /"seed" expected a number or a bigint/],
      [{ search: { k: 3 } }, /"search" has no option "k"/],
      [{ samples: 3 }, /no option "samples", did you mean "sample"/],
    ];
    for (const [options, message] of wrong) {
      await expect(measureRecall(index, options)).rejects.toThrow(message);
    }
    await expect(measureRecall(new SimHashIndex({ bits: 64 }))).rejects.toThrow(
      'recall is measured by exact cosines: make the index with "vectors"',
    );
    const empty = new SimHashIndex({ bits: 64, vectors: 'sparse' });
    await expect(measureRecall(empty)).rejects.toThrow(/recall needs a query and a row/);
    empty.add({ indices: [1], values: [1] });
    await expect(measureRecall(empty)).rejects.toThrow(/the queries have none/);
  });
});
