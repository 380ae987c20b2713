import { describe, expect, it } from 'vitest';
import { LongWork } from '../../src/base/long-work';
import { codePoints, layOut, mapRows } from '../../src/explore/layout/map-rows';
import { WordSearch } from '../../src/explore/server/word-search';
import { SimHasher, scanAll } from '../../src/index';
import { Draws } from '../reference/random';

const CLUSTERS = 8;
const PER_CLUSTER = 60;
const draws = new Draws('layout');
const middles = Array.from({ length: CLUSTERS }, () => draws.gaussians(24));
const vectors = Array.from({ length: CLUSTERS * PER_CLUSTER }, (_, i) =>
  middles[i % CLUSTERS].map((value) => value + 0.5 * draws.gaussian()),
);
const codes = await new SimHasher({ bits: 256, dimensions: 24 }).hashAll(vectors);
const lists = (await scanAll(codes, codes, { k: 11 })).map(({ rows }, i) =>
  rows.filter((row) => row !== i),
);
const start = Float32Array.from({ length: 2 * vectors.length }, () => 20 * draws.uniform() - 10);

async function placed(): Promise<Float32Array> {
  const places = start.slice();
  await layOut(lists, places, 60, new LongWork());
  return places;
}

describe('rows on a plane', async () => {
  const places = await placed();
  const square = (a: number, b: number) =>
    (places[2 * a] - places[2 * b]) ** 2 + (places[2 * a + 1] - places[2 * b + 1]) ** 2;
  const nearestOf = (row: number, k: number) =>
    [...vectors.keys()]
      .filter((other) => other !== row)
      .sort((a, b) => square(row, a) - square(row, b))
      .slice(0, k);

  it('lie with rows of their cluster, though they began anywhere', () => {
    let own = 0;
    for (const row of vectors.keys()) {
      own += nearestOf(row, 10).filter((other) => other % CLUSTERS === row % CLUSTERS).length;
    }
    expect(own / (10 * vectors.length)).toBeGreaterThan(0.95);
    expect(places.every(Number.isFinite)).toBe(true);
  });

  it('keep many of their neighbours, of which chance keeps few', () => {
    let found = 0;
    for (const row of vectors.keys()) {
      const near = new Set(lists[row]);
      found += nearestOf(row, 10).filter((other) => near.has(other)).length;
    }
    const chance = 10 / vectors.length;
    expect(found / (10 * vectors.length)).toBeGreaterThan(10 * chance);
  });

  it('lie at the same places each time', async () => {
    expect(await placed()).toEqual(places);
  });

  it('stay where they are without neighbours', async () => {
    const none = lists.map(() => new Uint32Array());
    const same = start.slice();
    await layOut(none, same, 5, new LongWork());
    expect(same).toEqual(start);
  });
});

describe('a map of rows whose vectors add up to nothing', () => {
  const all = (rows: number) => Uint32Array.from({ length: rows }, (_, row) => row);

  it('has opposite vectors in clusters', async () => {
    const values = Float32Array.from([1, 0, -1, 0]);
    const opposite = await new SimHasher({ bits: 64 }).hashAll([
      values.slice(0, 2),
      values.slice(2),
    ]);
    const points = codePoints(all(2), opposite, (rows) => ({
      values: Float32Array.from([...rows].flatMap((row) => [1 - 2 * row, 0])),
      dimensions: 2,
    }));
    const { labels, exemplars } = await mapRows(points, (_, work) =>
      work({ signal: new AbortController().signal, onProgress: () => {} }),
    );
    expect(Math.max(...labels)).toBeLessThan(exemplars.length);
  });

  it('has texts of one word in clusters, whichever word that is', async () => {
    // Some words were once added to dimensions that took them away again.
    const texts = Array.from({ length: 12_000 }, (_, i) => `w${i}`);
    const search = await WordSearch.of(
      { count: texts.length, read: (first, end) => texts.slice(first, end) },
      {},
    );
    const { values, dimensions } = search.points(all(texts.length)).vectorsOf(all(texts.length));
    for (let row = 0; row < texts.length; row++) {
      const own = values.subarray(row * dimensions, (row + 1) * dimensions);
      if (!own.some((value: number) => value !== 0)) throw new Error(`text ${row} has no vector`);
    }
    expect(values.length).toBe(texts.length * dimensions);
  });
});

it('finds the neighbours of texts whose words are all common', async () => {
  // Three words of a topic: each is in a quarter of the texts.
  const texts = Array.from({ length: 400 }, (_, i) =>
    ['red', 'blue', 'gold']
      .slice(0, 1 + (i % 3))
      .map((word) => `${word}${i % 4}`)
      .join(' '),
  );
  const read = (first: number, end: number) => texts.slice(first, end);
  const search = await WordSearch.of({ count: texts.length, read }, {});
  const all = Uint32Array.from(texts.keys());
  const near = await search.points(all).nearestIn(all)(all, 10, new LongWork());
  for (const [i, { ids, distances }] of near.entries()) {
    expect(ids.map((other) => other % 4)).toEqual(Array(10).fill(i % 4));
    expect(distances[0]).toBeLessThan(1e-6); // of the same words
  }
});
