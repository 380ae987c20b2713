import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  ALL_ZERO,
  type DenseRows,
  NOT_FINITE,
  type Rule,
  type SparseRows,
  type SumsKernel,
  scalarSums,
} from '../../src/kernels/sums';
import { wasmSums } from '../../src/kernels/sums.wasm';
import { difference } from '../reference/difference';
import { Draws } from '../reference/random';

/** The kernels agree to the bit: sums (but for the sign of a zero), codes and flags. */
const SEED = 20_261;

/** How values are drawn: of like size, of any size, integers that cancel, and with bad ones among them. */
const KINDS = ['gaussian', 'wide', 'integers', 'mostly zero', 'bad'] as const;
type Kind = (typeof KINDS)[number];

function drawValue(draws: Draws, kind: Kind): number {
  if (kind === 'wide') return draws.gaussian() * 10 ** (draws.integer(40) - 20);
  if (kind === 'integers') return draws.integer(7) - 3;
  if (kind === 'mostly zero') return draws.integer(9) === 0 ? draws.gaussian() : -0;
  if (kind === 'bad' && draws.integer(50) === 0) {
    return draws.pick([
      Number.NaN,
      Number.POSITIVE_INFINITY,
      Number.NEGATIVE_INFINITY,
      1e308,
      5e-324,
    ]);
  }
  return draws.gaussian();
}

function denseRows(
  draws: Draws,
  count: number,
  width: number,
  kind: Kind,
  narrow = false,
): DenseRows {
  const values = Float64Array.from({ length: count * width }, () => drawValue(draws, kind));
  return { count, width, values: narrow ? Float32Array.from(values) : values };
}

/** Rows with the given numbers of entries, dimensions ascending with gaps, up to 64 bits. */
function sparseRows(draws: Draws, lengths: number[], kind: Kind, patternWords = 0): SparseRows {
  const offsets = Uint32Array.of(0, ...lengths);
  for (let row = 0; row < lengths.length; row++) offsets[row + 1] += offsets[row];
  const entries = offsets[lengths.length];
  const dimensions = new BigUint64Array(entries);
  lengths.forEach((length, row) => {
    const gap = draws.pick([1, 1000, 2 ** 40]);
    let dimension = draws.integer(2) === 0 ? 0n : 2n ** 63n;
    for (let i = offsets[row]; i < offsets[row] + length; i++) {
      dimension += BigInt(1 + draws.integer(gap));
      dimensions[i] = dimension;
    }
  });
  const values = Float64Array.from({ length: entries }, () => drawValue(draws, kind));
  const rows = { count: lengths.length, offsets, dimensions, values };
  if (patternWords === 0) return rows;
  const patterns = BigUint64Array.from({ length: patternWords * entries }, () => draws.word());
  return { ...rows, patterns };
}

/** One row of several. */
function rowOf(rows: DenseRows | SparseRows, row: number): DenseRows | SparseRows {
  if (!('width' in rows)) return { ...rows, count: 1, offsets: rows.offsets.slice(row, row + 2) };
  const { width, values } = rows;
  return { count: 1, width, values: values.slice(row * width, (row + 1) * width) };
}

/** Sums of every row, codes and flags, after a look at what lies behind them. */
function run(kernel: SumsKernel, rule: Rule, rows: DenseRows | SparseRows) {
  const bytes = rows.count * Math.ceil(rule.bits / 8);
  const codes = new Uint8Array(bytes).fill(0xaa);
  const flags = new Uint8Array(rows.count).fill(0xaa);
  kernel.codesInto(rule, rows, codes, flags);
  const sums = new Float64Array(rows.count * (rule.bits + 1)).fill(7);
  for (let row = 0; row < rows.count; row++) {
    const out = sums.subarray(row * (rule.bits + 1));
    kernel.sumsInto(rule, rowOf(rows, row), out);
    if (out[rule.bits] !== 7) throw new Error(`${kernel.name} wrote behind the sums of row ${row}`);
  }
  return { codes, flags, sums };
}

function expectTwins(rule: Rule, rows: DenseRows | SparseRows) {
  const expected = run(scalarSums, rule, rows);
  const actual = run(wasmSums, rule, rows);
  expect(difference(actual.sums, expected.sums)).toBeNull();
  expect(difference(actual.codes, expected.codes)).toBeNull();
  expect(difference(actual.flags, expected.flags)).toBeNull();
  return expected;
}

const seeds = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n });
const draw = fc.integer({ min: 0, max: 2 ** 31 });
const kinds = fc.constantFrom(...KINDS);

describe.each(['signs', 'gaussian', 'hadamard'] as const)('dense %s', (projection) => {
  it('is equal in both kernels, whatever the bits, the width and the values', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 300 }),
        fc.integer({ min: 1, max: 600 }),
        fc.integer({ min: 1, max: 40 }),
        ...([seeds, draw, kinds, fc.boolean()] as const),
        (bits, width, most, seed, start, kind, narrow) => {
          const count = Math.max(1, Math.min(most, Math.floor(40_000 / (bits * width))));
          const rows = denseRows(new Draws(start), count, width, kind, narrow);
          expectTwins({ projection, bits, seed }, rows);
        },
      ),
      { seed: SEED, numRuns: 80 },
    );
  });

  it.each([1, 7, 8, 63, 64, 65, 127, 128, 129, 1000, 4096, 65_535])(
    'is equal at %i bits',
    (bits) => {
      const rows = denseRows(new Draws(`bits ${bits}`), bits > 999 ? 3 : 19, 9, 'gaussian');
      expectTwins({ projection, bits, seed: 2n ** 64n - 3n }, rows);
    },
  );

  it.each([8192, 8193, 20_000])('is equal for vectors of %i dimensions', (width) => {
    const bits = projection === 'gaussian' ? 15 : 70; // the scalar Gaussians take their time
    for (const narrow of [false, true]) {
      const rows = denseRows(new Draws(`width ${width}`), 2, width, 'gaussian', narrow);
      expectTwins({ projection, bits, seed: 11n }, rows);
    }
  });

  it('flags sums that are not finite, and sums that are all zero', () => {
    const flagsOf = (...vector: number[]) => {
      const rows = { count: 1, width: vector.length, values: Float64Array.from(vector) };
      return expectTwins({ projection, bits: 100, seed: 5n }, rows).flags[0];
    };
    expect(flagsOf(1, -2, 3)).toBe(0);
    expect(flagsOf(0, 0, 0)).toBe(ALL_ZERO);
    expect(flagsOf(-0, 0, -0)).toBe(ALL_ZERO);
    expect(flagsOf(1, Number.NaN, 3)).toBe(NOT_FINITE);
    expect(flagsOf(0, 0, Number.POSITIVE_INFINITY)).toBe(NOT_FINITE);
    expect(flagsOf(Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY, 0)).toBe(NOT_FINITE);
    expect(flagsOf(1.7e308, 1.7e308, 1.7e308)).toBe(NOT_FINITE);
  });

  it.each([1, 2, 15, 16, 17, 33])('flags the bad one of %i rows, and no other', (count) => {
    for (let bad = 0; bad < count; bad++) {
      const rows = denseRows(new Draws(`flags ${count}`), count, 5, 'gaussian');
      rows.values[5 * bad + (bad % 5)] = Number.NaN;
      const { flags } = expectTwins({ projection, bits: 40, seed: 0n }, rows);
      expect([...flags]).toEqual(Array.from(flags, (_, row) => (row === bad ? NOT_FINITE : 0)));
    }
  });
});

describe.each(['signs', 'gaussian', 'given'] as const)('sparse %s', (projection) => {
  const wordsFor = (bits: number) => (projection === 'given' ? Math.ceil(bits / 64) : 0);

  it('is equal in both kernels, whatever the bits, the entries and the values', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 300 }),
        fc.array(fc.integer({ min: 0, max: 2000 }), { minLength: 1, maxLength: 12 }),
        ...([seeds, draw, kinds] as const),
        (bits, wanted, seed, start, kind) => {
          const most = Math.floor(40_000 / bits);
          const rows = sparseRows(
            new Draws(start),
            withinTotal(wanted, most),
            kind,
            wordsFor(bits),
          );
          expectTwins({ projection, bits, seed }, rows);
        },
      ),
      { seed: SEED, numRuns: 70 },
    );
  });

  it('is equal where rows lie across the runs in which the kernel works', () => {
    const draws = new Draws('runs');
    const lengths = [0, 8191, 1, 0, 8192, 8193, 3, 5000, 5000, 20_000, 0];
    expectTwins(
      { projection, bits: 20, seed: 9n },
      sparseRows(draws, lengths, 'wide', wordsFor(20)),
    );
  });

  it('is equal for more than 65,536 entries in one row', () => {
    const rows = sparseRows(new Draws('long'), [3, 65_536 + 777, 2], 'gaussian', wordsFor(64));
    expectTwins({ projection, bits: projection === 'gaussian' ? 8 : 64, seed: 1n }, rows);
  });

  it.each([1000, 4096, 65_535])('is equal at %i bits', (bits) => {
    const rows = sparseRows(new Draws(bits), [5, 0, 9], 'gaussian', wordsFor(bits));
    expectTwins({ projection, bits, seed: 2n ** 64n - 1n }, rows);
  });

  it('flags rows without entries as all zero, and bad values', () => {
    const rows = sparseRows(new Draws('flags'), [2, 0, 2, 1], 'gaussian', wordsFor(70));
    rows.values[2] = Number.POSITIVE_INFINITY;
    rows.values[4] = 0;
    const { flags } = expectTwins({ projection, bits: 70, seed: 3n }, rows);
    expect([...flags]).toEqual([0, ALL_ZERO, NOT_FINITE, ALL_ZERO]);
  });
});

/** As many of the lengths as stay within a total, so that no case takes long. */
function withinTotal(lengths: number[], most: number): number[] {
  let left = most;
  return lengths.map((length) => {
    const kept = Math.min(length, left);
    left -= kept;
    return kept;
  });
}

describe.each([scalarSums, wasmSums])('the $name kernel', (kernel) => {
  it.each(['signs', 'gaussian'] as const)(
    'gives %s of a dense vector and its entries alike',
    (projection) => {
      fc.assert(
        fc.property(
          fc.integer({ min: 1, max: 200 }),
          fc.integer({ min: 1, max: 400 }),
          ...([seeds, draw, fc.boolean()] as const),
          (bits, width, seed, start, withZeros) => {
            const dense = denseRows(new Draws(start), 1, width, 'mostly zero');
            const all = Array.from(dense.values.keys());
            const kept = withZeros ? all : all.filter((i) => dense.values[i] !== 0);
            const sparse: SparseRows = {
              count: 1,
              offsets: Uint32Array.of(0, kept.length),
              dimensions: BigUint64Array.from(kept, BigInt),
              values: Float64Array.from(kept, (i) => dense.values[i]),
            };
            const rule: Rule = { projection, bits, seed };
            const expected = run(kernel, rule, dense);
            const actual = run(kernel, rule, sparse);
            expect(difference(actual.sums, expected.sums)).toBeNull();
            expect(difference(actual.codes, expected.codes)).toBeNull();
            expect(difference(actual.flags, expected.flags)).toBeNull();
          },
        ),
        { seed: SEED, numRuns: 60 },
      );
    },
  );

  it('adds and subtracts, and nothing else, with signs', () => {
    // Each sum of a vector of ones, twos and fours tells which of them the pattern has negated.
    const sums = new Float64Array(64);
    const rows = { count: 1, width: 3, values: Float64Array.of(1, 2, 4) };
    kernel.sumsInto({ projection: 'signs', bits: 64, seed: 77n }, rows, sums);
    for (const sum of sums) expect([-7, -5, -3, -1, 1, 3, 5, 7]).toContain(sum);
  });
});
