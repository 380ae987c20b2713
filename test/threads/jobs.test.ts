import { afterAll, describe, expect, it } from 'vitest';
import { alea } from '../../src/base/random';
import { cluster, clusterAsync } from '../../src/clustering/cluster';
import { Codes } from '../../src/codes/codes';
import { groupRows, groupRowsAsync } from '../../src/groups/row-groups';
import { SimHashIndex } from '../../src/index/simhash-index';
import { neighborLists, neighborListsAsync } from '../../src/join/neighbor-lists';
import { pairs } from '../../src/join/pairs';
import { TextHasher } from '../../src/text/text-hasher';
import { closeThreads } from '../../src/threads/parallel';

const THREADS = [1, 2, 3, 5];
const KINDS = ['uniform', 'clustered', 'duplicates'] as const;

afterAll(closeThreads);

/** Rows that are uniform, or near one of a few, or equal to one of a few. */
function denseRows(kind: (typeof KINDS)[number], count: number, dimensions: number) {
  const random = alea(kind);
  const draw = () => random() - 0.5;
  const some = Array.from({ length: 60 }, () => Array.from({ length: dimensions }, draw));
  const noise = { uniform: 1, clustered: 0.3, duplicates: 0 }[kind];
  const values = new Float32Array(count * dimensions);
  for (let row = 0; row < count; row++) {
    const near = some[Math.floor(random() * some.length)];
    const isAlone = kind === 'duplicates' && row % 3 === 0;
    for (let d = 0; d < dimensions; d++) {
      const base = kind === 'uniform' || isAlone ? 0 : near[d];
      values[row * dimensions + d] = base + (isAlone ? 1 : noise) * draw();
    }
  }
  return { values, dimensions };
}

describe.each(KINDS)('on %s rows', (kind) => {
  const rows = denseRows(kind, 9000, 32);
  const index = new SimHashIndex({ bits: 128, dimensions: 32, vectors: 'float32' });
  index.addAll(rows);
  const queries = { values: rows.values.slice(0, 40 * 32), dimensions: 32 };

  it('searchAllAsync and withinAllAsync by distance give equal results', async () => {
    const search = { k: 7, rank: 'hamming', method: 'scan' } as const;
    const filtered = { ...search, filter: (_: unknown, row: number) => row % 3 !== 1 };
    const within = { maxDistance: 20, method: 'scan' } as const;
    const one = { values: queries.values.slice(0, 32), dimensions: 32 };
    for (const threads of THREADS) {
      for (const some of [queries, one]) {
        expect(await index.searchAllAsync(some, { ...search, threads })).toEqual(
          index.searchAll(some, search),
        );
        expect(await index.withinAllAsync(some, { ...within, threads })).toEqual(
          index.withinAll(some, within),
        );
      }
      expect(await index.searchAllAsync(queries, { ...filtered, threads })).toEqual(
        index.searchAll(queries, filtered),
      );
    }
  });

  it.each(['float32', 'int8', 'none'] as const)(
    'searchAllAsync by cosine, vectors %s',
    async (vectors) => {
      const own = new SimHashIndex({ bits: 128, dimensions: 32, vectors });
      own.addAll(rows);
      const some = { values: rows.values.slice(0, 300 * 32), dimensions: 32 };
      const listed = Array.from({ length: 150 }, (_, i) => rows.values.slice(32 * i, 32 * (i + 1)));
      const zero = { ...some, validity: new Uint8Array(38).fill(0xf7) };
      for (const isOptimized of [false, true]) {
        if (isOptimized) own.optimize({ recall: 0.9, queries: 60 });
        for (const batch of [some, zero, listed]) {
          for (const options of [{ k: 6 }, { k: 3, rank: 'estimate' } as const]) {
            const expected = own.searchAll(batch, options);
            for (const threads of THREADS) {
              expect(await own.searchAllAsync(batch, { ...options, threads })).toEqual(expected);
            }
          }
        }
        own.addAll(denseRows(kind, 1500, 32));
        for (let row = 0; row < 40; row++) own.remove(7 * row);
      }
    },
  );

  it('pairs by exact cosine are equal', async () => {
    const vectors = { values: rows.values.slice(0, 2500 * 32), dimensions: 32 };
    const codes = index.hasher.hashAll(vectors);
    const options = { minCosine: kind === 'uniform' ? 0.5 : 0.9, vectors };
    const expected = [...pairs(codes, options)];
    expect(expected.length).toBeGreaterThan(0);
    for (const threads of THREADS) {
      const found = [];
      for await (const batch of pairs(codes, { ...options, threads })) found.push(batch);
      expect(found).toEqual(expected);
    }
  });

  it('neighborListsAsync gives equal lists', async () => {
    const expected = neighborLists(index, { k: 8 });
    for (const threads of THREADS) {
      expect(await neighborListsAsync(index, { k: 8, threads })).toEqual(expected);
    }
  });

  it('clusterAsync gives equal clusters', async () => {
    const options = { clusters: 40, sample: 4000 };
    const expected = cluster(index, options);
    for (const threads of THREADS) {
      expect(await clusterAsync(index, { ...options, threads })).toEqual(expected);
    }
  });

  it('optimizeAsync gives an equal report and equal answers', async () => {
    const made = THREADS.map((threads) => {
      const own = new SimHashIndex({ bits: 128, dimensions: 32, vectors: 'float32' });
      own.addAll(rows);
      return { threads, own };
    });
    const known = [];
    for (const { threads, own } of made) {
      const report = await own.optimizeAsync({ recall: 0.9, threads, queries: 100 });
      known.push([{ ...report, queriesPerSecond: 0 }, own.searchAll(queries, { k: 5 })]);
    }
    for (const one of known) expect(one).toEqual(known[0]);
  });
});

it('searches, pairs and groups of sets and sparse vectors are equal', async () => {
  const random = alea('sparse');
  const texts = Array.from({ length: 900 }, (_, row) =>
    Array.from({ length: 30 }, () => Math.floor(60 * random() ** 2) + 100 * (row % 90)).join(' '),
  );
  const hasher = new TextHasher({ bits: 256, projection: 'minwise' });
  const codes = hasher.hashAll(texts);
  const sets = texts.map((text) => hasher.vectorize(text));
  const offsets = [0];
  for (const { indices } of sets) offsets.push((offsets.at(-1) as number) + indices.length);
  const vectors = {
    offsets,
    indices: BigUint64Array.from(sets.flatMap(({ indices }) => [...(indices as BigUint64Array)])),
    values: sets.flatMap(({ values }) => [...values]),
  };
  const near = { minJaccard: 0.2, vectors };
  const expected = [...pairs(codes, near)];
  expect(expected.reduce((sum, { a }) => sum + a.length, 0)).toBeGreaterThan(100);
  const index = new SimHashIndex({ bits: 128, vectors: 'sparse' });
  index.addAll(vectors);
  const answers = index.searchAll(vectors, { k: 4 });
  for (const threads of THREADS) {
    const found = [];
    for await (const batch of pairs(codes, { ...near, threads })) found.push(batch);
    expect(found).toEqual(expected);
    expect(await groupRowsAsync(codes, { ...near, threads })).toEqual(groupRows(codes, near));
    expect(await index.searchAllAsync(vectors, { k: 4, threads })).toEqual(answers);
  }
});

it('an error in a query names it, whichever thread meets it', async () => {
  const index = new SimHashIndex({ bits: 64, dimensions: 3, vectors: 'float32' });
  index.addAll(denseRows('uniform', 200, 3));
  const queries = Array.from({ length: 200 }, (_, i) => (i < 170 ? [1, i, 2] : [0, 0, 0]));
  const message = '"queries[170]" is an all-zero vector';
  for (const threads of THREADS) {
    await expect(index.searchAllAsync(queries, { threads })).rejects.toThrow(message);
  }
});

it('a search whose rows are removed meanwhile gives none of them', async () => {
  const index = new SimHashIndex({ bits: 128, dimensions: 32, vectors: 'float32' });
  const rows = denseRows('clustered', 6000, 32);
  index.addAll(rows);
  const call = index.searchAllAsync(rows, { k: 3, threads: 2 });
  for (let row = 0; row < 3000; row++) index.remove(row);
  for (const { rows: found } of await call) expect(Math.min(...found)).toBeGreaterThanOrEqual(3000);
});

it('a scan in memory that grows while threads read it finds what was there', async () => {
  const codes = (seed: string, count: number) => {
    const random = alea(seed);
    return Codes.from(
      Uint8Array.from({ length: 16 * count }, () => 256 * random()),
      { bits: 128 },
    );
  };
  const index = new SimHashIndex({ bits: 128 });
  index.addAll(codes('first', 150_000));
  const queries = codes('queries', 200);
  const expected = index.searchAll(queries, { k: 3, method: 'scan' });
  for (let round = 0; round < 3; round++) {
    const call = index.searchAllAsync(queries, { k: 3, method: 'scan', threads: 2 });
    index.addAll(new SimHashIndex({ bits: 128 }).hasher.hashAll([[1, 2, 3 + round]]));
    const found = await call;
    expect(found.map(({ rows }) => rows.filter((row) => row < 150_000).length)).toEqual(
      found.map(({ rows }) => rows.length),
    );
    expect(found).toEqual(expected);
  }
});
