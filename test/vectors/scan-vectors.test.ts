import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { isValid } from '../../src/base/arrays';
import {
  type CosineNeighbors,
  SCAN_VECTORS_DEFAULTS,
  scanVectors,
  scanVectorsAll,
} from '../../src/vectors/scan-vectors';
import type { DenseMatrix } from '../../src/vectors/vectors';
import { Draws, dot } from '../reference/random';

/**
 * The truth that recall is measured against equals float64 cosines, fully sorted. Only where two of
 * those differ by no more than rounding may the order be another.
 */
const SEED = 1957;
const ROUNDING = 1e-12;

function rowOf(matrix: DenseMatrix, row: number): Float32Array | Float64Array {
  return matrix.values.subarray(row * matrix.dimensions, (row + 1) * matrix.dimensions);
}

/** Cosine of every row; null for null and all-zero rows. */
function naiveCosines(matrix: DenseMatrix, query: ArrayLike<number>): (number | null)[] {
  const count = matrix.values.length / matrix.dimensions;
  return Array.from({ length: count }, (_, row) => {
    const vector = rowOf(matrix, row);
    const norms = Math.sqrt(dot(vector, vector)) * Math.sqrt(dot(query, query));
    return isValid(matrix.validity, row) && norms > 0 ? dot(vector, query) / norms : null;
  });
}

function expectNearest(found: CosineNeighbors, cosines: (number | null)[], k: number): void {
  const sorted = cosines.filter((cosine) => cosine !== null).sort((a, b) => b - a);
  expect(found.rows.length).toBe(Math.min(k, sorted.length));
  expect(found.cosines.length).toBe(found.rows.length);
  expect(new Set(found.rows).size).toBe(found.rows.length);
  found.rows.forEach((row, i) => {
    const cosine = found.cosines[i];
    expect(Math.abs(cosine - (cosines[row] ?? 9))).toBeLessThan(ROUNDING);
    expect(Math.abs(cosine - sorted[i])).toBeLessThan(ROUNDING);
    expect(Math.abs(cosine)).toBeLessThanOrEqual(1);
    if (i === 0) return;
    expect(cosine).toBeLessThanOrEqual(found.cosines[i - 1]);
    if (cosine === found.cosines[i - 1]) expect(row).toBeGreaterThan(found.rows[i - 1]);
  });
}

function randomMatrix(
  draws: Draws,
  count: number,
  dimensions: number,
  narrow: boolean,
): DenseMatrix {
  const values = draws.gaussians(count * dimensions);
  // Duplicates, opposites and zero rows among them.
  for (let row = 1; row < count; row++) {
    const kind = draws.integer(8);
    const to = row * dimensions;
    if (kind === 0) values.fill(0, to, to + dimensions);
    if (kind === 1 || kind === 2) {
      const from = draws.integer(row) * dimensions;
      const copy = values.slice(from, from + dimensions);
      values.set(kind === 1 ? copy : copy.map((value) => -value), to);
    }
  }
  const validity = draws.bytes(Math.ceil(count / 8));
  return {
    values: narrow ? Float32Array.from(values) : values,
    dimensions,
    ...(draws.integer(2) === 0 && { validity }),
  };
}

describe('a scan', () => {
  it('find what a full sort finds, whatever the shape', async () => {
    await fc.assert(
      fc.asyncProperty(
        ...([fc.integer({ min: 1, max: 90 }), fc.integer({ min: 1, max: 200 })] as const),
        ...([fc.integer({ min: 1, max: 220 }), fc.integer(), fc.boolean()] as const),
        async (dimensions, count, k, seed, narrow) => {
          const draws = new Draws(seed);
          const matrix = randomMatrix(draws, count, dimensions, narrow);
          const queries = { values: draws.gaussians(3 * dimensions), dimensions };
          const all = await scanVectorsAll(matrix, queries, { k });
          expect(all.length).toBe(3);
          all.forEach((found, i) => {
            const query = rowOf(queries, i);
            expectNearest(found, naiveCosines(matrix, query), k);
            expect(scanVectors(matrix, query, { k })).toEqual(found);
          });
        },
      ),
      { seed: SEED, numRuns: 50 },
    );
  });

  it('find what a full sort finds among 20,000 rows', () => {
    const draws = new Draws('many rows');
    const matrix = { values: Float32Array.from(draws.gaussians(20_000 * 24)), dimensions: 24 };
    const query = draws.gaussians(24);
    const cosines = naiveCosines(matrix, query);
    for (const k of [1, 10, 2500]) expectNearest(scanVectors(matrix, query, { k }), cosines, k);
  });

  it('put equal rows in order, and every row of equal ones first to last', () => {
    const matrix = {
      values: new Float64Array(300 * 5).map((_, i) => (i % 5) - 1.7),
      dimensions: 5,
    };
    const { rows, cosines } = scanVectors(matrix, [-1.7, -0.7, 0.3, 1.3, 2.3], { k: 200 });
    expect([...rows]).toEqual(Array.from({ length: 200 }, (_, row) => row));
    expect(new Set(cosines).size).toBe(1);
    expect(cosines[0]).toBeCloseTo(1, 12);
  });

  it('find the nearest where every row is nearer than those before', () => {
    const values = Float64Array.from({ length: 10_000 }, (_, i) => {
      const angle = 3 * (1 - (i >> 1) / 5000);
      return i % 2 === 0 ? Math.cos(angle) : Math.sin(angle);
    });
    const { rows } = scanVectors({ values, dimensions: 2 }, [1, 0], { k: 100 });
    expect([...rows]).toEqual(Array.from({ length: 100 }, (_, i) => 4999 - i));
  });

  it('are found for more queries than a step takes, in several tiles of rows', async () => {
    const draws = new Draws(SEED);
    const matrix = { values: Float64Array.from(draws.gaussians(64 * 1200)), dimensions: 64 };
    const queries = { values: matrix.values.subarray(0, 64 * 600), dimensions: 64 };
    const found = await scanVectorsAll(matrix, queries, { k: 3 });
    expect(found).toHaveLength(600);
    for (let i = 0; i < 600; i++) {
      const cosines = naiveCosines(matrix, rowOf(queries, i)) as number[];
      const best = [...cosines.keys()].sort((a, b) => cosines[b] - cosines[a]).slice(0, 3);
      expect([...found[i].rows]).toEqual(best);
    }
  });

  it('answer among one row, none, and none that has a direction', async () => {
    const nothing = { rows: new Uint32Array(0), cosines: new Float64Array(0) };
    const query = [1, 1];
    const one = { values: Float32Array.of(3, 3), dimensions: 2 };
    const found = scanVectors(one, query, {});
    expect([...found.rows]).toEqual([0]);
    expect(found.cosines[0]).toBeCloseTo(1, 15);
    const none = { values: new Float32Array(0), dimensions: 2 };
    const zeros = { values: new Float32Array(4), dimensions: 2 };
    const nulls = { ...one, validity: Uint8Array.of(0) };
    for (const matrix of [none, zeros, nulls]) {
      expect(scanVectors(matrix, query, {})).toEqual(nothing);
    }
    expect(await scanVectorsAll(one, none, {})).toEqual([]);
    expect(await scanVectorsAll(one, nulls, {})).toEqual([nothing]);
  });

  it('do not read the values of null rows', async () => {
    const values = Float64Array.of(1, 2, Number.NaN, Number.POSITIVE_INFINITY, 2, 1);
    const matrix = { values, dimensions: 2, validity: Uint8Array.of(0b101) };
    expect([...scanVectors(matrix, [1, 2], {}).rows]).toEqual([0, 2]);
    const all = await scanVectorsAll(matrix, matrix, {});
    expect(all.map(({ rows }) => [...rows])).toEqual([[0, 2], [], [2, 0]]);
  });

  it('keep rows at minCosine, and leave out those below', () => {
    const matrix = { values: Float64Array.of(1, 0, 0, 1, -1, 0, 3, 4), dimensions: 2 };
    const rows = (minCosine?: number) => [...scanVectors(matrix, [2, 0], { minCosine }).rows];
    expect(rows()).toEqual([0, 3, 1, 2]);
    expect(rows(-1)).toEqual([0, 3, 1, 2]);
    expect(rows(0)).toEqual([0, 3, 1]);
    expect(rows(0.59)).toEqual([0, 3]);
    expect(rows(1)).toEqual([0]);
  });

  it('do not see the length of a vector, or say that it is too short or too long to be measured', () => {
    const draws = new Draws('lengths');
    const unit = { values: draws.gaussians(40 * 6), dimensions: 6 };
    const query = draws.gaussians(6);
    const expected = scanVectors(unit, query, {});
    for (const power of [-900, -540, -525, -500, -60, 60, 480, 900]) {
      const scaled = { values: unit.values.map((value) => value * 2 ** power), dimensions: 6 };
      const scaledQuery = query.map((value) => value * 2 ** power);
      for (const [matrix, asked] of [
        [scaled, query],
        [unit, scaledQuery],
      ] as const) {
        let found: CosineNeighbors;
        try {
          found = scanVectors(matrix, asked, {});
        } catch (error) {
          expect(String(error)).toMatch(/^RangeError: (row|query) 0: expected .* length/);
          expect(Math.abs(power)).toBeGreaterThan(500);
          continue;
        }
        expect([...found.rows]).toEqual([...expected.rows]);
        found.cosines.forEach((cosine, i) => {
          expect(Math.abs(cosine - expected.cosines[i])).toBeLessThan(ROUNDING);
        });
      }
    }
  });
});

it('takes a query of any kind', () => {
  const matrix = { values: Float32Array.of(1, 2, 3, 3, 2, 1), dimensions: 3 };
  const expected = scanVectors(matrix, [3, 2, 1]);
  expect(scanVectors(matrix, Float32Array.of(3, 2, 1))).toEqual(expected);
  expect(scanVectors(matrix, Float64Array.of(3, 2, 1))).toEqual(expected);
  expect([...expected.rows]).toEqual([1, 0]);
});

it('treats a query of another width alike, whichever it is, when there are no rows', () => {
  const empty = { values: new Float32Array(0), dimensions: 2 };
  const outcomes = [1, 3, 4, 5].map((width) => {
    try {
      return `${scanVectors(empty, new Float32Array(width).fill(1)).rows.length} rows`;
    } catch (error) {
      return String(error).replace(String(width), 'that');
    }
  });
  expect(new Set(outcomes).size).toBe(1);
  expect(outcomes[0]).toMatch(/^0 rows$|^RangeError: "query" expected .*2 dimensions, got that$/);
});

it('finds 10 where nothing else is said', () => {
  expect(SCAN_VECTORS_DEFAULTS).toEqual({ k: 10, minCosine: -1 });
  const matrix = { values: new Float32Array(40).fill(1), dimensions: 1 };
  expect(scanVectors(matrix, [2]).rows.length).toBe(10);
});

it('leaves matrix and queries as they were', () => {
  const matrix = {
    ...randomMatrix(new Draws('unchanged'), 90, 7, true),
    validity: new Uint8Array(12).fill(9),
  };
  const query = [1, 2, 3, 4, 5, 6, 7];
  const before = structuredClone([matrix, query]);
  scanVectors(Object.freeze(matrix), Object.freeze(query));
  expect([matrix, query]).toEqual(before);
});

it('tells its progress to the end, and stops when its signal says so', async () => {
  const matrix = { values: new Draws('progress').gaussians(40_000 * 4), dimensions: 4 };
  const queries = { values: Float32Array.of(1, 2, 3, 4), dimensions: 4 };
  const seen: number[] = [];
  await scanVectorsAll(matrix, queries, {
    onProgress: (done, total) => {
      expect(total).toBe(40_000);
      seen.push(done);
    },
  });
  expect(seen.length).toBeGreaterThan(1);
  expect(seen).toEqual([...new Set(seen)].sort((a, b) => a - b));
  expect(seen.at(-1)).toBe(40_000);
  const reason = new Error('enough');
  await expect(
    scanVectorsAll(matrix, queries, { signal: AbortSignal.abort(reason) }),
  ).rejects.toThrow(reason);
  const controller = new AbortController();
  const onProgress = vi.fn(() => controller.abort(reason));
  const { signal } = controller;
  await expect(scanVectorsAll(matrix, queries, { onProgress, signal })).rejects.toThrow(reason);
  expect(onProgress).toHaveBeenCalledTimes(1);
});

describe('bad input is refused', () => {
  // biome-ignore lint/suspicious/noExplicitAny: wrong types are the matter here
  const any = (value: unknown) => value as any;
  const matrix = { values: Float64Array.of(1, 2, 3, 4, 5, 6), dimensions: 2 };
  const bad = (value: number) => ({ values: Float64Array.of(1, 2, 3, value, 5, 6), dimensions: 2 });
  it.each<[string, () => unknown, typeof RangeError | typeof TypeError, string | RegExp]>([
    [
      'no matrix',
      () => scanVectors(any(undefined), [1, 2]),
      TypeError,
      /"matrix" expected .*got undefined/,
    ],
    [
      'a query that was given away',
      () => {
        const query = Float64Array.of(1, 2);
        structuredClone(query, { transfer: [query.buffer] });
        return scanVectors(matrix, query);
      },
      RangeError,
      '"query" expected 2 dimensions, got 0',
    ],
    [
      'an array for a matrix',
      () => scanVectors(any([[1, 2]]), [1, 2]),
      TypeError,
      /"(matrix|values)" expected .*got /,
    ],
    [
      'plain numbers in a matrix',
      () => scanVectors(any({ values: [1, 2], dimensions: 2 }), [1, 2]),
      TypeError,
      '"values" expected a Float32Array or a Float64Array, got Array',
    ],
    [
      '0 dimensions',
      () => scanVectors({ ...matrix, dimensions: 0 }, [1]),
      RangeError,
      '"dimensions" expected an integer from 1 on, got 0',
    ],
    [
      'half a row',
      () => scanVectors({ ...matrix, dimensions: 4 }, [1, 2, 3, 4]),
      RangeError,
      '"values" expected a multiple of 4 values, got 6',
    ],
    [
      'too short a validity',
      () => scanVectors({ ...matrix, validity: new Uint8Array(0) }, [1, 2]),
      RangeError,
      /^"validity" expected a bit for each of 3 rows/,
    ],
    [
      'no query',
      () => scanVectors(matrix, any(undefined)),
      TypeError,
      /^"query" expected .*got undefined$/,
    ],
    [
      'text as query',
      () => scanVectors(matrix, any('12')),
      TypeError,
      /^"query" expected .*got "12"$/,
    ],
    [
      'text in a query',
      () => scanVectors(matrix, any([1, '2'])),
      TypeError,
      /expected a number at position 1, got "2"$/,
    ],
    [
      'a sparse query',
      () => scanVectors(matrix, any({ indices: [1], values: [1] })),
      TypeError,
      /^"query" expected /,
    ],
    [
      'a query of another width',
      () => scanVectors(matrix, [1, 2, 3]),
      RangeError,
      /"quer(y|ies)" expected .*2 dimensions, got 3/,
    ],
    ['a query without values', () => scanVectors(matrix, []), RangeError, /got 0$/],
    [
      'queries of another width',
      () => scanVectorsAll(matrix, { values: new Float64Array(3), dimensions: 3 }),
      RangeError,
      '"queries" expected vectors of 2 dimensions, got 3',
    ],
    [
      'NaN in a query',
      () => scanVectors(matrix, [1, Number.NaN]),
      RangeError,
      /^query 0: expected finite values/,
    ],
    [
      'an infinity in a query',
      () => scanVectorsAll(matrix, bad(Number.POSITIVE_INFINITY)),
      RangeError,
      /^query 1: expected finite values/,
    ],
    [
      'a query of zeros',
      () => scanVectors(matrix, [0, -0]),
      RangeError,
      /^query 0: an all-zero vector has no direction/,
    ],
    [
      'NaN in a row',
      () => scanVectors(bad(Number.NaN), [1, 2]),
      RangeError,
      /^row 1: expected finite values/,
    ],
    [
      'an infinity in a row',
      () => scanVectors(bad(Number.NEGATIVE_INFINITY), [1, 2]),
      RangeError,
      /^row 1: expected finite values/,
    ],
    [
      'k of 0',
      () => scanVectors(matrix, [1, 2], { k: 0 }),
      RangeError,
      '"k" expected an integer from 1 on, got 0',
    ],
    [
      'a cosine above 1',
      () => scanVectors(matrix, [1, 2], { minCosine: 1.1 }),
      RangeError,
      '"minCosine" expected a number in -1..1, got 1.1',
    ],
    [
      'NaN as least cosine',
      () => scanVectors(matrix, [1, 2], { minCosine: Number.NaN }),
      RangeError,
      '"minCosine" expected a number in -1..1, got NaN',
    ],
    [
      'an option of another call',
      () => scanVectors(matrix, [1, 2], any({ maxDistance: 3 })),
      TypeError,
      '"options" has no option "maxDistance", it takes k, minCosine',
    ],
    [
      'progress to no function',
      () => scanVectorsAll(matrix, matrix, { onProgress: any(5) }),
      TypeError,
      '"onProgress" expected a function, got 5',
    ],
    [
      'a signal that is none',
      () => scanVectorsAll(matrix, matrix, { signal: any({}) }),
      TypeError,
      '"signal" expected an AbortSignal, got Object',
    ],
  ])('%s', async (_, run, type, words) => {
    await expect((async () => run())()).rejects.toThrow(type);
    await expect((async () => run())()).rejects.toThrow(words);
  });
});
