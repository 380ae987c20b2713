import { afterAll, describe, expect, it } from 'vitest';
import { Codes } from '../../src/index';
import { coreOf, SimHashIndex } from '../../src/index/simhash-index';
import { closeThreads } from '../../src/threads/parallel';
import { Draws } from '../reference/random';
import { quickIf } from '../reference/tags';
import { denseVectors, givenOf, sparseVectors } from './spread';

/** Many queries, by several threads: answers are equal, ids included. */

afterAll(closeThreads);
const DIMENSIONS = 16;

// test/threads/jobs.test.ts has int8 and codes alone.
it('two threads answer as one does, with ids', { tags: 'thorough' }, async () => {
  const draws = new Draws('threads');
  const vectors = denseVectors(draws, 3000, DIMENSIONS);
  const index = new SimHashIndex({
    bits: 128,
    dimensions: DIMENSIONS,
    vectors: 'float32',
    zero: 'null',
  });
  await index.addAll(
    vectors,
    vectors.map((_, i) => `id ${i}`),
    { threads: 2 },
  );
  await index.optimize({ partitions: 24, queries: 40, threads: 2 });
  await index.addAll(
    vectors.slice(0, 50),
    vectors.slice(0, 50).map((_, i) => `more ${i}`),
  );
  for (let i = 0; i < 300; i++) index.remove(`id ${9 * i}`);
  const queries = denseVectors(draws, 700, DIMENSIONS);
  for (const options of [{}, { rank: 'hamming' }, { k: 3 }] as const) {
    const one = await index.searchAll(queries, { ...options, threads: 1 });
    expect(await index.searchAll(queries, { ...options, threads: 2 })).toEqual(one);
  }
  const codes = Codes.from((await index.hasher.hashAll(queries)).bytes, { bits: 128 });
  const within = await index.withinAll(codes, { maxDistance: 30, threads: 1 });
  expect(await index.withinAll(codes, { maxDistance: 30, threads: 2 })).toEqual(within);
});

describe.each([
  { k: 10, copies: true },
  { k: 10, copies: false },
  { k: 700, copies: false }, // more hits than a search of several has space for
])('queries together, %o', ({ k, copies }) => {
  it('find what each finds alone', quickIf(copies), async () => {
    const draws = new Draws('together');
    // So wide that 38 of 40 partitions have more than a megabyte of entries.
    const dimensions = 512;
    const vectors = denseVectors(draws, 9000, dimensions);
    const own = { bits: 64, dimensions, vectors: 'float32', zero: 'null' } as const;
    const index = new SimHashIndex(own);
    await index.addAll(vectors);
    const report = await index.optimize({ partitions: 40, queries: 40, copies, threads: 1 });
    expect(report.method).toBe('partitions');
    const queries = denseVectors(draws, 120, dimensions);
    const how = { k, oversample: 12, probes: 38 };
    const each = queries.map((query) => index.search(query, how));
    expect(await index.searchAll(queries, { ...how, threads: 1 })).toEqual(each);
    expect(await index.searchAll(queries, { ...how, threads: 2 })).toEqual(each);
    // A row in the tail, which is searched with the segment: query by query.
    index.add(vectors[0]);
    const more = queries.map((query) => index.search(query, how));
    expect(await index.searchAll(queries, { ...how, threads: 1 })).toEqual(more);
  });
});

it('two threads compare sparse rows as one does, and errors name the query', async () => {
  const draws = new Draws('sparse threads');
  const index = new SimHashIndex({ bits: 64, vectors: 'sparse', zero: 'null' });
  await index.addAll(sparseVectors(draws, 500).map(givenOf) as never);
  const queries = sparseVectors(draws, 300).map(givenOf) as never[];
  const one = await index.searchAll(queries as never, { threads: 1 });
  expect(await index.searchAll(queries as never, { threads: 2 })).toEqual(one);
  const wrong = [...queries.slice(0, 250), [Number.NaN]];
  await expect(index.searchAll(wrong as never, { threads: 2 })).rejects.toThrow(/"queries"\[250\]/);
});

it('rows that are removed while threads search are in no answer', async () => {
  const draws = new Draws('removed meanwhile');
  const index = new SimHashIndex({ bits: 64, dimensions: DIMENSIONS });
  const vectors = denseVectors(draws, 4000, DIMENSIONS).map((v) => v.map((x) => x || 1));
  await index.addAll(vectors);
  const searching = index.searchAll(vectors.slice(0, 500), { rank: 'hamming', threads: 2 });
  for (let row = 0; row < 500; row++) index.remove(row);
  for (const { rows, ids } of await searching) {
    expect(Math.min(...rows)).toBeGreaterThanOrEqual(500);
    expect(ids).toEqual(Array.from(rows));
  }
});

it('answers all queries by the setting that it began with, where optimize ends meanwhile', {
  tags: 'thorough',
}, async () => {
  const draws = new Draws('optimize meanwhile');
  const own = { dimensions: DIMENSIONS, vectors: 'float32', zero: 'null' } as const;
  const index = new SimHashIndex({ bits: 64, ...own });
  await index.addAll(denseVectors(draws, 200, DIMENSIONS));
  const queries = denseVectors(draws, 6000, DIMENSIONS);
  const before = await index.searchAll(queries, { k: 3, threads: 1 });
  let done = 0;
  const onProgress = (count: number) => {
    done = count;
  };
  const searching = index.searchAll(queries, { k: 3, threads: 1, onProgress });
  await index.optimize({ recall: 0.1, queries: 2, threads: 1 });
  expect(done).toBeGreaterThan(0);
  expect(done).toBeLessThan(queries.length);
  expect(await searching).toEqual(before);
  expect(await index.searchAll(queries, { k: 3, threads: 1 })).not.toEqual(before);
});

it('an index of which null rows alone are left has no answers', async () => {
  const options = { bits: 64, dimensions: 4, vectors: 'float32', zero: 'null' } as const;
  const index = new SimHashIndex(options);
  const vectors = denseVectors(new Draws('null rows are left'), 200, 4);
  await index.addAll([...vectors.map((v) => v.map((x) => x || 1)), [0, 0, 0, 0]]);
  await index.optimize({ partitions: 4, queries: 20 });
  for (let row = 0; row < 200; row++) index.remove(row);
  const { rows } = coreOf(index as unknown as SimHashIndex);
  for (const segment of rows.sealed()) rows.compacted(segment); // as a save does
  expect(index.count).toBe(1);
  // Their segment has no entries, which was an error of kernels.
  for (const threads of [1, 2]) {
    const found = await index.searchAll(vectors.slice(0, 50), { threads });
    expect(found.flatMap(({ ids }) => ids)).toEqual([]);
  }
});
