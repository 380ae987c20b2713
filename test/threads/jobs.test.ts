import { afterAll, describe, expect, it } from 'vitest';
import { alea } from '../../src/base/random';
import { cluster, clusterAsync } from '../../src/clustering/cluster';
import { Codes } from '../../src/codes/codes';
import { SimHashIndex } from '../../src/index/simhash-index';
import { neighborLists, neighborListsAsync } from '../../src/join/neighbor-lists';
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
