import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { alea } from '../../src/base/random';
import { cluster } from '../../src/clusters/cluster';
import { clusterByDensity } from '../../src/clusters/density';
import { Codes } from '../../src/codes/codes';
import { SimHasher } from '../../src/hashing/simhash';
import { SimHashIndex } from '../../src/index/simhash-index';
import { dedup } from '../../src/near/dedup';
import { pairs } from '../../src/near/pairs';
import { TextHasher } from '../../src/text/text-hasher';
import { closeThreads } from '../../src/threads/parallel';
import { groupRows } from '../near/group-rows';
import { collected } from '../reference/collected';
import { quickIf } from '../reference/tags';

const THREADS = [2, 5];
type Kind = 'uniform' | 'clustered' | 'duplicates';
/** Two threads over uniform rows are quick, the others thorough. */
const RUNS: [Kind, number][] = [
  ['uniform', 2],
  ['clustered', 5],
  ['duplicates', 3],
];
const ROWS = 5000;
const OPTIMIZE = { recall: 0.9, queries: 40, copies: true } as const;

afterAll(closeThreads);

/** Rows that are uniform, or near one of a few, or equal to one of a few. */
function denseRows(kind: Kind, count: number, dimensions: number) {
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

/** Names of the tasks that worker threads were given since the last look. */
const given = new Set<string>();
beforeAll(async () => {
  await closeThreads();
  process.on('worker', (worker) => {
    const post = worker.postMessage.bind(worker);
    worker.postMessage = (message, ...rest) => {
      if (message.kind === 'open') given.add(message.task);
      post(message, ...rest);
    };
  });
});

/** What calls are made with, of one kind of rows. */
async function dataOf(kind: Kind) {
  const rows = denseRows(kind, ROWS, 32);
  const index = new SimHashIndex({ bits: 128, dimensions: 32, vectors: 'float32' });
  await index.addAll(rows);
  const optimized = new SimHashIndex({ bits: 128, dimensions: 32, vectors: 'float32' });
  await optimized.addAll(rows);
  await optimized.optimize({ ...OPTIMIZE, ...ONE });
  const few = { values: rows.values.slice(0, 1500 * 32), dimensions: 32 };
  const queries = { values: rows.values.slice(0, 400 * 32), dimensions: 32 };
  const filtered = { values: rows.values.slice(0, 130 * 32), dimensions: 32 };
  const codes = await index.hasher.hashAll(few);
  const asked = Codes.from(codes.bytes, {
    bits: 128,
    validity: new Uint8Array(Math.ceil(codes.count / 8)).fill(0xf7),
  });
  const offsets = Uint32Array.from({ length: ROWS + 1 }, (_, row) => 32 * row);
  const indices = Uint32Array.from(rows.values, (_, i) => (i % 32) * 1000 + (i % 7));
  const sparse = { offsets, indices, values: rows.values };
  const texts = Array.from({ length: 3000 }, (_, row) =>
    Array.from(rows.values.slice(32 * row, 32 * row + 32), (value) => (40 * value) | 0).join(' '),
  );
  const least = kind === 'uniform' ? 0.5 : 0.9;
  return { rows, few, index, optimized, queries, filtered, codes, asked, sparse, texts, least };
}

type Data = Awaited<ReturnType<typeof dataOf>>;
type Call = { threads?: number };
const ONE = { threads: 1 };
const hashers = {
  signs: new SimHasher({ bits: 128 }),
  hadamard: new SimHasher({ bits: 128, dimensions: 32, projection: 'hadamard' }),
  texts: new TextHasher({ bits: 128, tokens: 'shingles:2' }),
};
const scans = { k: 7, rank: 'hamming' } as const;
const bands = { maxDistance: 8 };
const near = { maxDistance: 12, keep: 'last' } as const;

async function fresh({ rows }: Data) {
  const own = new SimHashIndex({ bits: 128, dimensions: 32, vectors: 'float32' });
  await own.addAll(rows);
  return own;
}

/** What an index finds, and what it has measured, its speed apart. */
const stateOf = async (own: SimHashIndex, { queries }: Data) => [
  own.report,
  await own.searchAll(queries, { k: 5 }),
];

/** No task: a filter is a function, which is called in this thread. */
const NONE = 'none';

/** Each call, the task that threads get, and the call on one thread. */
const CALLS: [string, string, (d: Data, call: Call) => unknown, (d: Data) => unknown][] = [
  [
    'hashAll, signs',
    'hashing',
    (d, call) => hashers.signs.hashAll(d.rows, call),
    (d) => hashers.signs.hashAll(d.rows, ONE),
  ],
  [
    'hashAll, hadamard',
    'hashing',
    (d, call) => hashers.hadamard.hashAll(d.rows, call),
    (d) => hashers.hadamard.hashAll(d.rows, ONE),
  ],
  [
    'hashAll, sparse',
    'hashing',
    (d, call) => hashers.signs.hashAll(d.sparse, call),
    (d) => hashers.signs.hashAll(d.sparse, ONE),
  ],
  [
    'hashAll, texts',
    'text hashing',
    (d, call) => hashers.texts.hashAll(d.texts, call),
    (d) => hashers.texts.hashAll(d.texts, ONE),
  ],
  [
    'addAll',
    'hashing',
    async (d, call) => {
      const own = new SimHashIndex({ bits: 128, dimensions: 32, vectors: 'int8' });
      await own.addAll(d.rows, undefined, call);
      return stateOf(own, d);
    },
    async (d) => {
      const own = new SimHashIndex({ bits: 128, dimensions: 32, vectors: 'int8' });
      await own.addAll(d.rows, undefined, ONE);
      return stateOf(own, d);
    },
  ],
  [
    'searchAll, scan',
    'answering',
    (d, call) => d.index.searchAll(d.queries, { ...scans, ...call }),
    (d) => d.index.searchAll(d.queries, { ...scans, ...ONE }),
  ],
  [
    'searchAll, scan with a filter',
    NONE,
    (d, call) =>
      d.index.searchAll(d.filtered, { ...scans, filter: (_, row) => row % 3 !== 1, ...call }),
    (d) => d.index.searchAll(d.filtered, { ...scans, filter: (_, row) => row % 3 !== 1, ...ONE }),
  ],
  [
    'searchAll, bands',
    'answering',
    (d, call) => d.index.searchAll(d.queries, { ...scans, k: 3, ...call }),
    (d) => d.index.searchAll(d.queries, { ...scans, k: 3, ...ONE }),
  ],
  [
    'searchAll, cosine',
    'answering',
    (d, call) => d.index.searchAll(d.queries, { k: 6, ...call }),
    (d) => d.index.searchAll(d.queries, { k: 6, ...ONE }),
  ],
  [
    'searchAll, optimized',
    'answering',
    (d, call) => d.optimized.searchAll(d.queries, { k: 6, ...call }),
    (d) => d.optimized.searchAll(d.queries, { k: 6, ...ONE }),
  ],
  [
    'withinAll, scan',
    'answering',
    (d, call) => d.index.withinAll(d.queries, { maxDistance: 20, ...call }),
    (d) => d.index.withinAll(d.queries, { maxDistance: 20, ...ONE }),
  ],
  [
    'withinAll, bands',
    'answering',
    (d, call) => d.index.withinAll(d.asked, { ...bands, ...call }),
    (d) => d.index.withinAll(d.asked, { ...bands, ...ONE }),
  ],
  [
    'pairs',
    'joining',
    (d, call) => collected(pairs(d.index, { maxDistance: 12, ...call })),
    (d) => collected(pairs(d.index, { maxDistance: 12, ...ONE })),
  ],
  [
    'pairs by exact cosine',
    'comparing',
    (d, call) => collected(pairs(d.codes, { minCosine: d.least, vectors: d.few, ...call })),
    (d) => collected(pairs(d.codes, { minCosine: d.least, vectors: d.few, ...ONE })),
  ],
  [
    'groupRows',
    'joining',
    (d, call) => groupRows(d.index, { ...near, ...call }),
    (d) => groupRows(d.index, { ...near, ...ONE }),
  ],
  [
    'dedup',
    'joining',
    (d, call) => dedup(d.index, { ...near, ...call }),
    (d) => dedup(d.index, { ...near, ...ONE }),
  ],
  [
    'clusterByDensity',
    'joining',
    (d, call) => clusterByDensity(d.index, call),
    (d) => clusterByDensity(d.index, ONE),
  ],
  [
    'cluster',
    'nearest centroids',
    (d, call) => cluster(d.index, { clusters: 60, ...call }),
    (d) => cluster(d.index, { clusters: 60, ...ONE }),
  ],
  [
    'optimize',
    'near points',
    async (d, call) => {
      const own = await fresh(d);
      await own.optimize({ ...OPTIMIZE, ...call });
      return stateOf(own, d);
    },
    (d) => stateOf(d.optimized, d),
  ],
];

describe.each(RUNS)('on %s rows by %i threads', (kind, threads) => {
  const options = quickIf(kind === 'uniform');
  let data: Data;
  beforeAll(async () => {
    data = await dataOf(kind);
  });

  it.each(CALLS)('%s', options, async (_, task, run, expected) => {
    const wanted = await expected(data);
    given.clear();
    expect(isDeepStrictEqual(await run(data, { threads }), wanted)).toBe(true);
    if (kind === 'uniform') expect([...given].includes(task)).toBe(task !== NONE);
  });

  it('bands of an index to which rows were added and removed since', options, async () => {
    const own = await fresh(data);
    await own.withinAll(data.asked, bands);
    await own.addAll(denseRows(kind, 700, 32));
    for (let row = 0; row < 40; row++) own.remove(7 * row);
    const wanted = await own.withinAll(data.asked, { ...bands, ...ONE });
    expect(await own.withinAll(data.asked, { ...bands, threads })).toEqual(wanted);
  });

  it.each(['float32', 'int8', 'none'] as const)(
    'searchAll by cosine, vectors %s, with null queries, rows added and removed',
    options,
    async (vectors) => {
      const own = new SimHashIndex({ bits: 128, dimensions: 32, vectors });
      await own.addAll(data.few);
      await own.optimize({ recall: 0.9, queries: 30, partitions: 30 });
      await own.addAll(denseRows(kind, 500, 32));
      for (let row = 0; row < 40; row++) own.remove(7 * row);
      const values = data.rows.values.slice(0, 300 * 32);
      const zero = { values, dimensions: 32, validity: new Uint8Array(38).fill(0xf7) };
      const list = Array.from({ length: 150 }, (_, i) => values.slice(32 * i, 32 * (i + 1)));
      for (const batch of [zero, list]) {
        for (const options of [{ k: 6 }, { k: 3 }]) {
          const expected = await own.searchAll(batch, { ...options, ...ONE });
          expect(await own.searchAll(batch, { ...options, threads })).toEqual(expected);
        }
      }
    },
  );
});

it('clusters of held vectors, of which one was removed, are equal', {
  tags: 'thorough',
}, async () => {
  const rows = denseRows('clustered', 4000, 500);
  for (const vectors of ['float32', 'int8'] as const) {
    const index = new SimHashIndex({ bits: 64, dimensions: 500, vectors });
    await index.addAll(rows);
    index.remove(17);
    for (const clusters of [1, 40]) {
      const wanted = await cluster(index, { clusters, ...ONE });
      given.clear();
      expect(await cluster(index, { clusters, threads: 3 })).toEqual(wanted);
      expect(given).toContain('nearest centroids');
    }
  }
});

it('searches, pairs and groups of sets and sparse vectors are equal', async () => {
  const random = alea('sparse');
  const texts = Array.from({ length: 500 }, (_, row) =>
    Array.from({ length: 30 }, () => Math.floor(60 * random() ** 2) + 100 * (row % 10)).join(' '),
  );
  const hasher = new TextHasher({ bits: 256, projection: 'minwise' });
  const codes = await hasher.hashAll(texts);
  const sets = texts.map((text) => hasher.vectorize(text));
  const offsets = [0];
  for (const { indices } of sets) offsets.push((offsets.at(-1) as number) + indices.length);
  const vectors = {
    offsets,
    indices: BigUint64Array.from(sets.flatMap(({ indices }) => [...(indices as BigUint64Array)])),
    values: sets.flatMap(({ values }) => [...values]),
  };
  const near = { minJaccard: 0.2, vectors };
  const expected = await collected(pairs(codes, { ...near, ...ONE }));
  expect(expected.reduce((sum, { a }) => sum + a.length, 0)).toBeGreaterThan(100);
  const index = new SimHashIndex({ bits: 128, vectors: 'sparse' });
  await index.addAll(vectors);
  const answers = await index.searchAll(vectors, { k: 4, ...ONE });
  const groups = await groupRows(codes, { ...near, ...ONE });
  given.clear();
  expect(await collected(pairs(codes, { ...near, threads: 2 }))).toEqual(expected);
  expect(await groupRows(codes, { ...near, threads: 2 })).toEqual(groups);
  expect(await index.searchAll(vectors, { k: 4, threads: 2 })).toEqual(answers);
  expect([...given]).toEqual(['comparing', 'answering']);
});

it('an error in a query names it, whichever thread meets it', async () => {
  const index = new SimHashIndex({ bits: 64, dimensions: 3, vectors: 'float32' });
  await index.addAll(denseRows('uniform', 200, 3));
  const queries = Array.from({ length: 200 }, (_, i) => (i < 170 ? [1, i, 2] : [0, 0, 0]));
  const message = '"queries"[170]: an all-zero vector has no direction';
  for (const threads of [1, ...THREADS]) {
    await expect(index.searchAll(queries, { threads })).rejects.toThrow(message);
  }
});

it('a search whose rows are removed meanwhile gives none of them', async () => {
  const index = new SimHashIndex({ bits: 128, dimensions: 32, vectors: 'float32' });
  const rows = denseRows('clustered', 3000, 32);
  await index.addAll(rows);
  const queries = { values: rows.values.slice(0, 600 * 32), dimensions: 32 };
  given.clear();
  const call = index.searchAll(queries, { k: 3, threads: 2 });
  for (let row = 0; row < 1500; row++) index.remove(row);
  for (const { rows: found } of await call) expect(Math.min(...found)).toBeGreaterThanOrEqual(1500);
  expect([...given]).toEqual(['answering']);
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
  await index.addAll(codes('first', 50_000));
  const queries = codes('queries', 200);
  const expected = await index.searchAll(queries, { k: 3 });
  for (let round = 0; round < 3; round++) {
    const call = index.searchAll(queries, { k: 3, threads: 2 });
    await index.addAll(await new SimHashIndex({ bits: 128 }).hasher.hashAll([[1, 2, 3 + round]]));
    const found = await call;
    expect(found.map(({ rows }) => rows.filter((row) => row < 50_000).length)).toEqual(
      found.map(({ rows }) => rows.length),
    );
    expect(found).toEqual(expected);
  }
});
