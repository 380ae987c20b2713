import { createHash } from 'node:crypto';
import { afterAll, describe, expect, it } from 'vitest';
import { LongWork } from '../../src/base/long-work';
import { alea } from '../../src/base/random';
import { SimHasher } from '../../src/hashing/simhash';
import { TextHasher, type TextHasherOptions } from '../../src/text/text-hasher';

import { closeThreads, runJob, threadsFor } from '../../src/threads/parallel';
import { quickIf } from '../reference/tags';

const THREADS = [1, 3];

/** `toEqual` takes microseconds a byte. */
const digest = (bytes: ArrayBufferView) =>
  createHash('sha256')
    .update(bytes as Uint8Array)
    .digest('hex');

afterAll(closeThreads);

/** Rows that are uniform, or equal to one of a few. */
function denseRows(kind: 'uniform' | 'duplicates', count: number, dimensions: number) {
  const random = alea(kind);
  const draw = () => random() - 0.5;
  const some = Array.from({ length: 20 }, () => Array.from({ length: dimensions }, draw));
  const values = new Float32Array(count * dimensions);
  for (let row = 0; row < count; row++) {
    const near = some[Math.floor(random() * some.length)];
    for (let d = 0; d < dimensions; d++) {
      values[row * dimensions + d] = kind === 'uniform' ? draw() : near[d];
    }
  }
  return { values, dimensions };
}

function sparseRows(count: number) {
  const random = alea('sparse');
  const rows = Array.from({ length: count }, () => {
    const entries = 1 + Math.floor(random() * 60);
    return {
      indices: Array.from({ length: entries }, () => Math.floor(random() * 1e6)),
      values: Array.from({ length: entries }, () => random() - 0.5),
    };
  });
  return rows;
}

describe('hashAll', async () => {
  const makeDense = async (kind: 'uniform' | 'duplicates') => {
    const rows = denseRows(kind, 4000, 100);
    const codes = await Promise.all(
      ['signs', 'hadamard', 'gaussian'].map(async (projection) => {
        const hasher = new SimHasher({
          bits: 192,
          dimensions: 100,
          projection: projection as 'signs',
        });
        const { bytes } = await hasher.hashAll(rows, { threads: 1 });
        return { hasher, expected: digest(bytes) };
      }),
    );
    return { kind, rows, codes };
  };
  const dense = await Promise.all((['uniform', 'duplicates'] as const).map(makeDense));

  it('gives the codes of dense rows that one thread gives', async () => {
    for (const { rows, codes } of dense) {
      for (const { hasher, expected } of codes) {
        const { bytes } = await hasher.hashAll(rows, { threads: 3 });
        expect(digest(bytes)).toBe(expected);
      }
    }
  });

  it('gives the codes and nulls of sparse rows that one thread gives', async () => {
    const rows = [...sparseRows(5000), { indices: [], values: [] }, ...sparseRows(300)];
    const hasher = new SimHasher({ bits: 128, zero: 'null' });
    const codes = await hasher.hashAll(rows, { threads: 3 });
    const expected = await hasher.hashAll(rows, { threads: 1 });
    expect([codes.bytes, codes.validity]).toEqual([expected.bytes, expected.validity]);
    expect(codes.isNull(5000)).toBe(true);
  });

  it.each(THREADS)('throws the error of the first bad row with %d threads', async (threads) => {
    const rows = denseRows('uniform', 12_000, 100);
    for (const row of [11_500, 8888, 10_000]) rows.values[row * 100 + 7] = Number.NaN;
    const hasher = new SimHasher({ bits: 64 });
    const before = digest(rows.values);
    await expect(hasher.hashAll(rows, { threads })).rejects.toThrow(/row 8888\b/);
    expect(digest(rows.values)).toBe(before); // not given away
    await expect(hasher.hashAll(rows, { threads })).rejects.toThrow(RangeError);
  });

  it('hashes with patterns of the caller, which threads cannot be given', async () => {
    const pattern = (dimension: number | bigint) => new Uint8Array(8).fill(Number(dimension) * 37);
    const hasher = new SimHasher({ bits: 64, pattern });
    const rows = denseRows('uniform', 4000, 100);
    const codes = await hasher.hashAll(rows, { threads: 3 });
    expect(codes.bytes).toEqual((await hasher.hashAll(rows)).bytes);
  });

  it('reports progress in order, up to all rows', async () => {
    const rows = denseRows('uniform', 12_000, 100);
    const seen: number[] = [];
    const onProgress = (done: number, total: number) => seen.push(done, total);
    await new SimHasher({ bits: 256 }).hashAll(rows, { threads: 2, onProgress });
    const done = seen.filter((_, i) => i % 2 === 0);
    expect(done).toEqual([...done].sort((a, b) => a - b));
    expect(seen.slice(-2)).toEqual([12_000, 12_000]);
  });

  it.each([0, -1, 'many', 10_000, 1.5, null])('refuses threads: %s', async (threads) => {
    const call = new SimHasher({ bits: 64 }).hashAll([[1]], { threads: threads as never });
    await expect(call).rejects.toThrow(/^"threads" expected /);
  });

  it('starts threads for many parts, also of several calls, and never for very few', () => {
    process.env.HALFSPACE_THREADS = '2';
    try {
      expect(threadsFor(31)).toBe(0);
      expect(threadsFor(32)).toBe(2);
      expect(threadsFor(13, 'auto', false, 13)).toBe(0);
      expect(threadsFor(13, 'auto', false, 26)).toBe(2);
      expect(threadsFor(3, 'auto', false, 1000)).toBe(0);
      expect([threadsFor(4, 'auto', true), threadsFor(3, 'auto', true)]).toEqual([2, 0]);
      expect([threadsFor(2, 5), threadsFor(9, 1)]).toEqual([2, 0]);
    } finally {
      delete process.env.HALFSPACE_THREADS;
    }
  });

  it('refuses a bad HALFSPACE_THREADS', async () => {
    process.env.HALFSPACE_THREADS = 'many';
    try {
      const call = new SimHasher({ bits: 256 }).hashAll(denseRows('uniform', 20_000, 100));
      await expect(call).rejects.toThrow(/^"HALFSPACE_THREADS" expected .*, got "many"$/);
    } finally {
      delete process.env.HALFSPACE_THREADS;
    }
  });
});

describe('hashAll of texts', () => {
  const random = alea('texts');
  const words = Array.from({ length: 3000 }, () => Math.floor(random() * 1e9).toString(36));
  const draw = () => words[Math.floor(random() ** 2 * words.length)];
  const texts = Array.from({ length: 3000 }, () =>
    Array.from({ length: 1 + Math.floor(random() * 80) }, draw).join(' '),
  );
  texts[1700] = '東京都 に行く';
  const table = new TextHasher().fit(texts.slice(0, 500));
  const kinds: [string, TextHasherOptions][] = [
    ['words', { counting: 'log', empty: 'null' }],
    ['words by frequency', { frequencies: table, projection: 'direct' }],
    ['characters', { tokens: 'characters:3', bits: 256, seed: 9n }],
    ['own tokens', { tokens: (text) => text.split('a') }],
  ];

  for (const [name, options] of kinds) {
    it(`gives equal codes: ${name}`, quickIf(!name.startsWith('shingles')), async () => {
      const hasher = new TextHasher(options);
      const expected = digest((await hasher.hashAll(texts, { threads: 1 })).bytes);
      const { bytes } = await hasher.hashAll(texts, { threads: 3 });
      expect(digest(bytes)).toBe(expected);
    });
  }

  it('names the row of the first text without words, or makes its code null', async () => {
    const some = texts.map((text, i) => (i === 2500 || i === 2000 ? '' : text));
    for (const threads of THREADS) {
      const call = new TextHasher().hashAll(some, { threads });
      await expect(call).rejects.toThrow(/^row 2000: /);
      const codes = await new TextHasher({ empty: 'null' }).hashAll(some, { threads });
      const nulls = [...some.keys()].filter((row) => codes.isNull(row));
      expect(nulls).toEqual([2000, 2500]);
    }
  });
});

describe('the pool', () => {
  const rows = denseRows('uniform', 20_000, 100);
  const hasher = new SimHasher({ bits: 1024 });

  it('stops within a moment by a signal, and works again', async () => {
    const stop = new AbortController();
    let stopped = 0;
    const onProgress = () => {
      if (stopped > 0) return;
      stopped = performance.now();
      stop.abort();
    };
    const call = hasher.hashAll(rows, { threads: 2, signal: stop.signal, onProgress });
    await expect(call).rejects.toThrow(/abort/);
    expect(performance.now() - stopped).toBeLessThan(1000); // 100 ms on a machine that is free
    const some = denseRows('uniform', 5000, 100);
    const { bytes } = await hasher.hashAll(some, { threads: 2 });
    expect(digest(bytes)).toBe(digest((await hasher.hashAll(some)).bytes));
  });

  it('fails a call whose thread dies, and starts another for the next', async () => {
    await closeThreads();
    const started: { terminate(): Promise<number> }[] = [];
    process.on('worker', (worker) => started.push(worker));
    const onProgress = () => started[1].terminate();
    const call = hasher.hashAll(rows, { threads: 3, onProgress });
    await expect(call).rejects.toThrow(/^a worker thread ended .* nothing was changed/);
    process.removeAllListeners('worker');
    expect(started.length).toBe(3);
    const some = denseRows('uniform', 5000, 100);
    const { bytes } = await hasher.hashAll(some, { threads: 3 });
    expect(digest(bytes)).toBe(digest((await hasher.hashAll(some)).bytes));
  });

  it('fails the calls that are at work when it is closed', async () => {
    const call = hasher.hashAll(rows, { threads: 2, onProgress: () => closeThreads() });
    await expect(call).rejects.toThrow(/^closeThreads\(\) ended the threads/);
  });

  it('serves several calls at once', async () => {
    const few = { ...rows, values: rows.values.subarray(0, 5000 * 100) };
    const some = [1, 2, 3, 4].map((seed) => new SimHasher({ bits: 64, seed }));
    const all = await Promise.all(some.map((one) => one.hashAll(few, { threads: 2 })));
    const expected = await Promise.all(
      some.map(async (one) => digest((await one.hashAll(few, { threads: 1 })).bytes)),
    );
    expect(all.map(({ bytes }) => digest(bytes))).toEqual(expected);
  });

  it('reports an error of `take` and of `part`, once, and goes on', async () => {
    const task = { name: 'hashing', open: () => () => 1 };
    const job = { task, state: {}, count: 8, part: (i: number) => i, take: () => undefined };
    const failing = { ...job, part: fail('part') };
    await expect(runJob(failing, new LongWork({ threads: 2 }))).rejects.toThrow('part failed');
    await expect(
      runJob({ ...job, take: fail('take') }, new LongWork({ threads: 1 })),
    ).rejects.toThrow('take failed');
  });
});

function fail(name: string) {
  return (): never => {
    throw new Error(`${name} failed`);
  };
}
