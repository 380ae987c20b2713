/** The k nearest of every row, by sorting all others. */

import type { Codes } from '../../src/codes/codes';
import type { NeighborLists } from '../../src/join/neighbor-lists';
import { bitsApart } from '../groups/collections';

interface Wanted {
  k: number;
  maxDistance?: number;
}

export function byBruteForce(codes: Codes, { k, maxDistance = codes.bits }: Wanted): NeighborLists {
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
