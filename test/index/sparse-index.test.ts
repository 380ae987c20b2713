import { describe, expect, it } from 'vitest';
import { LongWork } from '../../src/base/long-work';
import {
  indexFromArrow,
  indexToArrow,
  SimHashIndex,
  type SparseVector,
  TextHasher,
} from '../../src/index';
import { MemoryEvaluable } from '../../src/index/optimize';
import { type Query, queryOf } from '../../src/index/query';

import { coreOf } from '../../src/index/simhash-index';
import { Draws } from '../reference/random';
import { quickIf } from '../reference/tags';

/** An index that keeps sparse vectors, against a Map of them and sums over all their dimensions. */

type Entries = Map<bigint, number>;
const DIMENSIONS = [0n, 1n, 7n, 500n, 2n ** 32n - 1n, 2n ** 32n, 2n ** 53n + 1n, 2n ** 64n - 1n];
for (let i = 0; i < 32; i++) DIMENSIONS.push(BigInt(1000 + i) << BigInt(i));

/** Entries of dimensions that follow Zipf's law, some of them twice, in any order. */
function drawn(draws: Draws, count = 1 + draws.integer(12)): SparseVector {
  const at = () => Math.floor(DIMENSIONS.length * draws.uniform() ** 2);
  const indices = Array.from({ length: count }, () => DIMENSIONS[at()]);
  return { indices, values: Array.from(indices, () => Math.fround(draws.gaussian())) };
}

/** As it is kept: repeats summed in ascending order of value, as float32. */
function entriesOf({ indices, values }: SparseVector, round = Math.fround): Entries {
  const all = Array.from(indices, (index, i) => [BigInt(index), values[i]] as const);
  all.sort((a, b) => a[1] - b[1]);
  const entries: Entries = new Map();
  for (const [index, value] of all) entries.set(index, (entries.get(index) ?? 0) + value);
  return new Map(Array.from(entries, ([index, value]) => [index, round(value)]));
}

function dotOf(a: Entries, b: Entries): number {
  let sum = 0;
  for (const [index, value] of a) sum += value * (b.get(index) ?? 0);
  return sum;
}

/** Squared lengths of entries, which many queries are compared with. */
const squares = new WeakMap<Entries, number>();
function squareOf(entries: Entries): number {
  const square = squares.get(entries) ?? dotOf(entries, entries);
  squares.set(entries, square);
  return square;
}

const cosineOf = (a: Entries, b: Entries) => dotOf(a, b) / Math.sqrt(squareOf(a) * squareOf(b));

const asIs = (value: number) => value;

/** The k best of a Map of rows. */
function best(rows: ReadonlyMap<number, Entries>, query: SparseVector, k: number) {
  const own = entriesOf(query, asIs);
  return [...rows]
    .map(([row, entries]) => ({ row, cosine: cosineOf(own, entries) }))
    .sort((a, b) => b.cosine - a.cosine || a.row - b.row)
    .slice(0, k);
}

function sparseOf(index: SimHashIndex, row: number) {
  const vector = index.get(row)?.vector;
  if (!vector || !('indices' in vector)) throw new Error(`row ${row} has no sparse vector`);
  return vector;
}

const everything = { oversample: 10_000 };

describe('an index that keeps sparse vectors', () => {
  for (const seed of [1, 2, 3]) {
    it(
      `agrees with a Map of them through additions, removals and files, seed ${seed}`,
      quickIf(seed === 1),
      async () => {
        const draws = new Draws(seed);
        // Gaussian, so that rows have equal codes only when parallel: all are candidates then.
        let index = new SimHashIndex({ bits: 512, projection: 'gaussian', vectors: 'sparse' });
        const model = new Map<number, Entries>();
        for (let step = 0; step < 200; step++) {
          const choice = draws.integer(10);
          if (choice < 5) {
            const vector = drawn(draws);
            model.set(index.add(vector), entriesOf(vector));
          } else if (choice < 7) {
            const vectors = Array.from({ length: draws.integer(40) }, () => drawn(draws));
            const first = await index.addAll(vectors);
            for (const [i, vector] of vectors.entries()) model.set(first + i, entriesOf(vector));
          } else if (choice < 9 && model.size > 0) {
            const row = draws.pick([...model.keys()]);
            expect(index.remove(row)).toBe(true);
            model.delete(row);
          } else if (choice === 9) {
            index = indexFromArrow(indexToArrow(index));
          }
          const query = drawn(draws);
          const {
            rows,
            similarities: cosines,
            rank,
          } = index.search(query, { k: 5, ...everything });
          const expected = best(model, query, 5);
          expect(rank).toBe('exact');
          // Parallel rows may differ in the last digit: each has its own cosine, and none is missed.
          expect(new Set(rows).size).toBe(expected.length);
          for (const [i, { cosine }] of expected.entries()) {
            expect(cosines[i]).toBeCloseTo(cosine, 12);
            const own = model.get(rows[i]) as Entries;
            expect(cosines[i]).toBeCloseTo(cosineOf(own, entriesOf(query, asIs)), 12);
          }
        }
        expect(index.count).toBe(model.size);
        for (const [row, entries] of model) {
          const { indices, values } = sparseOf(index, row);
          expect([...indices]).toEqual([...entries.keys()].sort((a, b) => (a < b ? -1 : 1)));
          expect([...values]).toEqual([...indices].map((dimension) => entries.get(dimension)));
        }
      },
    );
  }

  it('ranks by the exact cosine', () => {
    const index = new SimHashIndex({ bits: 64, vectors: 'sparse' });
    index.add({ indices: [5, 3], values: [4, 3] }, 'a');
    index.add({ indices: [3, 2 ** 40], values: [1, 1] }, 'b');
    const { similarities: cosines } = index.search({ indices: [5, 3], values: [4, 3] });
    expect(cosines[0]).toBe(1);
    expect(cosines[1]).toBeCloseTo(3 / 5 / Math.SQRT2, 15);
    expect(index.get('a')?.vector).toEqual({
      indices: BigUint64Array.of(3n, 5n),
      values: Float32Array.of(3, 4),
    });
  });

  it('counts 12 bytes an entry and 20 a row', () => {
    const [sparse, codes] = (['sparse', 'none'] as const).map((vectors) => {
      const index = new SimHashIndex({ bits: 64, vectors });
      index.add({ indices: [1, 2, 3], values: [1, 1, 1] });
      index.add({ indices: [9, 9], values: [1, 1] });
      return index.bytes;
    });
    expect(sparse - codes).toBe(4 * 12 + 2 * 20);
  });

  it('takes rows longer than its parts, and many of them', () => {
    const index = new SimHashIndex({ bits: 64, vectors: 'sparse' });
    const long = (first: number) => ({
      indices: Uint32Array.from({ length: 3000 }, (_, i) => first + i),
      values: new Float32Array(3000).fill(1),
    });
    for (let first = 0; first < 20; first++) index.add(long(300 * first));
    const { rows, similarities: cosines } = index.search(long(3000), { k: 3, ...everything });
    expect([...rows]).toEqual([10, 9, 11]);
    for (const [i, cosine] of [1, 0.9, 0.9].entries()) expect(cosines[i]).toBeCloseTo(cosine, 12);
  });

  it('answers many queries at once as one by one, and null rows never', async () => {
    const draws = new Draws(7);
    const index = new SimHashIndex({ bits: 64, vectors: 'sparse', zero: 'null' });
    await index.addAll({ offsets: [0, 2, 2, 3], indices: [4, 8, 8], values: [1, 2, -1] });
    expect(index.get(1)).toMatchObject({ code: null, vector: null });
    await index.addAll(Array.from({ length: 50 }, () => drawn(draws)));
    const queries = Array.from({ length: 20 }, () => drawn(draws));
    const results = await index.searchAll(queries, { k: 4, ...everything });
    for (const [i, query] of queries.entries()) {
      expect(results[i]).toEqual(index.search(query, { k: 4, ...everything }));
    }
    expect(index.search({ indices: [4], values: [1] }, { k: 100 }).ids).not.toContain(1);
  });

  it('ranks texts by the cosine of their words', async () => {
    const texts = ['red apple tree', 'red red apple', 'green pear', 'an apple a day'];
    const hasher = new TextHasher();
    const index = new SimHashIndex({ bits: 64, vectors: 'sparse' });
    await index.addAll(texts.map((text) => hasher.vectorize(text)));
    const { ids, similarities: cosines } = index.search(hasher.vectorize('red apple'), { k: 4 });
    expect(ids.slice(0, 3)).toEqual([1, 0, 3]);
    expect(cosines[0]).toBeCloseTo(3 / Math.sqrt(2 * 5), 12);
    expect(cosines[2]).toBeCloseTo(1 / Math.sqrt(2 * 4), 12);
    expect(cosines[3]).toBe(0);
  });
});

it('knows the true neighbours of its rows, as cosines of all with all tell them', async () => {
  const draws = new Draws(21);
  const index = new SimHashIndex({ bits: 64, vectors: 'sparse' });
  const vectors = Array.from({ length: 400 }, () => drawn(draws));
  await index.addAll(vectors);
  const rows = new Map(vectors.map((vector, row) => [row, entriesOf(vector)]));
  for (const row of [0, 7, 399]) {
    index.remove(row);
    rows.delete(row);
  }
  const core = coreOf(index);
  const asked = [...rows.keys()]
    .filter((_, i) => i % 9 === 0)
    .map((row) => ({ row, own: new Set([row]), query: queryOf(core, vectors[row]) as Query }));
  const found = await new MemoryEvaluable(core, core.rows).nearest(asked, 6, new LongWork({}));
  for (const [i, { row }] of asked.entries()) {
    const others = new Map([...rows].filter(([other]) => other !== row));
    const cosines = best(others, vectors[row], others.size);
    // Rows as near as the sixth are neighbours too; cosines differ in their last digits.
    const least = cosines[5].cosine;
    const near = new Set(cosines.filter((one) => one.cosine > least - 1e-12).map((one) => one.row));
    const certain = cosines.filter((one) => one.cosine > least + 1e-12).map((one) => one.row);
    const own = [...found[i].rows];
    expect(found[i].size).toBe(6);
    expect(own.length).toBeGreaterThanOrEqual(6);
    expect(own.every((other) => near.has(other))).toBe(true);
    expect(own).toEqual(expect.arrayContaining(certain));
  }
});

describe('optimize', async () => {
  const draws = new Draws(11);
  const centres = Array.from({ length: 60 }, () => drawn(draws, 12));
  const rows = Array.from({ length: 3000 }, () => {
    const centre = draws.pick(centres);
    const values = centre.values.map((value) => value + 0.3 * draws.gaussian());
    return { indices: centre.indices, values };
  });
  const index = new SimHashIndex({ bits: 128, vectors: 'sparse' });
  await index.addAll(rows);
  const report = await index.optimize({ recall: 0.9, k: 5, queries: 100, partitions: 32 });

  it('measures recall against exact cosines, and reaches it', () => {
    expect(report).toMatchObject({ truth: 'cosine', reached: true });
    const kept = new Map(rows.map((row, i) => [i, entriesOf(row)]));
    let found = 0;
    for (let i = 0; i < 25; i++) {
      const query = draws.pick(rows);
      const truth = best(kept, query, 5).map(({ row }) => row);
      const { rows: answer } = index.search(query, { k: 5 });
      found += truth.filter((row) => answer.includes(row)).length;
    }
    expect(found / 125).toBeGreaterThan(0.8);
  });

  it('visits partitions by the codes, later rows and removals among them', () => {
    const query = rows[17];
    const some = { k: 3, probes: 32, oversample: 10_000 };
    expect(index.search(query, some).rows[0]).toBe(17);
    const late = index.add(query);
    expect([...index.search(query, some).rows.subarray(0, 2)]).toEqual([17, late]);
    index.remove(17);
    expect(index.search(query, some).rows[0]).toBe(late);
  });
});

describe('what is not sparse', () => {
  const index = new SimHashIndex({ bits: 64, vectors: 'sparse' });
  index.add({ indices: [1], values: [1] });

  it('is refused as a row, and the index stays as it was', async () => {
    expect(() => index.add([1, 2])).toThrow(
      "an index with vectors 'sparse' takes sparse vectors, got dense ones",
    );
    expect(() => index.add(new Uint8Array(8))).toThrow('takes vectors, got codes');
    await expect(index.addAll([{ indices: [1], values: [1] }, [1, 2]] as never)).rejects.toThrow(
      'row 1: expected { indices, values }',
    );
    const dense = new SimHashIndex({ bits: 64, vectors: 'float32', dimensions: 2 });
    expect(() => dense.add({ indices: [1], values: [1] })).toThrow(
      "an index with vectors 'float32' takes dense vectors, got sparse ones",
    );
    expect([index.count, dense.count]).toEqual([1, 0]);
  });

  it('is no query either, also where the vectors are dense and have partitions', async () => {
    expect(() => index.search([1, 2])).toThrow(
      `"query": an index with vectors 'sparse' takes sparse vectors, got dense ones`,
    );
    const dense = new SimHashIndex({ bits: 64, vectors: 'float32', dimensions: 8 });
    const draws = new Draws('dense');
    await dense.addAll({ values: draws.gaussians(8 * 2000), dimensions: 8 });
    await dense.optimize({ partitions: 8, queries: 20 });
    const sparse = { indices: [1], values: [1] };
    const error = "an index with vectors 'float32' takes dense vectors, got sparse ones";
    expect(() => dense.search(sparse)).toThrow(error);
    await expect(dense.searchAll([[...Array(8).keys()], sparse] as never)).rejects.toThrow(error);
  });

  it('is refused next to it: a mean, the Hadamard transform, an unknown kind', () => {
    const make = (options: object) => () => new SimHashIndex({ vectors: 'sparse', ...options });
    expect(make({ projection: 'hadamard', dimensions: 8 })).toThrow('takes dense ones');
    expect(make({ vectors: 'csr' })).toThrow(
      `"vectors" expected one of 'none', 'float32', 'int8', 'sparse', got "csr"`,
    );
  });

  it.each([Number.NaN, Number.POSITIVE_INFINITY])('%d is no weight', (value) => {
    const vector = { indices: [1, 2], values: [1, value] };
    expect(() => index.add(vector)).toThrow(/row 0: expected finite values, got .* at dimension 2/);
    expect(() => index.search(vector)).toThrow('expected finite values');
    expect(index.count).toBe(1);
  });

  it.each([1e39, 1e300, 1e-38, 1e-300])('%d does not fit float32', (value) => {
    expect(() => index.add({ indices: [1], values: [value] })).toThrow(
      'do not fit float32, in which they are kept: the largest must be 2^-126 to 2^128',
    );
    expect(index.count).toBe(1);
  });

  it.each([2 ** -126, 1e-34, 3e38])('%d does', (value) => {
    const own = new SimHashIndex({ vectors: 'sparse' });
    own.add({ indices: [1], values: [value] });
    expect([...own.search({ indices: [1], values: [value] }).similarities]).toEqual([1]);
  });
});
