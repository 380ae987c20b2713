import { describe, expect, it } from 'vitest';
import { mostHolding, residualKernel } from '../../src/kernels/residual-search';
import { ONE_WEIGHT, type ResidualTables } from '../../src/kernels/residuals';
import { Draws } from '../reference/random';
import { residualCodes } from './residual-codes';
import { scalarResiduals } from './scalar/residuals';

/** What queries hold of rows that they look at together, next to the formula for each row. */

const ROWS = 2500;
const { fround } = Math;
const bitsOf = (value: number) => new Uint32Array(Float32Array.of(value).buffer)[0];

/** The cosines x 2,048 that whole codes and sides tell, as residuals.scalar.ts states them. */
function cosinesOf({ tables, zero, factor }: ResidualTables, code: Uint8Array, scale: number) {
  const half = code.length / 2;
  const [sides, seconds] = [code.subarray(0, half), code.subarray(half)].map((bytes) =>
    bytes.reduce(
      (sum, byte, i) => sum + tables[32 * i + (byte & 15)] + tables[32 * i + 16 + (byte >> 4)],
      0,
    ),
  );
  const raised = (1.336 * 2048) / (2.2184 * factor);
  const whole = fround(2 * sides + seconds - fround(3 * zero));
  const first = fround(sides - fround(zero - raised));
  return (more: number) => ({
    weight: Math.min(
      4096,
      Math.max(
        0,
        ONE_WEIGHT -
          Math.trunc(fround(fround(whole * fround(scale * fround(factor))) + fround(more))),
      ),
    ),
    estimate: fround(fround(first * fround(scale * fround(2.2184 * factor))) + fround(more)),
  });
}

describe.each([
  ['scalar', scalarResiduals],
  ['WebAssembly', residualKernel],
] as const)('%s kernel', (_, kernel) => {
  it.each([2, 26, 64])('queries hold the rows within their limits, %i bytes', (bytesPerRow) => {
    const { memory, rows, query } = residualCodes(bytesPerRow, ROWS);
    const draws = new Draws(7);
    const queries = Array.from({ length: 9 }, () => {
      const tables = Uint8Array.from(query.tables, () => draws.integer(32));
      return { ...query, tables };
    });
    const looking = kernel.holding(memory, queries);
    // Runs that begin and end within blocks; one has more rows than a call of the kernel takes.
    for (const [first, end] of [
      [0, 16],
      [5, 6],
      [17, 64],
      [100, 2500],
    ]) {
      const visits = [0, 8, 3, 3, 5].map((at, i) => ({
        ...{ at, more: 40.5 - 30 * i, limit: [1500, 2300, 4096, 0, 2048][i] },
      }));
      const asked = visits.flatMap(({ at, more, limit }) => [at, bitsOf(more), limit, 0]);
      const found = visits.map((): number[][] => []);
      looking.look({ first, end, code: 9000 }, Uint32Array.from(asked), (visit, held, at, to) => {
        const floats = new Float32Array(held.buffer, held.byteOffset, held.length);
        for (let i = at; i < to; i += 3) found[visit].push([held[i], held[i + 1], floats[i + 2]]);
      });
      const wanted = visits.map(({ at, more, limit }) =>
        rows.flatMap(({ residualCode, scale }, row) => {
          if (row < first || row >= end || scale === 0) return [];
          const { weight, estimate } = cosinesOf(queries[at], residualCode, scale)(more);
          const isHeld = weight <= limit && estimate > ONE_WEIGHT - limit - 1;
          return isHeld ? [[9000 + row - first, weight, estimate]] : [];
        }),
      );
      expect(found).toEqual(wanted);
      const counts = wanted.map(({ length }) => length);
      if (end - first > 1000) expect(counts[0]).toBeGreaterThan(0);
      if (end - first > 1000) expect(counts[1]).toBeGreaterThan(counts[0]);
    }
  });
});

it('loses no row where more are held than a call has room for', () => {
  const { memory, rows, query } = residualCodes(8, ROWS);
  const most = mostHolding(8);
  const queries = Array.from({ length: most }, () => query);
  const visits = Uint32Array.from(queries.flatMap((_, at) => [at, bitsOf(0), 4096, 0]));
  const counts = new Uint32Array(most);
  const last = new Uint32Array(most);
  residualKernel
    .holding(memory, queries)
    .look({ first: 0, end: 1200, code: 0 }, visits, (visit, held, at, to) => {
      counts[visit] += (to - at) / 3;
      expect(held[at]).toBeGreaterThanOrEqual(last[visit]);
      last[visit] = held[to - 3];
    });
  const live = rows.slice(0, 1200).filter(({ scale }) => scale > 0).length;
  expect(new Set(counts)).toEqual(new Set([live]));
});
