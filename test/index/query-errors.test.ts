import { describe, expect, it } from 'vitest';
import { Codes, measureRecall, SimHashIndex, type VectorBatch } from '../../src';
import { Draws } from '../reference/random';

const DIMENSIONS = 16;
const draws = new Draws('query errors');
const vectors = Array.from({ length: 60 }, () => draws.gaussians(DIMENSIONS));
const sparse = vectors.map((values) => ({
  indices: Uint32Array.from(values, (_, i) => i),
  values,
}));

async function made(options: object = { vectors: 'float32' }): Promise<SimHashIndex> {
  const index = new SimHashIndex({ bits: 64, dimensions: DIMENSIONS, ...options });
  await index.addAll(vectors);
  return index;
}

async function ofSparse(): Promise<SimHashIndex> {
  const index = new SimHashIndex({ bits: 64, vectors: 'sparse' });
  await index.addAll(sparse);
  return index;
}

const ofSeed = (seed: number) =>
  Codes.allocate(3, { bits: 64, origin: { projection: 'signs', seed: String(seed) } });

/** Forty queries, of which query 3 is another one. */
const withThird = (third: unknown) =>
  Array.from({ length: 40 }, (_, i) => (i === 3 ? third : vectors[i])) as VectorBatch;
const wrongAt = (place: number, value: unknown) =>
  Array.from(vectors[3], (own, i) => (i === place ? value : own));
const flat = (place: number, value: number) =>
  Float32Array.from(vectors.flatMap((one) => [...one])).fill(value, place, place + 1);

/** All that takes queries of a caller and measures, or searches for each of them. */
async function refusals(index: () => Promise<SimHashIndex>, queries: VectorBatch | Codes) {
  const calls: (() => unknown)[] = [
    async () => (await index()).optimize({ queries }),
    async () => measureRecall(await index(), { queries: queries as VectorBatch }),
  ];
  const messages: string[] = [];
  for (const call of calls) {
    const error = await Promise.resolve()
      .then(call)
      .catch((one: Error) => one);
    messages.push(error instanceof Error ? `${error.name}: ${error.message}` : 'none');
  }
  return messages;
}

describe('an error of a bad query names it', () => {
  const dense = () => made();
  const codes = () => made({ vectors: 'none' });
  const finite = 'RangeError: "queries"[3] expected finite values, got NaN at dimension 5';
  const width = 'RangeError: "queries"[3] expected a vector of 16 dimensions, got 15';
  const zero = 'RangeError: "queries"[3]: an all-zero vector has no direction';
  const zeros = flat(0, 0).fill(0, 3 * DIMENSIONS, 4 * DIMENSIONS);
  zeros[0] = 1;

  it.each<[string, () => Promise<SimHashIndex>, VectorBatch | Codes, string]>([
    ['NaN', dense, withThird(wrongAt(5, Number.NaN)), finite],
    ['NaN', codes, withThird(wrongAt(5, Number.NaN)), finite],
    ['NaN in a matrix', dense, { values: flat(53, Number.NaN), dimensions: 16 }, finite],
    ['another width', dense, withThird(vectors[3].slice(1)), width],
    ['another width', codes, withThird(vectors[3].slice(1)), width],
    [
      'a matrix of another width',
      dense,
      { values: flat(0, 1), dimensions: 15 },
      width.replace('3', '0'),
    ],
    ['zeros', dense, withThird(new Float32Array(16)), zero],
    ['zeros', codes, withThird(new Float32Array(16)), zero],
    ['zeros in a matrix', dense, { values: zeros, dimensions: 16 }, zero],
    [
      'a word',
      dense,
      withThird('x'),
      'TypeError: "queries"[3] expected a vector or a code, got "x"',
    ],
    [
      'a word',
      codes,
      withThird('x'),
      'TypeError: "queries"[3] expected a vector or a code, got "x"',
    ],
    [
      'a word as number',
      dense,
      withThird(wrongAt(2, 'a')),
      'TypeError: "queries"[3] expected a number at position 2, got "a"',
    ],
    [
      'a sparse vector',
      dense,
      withThird(sparse[3]),
      `TypeError: "queries"[3]: an index with vectors 'float32' takes dense vectors, got sparse ones`,
    ],
    [
      'a dense vector',
      ofSparse,
      vectors.slice(0, 40),
      `TypeError: "queries"[0]: an index with vectors 'sparse' takes sparse vectors, got dense ones`,
    ],
    [
      'NaN in a sparse vector',
      ofSparse,
      [...sparse.slice(0, 3), { indices: [7], values: [Number.NaN] }],
      'RangeError: "queries"[3] expected finite values, got NaN at dimension 7',
    ],
    [
      'an index below 0',
      ofSparse,
      [...sparse.slice(0, 3), { indices: [-7], values: [1] }],
      'RangeError: "queries"[3]: "indices" expected integers in 0..2^64 - 1 (bigint from 2^53 on), got -7',
    ],
    [
      'values that make no rows',
      dense,
      { values: new Float32Array(17), dimensions: 16 },
      'RangeError: "queries": "values" expected a multiple of 16 values, got 17',
    ],
    [
      'codes of another width',
      codes,
      Codes.allocate(3, { bits: 32 }),
      'RangeError: "queries" expected codes of 64 bits, got 32',
    ],
    [
      'codes of another seed',
      codes,
      ofSeed(4),
      `RangeError: "queries" expected codes by 'signs', seed 0, got codes by 'signs', seed 4`,
    ],
  ])('of %s', async (_, index, queries, message) => {
    const needed = 'Error: recall is measured by exact cosines: make the index with "vectors"';
    const measuring = index === codes ? needed : message;
    expect(await refusals(index, queries)).toEqual([message, measuring]);
  });

  it('of a search, alone or one of many', async () => {
    const bad = wrongAt(5, Number.NaN) as number[];
    const index = await made();
    expect(() => index.search(bad)).toThrow(
      /^"query" expected finite values, got NaN at dimension 5/,
    );
    expect(() => index.search(bad.slice(1))).toThrow(/^"query" expected a vector of 16 dim/);
    await expect((await made()).searchAll(withThird(bad))).rejects.toThrow(
      finite.replace('RangeError: ', ''),
    );
    await expect((await made()).searchAll(withThird(bad), { threads: 2 })).rejects.toThrow(
      RangeError,
    );
  });
});

describe('recall of queries in other forms', () => {
  const asked = Array.from({ length: 40 }, () => draws.gaussians(DIMENSIONS));

  it('is of those that have a direction, where others are null', async () => {
    const options = { k: 5, search: { oversample: 1 } };
    const index = await made({ vectors: 'float32', zero: 'null' });
    const expected = await measureRecall(index, { queries: asked, ...options });
    const more = [new Float32Array(DIMENSIONS), ...asked];
    expect(await measureRecall(index, { queries: more, ...options })).toEqual(expected);
    const queries = { values: new Float32Array(32), dimensions: DIMENSIONS };
    await expect(measureRecall(index, { queries })).rejects.toThrow(/the queries have none/);
  });
});
