import { describe, expect, it } from 'vitest';
import { COSINE } from '../../src/codes/measure';
import { hammingDistance, SimHasher, type SparseMatrix } from '../../src/index';
import { pairSimilarities } from '../../src/measure/brute-force';
import { calibrate } from '../../src/measure/calibrate';
import { PairTally } from '../../src/measure/pair-tally';
import { angleBetween, Draws, dot } from '../reference/random';

/** Forty directions, and rows near them: some pairs are near. */
const DIMENSIONS = 24;
const draws = new Draws('calibration');
const centres = Array.from({ length: 40 }, () => draws.gaussians(DIMENSIONS));
const rows = Array.from({ length: 150 }, (_, i) =>
  draws.gaussians(DIMENSIONS).map((value, j) => centres[i % 40][j] + 0.4 * value),
);
const matrix = {
  values: Float64Array.from(rows.flatMap((row) => [...row])),
  dimensions: DIMENSIONS,
};
const cosine = (a: number, b: number) =>
  dot(rows[a], rows[b]) / Math.sqrt(dot(rows[a], rows[a]) * dot(rows[b], rows[b]));

const options = { projection: 'hadamard', seed: 5, minCosine: 0.85, cosineError: 0.08 } as const;

describe('a calibration', async () => {
  const found = await calibrate(matrix, options);
  const { recommended, tally } = found;
  const hasher = new SimHasher({
    bits: recommended.bits,
    seed: 5,
    projection: 'hadamard',
    dimensions: DIMENSIONS,
  });
  const codes = rows.map((row) => hasher.hash(row));
  const pairs = rows.flatMap((_, a) =>
    rows.slice(a + 1).map((_, i) => {
      const b = a + 1 + i;
      return { distance: hammingDistance(codes[a], codes[b]), cosine: cosine(a, b) };
    }),
  );
  const near = pairs.filter((pair) => pair.cosine >= 0.85);

  it('counts all pairs by distance, the near ones, and the nearest of each row', () => {
    expect([found.rows, found.pairs, found.nearPairs]).toEqual([150, pairs.length, near.length]);
    expect(near.length).toBeGreaterThan(100);
    const countAt = (some: typeof pairs) =>
      Array.from(
        { length: recommended.bits + 1 },
        (_, distance) => some.filter((pair) => pair.distance === distance).length,
      );
    expect([...tally.pairs]).toEqual(countAt(pairs));
    expect([...tally.near]).toEqual(countAt(near));
    const nearest = rows.map((_, a) => {
      const others = rows.map((_, b) => b).filter((b) => b !== a);
      const best = others.reduce((one, b) => (cosine(a, b) > cosine(a, one) ? b : one));
      return { distance: hammingDistance(codes[a], codes[best]), cosine: 0 };
    });
    expect([...tally.nearest]).toEqual(countAt(nearest));
  });

  it('has the precision and recall of every distance, and recommends the best F1', () => {
    const f1s = tally.thresholds().map((threshold, maxDistance) => {
      const within = pairs.filter(({ distance }) => distance <= maxDistance);
      const right = within.filter((pair) => pair.cosine >= 0.85).length;
      expect([threshold.found, threshold.right]).toEqual([within.length, right]);
      expect(threshold.recall).toBeCloseTo(right / near.length, 12);
      if (within.length > 0) expect(threshold.precision).toBeCloseTo(right / within.length, 12);
      const f1 = (2 * right) / (within.length + near.length);
      expect(threshold.f1).toBeCloseTo(f1, 12);
      return f1;
    });
    expect(recommended.basis).toBe('measured');
    expect(f1s[recommended.maxDistance]).toBe(Math.max(...f1s));
    expect(recommended.at).toEqual(tally.thresholds()[recommended.maxDistance]);
  });

  it('measures the error of the cosine that a distance tells, at every width', () => {
    expect(found.widths.map(({ bits }) => bits)).toEqual([64, 128, 256, 512, 1024]);
    const told = pairs.map(
      ({ distance, cosine }) => Math.cos((Math.PI * distance) / recommended.bits) - cosine,
    );
    const width = found.widths.find(({ bits }) => bits === recommended.bits);
    expect(width?.error).toBeCloseTo(Math.sqrt(dot(told, told) / told.length), 10);
    const edge = told.filter((_, i) => Math.abs(pairs[i].cosine - 0.85) <= 0.05);
    expect(found.edgePairs).toBe(edge.length);
    expect(width?.edgeError).toBeCloseTo(Math.sqrt(dot(edge, edge) / edge.length), 10);
  });

  it('recommends the least width whose error near the least cosine is small enough', () => {
    for (const { bits, edgeError } of found.widths) {
      expect((edgeError as number) <= 0.08).toBe(bits >= recommended.bits);
    }
  });

  it('tells the mean and the band of cosines at each distance', () => {
    for (const { from, to, pairs: count, mean, low, high } of tally.similaritySteps()) {
      const own = pairs
        .filter(({ distance }) => distance >= from && distance <= to)
        .map((pair) => pair.cosine)
        .sort((a, b) => a - b);
      expect(count).toBe(own.length);
      expect(mean).toBeCloseTo(own.reduce((sum, one) => sum + one, 0) / own.length, 10);
      // Quantiles are true to a step of the cosine, 0.005.
      expect(Math.abs(low - own[Math.ceil(0.05 * own.length) - 1])).toBeLessThanOrEqual(0.0026);
      expect(Math.abs(high - own[Math.ceil(0.95 * own.length) - 1])).toBeLessThanOrEqual(0.0026);
    }
    expect(tally.similaritySteps().reduce((sum, step) => sum + step.pairs, 0)).toBe(pairs.length);
  });

  it('takes a width that is asked for, also one that is not in its list', async () => {
    const asked = await calibrate(matrix, { ...options, bits: 100 });
    expect(asked.recommended.bits).toBe(100);
    expect(asked.widths.map(({ bits }) => bits)).toContain(100);
  });

  it('falls back on theory where near pairs are too few, and says so', async () => {
    const strict = await calibrate(matrix, { ...options, minCosine: 0.9999 });
    expect(strict.nearPairs).toBeLessThan(30);
    expect(strict.recommended.basis).toBe('theory');
    expect(strict.recommended.theoryRecall).toBeGreaterThanOrEqual(0.95);
    const { found: within, right } = strict.recommended.at;
    expect(within - right).toBeLessThanOrEqual(Math.max(right, 1e-6 * strict.pairs));
    expect(strict.widths.every(({ best, edgeError }) => best === null && edgeError === null)).toBe(
      true,
    );
  });

  it('is the same again, whole', async () => {
    const again = await calibrate(matrix, options);
    expect(again).toEqual(found);
  });

  it('stops at a signal', async () => {
    const signal = AbortSignal.abort();
    await expect(calibrate(matrix, { ...options, signal })).rejects.toThrow(/abort/i);
  });
});

it('cosines of sparse rows are those of the same rows written out', () => {
  const wide = Array.from({ length: 30 }, () =>
    Array.from({ length: 50 }, () => (draws.uniform() < 0.2 ? draws.gaussian() : 0)),
  );
  for (const row of wide) row[0] = 1;
  const entries = wide.map((row) => row.flatMap((value, i) => (value === 0 ? [] : [{ i, value }])));
  const offsets = [0];
  for (const row of entries) offsets.push(offsets[offsets.length - 1] + row.length + 1);
  const sparse: SparseMatrix = {
    offsets,
    // The first dimension comes twice, in halves; far ones need 64 bits.
    indices: entries.flatMap((row) => [...row.map(({ i }) => BigInt(i) << 57n), 0n]),
    values: entries.flatMap((row) => [...row.map(({ i, value }) => (i === 0 ? 0.5 : value)), 0.5]),
  };
  const cosines = pairSimilarities(COSINE, sparse);
  expect(cosines.count).toBe(30);
  wide.forEach((row, a) => {
    cosines.of(a).forEach((value, b) => {
      if (b < a) return;
      expect(value).toBeCloseTo(a === b ? 1 : Math.cos(angleBetween(row, wide[b])), 10);
    });
  });
});

it('a tally of a width beyond its steps sums neighbouring distances', () => {
  const tally = new PairTally(1024, COSINE, 0.9);
  tally.add(17, 0.5);
  tally.add(30, 0.7);
  tally.add(1024, -1);
  expect(tally.similaritySteps().map(({ from, to, pairs }) => [from, to, pairs])).toEqual([
    [16, 31, 2],
    [1024, 1024, 1],
  ]);
  expect(tally.similaritySteps()[0].mean).toBeCloseTo(0.6, 12);
  expect(tally.similaritySteps()[0].meanDistance).toBe(23.5);
});

describe('the rows of a calibration', () => {
  const few = Array.from(rows.slice(0, 60), (row) => [...row]);

  it('may be an array of vectors, of which null directions are left out', async () => {
    const matrixOf = { values: Float64Array.from(few.flat()), dimensions: DIMENSIONS };
    const expected = await calibrate(matrixOf, { seed: 3 });
    const withZeros = [...few, new Array(DIMENSIONS).fill(0)];
    expect(await calibrate(withZeros, { seed: 3 })).toEqual(expected);
    expect(expected.rows).toBe(60);
  });

  it('are drawn by the seed where there are more than the sample takes', async () => {
    const drawn = await calibrate(matrix, { sample: 40, seed: 1 });
    expect(drawn.rows).toBe(40);
    expect(drawn.pairs).toBe((40 * 39) / 2);
    expect((await calibrate(matrix, { sample: 40, seed: 1 })).tally).toEqual(drawn.tally);
    expect((await calibrate(matrix, { sample: 40, seed: 2 })).tally).not.toEqual(drawn.tally);
  });

  it('may be sparse, and are then hashed by signs', async () => {
    const sparse = few.map((row) => ({ indices: row.map((_, i) => i), values: row }));
    const [one, other] = [await calibrate(sparse), await calibrate(few)];
    expect([one.projection, other.projection]).toEqual(['signs', 'hadamard']);
    expect([one.pairs, one.nearPairs]).toEqual([other.pairs, other.nearPairs]);
  });
});

it('a calibration refuses what it cannot measure', async () => {
  const wrong: [unknown, unknown, RegExp][] = [
    [[], {}, /"vectors" expected two rows or more/],
    [[[1, 2]], {}, /"vectors" expected two rows or more that have a direction, got 1/],
    [5, {}, /"vectors" expected vectors/],
    [
      [
        [1, 2],
        [1, Number.NaN],
      ],
      {},
      /row 1: expected finite values/,
    ],
    [matrix, { minCosine: -1 }, /"minCosine" expected a number above -1/],
    [matrix, { cosineError: 0 }, /"cosineError" expected a number in 0.001..1, got 0/],
    [matrix, { sample: 1 }, /"sample" expected an integer in 2..20000, got 1/],
    [matrix, { bits: 0 }, /"bits" expected/],
    [matrix, { seed: '1' }, /"seed" expected a number or a bigint/],
    [matrix, { projection: 'sings' }, /"projection" expected one of/],
    [matrix, { mincosine: 0.5 }, /no option "mincosine", did you mean "minCosine"/],
    [matrix, { onProgress: 1 }, /"onProgress" expected a function/],
  ];
  for (const [vectors, given, message] of wrong) {
    await expect(calibrate(vectors as never, given as never)).rejects.toThrow(message);
  }
});
