import { expect, it } from 'vitest';
import { SimHasher } from '../../src/hashing/simhash';
import { CodeMemory } from '../../src/kernels/code-memory';
import { NO_ROW } from '../../src/kernels/hits';
import { allocateCodes, LinearMemory, memoryOf } from '../../src/kernels/memory';
import { ResidualMemory } from '../../src/kernels/residual-memory';
import { residualByte, scalesOf } from '../../src/kernels/residuals';
import { difference } from '../reference/difference';
import { Draws } from '../reference/random';

it.each([0, 1, 31, 65_535, 65_536, 1_000_001])('gives %i bytes, all zero', (byteLength) => {
  const bytes = allocateCodes(byteLength);
  expect(bytes.length).toBe(byteLength);
  expect(bytes.every((byte) => byte === 0)).toBe(true);
});

it('keeps large codes in their own linear memory, and reports it', () => {
  const bytes = allocateCodes(1 << 20);
  expect(memoryOf(bytes)).toBeDefined();
  expect(memoryOf(bytes.subarray(77))).toBe(memoryOf(bytes));
  expect(memoryOf(allocateCodes(1 << 20))).not.toBe(memoryOf(bytes));
  expect(memoryOf(new Uint8Array(1 << 20))).toBeUndefined();
});

it('refuses more than the engine has by a RangeError', () => {
  expect(() => allocateCodes(2 ** 45)).toThrow(RangeError);
});

it('keeps codes valid while the memory of other calls grows', async () => {
  const hasher = new SimHasher({ bits: 512 });
  const values = new Draws('memory').gaussians(2000 * 10);
  const codes = await hasher.hashAll({ values, dimensions: 10 });
  const before = codes.bytes.slice();
  for (const dimensions of [100_000, 1_000_000]) {
    const wide = new SimHasher({ projection: 'hadamard', bits: 64, dimensions });
    wide.hash(new Float64Array(dimensions).fill(1));
  }
  expect(codes.bytes.length).toBe(2000 * 64);
  expect(difference(codes.bytes, before)).toBeNull();
  expect(difference((await hasher.hashAll({ values, dimensions: 10 })).bytes, before)).toBeNull();
});

it('grows residual codes to what one memory of 4 GiB holds, and no further', {
  tags: 'full',
}, () => {
  const memory = new ResidualMemory(8192, 430_000); // pages that nothing is written to take none
  const code = Uint8Array.from({ length: 8192 }, (_, i) => i);
  memory.setRows(429_999, code, Float32Array.of(0.5));
  memory.reserve(440_000); // a quarter more, the usual room, is more than 4 GiB
  const most = memory.byteLength / 8198;
  expect(most).toBeGreaterThanOrEqual(440_000);
  expect(() => memory.reserve(600_000)).toThrow(
    new RegExp(`^one memory has room for ${most} residual codes of 8192 bytes, not for 600000`),
  );
  const bytes = code.map((_, i) => memory.bytes[residualByte(memory, 429_999, i)]);
  expect(difference(bytes, code)).toBeNull();
  expect(scalesOf(memory, 429_999).scale).toBe(0.5);
});

it('grows the codes of an index to what one memory of 4 GiB holds, and no further', () => {
  const BYTES = 8192; // pages that nothing is written to take no memory
  const memory = new CodeMemory(BYTES, 350_000);
  memory.codes.fill(7, 0, BYTES);
  memory.rows[0] = 12;
  memory.reserve(480_000); // half as many again, the usual room, are more than 4 GiB
  expect(memory.codes.length).toBeGreaterThanOrEqual(480_000 * BYTES);
  expect(() => memory.reserve(600_000)).toThrow(
    /^one memory has room for 52\d{4} codes of 8192 bytes, not for 600000$/,
  );
  const most = memory.codes.length / BYTES;
  expect([memory.codes[BYTES - 1], memory.rows[0], memory.rows[most - 1]]).toEqual([7, 12, NO_ROW]);
  memory.codes.fill(9, (most - 1) * BYTES);
  expect([memory.codes.at(-1), memory.rows[0]]).toEqual([9, 12]);
});

it('a scratch space is always that of one thread, whatever sizes calls ask for', () => {
  const memory = LinearMemory.allocate(65_536, true);
  const small = memory.reserveAreas([0, 1, 2], 65_536);
  const large = memory.reserveAreas([0, 1], 131_072);
  const again = memory.reserveAreas([2, 0, 1], 65_536);
  expect(again).toEqual([small[2], large[0], large[1]]);
  const ends = [...small, ...large].map(({ at, byteLength }) => ({ at, end: at + byteLength }));
  ends.sort((a, b) => a.at - b.at);
  for (let i = 1; i < ends.length; i++) expect(ends[i].at).toBeGreaterThanOrEqual(ends[i - 1].end);
});
