import { describe, expect, it } from 'vitest';
import { distance } from '../../src/kernels/hamming/hamming.scalar';
import { tileKernel } from '../../src/kernels/kernels';
import { STEP_QUERIES, TILE_HIT, TILE_ROWS, TileMemory } from '../../src/kernels/tiles/tile-memory';
import { Draws } from '../reference/random';
import { quickIf } from '../reference/tags';

/** Blocks of queries against tiles of rows: every kernel, against distances one by one. */

/** Whole and broken words, sums of few planes and of many, tables at once and in parts. */
const WIDTHS = [1, 7, 8, 13, 63, 64, 65, 100, 128, 256, 259, 260, 300, 511, 3000, 65_535];

function roomOf(count: number, bits: number): TileMemory {
  const draws = new Draws(`tiles ${bits}`);
  const room = new TileMemory(count, bits);
  const near = draws.bytes(Math.ceil(bits / 8));
  for (let place = 0; place < count; place++) {
    const code = draws.bytes(near.length);
    // Near the first, farther and farther; the last is its opposite.
    for (let i = 0; i < code.length; i++) if (draws.uniform() > place / count) code[i] = near[i];
    if (place === count - 1) for (let i = 0; i < code.length; i++) code[i] = ~near[i];
    if (bits % 8 > 0) code[code.length - 1] &= 0xff >> (8 - (bits % 8));
    room.codes.set(code, place * room.stride);
  }
  return room;
}

describe.each(['scalar', 'auto'] as const)('tiles, kernel %s', (name) => {
  const kernel = tileKernel(name);

  for (const bits of WIDTHS) {
    const options = quickIf(name === 'auto' || bits < 65_535);
    it(`gives the hits of ${bits} bits, below either limit`, options, () => {
      const count = bits > 999 ? 135 : 300;
      const room = roomOf(count, bits);
      const codeAt = (place: number) =>
        room.codes.subarray(place * room.stride, (place + 1) * room.stride);
      const distances = Array.from({ length: count }, (_, a) =>
        Array.from({ length: count }, (_, b) => distance(codeAt(a), codeAt(b))),
      );
      const draws = new Draws(bits);
      for (const most of [0, bits >> 2, bits, bits + 1]) {
        for (let i = 0; i < count; i++) room.limits[i] = Math.floor(draws.uniform() * (most + 1));
        room.limits[count - 1] = most;
        for (const [row, end, first, endQuery] of [
          [0, TILE_ROWS, 0, Math.min(count, room.queries)],
          [TILE_ROWS, 2 * TILE_ROWS, 7, Math.min(count, 7 + STEP_QUERIES)],
          [count - 1, count, 0, 1],
          [count - 70, count, 3, 70],
        ]) {
          const lastRow = Math.min(count, end);
          const found: string[] = [];
          kernel.prepare(room, first, endQuery);
          kernel.hitsOfTile(room, row, lastRow, first, endQuery, (hits) => {
            for (let i = 0; i < TILE_HIT * hits; i += TILE_HIT) {
              found.push(room.hits.slice(i, i + TILE_HIT).join());
            }
          });
          const highest = Math.max(...room.limits.subarray(row, lastRow));
          const expected: string[] = [];
          for (let query = first; query < endQuery; query++) {
            const limit = Math.max(highest, room.limits[query]);
            for (let other = row; other < lastRow; other++) {
              const bitsApart = distances[query][other];
              if (bitsApart < limit) expected.push([query, other, bitsApart].join());
            }
          }
          expect(found).toEqual(expected);
        }
      }
    });
  }

  it('reads limits again after each turn', () => {
    const room = roomOf(2 * STEP_QUERIES, 64);
    room.limits.fill(65);
    const counts: number[] = [];
    kernel.prepare(room, 0, 2 * STEP_QUERIES);
    kernel.hitsOfTile(room, 0, TILE_ROWS, 0, 2 * STEP_QUERIES, (found) => {
      counts.push(found);
      room.limits.fill(1);
    });
    expect(counts[0]).toBe(STEP_QUERIES * TILE_ROWS);
    expect(counts[1] ?? 0).toBeLessThan(TILE_ROWS);
  });
});
