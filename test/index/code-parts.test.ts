/** Codes and residual codes of an index in many memories: the library with small ones answers as that with one does. */

import { afterAll, describe, expect, it, vi } from 'vitest';
import { collected } from '../reference/collected';
import { Draws } from '../reference/random';
import { quickIf } from '../reference/tags';

const MODULE = '../../src/kernels/memory';

/** The library with memories of so many bytes of codes; undefined: as it is. */
async function libraryOf(partBytes?: number) {
  vi.resetModules();
  vi.doMock(MODULE, async (original) => ({
    ...(await original<object>()),
    ...(partBytes !== undefined && { PART_BYTES: partBytes }),
  }));
  return {
    ...(await import('../../src/index')),
    ...(await import('../../src/index/write-index')),
    ...(await import('../../src/index/read-index')),
    ...(await import('../../src/index/simhash-index')),
  };
}

type Library = Awaited<ReturnType<typeof libraryOf>>;

afterAll(() => vi.doUnmock(MODULE));

const ROWS = 700;
const DIMENSIONS = 12;

/** Rows near each other, some of them equal, and queries near them. */
function vectorsOf(seed: string): { rows: Float32Array; queries: Float32Array } {
  const draws = new Draws(seed);
  const value = () => draws.integer(2000) / 1000 - 1;
  const centers = Float32Array.from({ length: 20 * DIMENSIONS }, value);
  const rows = new Float32Array(ROWS * DIMENSIONS);
  for (let row = 0; row < ROWS; row++) {
    const center = DIMENSIONS * draws.integer(20);
    const spread = row % 5 === 0 ? 0 : 0.3;
    for (let i = 0; i < DIMENSIONS; i++) {
      rows[row * DIMENSIONS + i] = centers[center + i] + spread * value();
    }
  }
  const queries = rows.slice(0, 20 * DIMENSIONS).map((x) => x + 0.1 * value());
  return { rows, queries };
}

/** Answers of an index to all kinds of searches through its life; `count` is of its memories. */
async function answersOf(library: Library, bits: number, vectors: 'none' | 'float32') {
  const { SimHashIndex, partsOf, indexToArrow, indexFromArrow } = library;
  const { rows, queries } = vectorsOf(`parts ${bits}`);
  const index = new SimHashIndex<number>({ bits, dimensions: DIMENSIONS, vectors, seed: 3 });
  const matrix = (values: Float32Array) => ({ values, dimensions: DIMENSIONS });
  const ids = Array.from({ length: ROWS }, (_, row) => 10 * row);
  index.addAll(matrix(rows.subarray(0, 300 * DIMENSIONS)), ids.slice(0, 300));
  index.addAll(matrix(rows.subarray(300 * DIMENSIONS)), ids.slice(300));
  const asked = matrix(queries);
  const answers: unknown[] = [];
  const ask = async () => {
    const few = new Set(ids.filter((id) => id % 70 === 0));
    for (const method of ['scan', 'bands'] as const) {
      for (const filter of [undefined, (id: number) => id % 30 === 0]) {
        const how = { method, ...(filter && { filter }) };
        for (let q = 0; q < 4; q++) {
          const query = queries.subarray(q * DIMENSIONS, (q + 1) * DIMENSIONS);
          answers.push(index.search(query, { k: 7, rank: 'hamming', ...how }));
          answers.push(index.within(query, { maxDistance: bits >> 3, ...how }));
        }
      }
    }
    answers.push(index.searchAll(asked, { k: 5, rank: 'hamming' }));
    for (const filter of [undefined, (id: number) => id % 30 === 0, (id: number) => few.has(id)]) {
      answers.push(index.searchAll(asked, { k: 30, ...(filter && { filter }) }));
      answers.push(index.searchAll(asked, { k: 9, rank: 'estimate', ...(filter && { filter }) }));
    }
    answers.push(await index.searchAllAsync(asked, { k: 5, rank: 'hamming', threads: 2 }));
    answers.push(await index.searchAllAsync(asked, { k: 5, rank: 'estimate', threads: 2 }));
    answers.push(await collected(library.pairs(index, { maxDistance: 1 })));
    answers.push(ids.map((id) => index.get(id)));
  };
  await ask();
  answers.push(indexToArrow(index)); // one that is optimized has a time in it
  const { recall, cost } = index.optimize({ recall: 0.9, partitions: 16, queries: 40 });
  answers.push(recall, cost);
  await ask();
  for (let row = 0; row < ROWS; row += 4) index.remove(ids[row]);
  index.addAll(
    asked,
    Array.from({ length: 20 }, (_, i) => 1e6 + i),
  );
  await ask();
  index.compact();
  await ask();
  const again = indexFromArrow(indexToArrow(index));
  answers.push(again.searchAll(asked, { k: 8 }), again.searchAll(asked, { rank: 'hamming' }));
  const { distinctCodes, partitions } = partsOf(index);
  const count = distinctCodes.codes.memories.length;
  const residualCount = partitions?.residualCodes?.parts.memories.length;
  await library.closeThreads();
  return { answers, count, residualCount };
}

/** Answers without what a clock says. */
function plain(answers: unknown): unknown {
  return JSON.parse(
    JSON.stringify(answers, (key, value) => {
      if (/milliseconds|queriesPerSecond/i.test(key)) return undefined;
      if (typeof value === 'bigint') return String(value);
      return ArrayBuffer.isView(value) ? Array.from(value as Uint8Array) : value;
    }),
  );
}

describe('an index whose codes take many memories', () => {
  for (const [bits, vectors] of [
    [20, 'none'],
    [64, 'none'],
    [96, 'float32'],
  ] as const) {
    const options = quickIf(bits === 64);
    it(`answers as one in one memory, ${bits} bits, vectors ${vectors}`, options, async () => {
      const one = await answersOf(await libraryOf(), bits, vectors);
      const many = await answersOf(await libraryOf(256), bits, vectors);
      expect(one.count).toBe(1);
      expect(many.count).toBeGreaterThan(2);
      if (vectors !== 'none') {
        expect(one.residualCount).toBe(1);
        expect(many.residualCount).toBeGreaterThan(20);
      }
      expect(many.answers).toHaveLength(one.answers.length);
      for (let i = 0; i < one.answers.length; i++) {
        expect(plain(many.answers[i]), `answer ${i}`).toEqual(plain(one.answers[i]));
      }
    });
  }

  it('says how many codes it has room for', async () => {
    const { CodeParts } = await import('../../src/index/distinct/code-parts');
    expect(() => new CodeParts(8).reserve(2 ** 31)).toThrow(
      'an index in memory has room for 1610612736 distinct codes, not for 2147483648: build a folder',
    );
  });
});
