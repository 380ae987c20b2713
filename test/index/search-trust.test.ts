import { describe, expect, it } from 'vitest';
import { SimHashIndex } from '../../src/index/simhash-index';
import { Draws } from '../reference/random';

const ROWS = 6000;
const DIMENSIONS = 24;

async function optimized(
  vectors: 'float32' | 'none' = 'float32',
): Promise<{ index: SimHashIndex; queries: Float32Array[] }> {
  const draws = new Draws(77);
  const centroids = Array.from({ length: 30 }, () => draws.gaussians(DIMENSIONS));
  const vector = () => {
    const centroid = draws.pick(centroids);
    return Float32Array.from(centroid, (value) => value + 0.4 * draws.gaussian());
  };
  const index = new SimHashIndex({ bits: 128, dimensions: DIMENSIONS, vectors });
  await index.addAll(Array.from({ length: ROWS }, vector));
  await index.optimize({ recall: 0.9, queries: 100 });
  return { index, queries: Array.from({ length: 6 }, vector) };
}

describe('a filter that searches in turn', async () => {
  const { index: vectors, queries } = await optimized();
  const { index: codes } = await optimized('none');
  const others = Array.from({ length: 300 }, (_, i) => queries[i % 6]);

  it.each([
    ['exact', {}],
    ['exact', { probes: 5 }],
    ['estimate', {}],
    ['estimate', { probes: 5 }],
    ['hamming', { rank: 'hamming' }],
  ] as const)('does not change what it filters: %s by %j', async (rank, how) => {
    const index = rank === 'estimate' ? codes : vectors;
    const isWanted = (row: number) => row % 7 > 2;
    const options = { ...how, k: 12 };
    const plain = { ...options, filter: (_: unknown, row: number) => isWanted(row) };
    let calls = 0;
    const nested = {
      ...options,
      filter: (_: unknown, row: number) => {
        index.search(others[calls++ % others.length], { ...options, k: 3 });
        return isWanted(row);
      },
    };
    const [query, other] = queries;
    expect(index.search(query, nested).rows).toEqual(index.search(query, plain).rows);
    expect(calls).toBeGreaterThan(0);
    const both = async (given: typeof plain) =>
      (await index.searchAll([query, other], given)).map(({ rows }) => rows);
    expect(await both(nested)).toEqual(await both(plain));
  });
});

// A filter may refuse the rows near a query: .6 were found where these were its cluster, and .4
// where they were the nearest of rows without clusters.
it.each([
  ['clusters', 0.4],
  ['no clusters', 40],
])('a filter finds about as much as is found without one, in %s', async (_, spread) => {
  const draws = new Draws(41);
  const clusters = Array.from({ length: 200 }, () => draws.gaussians(DIMENSIONS));
  const near = (cluster: number) =>
    Float32Array.from(clusters[cluster], (value) => value + spread * draws.gaussian());
  const rows = Array.from({ length: 12_000 }, (_, row) => near(row % 200));
  const index = new SimHashIndex({ bits: 128, dimensions: DIMENSIONS, vectors: 'float32' });
  await index.addAll(rows);
  await index.optimize({ recall: 0.95, queries: 400 });
  const filters = {
    'none is refused': () => true,
    'the nearest are refused': (row: number, _: number, nearest: Set<number>) => !nearest.has(row),
    'a third is accepted': (row: number) => row % 3 === 0,
    'the own cluster is refused': (row: number, own: number) => row % 200 !== own,
    'the half around is refused': (row: number) => row % 200 >= 100,
  };
  const found = new Map(Object.keys(filters).map((name) => [name, 0]));
  /** Codes of the visited partitions, and how many were compared. */
  const compared = new Map(Object.keys(filters).map((name) => [name, [0, 0]]));
  for (let own = 0; own < 100; own += 2) {
    const query = near(own);
    const cosines = rows.map((row) => {
      const product = row.reduce((sum, value, i) => sum + value * query[i], 0);
      return product / Math.hypot(...row);
    });
    const order = [...rows.keys()].sort((a, b) => cosines[b] - cosines[a]);
    const nearest = new Set(order.slice(0, 200));
    for (const [name, accepts] of Object.entries(filters)) {
      const best = order.filter((row) => accepts(row, own, nearest)).slice(0, 10);
      const filter = (_: unknown, row: number) => accepts(row, own, nearest);
      const { rows: those, explain } = index.search(query, { filter, explain: true });
      const probes = explain?.probes as number;
      const once = index.search(query, { probes, explain: true }).explain;
      const codes = compared.get(name) as number[];
      codes[0] += once?.codesCompared as number;
      codes[1] += explain?.codesCompared as number;
      const hits = best.filter((row) => those.includes(row)).length;
      found.set(name, (found.get(name) as number) + hits / 500);
    }
  }
  for (const [name, recall] of found) expect(recall, name).toBeGreaterThan(0.9);
  // Partitions that were visited are not visited again with further ones.
  const [once, all] = compared.get('a third is accepted') as number[];
  expect(all / once).toBeLessThan(1.1);
});

it('a filter that answers later is refused, since a promise is true of each row', async () => {
  const { index, queries } = await optimized();
  for (const answer of [async () => false, () => Promise.reject(new Error('later'))]) {
    const filter = answer as unknown as () => boolean;
    expect(() => index.search(queries[0], { filter })).toThrow('answers at once, got a promise');
    await expect(index.searchAll(queries, { filter })).rejects.toThrow('got a promise');
  }
});

describe('a filter that would change the index', async () => {
  const { index, queries } = await optimized();
  const [query] = queries;
  const changes: Record<string, () => unknown> = {
    add: () => index.add(query),
    set: () => index.set(query, 3),
    remove: () => index.remove(3),
  };

  it.each(Object.keys(changes))('is refused: %s', async (name) => {
    const before = index.search(query, { filter: () => true });
    const filter = () => Boolean(changes[name]());
    for (const how of [{}, { rank: 'hamming' }] as const) {
      expect(() => index.search(query, { filter, ...how })).toThrow(/a filter must not change/);
      await expect(index.searchAll([query], { filter, ...how })).rejects.toThrow(
        /a filter must not change/,
      );
    }
    expect(() => index.within(query, { filter, maxDistance: 90 })).toThrow(/must not change/);
    expect(index.search(query, { filter: () => true })).toEqual(before);
    expect(index.remove(index.add(query))).toBe(true);
  });
});

describe('as many neighbours as there are rows, and more', async () => {
  it.each([
    ['float32', {}],
    ['float32', { rank: 'hamming' }],
    ['none', {}],
  ] as const)('are all rows, vectors %s, %j', async (vectors, how) => {
    const { index, queries } = await optimized(vectors);
    for (const k of [ROWS, 2 ** 32, 2 ** 40]) {
      const { rows } = index.search(queries[0], { k, ...how });
      expect(new Set(rows).size, `k = ${k}`).toBe(ROWS);
    }
  });
});

describe('queries of any length', async () => {
  const { index, queries } = await optimized();

  const times = (factor: number) => Float64Array.from(queries[0], (value) => value * factor);

  it.each([1e-275, 1e-30, 1e30, 1e275])('find the same, times %f', (factor) => {
    const usual = index.search(queries[0], { k: 5 });
    const scaled = index.search(times(factor), { k: 5 });
    expect(scaled.rows).toEqual(usual.rows);
    usual.similarities.forEach((cosine, i) => {
      expect(scaled.similarities[i]).toBeCloseTo(cosine, 9);
    });
  });

  it.each([1e-310, 1e-290, 1e290, 1e306])('are refused where they near an end, %f', (factor) => {
    expect(() => index.search(times(factor))).toThrow('"query" expected a length of 1e-280');
  });
});

describe('a matrix of queries', async () => {
  const index = new SimHashIndex({ bits: 64, dimensions: 4 });
  await index.addAll({ values: new Float32Array(40).fill(1), dimensions: 4 });
  const values = new Float32Array(8).fill(1);

  it.each([
    ['values that are no rows', { values: values.subarray(1), dimensions: 4 }],
    ['a plain array', { values: Array.from(values), dimensions: 4 }],
    ['dimensions that are no number', { values, dimensions: Number.NaN }],
    ['a short bitmap', { values, dimensions: 4, validity: new Uint8Array() }],
    ['offsets that fall', { offsets: [0, 4, 2], indices: [0, 1, 2, 3], values: [1, 1, 1, 1] }],
  ])('is refused: %s', async (_, queries) => {
    await expect(index.searchAll(queries as never)).rejects.toThrow(
      /values|dimensions|validity|offsets/,
    );
    await expect(index.withinAll(queries as never, { maxDistance: 9 })).rejects.toThrow(
      /values|dimensions|validity|offsets/,
    );
  });
});
