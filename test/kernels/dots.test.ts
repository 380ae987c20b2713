import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { dotsInto } from '../../src/kernels/dots';
import { Arena } from '../../src/kernels/memory';
import { difference } from '../reference/difference';
import { Draws, dot } from '../reference/random';
import { scalarDotsInto } from './scalar/dots';

/** The kernels agree to the bit, and with the sum that anyone would write, but for its rounding. */
const SEED = 31_337;

it('is equal in both kernels, whatever the width, the rows and the type', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 300 }),
      fc.integer({ min: 0, max: 30 }),
      fc.integer({ min: 0, max: 5 }),
      fc.boolean(),
      fc.integer(),
      (width, count, first, narrow, start) => {
        const draws = new Draws(start);
        const wide = draws.gaussians((first + count) * width);
        const values = narrow ? Float32Array.from(wide) : wide;
        const query = draws.gaussians(width);
        const expected = new Float64Array(count + 1).fill(7);
        const actual = new Float64Array(count + 1).fill(7);
        const own = values.subarray(first * width);
        scalarDotsInto(own, null, query, expected);
        dotsInto(own, null, query, actual);
        expect(difference(actual, expected)).toBeNull();
        expect(actual[count]).toBe(7);
      },
    ),
    { seed: SEED, numRuns: 200 },
  );
});

describe.each([
  ['scalar', scalarDotsInto],
  ['WebAssembly', dotsInto],
] as const)('%s', (_, into) => {
  it.each([1, 2, 3, 4, 5, 100, 40_000])('gives the dot products of rows of %i', (width) => {
    const draws = new Draws(width);
    const values = draws.gaussians(9 * width);
    const query = draws.gaussians(width);
    const out = new Float64Array(7);
    into(values.subarray(2 * width), null, query, out);
    for (let row = 0; row < 7; row++) {
      const expected = dot(values.subarray((row + 2) * width, (row + 3) * width), query);
      expect(Math.abs(out[row] - expected)).toBeLessThan(1e-12 * width);
    }
  });

  it('gives NaN and infinities where a row has them, and nowhere else', () => {
    const values = Float64Array.of(1, 2, Number.NaN, 1, Number.POSITIVE_INFINITY, 1, 3, 4);
    const out = new Float64Array(4);
    into(values, null, Float64Array.of(1, 1), out);
    expect([...out]).toEqual([3, Number.NaN, Number.POSITIVE_INFINITY, 7]);
  });
});

it.each([Int8Array, Float32Array])('reads the last row of a memory that is full: %o', (Type) => {
  const width = 384;
  const rows = 1536; // whole pages of a memory
  const bytes = rows * width * Type.BYTES_PER_ELEMENT;
  const arena = new Arena();
  arena.reserve(bytes);
  const values = new Type(arena.bytes.buffer, arena.bytes.byteOffset, rows * width).fill(1);
  const out = new Float64Array(1);
  dotsInto(values, Uint32Array.of(rows - 1), new Float64Array(width).fill(2), out);
  expect(out[0]).toBe(2 * width);
});
