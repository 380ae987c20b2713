/** Codes of several shapes, seeded, and brute force over them. */

import { Codes } from '../../src/codes/codes';
import { Draws } from '../reference/random';

export const SHAPES = ['uniform', 'clustered', 'repeated', 'all equal', 'crowded block'] as const;
export type Shape = (typeof SHAPES)[number];

/** Clustered: near some centres. Repeated: many equal rows. Crowded: half share their first bits. */
export function collection(shape: Shape, count: number, bits: number, seed: number): Codes {
  const draws = new Draws(`${shape} ${seed}`);
  const codes = Codes.allocate(count, { bits });
  const centres = Array.from({ length: 5 }, () => draws.bytes(codes.bytesPerCode));
  for (let row = 0; row < count; row++) {
    const code = codes.at(row);
    code.set(draws.bytes(code.length));
    if (shape === 'all equal') code.set(centres[0]);
    if (shape === 'repeated' && draws.uniform() < 0.7) code.set(draws.pick(centres));
    if (shape === 'crowded block' && row % 2 === 0) code.fill(0x5a, 0, Math.ceil(code.length / 3));
    if (shape === 'clustered') code.set(draws.pick(centres));
    const isNear = shape === 'crowded block' && row > 9 && draws.uniform() < 0.3;
    if (isNear) code.set(codes.at(row - 2 * draws.integer(5)));
    for (let i = shape === 'clustered' || isNear ? draws.integer(8) : 0; i > 0; i--) {
      const bit = draws.integer(bits);
      code[bit >> 3] ^= 1 << (bit & 7);
    }
    if (bits % 8 > 0) code[code.length - 1] &= 0xff >> (8 - (bits % 8));
  }
  return codes;
}

const ONES = Array.from({ length: 256 }, (_, byte) => byte.toString(2).replaceAll('0', '').length);

/** Different bits; the rest is not counted once they are more than `most`. */
export function bitsApart(a: Uint8Array, b: Uint8Array, most = Number.POSITIVE_INFINITY): number {
  let sum = 0;
  for (let i = 0; i < a.length && sum <= most; i++) sum += ONES[a[i] ^ b[i]];
  return sum;
}

export type Pair = [a: number, b: number, distance: number];

/** All pairs within a distance, by a, then b: of one collection, or of two. */
export function pairsByBruteForce(left: Codes, right: Codes | null, maxDistance: number): Pair[] {
  const found: Pair[] = [];
  const other = right ?? left;
  const codesOf = (codes: Codes) => Array.from({ length: codes.count }, (_, row) => codes.at(row));
  const [ours, theirs] = [codesOf(left), codesOf(other)];
  for (let a = 0; a < left.count; a++) {
    for (let b = right === null ? a + 1 : 0; b < other.count; b++) {
      if (left.isNull(a) || other.isNull(b)) continue;
      const distance = bitsApart(ours[a], theirs[b], maxDistance);
      if (distance <= maxDistance) found.push([a, b, distance]);
    }
  }
  return found;
}

/** For each row the least row of its group, the rows gone through in an order. */
export function namesByLoops(
  grouping: string,
  order: readonly number[],
  near: (a: number, b: number) => boolean,
): Map<number, number> {
  const groups: number[][] = [];
  for (const row of order) {
    if (grouping === 'star') {
      const group = groups.find(([head]) => near(head, row));
      if (group) group.push(row);
      else groups.push([row]);
    } else {
      const joined = groups.filter((rows) => rows.some((other) => near(other, row)));
      for (const group of joined) groups.splice(groups.indexOf(group), 1);
      groups.push([row, ...joined.flat()]);
    }
  }
  const names = new Map<number, number>();
  for (const rows of groups) for (const row of rows) names.set(row, Math.min(...rows));
  return names;
}
