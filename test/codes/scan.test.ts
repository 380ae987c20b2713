import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { Codes } from '../../src/codes/codes';
import { scan, scanAll } from '../../src/codes/scan';
import { SimHasher } from '../../src/hashing/simhash';
import { KERNELS } from '../../src/kernels/kernels';
import { naiveNeighbors } from '../reference/brute-force';
import { difference } from '../reference/difference';
import { useKernel } from '../reference/kernels';
import { Draws } from '../reference/random';
import { quickIf } from '../reference/tags';

/** The exact scan misses nothing: it equals a full sort of all distances, by distance, then row. */
const SEED = 1975;

/** `count` random codes; `variety` below 256 makes many of them equal or equally far. */
function randomRows(draws: Draws, count: number, bits: number, variety: number): Uint8Array[] {
  const width = Math.ceil(bits / 8);
  return Array.from({ length: count }, () => {
    const code = new Uint8Array(width);
    for (let i = 0; i < width; i++) code[i] = draws.integer(variety);
    if (bits % 8 !== 0) code[width - 1] &= (1 << (bits % 8)) - 1;
    return code;
  });
}

function codesOf(rows: readonly (Uint8Array | null)[], bits: number): Codes {
  const width = Math.ceil(bits / 8);
  const bytes = new Uint8Array(rows.length * width);
  const validity = new Uint8Array(Math.ceil(rows.length / 8));
  rows.forEach((code, row) => {
    if (code === null) return;
    bytes.set(code, row * width);
    validity[row >> 3] |= 1 << (row & 7);
  });
  return Codes.from(bytes, { bits, ...(rows.includes(null) && { validity }) });
}

/** Codes whose distance from an all-zero query is given, row by row. */
function atDistances(distances: readonly number[], bits: number): Codes {
  const width = Math.ceil(bits / 8);
  const bytes = new Uint8Array(distances.length * width);
  distances.forEach((distance, row) => {
    for (let j = 0; j < distance; j++) bytes[row * width + (j >> 3)] |= 1 << (j & 7);
  });
  return Codes.from(bytes, { bits });
}

/** Many codes, two queries and their full sorts, made once for all kernels. */
function makeManyRows(width: number) {
  const draws = new Draws(`many ${width}`);
  const bits = 8 * width;
  const rows = randomRows(draws, width > 40 ? 8000 : 20_000, bits, 256);
  const codes = codesOf(rows, bits);
  const queries = [rows[777], randomRows(draws, 1, bits, 256)[0]];
  return queries.map((query) => ({ codes, query, all: naiveNeighbors(rows, query, {}) }));
}

const rowCases = new Map<number, ReturnType<typeof makeManyRows>>();

function manyRows(width: number) {
  const known = rowCases.get(width) ?? makeManyRows(width);
  rowCases.set(width, known);
  return known;
}

const manyCases = new Map<number, ReturnType<typeof makeManyQueries>>();

/** Enough codes for a memory of their own, some null or twice there, and the answers for 140 queries. */
function makeManyQueries(width: number) {
  const draws = new Draws(`many queries ${width}`);
  const bits = 8 * width;
  const count = Math.ceil(70_000 / width);
  const rows = randomRows(draws, count, bits, 256).map((row) =>
    draws.integer(9) === 0 ? null : row,
  );
  for (let i = 0; i < 50; i++) rows[draws.integer(count)] = rows[draws.integer(count)];
  const queries = randomRows(draws, 140, bits, 256).map((query, i) =>
    i % 20 === 3 ? null : i % 20 === 4 ? rows[i] : query,
  );
  const all = queries.map((query) => naiveNeighbors(rows, query, {}));
  const maxDistance = all[0].distances[30];
  const nearest = all.map((one) => ({
    rows: one.rows.slice(0, 20),
    distances: one.distances.slice(0, 20),
  }));
  const within = all.map((one) => {
    const end = one.distances.findIndex((distance) => distance > maxDistance);
    const kept = end < 0 ? one.rows.length : end;
    return { rows: one.rows.slice(0, kept), distances: one.distances.slice(0, kept) };
  });
  return { rows, queries, nearest, within, maxDistance };
}

function manyQueries(width: number) {
  const known = manyCases.get(width) ?? makeManyQueries(width);
  manyCases.set(width, known);
  return known;
}

describe.each(KERNELS)('%s kernels', (kernel) => {
  useKernel(kernel);
  it('find what a full sort finds: ties, duplicates, null rows, more wanted than there is', async () => {
    await fc.assert(
      fc.asyncProperty(
        ...([fc.integer({ min: 1, max: 300 }), fc.integer({ min: 0, max: 400 })] as const),
        ...([fc.integer({ min: 1, max: 450 }), fc.constantFrom(1, 2, 3, 256)] as const),
        ...([fc.boolean(), fc.integer(), fc.double({ min: 0, max: 1, noNaN: true })] as const),
        async (bits, count, k, variety, withNulls, seed, share) => {
          const draws = new Draws(seed);
          const nullAt = () => withNulls && draws.integer(4) === 0;
          const rows = randomRows(draws, count, bits, variety).map((row) =>
            nullAt() ? null : row,
          );
          const asked = randomRows(draws, 1 + draws.integer(4), bits, variety);
          if (count > 0) asked.push(rows[0] ?? asked[0]);
          const queries = asked.map((query) => (nullAt() ? null : query));
          const codes = codesOf(rows, bits);
          const maxDistance = Math.floor(share * bits);
          const nearest = queries.map((query) => naiveNeighbors(rows, query, { k }));
          const within = queries.map((query) => naiveNeighbors(rows, query, { maxDistance }));
          const both = queries.map((query) => naiveNeighbors(rows, query, { k, maxDistance }));
          expect(await scanAll(codes, codesOf(queries, bits), { k, maxDistance })).toEqual(both);
          expect(await scanAll(codes, codesOf(queries, bits), { k })).toEqual(nearest);
          expect(await scanAll(codes, codesOf(queries, bits), { maxDistance })).toEqual(within);
          queries.forEach((query, i) => {
            if (query === null) return;
            expect(scan(codes, query, { k })).toEqual(nearest[i]);
            expect(scan(codes, query, { maxDistance })).toEqual(within[i]);
          });
        },
      ),
      { seed: SEED, numRuns: 60 },
    );
  });

  it.each([1, 8, 9, 16, 32, 33, 100])(
    'find what a full sort finds among many codes of %i bytes',
    (width) => {
      for (const { codes, query, all } of manyRows(width)) {
        for (const k of [1, 10, 1500]) {
          const found = scan(codes, query, { k });
          expect(difference(found.rows, all.rows.subarray(0, k))).toBeNull();
          expect(difference(found.distances, all.distances.subarray(0, k))).toBeNull();
        }
        const maxDistance = all.distances[300];
        const end = all.distances.findIndex((distance) => distance > maxDistance);
        const found = scan(codes, query, { maxDistance });
        expect(difference(found.rows, all.rows.subarray(0, end))).toBeNull();
      }
    },
  );

  for (const width of [8, 9, 32]) {
    const title = `find for 140 queries at once what a full sort finds: codes of ${width} bytes`;
    it(title, quickIf(width === 32), async () => {
      const { rows, queries, nearest, within, maxDistance } = manyQueries(width);
      const codes = codesOf(rows, 8 * width);
      const asked = codesOf(queries, 8 * width);
      const found = await scanAll(codes, asked, { k: 20 });
      const near = await scanAll(codes, asked, { maxDistance });
      found.forEach((one, i) => {
        expect(one).toEqual(nearest[i]);
      });
      near.forEach((one, i) => {
        expect(difference(one.rows, within[i].rows)).toBeNull();
        expect(difference(one.distances, within[i].distances)).toBeNull();
      });
      expect([found.length, near.length]).toEqual([140, 140]);
    });
  }

  it('find the nearest where every row is nearer than those before', () => {
    const bits = 500;
    const distances = Array.from({ length: 30_000 }, (_, row) => bits - Math.floor(row / 60));
    const codes = atDistances(distances, bits);
    const query = new Uint8Array(codes.bytesPerCode);
    for (const k of [1, 7, 1024, 5000]) {
      // The last 60 rows are the nearest, then the 60 before them, each in order of row.
      const rows = Array.from(
        { length: k },
        (_, i) => 30_000 - 60 * (1 + Math.floor(i / 60)) + (i % 60),
      );
      const found = scan(codes, query, { k });
      expect([...found.rows]).toEqual(rows);
      expect([...found.distances]).toEqual(rows.map((row) => distances[row]));
    }
  });

  it('find the first rows where all are equal', () => {
    const codes = atDistances(new Array(20_000).fill(3), 64);
    const { rows, distances } = scan(codes, new Uint8Array(8), { k: 3000 });
    expect([...rows]).toEqual(Array.from({ length: 3000 }, (_, row) => row));
    expect(new Set(distances)).toEqual(new Set([3]));
    expect(scan(codes, new Uint8Array(8), { maxDistance: 3 }).rows.length).toBe(20_000);
    expect(scan(codes, new Uint8Array(8), { maxDistance: 2 }).rows.length).toBe(0);
  });

  it('count maxDistance in, and 0 is equal codes only', () => {
    const codes = atDistances([4, 0, 3, 2, 0, 5, 3], 10);
    const rows = (maxDistance: number) => [...scan(codes, new Uint8Array(2), { maxDistance }).rows];
    expect(rows(0)).toEqual([1, 4]);
    expect(rows(2)).toEqual([1, 4, 3]);
    expect(rows(3)).toEqual([1, 4, 3, 2, 6]);
    expect(rows(10)).toEqual([1, 4, 3, 2, 6, 0, 5]);
  });

  it('answer with the widest codes, 65,535 bits apart', () => {
    const codes = atDistances([65_535, 1, 65_534], 65_535);
    const found = scan(codes, new Uint8Array(8192));
    expect(found).toEqual({
      rows: Uint32Array.of(1, 2, 0),
      distances: Uint16Array.of(1, 65_534, 65_535),
    });
    const within = (maxDistance: number) => scan(codes, new Uint8Array(8192), { maxDistance });
    expect([...within(65_534).rows]).toEqual([1, 2]);
    expect([...within(65_535).rows]).toEqual([1, 2, 0]);
  });

  it('answer among one row, none, and null ones only', async () => {
    const query = Uint8Array.of(5);
    const nothing = { rows: new Uint32Array(0), distances: new Uint16Array(0) };
    const one = codesOf([Uint8Array.of(4)], 8);
    expect(scan(one, query)).toEqual({
      rows: Uint32Array.of(0),
      distances: Uint16Array.of(1),
    });
    for (const codes of [codesOf([], 8), codesOf([null, null], 8)]) {
      expect(scan(codes, query)).toEqual(nothing);
      expect(scan(codes, query, { maxDistance: 8 })).toEqual(nothing);
      expect(await scanAll(codes, one)).toEqual([nothing]);
    }
    expect(await scanAll(one, codesOf([], 8))).toEqual([]);
    expect(await scanAll(one, codesOf([null, Uint8Array.of(4)], 8))).toEqual([
      nothing,
      { rows: Uint32Array.of(0), distances: Uint16Array.of(0) },
    ]);
  });

  it('leave codes and queries as they were', async () => {
    const draws = new Draws('unchanged');
    const codes = codesOf([...randomRows(draws, 99, 70, 256), null], 70);
    const queries = codesOf(randomRows(draws, 3, 70, 256), 70);
    const before = structuredClone([codes.bytes, codes.validity, queries.bytes]);
    await scanAll(codes, queries);
    await scanAll(codes, queries, { maxDistance: 30 });
    expect([codes.bytes, codes.validity, queries.bytes]).toEqual(before);
  });
});

it('finds 10 where nothing else is said', () => {
  const codes = atDistances(new Array(30).fill(1), 8);
  expect(scan(codes, new Uint8Array(1)).rows.length).toBe(10);
  expect(scan(codes, new Uint8Array(1), { k: undefined }).rows.length).toBe(10);
});

it('may be asked while it asks: a progress report that scans and hashes disturbs nothing', async () => {
  const { rows, queries, nearest } = manyQueries(32);
  const codes = codesOf(rows, 256);
  const hasher = new SimHasher({ bits: 256 });
  const onProgress = () => {
    scan(codes, codes.at(1));
    scan(atDistances([1, 2], 256), new Uint8Array(32), { maxDistance: 3 });
    hasher.hash(new Float64Array(2000).fill(1));
  };
  expect(await scanAll(codes, codesOf(queries, 256), { k: 20, onProgress })).toEqual(nearest);
});

it('takes any k, however large', () => {
  const codes = atDistances([2, 1, 0], 8);
  for (const k of [3, 4, 2 ** 32, Number.MAX_SAFE_INTEGER]) {
    expect([...scan(codes, new Uint8Array(1), { k }).rows]).toEqual([2, 1, 0]);
  }
});

describe('a long scan', () => {
  const codes = atDistances(
    Array.from({ length: 50_000 }, (_, row) => row % 9),
    8,
  );
  const queries = codesOf([Uint8Array.of(0), Uint8Array.of(255)], 8);

  it.each([
    ['scanAll', (options: object) => scanAll(codes, queries, { k: 5, ...options })],
    ['scanAll', (options: object) => scanAll(codes, queries, { maxDistance: 1, ...options })],
  ])('tells its progress to the end, and stops when its signal says so: %s', async (_, run) => {
    const seen: number[] = [];
    const totals = new Set<number>();
    const found = await run({
      onProgress: (done: number, total: number) => {
        seen.push(done);
        totals.add(total);
      },
    });
    expect(found).toEqual(await run({}));
    expect(seen.length).toBeGreaterThan(1);
    expect(seen).toEqual([...new Set(seen)].sort((a, b) => a - b));
    expect([...totals]).toEqual([50_000]);
    expect(seen.at(-1)).toBe(50_000);

    const reason = new Error('enough');
    await expect(run({ signal: AbortSignal.abort(reason) })).rejects.toThrow(reason);
    const controller = new AbortController();
    const onProgress = vi.fn(() => controller.abort(reason));
    await expect(run({ onProgress, signal: controller.signal })).rejects.toThrow(reason);
    expect(onProgress).toHaveBeenCalledTimes(1);
  });
});

describe('bad input is refused', () => {
  // biome-ignore lint/suspicious/noExplicitAny: wrong types are the matter here
  const any = (value: unknown) => value as any;
  const codes = atDistances([1, 2, 3], 20);
  const wider = atDistances([1, 2, 3], 21);
  const query = new Uint8Array(3);
  it.each<[string, () => unknown, typeof RangeError | typeof TypeError, string | RegExp]>([
    [
      'no codes',
      () => scan(any(undefined), query),
      TypeError,
      '"codes" expected Codes, got undefined',
    ],
    [
      'bytes for codes',
      () => scanAll(any(query), codes),
      TypeError,
      '"codes" expected Codes, got Uint8Array',
    ],
    [
      'no query',
      () => scan(codes, any(null)),
      TypeError,
      '"query" expected a Uint8Array, got null',
    ],
    [
      'an array as query',
      () => scan(codes, any([1, 2, 3])),
      TypeError,
      '"query" expected a Uint8Array, got Array',
    ],
    [
      'a query of another width',
      () => scan(codes, new Uint8Array(4)),
      RangeError,
      '"query" expected 3 bytes for 20 bits, got 4',
    ],
    [
      'a query with bits beyond the last',
      () => scan(codes, Uint8Array.of(0, 0, 16)),
      RangeError,
      /a code of 20 bits has bits set beyond them/,
    ],
    [
      'bytes for queries',
      () => scanAll(codes, any(query)),
      TypeError,
      '"queries" expected Codes, got Uint8Array',
    ],
    [
      'queries of another width',
      () => scanAll(codes, wider),
      RangeError,
      '"queries" expected codes of 20 bits, got 21',
    ],
    [
      'queries of another width, within',
      () => scanAll(codes, wider, { maxDistance: 1 }),
      RangeError,
      '"queries" expected codes of 20 bits, got 21',
    ],
    [
      'k of 0',
      () => scan(codes, query, { k: 0 }),
      RangeError,
      '"k" expected an integer from 1 on, got 0',
    ],
    [
      'half a k',
      () => scanAll(codes, codes, { k: 1.5 }),
      RangeError,
      '"k" expected an integer from 1 on, got 1.5',
    ],
    [
      'k as text',
      () => scan(codes, query, { k: any('3') }),
      TypeError,
      '"k" expected a number, got "3"',
    ],
    [
      'a number for options',
      () => scan(codes, query, any(10)),
      TypeError,
      '"options" expected an object, got 10',
    ],
    [
      'maxDistance as text',
      () => scan(codes, query, { maxDistance: any('3') }),
      TypeError,
      '"maxDistance" expected a number, got "3"',
    ],
    [
      'a negative maxDistance',
      () => scan(codes, query, { maxDistance: -1 }),
      RangeError,
      '"maxDistance" expected an integer in 0..20, got -1',
    ],
    [
      'a maxDistance beyond the bits',
      () => scanAll(codes, codes, { maxDistance: 21 }),
      RangeError,
      '"maxDistance" expected an integer in 0..20, got 21',
    ],
    [
      'a wrong option',
      () => scan(codes, query, any({ K: 3 })),
      TypeError,
      '"options" has no option "K", did you mean "k"?',
    ],
    [
      'a misspelt option',
      () => scan(codes, query, any({ maxDistnace: 3 })),
      TypeError,
      '"options" has no option "maxDistnace", did you mean "maxDistance"?',
    ],
    [
      'progress to no function',
      () => scanAll(codes, codes, { onProgress: any(5) }),
      TypeError,
      '"onProgress" expected a function, got 5',
    ],
    [
      'a signal that is none',
      () => scanAll(codes, codes, { signal: any({}) }),
      TypeError,
      '"signal" expected an AbortSignal, got Object',
    ],
  ])('%s', async (_, run, type, words) => {
    await expect((async () => run())()).rejects.toThrow(type);
    await expect((async () => run())()).rejects.toThrow(words);
  });
});
