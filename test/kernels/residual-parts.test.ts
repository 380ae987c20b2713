import { expect, it } from 'vitest';
import type { Hits } from '../../src/kernels/hits';
import { ResidualParts } from '../../src/kernels/residual-parts';
import {
  HELD,
  NO_GAP,
  type ResidualKernel,
  residualKernel,
  VISIT,
} from '../../src/kernels/residual-search';
import { RANGE } from '../../src/kernels/residuals';
import { residualCodes } from './residual-codes';
import { scalarResiduals } from './scalar/residuals';

/** Residual codes in several memories: every answer is that of one memory with all of them. */

const ROWS = 480;
const KERNELS = [
  ['scalar', scalarResiduals],
  ['WebAssembly', residualKernel],
] as const;
const { memory, rows, query } = residualCodes(24, ROWS);

/** The rows in parts of 2 ** shift, written one by one or together. */
function partsOf(shift: number, isTogether: boolean): ResidualParts {
  const parts = new ResidualParts(24, ROWS, shift);
  const codes = Uint8Array.from(rows.flatMap(({ residualCode }) => [...residualCode]));
  const scales = Float32Array.from(rows, ({ scale }) => scale);
  if (isTogether) parts.setRows(0, codes, scales);
  else
    for (const [row, { residualCode, scale }] of rows.entries())
      parts.set(row, residualCode, scale);
  return parts;
}

/** Ranges of so many rows each, of falling products, two of each. */
function rangesOf(length: number): Uint32Array {
  const ranges: number[] = [];
  for (let first = 0, i = 0; first < ROWS; first += length, i++) {
    const [bits] = new Uint32Array(Float32Array.of(900 - 60 * (i >> 1)).buffer);
    ranges.push(first, 1000 + first, Math.min(length, ROWS - first), bits);
  }
  return Uint32Array.from(ranges);
}

/** The same with ranges without rows, of the product of the next range or a larger one. */
function withEmpty(ranges: Uint32Array): Uint32Array {
  const all: number[] = [];
  for (let at = 0; at < ranges.length; at += RANGE) {
    const [product] = new Float32Array(ranges.slice(at + 3, at + RANGE).buffer);
    const [bits] = new Uint32Array(Float32Array.of(product + 10 * (at % (2 * RANGE))).buffer);
    if (at % (4 * RANGE) < 2 * RANGE) all.push(0, 5, 0, bits);
    all.push(...ranges.subarray(at, at + RANGE));
  }
  return Uint32Array.from(all);
}

const pairs = ({ codes, weights, count }: Hits) =>
  Array.from({ length: count }, (_, i) => [codes[i], weights[i]]);

function inOneMemory(kernel: ResidualKernel, ranges: Uint32Array, want: number, gap: number) {
  const search = kernel.search(memory, query, want, gap);
  const seen = search.ranges(ranges.slice());
  return { seen, limit: search.limit, held: search.held, hits: pairs(search.hits()) };
}

it.each(KERNELS)('a search by the %s kernel goes on from part to part', (_, kernel) => {
  let early = 0;
  for (const shift of [4, 5, 7, 9]) {
    const parts = partsOf(shift, shift === 5);
    expect(parts.memories.length).toBe(Math.ceil(ROWS / 2 ** shift));
    for (const [length, want, gap] of [
      [48, 20, NO_GAP],
      [37, 20, NO_GAP],
      [48, 20, 0],
      [37, 5, 100],
      [101, 400, 0],
      [7, 1, 50],
    ]) {
      for (const ranges of [rangesOf(length), withEmpty(rangesOf(length))]) {
        const { search, seen } = parts.search(kernel, { tables: query, want, gap }, ranges);
        const { limit, held } = search;
        const found = { seen, limit, held, hits: pairs(search.hits()) };
        expect(found).toEqual(inOneMemory(kernel, ranges, want, gap));
        if (seen < ranges.length / RANGE) early++;
      }
    }
  }
  expect(early).toBeGreaterThan(4);
});

it.each(KERNELS)('rows are held by the %s kernel part by part', (_, kernel) => {
  const limit = 1900;
  const [bits] = new Uint32Array(Float32Array.of(300).buffer);
  const heldOf = (held: ReturnType<ResidualKernel['holding']>) => {
    const found: number[] = [];
    for (const [first, end] of [
      [5, 250],
      [250, ROWS],
    ]) {
      const visits = Uint32Array.of(0, bits, limit, 0);
      held.look({ first, end, code: 7000 + first }, visits, (_, numbers, from, to) => {
        for (let at = from; at < to; at += HELD) found.push(...numbers.slice(at, at + HELD));
      });
      expect(visits.length).toBe(VISIT);
    }
    return found;
  };
  const whole = heldOf(kernel.holding(memory, [query]));
  expect(whole.length).toBeGreaterThan(30);
  for (const shift of [4, 6, 8]) {
    expect(heldOf(partsOf(shift, true).holding(kernel, [query]))).toEqual(whole);
  }
});

it('parts are read row by row, removed, and written by another thread', () => {
  const parts = partsOf(6, true);
  const other = ResidualParts.over(parts.state);
  expect(other.byteLength).toBe(parts.byteLength);
  for (const [row, { residualCode, scale }] of rows.entries()) {
    const out = new Uint8Array(26);
    expect(other.copyInto(row, out, 1)).toBe(scale);
    expect(out.subarray(1, 25)).toEqual(residualCode);
  }
  other.setScale(479, 0);
  other.set(470, rows[0].residualCode, 0.25);
  const out = new Uint8Array(24);
  expect([parts.copyInto(479, out, 0), parts.copyInto(470, out, 0)]).toEqual([0, 0.25]);
  expect(out).toEqual(rows[0].residualCode);
});

it('more residual codes than can be counted are refused, and nothing is changed', () => {
  const parts = partsOf(6, true);
  expect(() => parts.reserve(2 ** 32)).toThrow(
    'an index in memory has room for 4294967295 residual codes, not for 4294967296: build a folder',
  );
  expect(parts.memories.length).toBe(8);
});

it('more residual codes than one memory holds are searched', { tags: 'full' }, () => {
  const [width, count] = [1024, 6_000_000]; // 6.2 GB; pages that nothing is written to take none
  const parts = new ResidualParts(width, count);
  expect(parts.byteLength).toBeGreaterThan(2 ** 32);
  expect(parts.memories.length).toBeGreaterThan(4);
  const tables = new Uint8Array(16 * width).map((_, i) => i % 32);
  const all = [3, 1_000_000, 3_000_001, 5_999_999];
  for (const [i, row] of all.entries()) parts.set(row, new Uint8Array(width).fill(17 * i), 1);
  const ranges = Uint32Array.from(all.flatMap((row, i) => [row & ~15, i, 1 + (row & 15), 0]));
  const asked = { tables: { tables, zero: 1000, factor: 0.01 }, want: 4, gap: NO_GAP };
  const [a, b] = KERNELS.map(([, kernel]) =>
    pairs(parts.search(kernel, asked, ranges).search.hits()),
  );
  expect(a.length).toBe(4);
  expect(b).toEqual(a);
});
