import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { SIMHASHER_DEFAULTS, SimHasher, type SimHasherOptions } from '../../src/hashing/simhash';
import type { SparseVector, Vector } from '../../src/vectors/vectors';
import { bitString } from '../codes/bits';
import { difference } from '../reference/difference';
import { useKernel } from '../reference/kernels';
import { Draws } from '../reference/random';

const SEED = 2007;
const PROJECTIONS = ['signs', 'gaussian', 'hadamard'] as const;
const KERNELS = ['scalar', 'popcnt64'] as const;

const finite = fc.double({ noNaN: true, min: -1e100, max: 1e100 });
const dimension = fc.oneof(
  fc.bigInt({ min: 0n, max: 5n }),
  fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
);
const entries = fc.array(fc.tuple(dimension, finite), { minLength: 1, maxLength: 30 });
const bitCounts = fc.integer({ min: 1, max: 140 });

function sparse(pairs: readonly (readonly [bigint, number])[]): SparseVector {
  return { indices: pairs.map(([index]) => index), values: pairs.map(([, value]) => value) };
}

/** Code and sums of one vector, whatever its direction. */
function outcome(options: SimHasherOptions, vector: Vector) {
  const hasher = new SimHasher({ ...options, zero: 'null' });
  const { bytes, isNull } = hasher.codeOf(vector);
  const hasDirection = isNull[0] === 0;
  return { code: bitString(bytes), hasDirection, sums: hasher.accumulate(vector) };
}

function expectSame(options: SimHasherOptions, a: Vector, b: Vector): void {
  const [first, second] = [outcome(options, a), outcome(options, b)];
  expect(second.code).toBe(first.code);
  expect(second.hasDirection).toBe(first.hasDirection);
  expect(difference(second.sums, first.sums)).toBeNull();
}

describe('options', () => {
  it('are those of the defaults where none are given', () => {
    const hasher = new SimHasher();
    expect(SIMHASHER_DEFAULTS).toEqual({
      ...{ bits: 64, seed: 0, projection: 'signs', zero: 'error' },
    });
    expect(hasher).toMatchObject({ bits: 64, seed: 0n, projection: 'signs', zero: 'error' });
    expect(hasher.dimensions).toBeUndefined();
    expect(hasher.bytesPerCode).toBe(8);
  });

  it('are those of the defaults where they are undefined', () => {
    const hasher = new SimHasher({
      ...{ bits: undefined, seed: undefined, projection: undefined, zero: undefined },
      ...{ dimensions: undefined, pattern: undefined },
    });
    expect(hasher).toMatchObject({ bits: 64, seed: 0n, projection: 'signs', zero: 'error' });
  });

  it.each<SimHasherOptions>([
    { bits: 16, pattern: (dimension) => Uint8Array.of(37 * Number(dimension), 91) },
    { bits: 16, seed: 7, projection: 'hadamard', dimensions: 3, texts: 'words' },
  ])('of a hasher make an equal one: %o', (options) => {
    const hasher = new SimHasher(options);
    const again = new SimHasher(hasher.options);
    expect(again.options).toEqual(hasher.options);
    expect(again.hash([1, -2, 3])).toEqual(hasher.hash([1, -2, 3]));
  });

  it('tell a seed as a number from none, and as a bigint alike', () => {
    const vector = [1, 2, 3];
    expect(new SimHasher({ seed: 7 }).hash(vector)).toEqual(
      new SimHasher({ seed: 7n }).hash(vector),
    );
    expect(new SimHasher({ seed: 7 }).hash(vector)).not.toEqual(new SimHasher().hash(vector));
  });

  it('stand in the origin of codes, and a pattern of the caller leaves none', async () => {
    const options = {
      bits: 20,
      seed: 2n ** 64n - 1n,
      projection: 'hadamard',
      dimensions: 3,
    } as const;
    const origin = { projection: 'hadamard', seed: '18446744073709551615', dimensions: 3 };
    expect((await new SimHasher(options).hashAll([[1, 2, 3]])).origin).toEqual(origin);
    expect((await new SimHasher().hashAll([[1, 2, 3]])).origin).toEqual({
      projection: 'signs',
      seed: '0',
    });
    const pattern = () => new Uint8Array(8);
    expect((await new SimHasher({ pattern }).hashAll([[1]])).origin).toBeUndefined();
  });

  it.each([1, 2, 7, 8, 9, 63, 64, 65, 1000, 65_535])(
    'give codes of %i bits, unused ones 0',
    (bits) => {
      for (const projection of PROJECTIONS) {
        const hasher = new SimHasher({ bits, projection, dimensions: 5 });
        const code = hasher.hash([0.3, -1, 2, 0.7, -0.1]);
        expect(code.length).toBe(Math.ceil(bits / 8));
        if (bits % 8 !== 0) expect(code[code.length - 1] >> (bits % 8)).toBe(0);
        if (bits >= 63) expect(bitString(code, bits)).toMatch(/01|10/);
      }
    },
  );
});

describe.each(KERNELS)('%s kernels', (kernel) => {
  useKernel(kernel);
  const alike = fc.constantFrom('signs', 'gaussian', 'direct');

  it('do not see the order of a sparse vector', () => {
    fc.assert(
      fc.property(entries, alike, bitCounts, fc.integer(), (pairs, projection, bits, seed) => {
        const options = { projection: projection as 'signs', bits: Math.min(bits, 64) };
        expectSame(options, sparse(pairs), sparse(new Draws(seed).shuffled(pairs)));
        expectSame(options, sparse(pairs), sparse([...pairs].reverse()));
      }),
      { seed: SEED, numRuns: 150 },
    );
  });

  it('sum the values of a repeated dimension', () => {
    fc.assert(
      fc.property(entries, alike, fc.integer(), (pairs, projection, seed) => {
        // Integers add up exactly, in whatever order.
        const whole = pairs.map(([index], i) => [index % 6n, (i % 7) - 3] as const);
        const totals = new Map<bigint, number>();
        for (const [index, value] of whole) totals.set(index, (totals.get(index) ?? 0) + value);
        const options = { projection: projection as 'signs' };
        expectSame(options, sparse(new Draws(seed).shuffled(whole)), sparse([...totals]));
      }),
      { seed: SEED, numRuns: 150 },
    );
  });

  it('sum three repeats alike in every order, though floats do not', () => {
    const triples = [
      [0.1, 0.2, 0.3],
      [1e16, 1, -1e16],
      [1e16, 1, 1],
      [-0.7, 0.1, 0.6],
      [1e-17, 1, -1],
    ];
    const orders = [
      [0, 1, 2],
      [0, 2, 1],
      [1, 0, 2],
      [1, 2, 0],
      [2, 0, 1],
      [2, 1, 0],
    ];
    for (const triple of triples) {
      const sums = new Set(orders.map((order) => order.reduce((sum, i) => sum + triple[i], 0)));
      expect(sums.size).toBeGreaterThan(1); // the test's own premise
      for (const projection of ['signs', 'gaussian'] as const) {
        const vectors = orders.map((order) => ({
          indices: [9, ...order.map(() => 4), 2],
          values: [0.25, ...order.map((i) => triple[i]), -1.5],
        }));
        for (const vector of vectors) expectSame({ projection }, vector, vectors[0]);
      }
    }
  });

  it('cancel repeats to a zero vector', () => {
    const vector = { indices: [3, 8, 3], values: [1.5, 0, -1.5] };
    expect(() => new SimHasher().hash(vector)).toThrow(/all-zero/);
  });

  it.each(PROJECTIONS)('read dense vectors of every kind alike: %s', (projection) => {
    const options = { projection, dimensions: 77, bits: 130 };
    fc.assert(
      fc.property(fc.integer(), (seed) => {
        const narrow = Float32Array.from(new Draws(seed).gaussians(77));
        const shifted = new Float32Array(80).subarray(3);
        shifted.set(narrow);
        for (const vector of [Float64Array.from(narrow), Array.from(narrow), shifted]) {
          expectSame(options, vector, narrow);
        }
      }),
      { seed: SEED, numRuns: 20 },
    );
  });

  it.each(['signs', 'gaussian'] as const)(
    'read a dense vector as its entries: %s',
    (projection) => {
      fc.assert(
        fc.property(
          fc.array(finite, { minLength: 1, maxLength: 60 }),
          bitCounts,
          (values, bits) => {
            const indices = [...values.keys()];
            expectSame({ projection, bits }, values, { indices, values });
          },
        ),
        { seed: SEED, numRuns: 100 },
      );
    },
  );

  it('read indices of every kind alike', () => {
    const indices = [5, 0, 2_147_483_647, 70_000, 5];
    const values = [1, -2, 3.5, 0.1, 0.2];
    const kinds = [
      Uint32Array.from(indices),
      Int32Array.from(indices),
      BigUint64Array.from(indices, BigInt),
      BigInt64Array.from(indices, BigInt),
      BigUint64Array.from([9, 9, 9, ...indices], BigInt).subarray(3),
      indices.map(BigInt),
      indices.map((index, i) => (i % 2 === 0 ? index : BigInt(index))),
    ];
    for (const kind of kinds) {
      for (const list of [values, Float64Array.from(values)]) {
        for (const projection of ['signs', 'gaussian', 'direct'] as const) {
          expectSame({ projection }, { indices: kind, values: list }, { indices, values });
        }
      }
    }
  });

  it('tell dimensions to 2^64 - 1 from each other', () => {
    const far = [
      ...[0n, 1n, 5n, 2n ** 31n, 2n ** 32n, 2n ** 32n + 5n, 2n ** 33n + 5n, 2n ** 53n - 1n],
      ...[2n ** 53n, 2n ** 53n + 1n, 2n ** 63n - 1n, 2n ** 63n, 2n ** 64n - 2n, 2n ** 64n - 1n],
    ];
    for (const projection of ['signs', 'gaussian', 'direct'] as const) {
      const hasher = new SimHasher({ projection });
      const codes = far.map((index) => bitString(hasher.hash({ indices: [index], values: [1] })));
      expect(new Set(codes).size).toBe(far.length);
      expectSame(
        { projection },
        { indices: far, values: far.map((_, i) => i + 1) },
        { indices: BigUint64Array.from(far), values: Float32Array.from(far, (_, i) => i + 1) },
      );
    }
    expectSame(
      {},
      { indices: [Number.MAX_SAFE_INTEGER], values: [1] },
      { indices: [2n ** 53n - 1n], values: [1] },
    );
  });

  it.each([...PROJECTIONS, 'direct'] as const)(
    'take the bits of a code from the sums: %s',
    (projection) => {
      fc.assert(
        fc.property(fc.integer(), fc.integer({ min: 1, max: 64 }), (seed, bits) => {
          const hasher = new SimHasher({ projection, bits, dimensions: 2 ** 20 });
          const draws = new Draws(seed);
          const vector =
            projection === 'hadamard'
              ? undefined
              : {
                  indices: [3, 90, 1 << 19],
                  values: [draws.integer(5) - 2, 1, draws.integer(5) - 2],
                };
          const small = new SimHasher({ projection: 'hadamard', bits, dimensions: 3 });
          const dense = [draws.integer(5) - 2, 1, draws.integer(5) - 2];
          const [user, input] = vector ? [hasher, vector] : [small, dense];
          const expected = Array.from(user.accumulate(input), (sum) => (sum > 0 ? '1' : '0')).join(
            '',
          );
          expect(bitString(user.hash(input), bits)).toBe(expected);
        }),
        { seed: SEED, numRuns: 100 },
      );
    },
  );

  it('make the bit of a sum of exactly zero 0', () => {
    const pattern = (index: number | bigint) => Uint8Array.of(index === 0 ? 0b01 : 0b10);
    const hasher = new SimHasher({ bits: 3, pattern });
    expect([...hasher.accumulate([2, 2])]).toEqual([0, 0, -4]);
    expect(bitString(hasher.hash([2, 2]), 3)).toBe('000');
  });

  it.each(PROJECTIONS)('see the direction, not the length: %s', (projection) => {
    const hasher = new SimHasher({ projection, bits: 300, dimensions: 50 });
    const vector = new Draws('length').gaussians(50);
    const code = bitString(hasher.hash(vector));
    for (const power of [-900, -30, -1, 1, 30, 900]) {
      expect(bitString(hasher.hash(vector.map((value) => value * 2 ** power)))).toBe(code);
    }
    const opposite = bitString(hasher.hash(vector.map((value) => -value)), 300);
    const flipped = bitString(hasher.hash(vector), 300).replace(/./g, (bit) =>
      bit === '1' ? '0' : '1',
    );
    expect(opposite).toBe(flipped);
  });

  it.each([...PROJECTIONS, 'direct'] as const)(
    'hash one vector and a batch alike: %s',
    async (projection) => {
      const draws = new Draws(`batch ${projection}`);
      // More rows than a block of work has, in several shapes.
      const rows = 4100;
      const dimensions = 7;
      const hasher = new SimHasher({
        ...{ projection, bits: 60 },
        ...(projection !== 'direct' && { dimensions }),
      });
      const values = draws.gaussians(rows * dimensions);
      const lengths = Array.from({ length: rows }, () => 1 + draws.integer(4));
      const offsets = [0];
      for (const length of lengths) offsets.push((offsets.at(-1) ?? 0) + length);
      const indices = Uint32Array.from({ length: offsets[rows] }, () => draws.integer(7));
      const weights = draws.gaussians(offsets[rows]);
      const vectors: Vector[] = Array.from({ length: rows }, (_, row) =>
        projection === 'direct'
          ? {
              indices: indices.subarray(offsets[row], offsets[row + 1]),
              values: weights.subarray(offsets[row], offsets[row + 1]),
            }
          : values.subarray(row * dimensions, (row + 1) * dimensions),
      );
      const batches =
        projection === 'direct'
          ? [
              { offsets, indices, values: weights },
              { offsets: Int32Array.from(offsets), indices, values: weights },
              {
                offsets: Uint32Array.from(offsets),
                indices: BigInt64Array.from(indices, BigInt),
                values: weights,
              },
            ]
          : [{ values, dimensions }];
      const expected = new Uint8Array(rows * hasher.bytesPerCode);
      vectors.forEach((vector, row) => {
        const code = hasher.hash(vector);
        expected.set(code, row * hasher.bytesPerCode);
      });
      for (const batch of [...batches, vectors]) {
        const codes = await hasher.hashAll(batch);
        expect(codes).toMatchObject({ bits: 60, count: rows, validity: null });
        expect(difference(codes.bytes, expected)).toBeNull();
      }
    },
  );

  it('hash long sparse rows and short ones in one batch', async () => {
    const draws = new Draws('long rows');
    const lengths = [3, 70_000, 1, 0, 40_000, 40_000, 5];
    const vectors = lengths.map((length) => ({
      indices: BigUint64Array.from({ length }, () => draws.word()),
      values: draws.gaussians(length),
    }));
    const offsets = [0];
    for (const length of lengths) offsets.push((offsets.at(-1) ?? 0) + length);
    const indices = vectors.flatMap((vector) => [...vector.indices]);
    const values = Float64Array.from(vectors.flatMap((vector) => [...vector.values]));
    const hasher = new SimHasher({ zero: 'null' });
    const codes = await hasher.hashAll({ offsets, indices, values });
    vectors.forEach((vector, row) => {
      const { bytes, isNull } = hasher.codeOf(vector);
      expect(isNull[0] === 1).toBe(codes.isNull(row));
      expect([...codes.at(row)]).toEqual([...bytes]);
    });
    expect(codes.isNull(3)).toBe(true);
  });

  it('hash the middle rows of a sparse matrix whose offsets do not start at 0', async () => {
    const hasher = new SimHasher();
    const indices = Uint32Array.of(99, 99, 1, 2, 3, 4, 99);
    const values = Float64Array.of(9, 9, 1, -2, 3, -4, 9);
    const codes = await hasher.hashAll({ offsets: [2, 4, 6], indices, values });
    expect([...codes.at(0)]).toEqual([...hasher.hash({ indices: [1, 2], values: [1, -2] })]);
    expect([...codes.at(1)]).toEqual([...hasher.hash({ indices: [3, 4], values: [3, -4] })]);
  });

  it('give an empty batch no codes, whatever its shape and the projection', async () => {
    for (const projection of [...PROJECTIONS, 'direct'] as const) {
      const hasher = new SimHasher({ projection, bits: 9, dimensions: 3 });
      expect(await hasher.hashAll([])).toMatchObject({ count: 0, bits: 9 });
    }
    const hasher = new SimHasher({ bits: 9 });
    expect((await hasher.hashAll({ values: new Float32Array(0), dimensions: 4 })).count).toBe(0);
    expect((await hasher.hashAll({ offsets: [0], indices: [], values: [] })).count).toBe(0);
  });

  it('give null rows null codes and do not read their values', async () => {
    const validity = Uint8Array.of(0b1111_0101);
    const values = Float32Array.of(1, 2, Number.NaN, 5, 3, 4, Number.POSITIVE_INFINITY, 1);
    const hasher = new SimHasher({ bits: 12 });
    const codes = await hasher.hashAll({ values, dimensions: 2, validity });
    expect([0, 1, 2, 3].map((row) => codes.isNull(row))).toEqual([false, true, false, true]);
    expect([...codes.at(1), ...codes.at(3)]).toEqual([0, 0, 0, 0]);
    expect([...codes.at(2)]).toEqual([...hasher.hash([3, 4])]);
  });

  it.each([
    ['NaN', [5, 6], [Number.NaN, 1]],
    ['NaN out of order', [6, 5], [Number.NaN, 1]],
    ['a dimension beyond the limit', [5, 1000], [1, 1]],
    ['a negative index', [-1, 6], [1, 1]],
  ])('do not read a null row of a sparse batch: %s', async (_, badIndices, badValues) => {
    const hasher = new SimHasher({ bits: 12, dimensions: 100 });
    const codes = await hasher.hashAll({
      offsets: [0, 2, 4, 6],
      indices: Int32Array.of(1, 2, ...badIndices, 3, 4),
      values: Float64Array.of(1, 2, ...badValues, 3, 4),
      validity: Uint8Array.of(0b101),
    });
    expect([0, 1, 2].map((row) => codes.isNull(row))).toEqual([false, true, false]);
    expect([...codes.at(2)]).toEqual([...hasher.hash({ indices: [3, 4], values: [3, 4] })]);
  });

  it('hash the other rows of a sparse batch as if there were no null ones, and name a bad one', async () => {
    const draws = new Draws('null rows');
    const rows = 9000;
    const lengths = Array.from({ length: rows }, () => 1 + draws.integer(5));
    const offsets = [0];
    for (const length of lengths) offsets.push((offsets.at(-1) ?? 0) + length);
    const indices = BigUint64Array.from({ length: offsets[rows] }, () => draws.word() >> 40n);
    const values = draws.gaussians(offsets[rows]);
    const validity = draws.bytes(Math.ceil(rows / 8));
    const isNull = (row: number) => ((validity[row >> 3] >> (row & 7)) & 1) === 0;
    for (let row = 0; row < rows; row++) if (isNull(row)) values[offsets[row]] = Number.NaN;
    const hasher = new SimHasher();
    const codes = await hasher.hashAll({ offsets, indices, values, validity });
    for (let row = 0; row < rows; row += 7) {
      const [from, to] = [offsets[row], offsets[row + 1]];
      const vector = { indices: indices.subarray(from, to), values: values.subarray(from, to) };
      const expected = isNull(row) ? new Uint8Array(8) : hasher.hash(vector);
      expect(codes.isNull(row)).toBe(isNull(row));
      expect(difference(codes.at(row), expected)).toBeNull();
    }
    let bad = rows - 1;
    while (isNull(bad)) bad--;
    values[offsets[bad]] = Number.NaN;
    const words = `row ${bad}: expected finite values, got NaN at dimension ${indices[offsets[bad]]}`;
    await expect(hasher.hashAll({ offsets, indices, values, validity })).rejects.toThrow(words);
  });

  it('take a vector whose sums are all zero for a vector with a direction', async () => {
    // No sum differs from zero, though the vector does: its code is all 0 and not null.
    const pattern = (index: number | bigint) => Uint8Array.of(index === 0 ? 255 : 0);
    const hasher = new SimHasher({ bits: 8, pattern, zero: 'null' });
    const codes = await hasher.hashAll([
      [1, 1],
      [0, 0],
      [1, 2],
    ]);
    expect([0, 1, 2].map((row) => codes.isNull(row))).toEqual([false, true, false]);
    expect([...hasher.codeOf([1, 1]).isNull]).toEqual([0]);
  });

  it.each(PROJECTIONS)(
    "give an all-zero vector a null code when zero is 'null': %s",
    async (projection) => {
      const hasher = new SimHasher({ projection, bits: 20, dimensions: 2, zero: 'null' });
      const codes = await hasher.hashAll([
        [1, 2],
        [0, 0],
        [-0, 0],
        [0, 3],
      ]);
      expect([0, 1, 2, 3].map((row) => codes.isNull(row))).toEqual([false, true, true, false]);
      const { bytes, isNull } = hasher.codeOf([0, -0]);
      expect([...bytes, ...isNull]).toEqual([0, 0, 0, 1]);
      expect(
        (
          await hasher.hashAll([
            [1, 2],
            [3, 4],
          ])
        ).validity,
      ).toBeNull();
    },
  );

  it('take own patterns for dense and sparse vectors, dimensions beyond 2^53 as bigint', () => {
    const asked: (number | bigint)[] = [];
    const pattern = (index: number | bigint) => {
      asked.push(index);
      return Uint8Array.of(Number(BigInt(index) % 251n), Number(BigInt(index) % 241n));
    };
    const hasher = new SimHasher({ bits: 11, pattern });
    hasher.hash({ indices: [2n ** 53n, 7n, 2n ** 53n - 1n], values: [1, 2, 3] });
    expect(new Set(asked)).toEqual(new Set([7, Number.MAX_SAFE_INTEGER, 2n ** 53n]));
    const dense = [0.5, -1, 2, 0.25];
    expectSame({ bits: 11, pattern }, dense, {
      indices: [3, 2, 1, 0],
      values: [...dense].reverse(),
    });
  });
});

describe('a long call', () => {
  const rows = 10_000;
  const dense = { values: new Draws('progress').gaussians(rows * 3), dimensions: 3 };
  const csr = {
    offsets: Uint32Array.from({ length: rows + 1 }, (_, row) => 3 * row),
    indices: Uint32Array.from({ length: 3 * rows }, (_, i) => i),
    values: dense.values,
  };

  it.each([
    ['dense', dense],
    ['sparse', csr],
  ])('tells its progress, from row to row to the end: %s', async (_, batch) => {
    const seen: number[] = [];
    await new SimHasher().hashAll(batch, {
      onProgress: (done, total) => {
        expect(total).toBe(rows);
        seen.push(done);
      },
    });
    expect(seen.length).toBeGreaterThan(1);
    expect(seen).toEqual([...new Set(seen)].sort((a, b) => a - b));
    expect(seen.at(-1)).toBe(rows);
  });

  it.each([
    ['dense', dense],
    ['sparse', csr],
  ])('runs in steps as well, and gives the same codes: %s', async (_, batch) => {
    const seen: number[] = [];
    const hasher = new SimHasher();
    const codes = await hasher.hashAll(batch, { onProgress: (done) => seen.push(done) });
    expect(codes.bytes).toEqual((await hasher.hashAll(batch)).bytes);
    expect(seen.at(-1)).toBe(rows);
    const signal = AbortSignal.abort(new Error('enough'));
    await expect(hasher.hashAll(batch, { signal })).rejects.toThrow('enough');
    await expect(hasher.hashAll(batch, { signals: 1 } as never)).rejects.toThrow('"signal"');
  });

  it.each([
    ['dense', dense],
    ['sparse', csr],
  ])('stops when its signal says so: %s', async (_, batch) => {
    const reason = new Error('enough');
    await expect(
      new SimHasher().hashAll(batch, { signal: AbortSignal.abort(reason) }),
    ).rejects.toThrow(reason);
    const controller = new AbortController();
    const onProgress = vi.fn(() => controller.abort(reason));
    const { signal } = controller;
    await expect(new SimHasher().hashAll(batch, { onProgress, signal })).rejects.toThrow(reason);
    expect(onProgress).toHaveBeenCalledTimes(1);
  });
});

it('leaves its input as it was', async () => {
  const vector = { indices: [9, 3, 9], values: [1, 2, 3] };
  const matrix = {
    offsets: Uint32Array.of(0, 2, 5),
    indices: BigUint64Array.of(9n, 3n, 8n, 1n, 8n),
    values: Float32Array.of(1, 2, 3, 4, 5),
    validity: Uint8Array.of(3),
  };
  const dense = {
    values: Float64Array.of(1, -2, 3, -4),
    dimensions: 2,
    validity: Uint8Array.of(1),
  };
  const before = structuredClone([vector, matrix, dense]);
  Object.freeze(vector.indices);
  Object.freeze(vector.values);
  const options = Object.freeze({ bits: 70, zero: 'null' as const });
  for (const projection of ['signs', 'gaussian'] as const) {
    const hasher = new SimHasher({ ...options, projection });
    hasher.hash(Object.freeze(vector));
    hasher.accumulate(vector);
    await hasher.hashAll(matrix);
    await hasher.hashAll(Object.freeze([vector, vector]));
    await hasher.hashAll(Object.freeze(dense));
  }
  await new SimHasher({ projection: 'hadamard', dimensions: 2 }).hashAll(dense);
  expect([vector, matrix, dense]).toEqual(before);
});

it('stores nothing for its dimensions: 2^40 of them are one dimension each', () => {
  const hasher = new SimHasher({ dimensions: 2 ** 40, bits: 128 });
  const code = hasher.hash({ indices: [2 ** 40 - 1, 3], values: [1, 1] });
  expect(code.length).toBe(16);
});
