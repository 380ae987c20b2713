import { describe, expect, it } from 'vitest';
import { LongWork } from '../../src/base/long-work';
import { Codes } from '../../src/codes/codes';
import { COSINE, catchingDistance, catchShare } from '../../src/codes/measure';
import { SimHashIndex } from '../../src/index/simhash-index';
import { blocksOf, choicesOf, join, type TableLayout } from '../../src/near/join';
import { distinctOf, type OrderedPairs, pairsInOrder } from '../../src/near/pair-order';
import { eachPairs, type PairBatch, pairs } from '../../src/near/pairs';
import { rowsOf } from '../../src/near/rows';
import { collection, type Pair, pairsByBruteForce, SHAPES } from '../near/collections';
import { angleBetween, Draws } from '../reference/random';
import { quickIf } from '../reference/tags';

/** All pairs within a distance, against brute force. */

async function listed(found: AsyncIterable<OrderedPairs>): Promise<Pair[]> {
  const all = new Taken();
  for await (const batch of found) all.take(batch);
  return all.pairs;
}

/** The pairs of batches that were passed on. */
class Taken {
  readonly pairs: Pair[] = [];

  readonly take = ({ a, b, distances }: OrderedPairs) => {
    for (let i = 0; i < a.length; i++) this.pairs.push([a[i], b[i], distances[i]]);
  };
}

const blocks = (bits: number, count: number) => blocksOf([...Array(bits).keys()], count);

describe('with brute force', () => {
  describe.each(SHAPES)('%s codes', (shape) => {
    it.each([
      [13, 2],
      [64, 0],
      [64, 3],
      [64, 20],
      [100, 6],
      [256, 16],
    ])('of %i bits within %i', async (bits, maxDistance) => {
      for (const count of [0, 1, 2, 77, 250]) {
        const codes = collection(shape, count, bits, count);
        const found = await listed(pairs(codes, { maxDistance }));
        expect(found).toEqual(pairsByBruteForce(codes, null, maxDistance));
      }
    });

    it.each([
      [64, 3],
      [100, 12],
    ])('of two collections of %i bits within %i', async (bits, maxDistance) => {
      const sizes = [[0, 5], [5, 0], [300, 40], [40, 300]] as const; // biome-ignore format: a table
      for (const [one, other] of sizes) {
        const left = collection(shape, one, bits, 1);
        const right = collection(shape, other, bits, 2);
        const shared = Math.min(left.count, right.count) >> 1;
        right.bytes.set(left.bytes.subarray(0, shared * left.bytesPerCode));
        const found = await listed(pairs(left, right, { maxDistance }));
        expect(found).toEqual(pairsByBruteForce(left, right, maxDistance));
      }
    });

    const layouts: [string, number, number, TableLayout][] = [
      ['4 tables', 64, 3, blocks(64, 4)],
      ['10 tables', 64, 3, choicesOf(blocks(64, 5), 2)],
      ['20 tables', 64, 3, choicesOf(blocks(64, 6), 3)],
      ['9 tables', 100, 8, blocks(100, 9)],
      ['3 tables of wide keys', 256, 2, blocks(256, 3)],
      ['all with all', 64, 3, []],
    ];
    if (shape === 'crowded block') layouts.push(['long runs', 4096, 3, blocks(4096, 4)]);
    const options = quickIf(true);
    it.each(layouts)(
      'by %s of %i bits within %i',
      options,
      async (_, bits, maxDistance, layout) => {
        const count = shape === 'all equal' ? 99 : bits > 999 ? 1300 : 400;
        const codes = collection(shape, count, bits, 3);
        const work = new LongWork();
        const distinct = await distinctOf(codes, null, maxDistance, work);
        const order = { maxDistance, isFirstOnly: false, layout };
        const expected = pairsByBruteForce(codes, null, maxDistance);
        for (const maxHeld of [5000, 50]) {
          const found = new Taken();
          await pairsInOrder(distinct, { ...order, maxHeld }, found.take, work);
          expect(found.pairs).toEqual(expected);
        }
        // Before they are put in order: each once as well.
        const seen: string[] = [];
        const range = () => [0, distinct.count] as const;
        const take = (hits: Uint32Array, count: number) => {
          for (let i = 0; i < 3 * count; i += 3) seen.push(hits.slice(i, i + 3).join());
        };
        await join(distinct, { maxDistance, range, layout }, take, work);
        expect(new Set(seen).size).toBe(seen.length);
      },
    );
  });
});

it.each(['uniform', 'clustered', 'repeated', 'crowded block'] as const)(
  'cells of %s codes have each pair once',
  async (shape) => {
    const codes = collection(shape, 300, 64, 3);
    const range = (first: number, end: number) =>
      Array.from({ length: end - first }, (_, i) => first + i);
    const sets = [range(0, 16), range(16, 32), range(32, 48), [...range(48, 60), 62, 63, 60, 61]];
    const found: Pair[] = [];
    for (const [i, own] of sets.entries()) {
      const cell = [[...own].sort((a, b) => a - b), ...sets.slice(0, i)];
      found.push(...(await listed(pairs(codes, { maxDistance: 3, cell }))));
    }
    found.sort(([a, b], [c, d]) => a - c || b - d);
    expect(found).toEqual(pairsByBruteForce(codes, null, 3));
  },
);

it('leaves out null rows of two collections', async () => {
  for (let seed = 1; seed <= 12; seed++) {
    const draws = new Draws(seed);
    const withNulls = (count: number) => {
      const given = collection(seed % 2 ? 'repeated' : 'clustered', count, 64, 3);
      return Codes.from(given.bytes, { bits: 64, validity: draws.bytes(Math.ceil(count / 8)) });
    };
    const [left, right] = [withNulls(1 + draws.integer(60)), withNulls(1 + draws.integer(20))];
    const [one, other] = seed % 3 === 0 ? [right, left] : [left, right];
    const found = await listed(pairs(one, other, { maxDistance: 5 }));
    expect(found).toEqual(pairsByBruteForce(one, other, 5));
  }
});

it('windows of repeated codes are reported once, whatever is held', async () => {
  const half = collection('clustered', 300, 64, 5);
  const bytes = new Uint8Array(2 * half.bytes.length);
  bytes.set(half.bytes);
  bytes.set(half.bytes, half.bytes.length);
  const codes = Codes.from(bytes, { bits: 64 });
  const work = new LongWork();
  const distinct = await distinctOf(codes, null, 6, work);
  for (const isFirstOnly of [false, true]) {
    const order = { maxDistance: 6, isFirstOnly, layout: blocks(64, 7) };
    const { pairs: whole, take } = new Taken();
    await pairsInOrder(distinct, order, take, work);
    for (const maxHeld of [3000, 300]) {
      const found = new Taken();
      await pairsInOrder(distinct, { ...order, maxHeld }, found.take, work);
      expect(found.pairs).toEqual(whole);
    }
    const expected = pairsByBruteForce(codes, null, 6);
    if (!isFirstOnly) expect(whole).toEqual(expected);
  }
});

it('windows of repeated codes go on by more than a row', { tags: 'thorough' }, async () => {
  const half = collection('uniform', 800, 64, 5);
  const codes = Codes.from(Uint8Array.from([...half.bytes, ...half.bytes]), { bits: 64 });
  const distinct = await distinctOf(codes, null, 26, new LongWork());
  let joins = 0;
  const order = {
    ...{ maxDistance: 26, isFirstOnly: false, maxHeld: 3000 },
    get layout() {
      joins++; // each window runs the join again
      return [];
    },
  };
  let count = 0;
  const take = ({ distances }: OrderedPairs) => {
    count += distances.length;
  };
  await pairsInOrder(distinct, order, take, new LongWork());
  expect(count).toBe(pairsByBruteForce(codes, null, 26).length);
  // 82,000 pairs of codes are held, at most 3,000 at once; a window a row would take 1,600 joins.
  expect(joins).toBeLessThan(55);
});

it('leaves out null rows', async () => {
  const given = collection('clustered', 200, 64, 9);
  const validity = new Draws(1).bytes(25);
  const codes = Codes.from(given.bytes, { bits: 64, validity });
  const found = await listed(pairs(codes, { maxDistance: 4 }));
  expect(found).toEqual(pairsByBruteForce(codes, null, 4));
  expect(found.length).toBeLessThan(pairsByBruteForce(given, null, 4).length);
});

it('without pairs there is one empty batch, with the columns of others', async () => {
  const index = new SimHashIndex({ bits: 64, dimensions: 2, vectors: 'float32' });
  await index.addAll([
    [1, 0],
    [0, 1],
  ]);
  const none = { a: new Uint32Array(), b: new Uint32Array(), distances: new Uint16Array() };
  for (const [options, similarities] of [
    [{ maxDistance: 1 }, null],
    [{ minCosine: 0.9 }, new Float64Array()],
  ] as const) {
    const batches: PairBatch[] = [];
    for await (const batch of pairs(index, options)) batches.push(batch);
    expect(batches).toEqual([{ ...none, similarities }]);
  }
});

it('finds pairs at exactly the distance', async () => {
  const codes = Codes.allocate(65, { bits: 64 });
  for (let row = 1; row < 65; row++) codes.at(row)[(row - 1) >> 3] = 1 << ((row - 1) & 7);
  expect(await listed(pairs(codes, { maxDistance: 1 }))).toHaveLength(64);
  expect(await listed(pairs(codes, { maxDistance: 2 }))).toHaveLength(64 + (64 * 63) / 2);
});

describe('of equal rows', () => {
  it('reports only the first of equal rows when asked to', async () => {
    const codes = collection('repeated', 500, 64, 4);
    const firsts = new Map<string, number>();
    const expected: Pair[] = [];
    for (const [a, b, distance] of pairsByBruteForce(codes, null, 30)) {
      for (const row of [a, b]) {
        const key = codes.at(row).join();
        if (!firsts.has(key)) firsts.set(key, row);
      }
      const isFirst = (row: number) => firsts.get(codes.at(row).join()) === row;
      if (isFirst(a) && (distance === 0 || isFirst(b))) expected.push([a, b, distance]);
    }
    const found = new Taken();
    const options = { maxDistance: 30, equal: 'first' } as const;
    await eachPairs(rowsOf('codes', codes), null, options, found.take, new LongWork());
    expect(found.pairs).toEqual(expected);
  });

  it('takes 300,000 of them as so many', async () => {
    const codes = Codes.allocate(300_000, { bits: 64 });
    codes.at(17)[0] = 1;
    let count = 0;
    const options = { maxDistance: 3, equal: 'first' } as const;
    const take = ({ a }: OrderedPairs) => {
      count += a.length;
    };
    await eachPairs(rowsOf('codes', codes), null, options, take, new LongWork());
    expect(count).toBe(299_999);
  });
});

describe('by cosine', async () => {
  const draws = new Draws(5);
  const dimensions = 24;
  const vectors: Float64Array[] = [];
  for (let i = 0; i < 200; i++) {
    const [one, near] = draws.pairAt(0.7 + 0.3 * draws.uniform(), dimensions);
    vectors.push(one, near);
  }
  const index = new SimHashIndex({
    bits: 128,
    dimensions,
    projection: 'hadamard',
    vectors: 'float32',
  });
  await index.addAll(vectors.map((vector) => Float32Array.from(vector)));

  // In 0.1 the cosine of a vector with itself came out below 1: a fifth of such pairs was lost.
  it('finds every pair of equal vectors at cosine 1', async () => {
    const draws = new Draws(7);
    const once = Array.from({ length: 400 }, () => {
      return Float32Array.from({ length: 96 }, () => draws.gaussian());
    });
    const twice = new SimHashIndex({ bits: 64, dimensions: 96, vectors: 'float32' });
    await twice.addAll([...once, ...once]);
    const found = (await listed(pairs(twice, { minCosine: 1 }))).map(([a, b]) => [a, b]);
    expect(found).toEqual(once.map((_, row) => [row, row + 400]));
  });

  it('finds 99 % of the pairs at a cosine, and more of those above', async () => {
    const minCosine = 0.85;
    const found = new Map<string, number>();
    for await (const { a, b, similarities } of pairs(index, { minCosine })) {
      a.forEach((row, i) => {
        found.set(`${row},${b[i]}`, similarities?.[i] ?? Number.NaN);
      });
    }
    const at = { least: minCosine, bits: 128 };
    const maxDistance = catchingDistance(COSINE, { ...at, probability: 0.99 });
    const share = catchShare(COSINE, { ...at, maxDistance });
    expect(share).toBeGreaterThanOrEqual(0.99);
    let near = 0;
    const wrong: string[] = [];
    for (let a = 0; a < 400; a++) {
      for (let b = a + 1; b < 400; b++) {
        const cosine = Math.cos(angleBetween(vectors[a], vectors[b]));
        const got = found.get(`${a},${b}`);
        if (cosine >= minCosine + 1e-6) near++;
        if (got === undefined) continue;
        const isNear = cosine >= minCosine - 1e-6 && Math.abs(got - cosine) < 5e-6;
        if (!isNear) wrong.push(`${a},${b}: ${got}, not ${cosine}`);
      }
    }
    expect(wrong).toEqual([]);
    expect(near).toBeGreaterThan(50);
    // At least the share, since the nearer ones are found more surely; two of three sigmas spare.
    expect(found.size).toBeGreaterThan(
      near * (share - 3 * Math.sqrt((share * (1 - share)) / near)),
    );
  });

  it('needs a distance where codes are of vectors less a mean', async () => {
    expect(() => pairs(index, index, undefined as never)).toThrow('"options" expected an object');
  });

  it('needs vectors', () => {
    const codes = collection('uniform', 3, 64, 1);
    expect(() => pairs(codes, { minCosine: 0.9 })).toThrow('"minCosine" needs vectors');
  });
});

describe('as a stream', () => {
  const codes = collection('clustered', 3000, 64, 6);

  it('begins again with each loop, and ends where a loop is left', async () => {
    const found = pairs(codes, { maxDistance: 3 });
    const all = await listed(found);
    expect(await listed(found)).toEqual(all);
    for await (const { a } of found) {
      expect(a[0]).toBe(all[0][0]);
      break;
    }
  });

  it('shows progress, and stops when asked to', async () => {
    const done: number[] = [];
    const onProgress = (at: number, total: number) => done.push(at / total);
    await listed(pairs(codes, { maxDistance: 3, onProgress }));
    expect(done.length).toBeGreaterThan(0);
    expect(done).toEqual([...done].sort((a, b) => a - b));
    expect(done.every((share) => share >= 0 && share <= 1)).toBe(true);
    const controller = new AbortController();
    const stopped = pairs(codes, { maxDistance: 3, signal: controller.signal });
    controller.abort(new Error('enough'));
    await expect(listed(stopped)).rejects.toThrow('enough');
  });

  it('stops between batches, also after the last one', async () => {
    const equal = Codes.from(new Uint8Array(8 * 600), { bits: 64 });
    const sizes: number[] = [];
    for await (const { a } of pairs(equal, { maxDistance: 0 })) sizes.push(a.length);
    expect(sizes.length).toBeGreaterThan(1);
    for (const last of [1, sizes.length]) {
      const controller = new AbortController();
      let seen = 0;
      const reading = (async () => {
        for await (const { a } of pairs(equal, { maxDistance: 0, signal: controller.signal })) {
          expect(a).toHaveLength(sizes[seen]);
          if (++seen === last) controller.abort(new Error('enough'));
        }
      })();
      await expect(reading).rejects.toThrow('enough');
      expect(seen).toBe(last);
    }
  });
});

describe('refuses', () => {
  const codes = collection('uniform', 3, 64, 1);
  const other = collection('uniform', 3, 32, 1);
  it.each([
    [() => pairs(codes, { maxDistance: 65 }), '"maxDistance" expected an integer in 0..64, got 65'],
    [() => pairs(codes, {}), '"maxDistance" expected a number, got undefined'],
    [
      () => pairs(codes, other, { maxDistance: 3 }),
      '"right" expected codes of 64 bits, as the left ones, got 32',
    ],
    [
      () => pairs([] as never, { maxDistance: 3 }),
      '"source" expected Codes or a SimHashIndex, got Array',
    ],
    [
      () =>
        pairs(Codes.allocate(2, { bits: 65_500 }), { maxDistance: 3, group: new Int32Array(2) }),
      '"bits" expected an integer in 1..65535, got 65536', // 32 for the group
    ],
    [() => pairs(codes, { maxDistanse: 3 } as never), /did you mean "maxDistance"/],
  ])('%s', (call, message) => {
    expect(call as () => AsyncIterable<PairBatch>).toThrow(message);
  });
});
