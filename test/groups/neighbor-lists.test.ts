import { describe, expect, it } from 'vitest';
import { Codes } from '../../src/codes/codes';
import { neighborLists } from '../../src/groups/neighbor-lists';
import { bitsApart, collection, SHAPES } from './collections';

/** The k nearest of every row, against brute force. */

interface Wanted {
  k: number;
  maxDistance?: number;
}

function byBruteForce(codes: Codes, { k, maxDistance = codes.bits }: Wanted) {
  const offsets = [0];
  const rows: number[] = [];
  const distances: number[] = [];
  const bytes = Array.from({ length: codes.count }, (_, row) => codes.at(row));
  for (let row = 0; row < codes.count; row++) {
    const near: [distance: number, row: number][] = [];
    for (let other = 0; other < codes.count; other++) {
      if (other === row || codes.isNull(row) || codes.isNull(other)) continue;
      const distance = bitsApart(bytes[row], bytes[other]);
      if (distance <= maxDistance) near.push([distance, other]);
    }
    near.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    for (const [distance, other] of near.slice(0, k)) {
      rows.push(other);
      distances.push(distance);
    }
    offsets.push(rows.length);
  }
  return {
    ...{ k, count: codes.count, offsets: Uint32Array.from(offsets) },
    ...{ rows: Uint32Array.from(rows), distances: Uint16Array.from(distances) },
  };
}

describe.each(['scalar', 'auto'] as const)('with kernel %s', (kernel) => {
  describe.each(SHAPES)('%s codes', (shape) => {
    it.each([
      [13, 10, undefined],
      [64, 1, undefined],
      [64, 10, 6],
      [100, 10, undefined],
      [100, 3, 12],
      [256, 30, undefined],
      [600, 7, undefined],
    ])('of %i bits: the %i nearest within %s', (bits, k, maxDistance) => {
      for (const count of [0, 1, 2, 77, 400]) {
        const codes = collection(shape, count, bits, count);
        const wanted = { k, ...(maxDistance !== undefined && { maxDistance }) };
        expect(neighborLists(codes, { ...wanted, kernel })).toEqual(byBruteForce(codes, wanted));
      }
    });
  });
});
