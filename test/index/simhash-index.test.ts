import { describe, expect, it } from 'vitest';
import {
  Codes,
  indexFromArrow,
  indexToArrow,
  SimHashIndex,
  scan,
  scanVectors,
} from '../../src/index';
import { useKernel } from '../reference/kernels';
import { Draws } from '../reference/random';

/** The index against its oracles: a Map, and the public exact scans. */

const DIMENSIONS = 12;
const BITS = 24;

function matrix(draws: Draws, count: number, dimensions = DIMENSIONS) {
  return { values: Float32Array.from(draws.gaussians(count * dimensions)), dimensions };
}

const rowOf = ({ values, dimensions }: { values: Float32Array; dimensions: number }, row: number) =>
  values.subarray(row * dimensions, (row + 1) * dimensions);

describe('life', () => {
  it('finds a row as soon as it is added, by its row number when no id is given', () => {
    const index = new SimHashIndex({ bits: 64 });
    expect(index.add([1, 2, 3])).toBe(0);
    expect(index.add({ indices: [0, 1, 2], values: [2, 4, 6] })).toBe(1);
    const { rows, ids, distances } = index.search([1, 2, 3], { k: 5, rank: 'hamming' });
    expect([...rows]).toEqual([0, 1]);
    expect(ids).toEqual([0, 1]);
    expect(distances).toEqual(Uint16Array.of(0, 0));
  });

  it.each([
    ['strings', ['a', 'b', 'c'], 'b'],
    ['numbers', [7, -2, 9e9], -2],
    ['big integers', [1n, 2n ** 60n, 3n], 2n ** 60n],
  ])('knows ids that are %s', async (_name, ids, second) => {
    const index = new SimHashIndex({ bits: 64, dimensions: 2, vectors: 'float32' });
    const vectors = [Float32Array.of(1, 0), Float32Array.of(0, 1), Float32Array.of(-1, 0.5)];
    await index.addAll(vectors, ids as string[]);
    expect(index.search([0.1, 1], { k: 1 }).ids).toEqual([second]);
    expect(index.get(second)).toMatchObject({ row: 1, id: second, vector: vectors[1] });
    expect(index.remove(second)).toBe(true);
    expect(index.remove(second)).toBe(false);
    expect([index.has(second), index.get(second), index.count]).toEqual([false, undefined, 2]);
    expect(index.search([0.1, 1], { k: 5 }).ids).toHaveLength(2);
  });

  it('tells the id of a row', () => {
    const index = new SimHashIndex({ bits: 8 });
    index.add(Uint8Array.of(1), 'a');
    index.add(Uint8Array.of(2), 'b');
    index.remove('a');
    expect([0, 1, 2, -1, 0.5].map((row) => index.idOf(row))).toEqual([
      ...[undefined, 'b', undefined, undefined, undefined],
    ]);
    const numbered = new SimHashIndex({ bits: 8 });
    numbered.add(Uint8Array.of(1));
    expect([0, -1, 1].map((row) => numbered.idOf(row))).toEqual([0, undefined, undefined]);
  });

  it('answers nothing when everything was removed, and goes on', async () => {
    const index = new SimHashIndex({ bits: 16 });
    await index.addAll(
      [
        [1, 2],
        [3, -4],
      ],
      ['x', 'y'],
    );
    index.remove('x');
    index.remove('y');
    expect(index.search([1, 2]).ids).toEqual([]);
    expect(index.within([1, 2], { maxDistance: 16 }).ids).toEqual([]);
    index.add([1, 2], 'x');
    expect(index.search([1, 2]).ids).toEqual(['x']);
  });

  it('gives 200,000 equal rows in order', { tags: 'thorough' }, async () => {
    const index = new SimHashIndex({ bits: 64 });
    const one = Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8);
    const near = Uint8Array.of(0, 2, 3, 4, 5, 6, 7, 8);
    const bytes = new Uint8Array(1_600_000);
    for (let row = 0; row < 200_000; row++) bytes.set(one, 8 * row);
    await index.addAll(Codes.from(bytes, { bits: 64 }));
    index.add(near);
    expect([...index.search(one, { k: 3 }).rows]).toEqual([0, 1, 2]);
    expect([...index.search(near, { k: 3 }).rows]).toEqual([200_000, 0, 1]);
    for (let row = 0; row < 199_999; row++) index.remove(row);
    expect([...index.search(one, { k: 3 }).rows]).toEqual([199_999, 200_000]);
  });
});

describe('in turns with the event loop', () => {
  const BITS_64 = 64;

  function many(count: number, seed: string) {
    const codes = Codes.from(new Draws(seed).bytes(8 * count), { bits: BITS_64 });
    for (let row = 10; row < 20; row++) codes.at(row).set(codes.at(5)); // equal to row 5
    return codes;
  }

  it('rows that are removed on the way are not in what is told after, by distance', async () => {
    const codes = many(1_000_000, 'by distance');
    const index = new SimHashIndex({ bits: BITS_64 });
    await index.addAll(codes);
    const queries = Codes.allocate(200, { bits: BITS_64 });
    for (let i = 0; i < 200; i++) queries.at(i).set(codes.at(5).map((byte) => byte ^ 1));
    const searching = index.searchAll(queries, { k: 3 });
    await new Promise((resolve) => setTimeout(resolve));
    index.remove(5);
    index.remove(11);
    const results = await searching;
    for (const { rows, distances } of results) {
      expect([...rows]).toEqual([10, 12, 13]);
      expect(distances).toEqual(Uint16Array.of(8, 8, 8));
    }
  });

  it.each(['estimate', 'exact'] as const)(
    'rows that are removed on the way are not in what is told after, rank %s',
    { tags: 'full' },
    async (rank) => {
      const dimensions = 16;
      const keep = rank === 'exact' ? 'float32' : 'none';
      const index = new SimHashIndex({ bits: 512, dimensions, vectors: keep });
      const vectors = matrix(new Draws('removed'), 600_000, dimensions); // two steps for a query
      const { values } = vectors;
      for (let row = 10; row < 20; row++) {
        values.copyWithin(row * dimensions, 5 * dimensions, 6 * dimensions);
      }
      await index.addAll(vectors);
      const queries = Array.from({ length: 20 }, () => rowOf(vectors, 5));
      const asked: unknown[] = [];
      const searching = index.searchAll(queries, {
        ...{ k: 3, oversample: 8 },
        filter: (id: unknown, row: number) => {
          if (typeof id !== 'number' || id !== row) asked.push([id, row]);
          return true;
        },
      });
      await new Promise((resolve) => setTimeout(resolve));
      index.remove(5);
      index.remove(11);
      const results = await searching;
      expect([...(results.at(-1)?.rows ?? [])]).toEqual([10, 12, 13]);
      for (const { rows } of results) {
        expect([...rows]).toEqual(rows[0] === 5 ? [5, 10, 11] : [10, 12, 13]);
      }
      expect(asked).toEqual([]);
    },
  );

  it('no more than k are told when rows come on the way', { tags: 'thorough' }, async () => {
    const codes = many(200_000, 'more');
    const index = new SimHashIndex({ bits: BITS_64 });
    await index.addAll(codes);
    const queries = Codes.from(codes.bytes.slice(0, 8 * 4), { bits: BITS_64 });
    const searching = index.searchAll(queries, { k: 200_000 });
    await index.addAll(many(1000, 'others'));
    for (const { rows } of await searching) expect(rows.length).toBe(200_000);
  });

  it('a cancelled addition adds nothing, or all', async () => {
    const codes = many(100_000, 'cancelled');
    const index = new SimHashIndex({ bits: BITS_64 });
    const signal = AbortSignal.abort();
    await index.addAll(codes, undefined, { signal }).catch(() => {});
    expect([0, codes.count]).toContain(index.count);
    for (const wait of [0, 1, 5, 20]) {
      const before = index.count;
      const stop = new AbortController();
      setTimeout(() => stop.abort(), wait);
      await index.addAll(codes, undefined, { signal: stop.signal }).catch(() => {});
      expect([before, before + codes.count]).toContain(index.count);
    }
  });
});

describe.each(['auto', 'scalar'] as const)('rank, kernel %s', (kernel) => {
  useKernel(kernel);

  it('is that of the exact scans: by distance, and by cosine when all are re-ranked', async () => {
    const draws = new Draws(5);
    const vectors = matrix(draws, 700);
    const index = new SimHashIndex({
      bits: BITS,
      dimensions: DIMENSIONS,
      vectors: 'float32',
    });
    await index.addAll(vectors);
    const codes = await index.hasher.hashAll(vectors);
    for (let i = 0; i < 20; i++) {
      const query = Float32Array.from(draws.gaussians(DIMENSIONS));
      const code = index.hasher.hash(query);
      const byDistance = index.search(query, { k: 9, rank: 'hamming' });
      expect(byDistance).toMatchObject(scan(codes, code, { k: 9 }));
      expect(index.search(code, { k: 9 }).rows).toEqual(byDistance.rows);
      const maxDistance = draws.integer(BITS + 1);
      const within = index.within(query, { maxDistance });
      expect(within).toMatchObject(scan(codes, code, { maxDistance }));
      const exact = index.search(query, { k: 9, oversample: 80 });
      expect(exact.rank).toBe('exact');
      const { rows, cosines } = scanVectors(vectors, query, { k: 9 });
      expect(exact).toMatchObject({ rows, similarities: cosines });
    }
  });
});

it('estimates cosines without bias, and better than the distance alone', {
  tags: 'thorough',
}, async () => {
  const draws = new Draws(11);
  const dimensions = 64;
  const index = new SimHashIndex({ bits: 256, dimensions, projection: 'gaussian' });
  const vectors = matrix(draws, 600, dimensions);
  await index.addAll(vectors);
  const cosine = (a: ArrayLike<number>, b: ArrayLike<number>) => {
    let dot = 0;
    for (let i = 0; i < dimensions; i++) dot += a[i] * b[i];
    return dot / Math.hypot(...Array.from(a)) / Math.hypot(...Array.from(b));
  };
  const errors = { estimate: [] as number[], hamming: [] as number[] };
  for (let i = 0; i < 60; i++) {
    // Each query is a row's vector and noise of its own, so that all cosines occur.
    const near = rowOf(vectors, i);
    const query = near.map((value) => 2 * draws.uniform() * value + draws.gaussian());
    for (const rank of ['estimate', 'hamming'] as const) {
      const how = { k: 600, ...(rank === 'hamming' && { rank }) };
      const { rows, similarities, ...found } = index.search(query, how);
      expect(found.rank).toBe(rank);
      rows.forEach((row, j) => {
        errors[rank].push(similarities[j] - cosine(query, rowOf(vectors, row)));
      });
    }
  }
  const mean = (list: number[]) => list.reduce((sum, value) => sum + value, 0) / list.length;
  const spread = (list: number[]) => Math.sqrt(mean(list.map((value) => value * value)));
  expect(errors.estimate).toHaveLength(60 * 600);
  expect(Math.abs(mean(errors.estimate))).toBeLessThan(0.003);
  expect(spread(errors.estimate)).toBeLessThan(0.9 * spread(errors.hamming));
});

// In 0.1 as many rows were re-ranked as there are distinct codes, and recall@5 was .23.
it('re-ranks rows, not distinct codes: many rows of few codes are found by exact cosine', async () => {
  const draws = new Draws(3);
  const rows = Array.from({ length: 100 }, () => [draws.gaussian(), draws.gaussian()]);
  const index = new SimHashIndex({ bits: 8, dimensions: 2, vectors: 'float32' });
  await index.addAll(rows.map((row) => Float32Array.from(row)));
  for (const query of rows.slice(0, 20)) {
    const cosine = ([x, y]: number[]) =>
      (x * query[0] + y * query[1]) / Math.hypot(x, y) / Math.hypot(...query);
    const nearest = rows.map((_, row) => row).sort((a, b) => cosine(rows[b]) - cosine(rows[a]));
    expect(Array.from(index.search(query, { k: 5 }).rows)).toEqual(nearest.slice(0, 5));
  }
});

describe('filter', async () => {
  const vectors = matrix(new Draws(8), 3000);
  const index = new SimHashIndex({ bits: 64, dimensions: DIMENSIONS, vectors: 'float32' });
  const codes = new SimHashIndex({ bits: 64, dimensions: DIMENSIONS });
  for (const one of [index, codes]) await one.addAll(vectors);
  const query = rowOf(vectors, 42);
  const allowed = [5, 9, 700, 42, 2999, 100, 101, 102];

  it.each(['hamming', 'estimate', 'exact'] as const)('gives all allowed rows, rank %s', (rank) => {
    const own = rank === 'estimate' ? codes : index;
    const how = { k: 20, ...(rank === 'hamming' && { rank }) };
    const bySet = own.search(query, { ...how, filter: new Set(allowed) });
    expect(bySet.rank).toBe(rank);
    const byFunction = own.search(query, {
      ...how,
      filter: (id: unknown, row: number) => allowed.includes(row) && id === row,
    });
    expect([...bySet.rows].sort()).toEqual([...allowed].sort());
    expect(byFunction).toEqual(bySet);
    expect(bySet.rows[0]).toBe(42);
  });

  it('gives what a scan of everything gives, less the others', () => {
    const isEven = (_id: unknown, row: number) => row % 2 === 0;
    const all = codes.search(query, { k: 3000 });
    const expected = all.rows.filter((row) => row % 2 === 0).slice(0, 50);
    const even = codes.search(query, { k: 50, filter: isEven });
    expect(even.rows).toEqual(expected);
  });
});

describe('bad input', async () => {
  const vectors = [
    [1, 1],
    [1, 2],
  ];
  const index = new SimHashIndex({ bits: 16, dimensions: 2, vectors: 'float32' });
  await index.addAll(
    [
      [1, 0],
      [0, 1],
    ],
    ['a', 'b'],
  );
  const unnamed = new SimHashIndex();
  unnamed.add([1, 1]);
  it.each([
    [() => index.search([1, 0], { k: 0 }), RangeError, /"k" expected/],
    [() => index.search([1, 0], { k: -3 }), RangeError, /"k" expected/],
    [() => index.search([1, 0, 0]), RangeError, /2 dimensions, got 3/],
    [() => index.search([0, 0]), RangeError, /all-zero/],
    [() => index.search([Number.NaN, 0]), RangeError, /NaN/],
    [() => index.search([1, 0], { explain: 1 } as never), TypeError, /"explain" expected true/],
    [() => index.search([1, 0], { kk: 1 } as never), TypeError, /did you mean "k"/],
    [() => index.search([1, 0], { rank: 'exact' } as never), RangeError, /one of 'hamming'/],
    [() => index.search({ indices: [0], values: [1] }), TypeError, /dense vectors, got sparse/],
    [() => index.search(new Uint8Array(3)), RangeError, /code of 2 bytes/],
    [() => index.add([1, 1], 'a'), RangeError, /not there yet, got "a"/],
    [() => index.add([1, 1], 4), TypeError, /string, as the ids before/],
    [() => index.add([1, 1]), TypeError, /^"id" expected ids of kind string/],
    [() => index.add(new Uint8Array(2), 'c'), TypeError, /takes vectors/],
    [() => index.add({ indices: [0], values: [1] }, 'c'), TypeError, /dense vectors/],
    [() => new SimHashIndex({ vectors: 'float32' }), TypeError, /"dimensions"/],
    [() => unnamed.set([1, 1], 1), TypeError, /^"id" expected none, as .* have none, got 1$/],
  ])('%s is refused, and nothing changes', (call, type, message) => {
    expect(call).toThrow(type);
    expect(call).toThrow(message);
    expect(index.count).toBe(2);
    expect(index.search([1, 0.1], { k: 7 }).ids).toEqual(['a', 'b']);
  });

  it.each([
    [() => index.addAll(vectors, ['c', 'c']), RangeError, /"ids"\[1\]/],
    [() => index.addAll(vectors, ['c', 4] as never), TypeError, /"ids"\[1\]/],
    [
      () =>
        index.addAll([
          [1, 2, 3],
          [1, 2],
        ]),
      RangeError,
      /row 0: expected 2 dimensions, got 3/,
    ],
    [() => index.addAll([vectors[0], [0, 0]], ['c', 'd']), RangeError, /row 1: an all-zero/],
    [() => index.addAll(new Float32Array(4) as never, ['c']), TypeError, /"batch" expected/],
    [() => index.optimize({ recall: 1.5 }), RangeError, /"recall"/],
    [() => new SimHashIndex().optimize(), Error, /empty/],
  ])('%s is refused by its promise, and nothing changes', async (call, type, message) => {
    const error = await call().catch((one: unknown) => one);
    expect(error).toBeInstanceOf(type);
    expect((error as Error).message).toMatch(message);
    expect(index.count).toBe(2);
    expect(index.search([1, 0.1], { k: 7 }).ids).toEqual(['a', 'b']);
  });

  it('an empty index has no neighbours', () => {
    expect(new SimHashIndex().search([1, 2]).ids).toEqual([]);
  });
});

it('agrees with a Map and brute force through a thousand random steps', {
  tags: 'thorough',
}, async () => {
  const draws = new Draws('model');
  const pool = matrix(draws, 300);
  let index = new SimHashIndex({ bits: BITS, dimensions: DIMENSIONS, vectors: 'float32' });
  const model = new Map<string, { row: number; vector: Float32Array }>();
  let nextRow = 0;
  for (let step = 0; step < 1000; step++) {
    const choice = draws.uniform();
    const id = `id ${draws.integer(400)}`;
    if (choice < 0.5) {
      const vector = rowOf(pool, draws.integer(300));
      if (model.has(id)) expect(() => index.add(vector, id)).toThrow(RangeError);
      else {
        expect(index.add(vector, id)).toBe(nextRow);
        model.set(id, { row: nextRow++, vector });
      }
    } else if (choice < 0.75) {
      expect(index.remove(id)).toBe(model.delete(id));
    } else if (choice < 0.755 && model.size > 10) {
      await index.optimize({ recall: 0.9, k: 3, queries: 10, partitions: 4 });
    } else if (choice < 0.765) {
      const query = rowOf(pool, draws.integer(300));
      const before = index.search(query, { k: 20 });
      index = indexFromArrow(indexToArrow(index));
      expect(index.search(query, { k: 20 })).toEqual(before);
    } else {
      const query = rowOf(pool, draws.integer(300));
      const k = 1 + draws.integer(12);
      const code = index.hasher.hash(query);
      const held = [...model].map(([key, { row, vector }]) => {
        const own = index.hasher.hash(vector);
        let distance = 0;
        for (let bit = 0; bit < BITS; bit++) {
          distance += ((own[bit >> 3] ^ code[bit >> 3]) >> (bit & 7)) & 1;
        }
        return { key, row, distance };
      });
      held.sort((a, b) => a.distance - b.distance || a.row - b.row);
      const found = index.search(query, { k, rank: 'hamming' });
      expect(found.ids).toEqual(held.slice(0, k).map(({ key }) => key));
      const maxDistance = draws.integer(10);
      const near = held.filter(({ distance }) => distance <= maxDistance);
      expect(index.within(query, { maxDistance }).ids).toEqual(near.map(({ key }) => key));
      expect(index.search(query, { k }).ids).toHaveLength(Math.min(k, model.size));
    }
    expect(index.count).toBe(model.size);
    expect(index.has(id)).toBe(model.has(id));
  }
});

describe('addAll', () => {
  const flat = Float32Array.from(new Draws(21).gaussians(40 * DIMENSIONS));
  const rows = Array.from({ length: 40 }, (_, i) => [
    ...flat.subarray(i * DIMENSIONS, (i + 1) * DIMENSIONS),
  ]);
  const made = async (batch: Parameters<SimHashIndex['addAll']>[0]) => {
    const index = new SimHashIndex({ bits: 64, dimensions: DIMENSIONS, vectors: 'float32' });
    await index.addAll(batch);
    return index;
  };

  it('takes arrays of arrays and a matrix object alike', async () => {
    const matrix = { values: flat, dimensions: DIMENSIONS };
    const one = indexToArrow(await made(matrix));
    expect(indexToArrow(await made({ ...matrix, values: Float64Array.from(flat) }))).toEqual(one);
    expect(indexToArrow(await made(rows))).toEqual(one);
    const found = await (await made(matrix)).searchAll(matrix, { k: 1 });
    expect(found.map(({ rows: [row] }) => row)).toEqual(rows.map((_, row) => row));
  });
});

describe('set', () => {
  it('replaces the row of an id or adds one, and a refused vector changes nothing', () => {
    const index = new SimHashIndex<string>({ bits: 64, dimensions: 2, vectors: 'float32' });
    expect(index.set([1, 0], 'a')).toBe(0);
    expect(index.set([0, 1], 'b')).toBe(1);
    expect(index.set([-1, 0], 'a')).toBe(2);
    expect(index.count).toBe(2);
    expect(index.get('a')?.vector).toEqual(Float32Array.of(-1, 0));
    expect(index.idOf(0)).toBeUndefined();
    expect(index.search([-1, 0.1], { k: 5 }).ids).toEqual(['a', 'b']);
    const before = indexToArrow(index);
    expect(() => index.set([0, 0], 'a')).toThrow(/all-zero/);
    expect(() => index.set([1, 2, 3], 'b')).toThrow();
    expect(() => index.set([1, 0], 4 as never)).toThrow(TypeError);
    expect(() => index.set([1, 0], undefined as never)).toThrow(TypeError);
    expect(indexToArrow(index)).toEqual(before);
  });

  it('holds what a Map holds, in partitions and removed rows too', async () => {
    const draws = new Draws('set');
    const index = new SimHashIndex<number>({ bits: 64, dimensions: 4, vectors: 'float32' });
    const model = new Map<number, number[]>();
    for (let i = 0; i < 600; i++) {
      const id = draws.integer(80);
      const vector = [...Float32Array.from(draws.gaussians(4))];
      index.set(vector, id);
      model.set(id, vector);
      if (i === 300) await index.optimize({ partitions: 4, queries: 20, k: 2 });
      if (i % 9 === 0) expect(index.remove(i % 80)).toBe(model.delete(i % 80));
    }
    expect(index.count).toBe(model.size);
    for (const [id, vector] of model) {
      expect(index.get(id)?.vector).toEqual(Float32Array.from(vector));
      expect(index.search(vector, { k: 1, oversample: 1000 }).ids).toEqual([id]);
    }
  });
});

describe('within a cosine', () => {
  const draws = new Draws('within');
  const base = draws.gaussians(DIMENSIONS);
  const vectors = Array.from({ length: 500 }, (_, i) =>
    Array.from(draws.gaussians(DIMENSIONS), (value, j) => base[j] + (value * i) / 250),
  );
  const cosine = (a: ArrayLike<number>, b: ArrayLike<number>) => {
    const dot = (x: ArrayLike<number>, y: ArrayLike<number>) =>
      Array.from(x).reduce((sum, value, i) => sum + value * y[i], 0);
    return dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b));
  };

  it('has the rows of that exact cosine, best first, where vectors are held', async () => {
    const index = new SimHashIndex({ bits: 256, dimensions: DIMENSIONS, vectors: 'float32' });
    await index.addAll(vectors);
    const near = vectors.flatMap((vector, row) => (cosine(base, vector) >= 0.8 ? [row] : []));
    const all = index.within([...base], { minCosine: 0.8, maxDistance: 256 });
    expect([...all.rows].sort((a, b) => a - b)).toEqual(near);
    expect(all.rank).toBe('exact');
    const cosines = [...all.similarities];
    expect(cosines).toHaveLength(near.length);
    expect(cosines).toEqual([...cosines].sort((a, b) => b - a));
    const caught = index.within([...base], { minCosine: 0.8 });
    expect(caught.rows.length).toBeGreaterThan(0.97 * near.length);
    expect(caught.rows.every((row) => near.includes(row))).toBe(true);
    const [one, other] = await index.withinAll([[...base], vectors[3]], { minCosine: 0.8 });
    expect(one).toEqual(caught);
    expect(other).toEqual(index.within(vectors[3], { minCosine: 0.8 }));
  });

  it('has the rows whose distance estimates that cosine, where none are', async () => {
    const index = new SimHashIndex({ bits: 256, dimensions: DIMENSIONS });
    await index.addAll(vectors);
    const found = index.within([...base], { minCosine: 0.8 });
    const wide = index.within([...base], { maxDistance: 256 });
    const count = wide.similarities.filter((one) => one >= 0.8).length;
    expect([...found.rows]).toEqual([...wide.rows].slice(0, count));
    expect(count).toBeGreaterThan(10);
    const nearer = index.within([...base], { minCosine: 0.8, maxDistance: 20 });
    expect([...nearer.rows]).toEqual([...index.within([...base], { maxDistance: 20 }).rows]);
  });

  it('needs one of the two', () => {
    const index = new SimHashIndex({ bits: 64, dimensions: 2 });
    index.add([1, 0]);
    expect(() => index.within([1, 0], {})).toThrow(/"maxDistance", "minCosine" or "minJaccard"/);
    expect(() => index.within([1, 0], { minCosine: 2 })).toThrow(/"minCosine"/);
  });
});

it('refuses options that it does not know, and seeds that are no integers', async () => {
  const index = new SimHashIndex({ bits: 64 });
  index.add([1, 0]);
  const unknown = { colour: 'red' } as never;
  expect(() => index.search([1, 0], unknown)).toThrow(/colour/);
  await expect(index.searchAll([[1, 0]], unknown)).rejects.toThrow(/colour/);
  expect(() => index.within([1, 0], { maxDistance: 1, colour: 'red' } as never)).toThrow(/colour/);
  await expect(index.optimize(unknown)).rejects.toThrow(/colour/);
  await expect(index.addAll([[1, 0]], undefined, unknown)).rejects.toThrow(/colour/);
  expect(() => new SimHashIndex(unknown)).toThrow(/colour/);
  await expect(index.optimize({ seed: 'x' as never })).rejects.toThrow(/"seed"/);
});
