import { describe, expect, it } from 'vitest';
import type { Codes } from '../../src/codes/codes';
import type { BitRun } from '../../src/codes/pigeonhole';
import type { PairFilter } from '../../src/join/pair-filter';
import { type PairsOptions, pairs } from '../../src/join/pairs';
import { collection, type Pair, pairsByBruteForce, SHAPES } from '../groups/collections';
import { Draws } from '../reference/random';

/** Pairs by groups and bits, and the forest of all pairs, against brute force that is filtered. */

function listed(codes: Codes, options: PairsOptions): Pair[] {
  const all: Pair[] = [];
  for (const { a, b, distances } of pairs(codes, options)) {
    for (let i = 0; i < a.length; i++) all.push([a[i], b[i], distances[i]]);
  }
  return all;
}

const bitOf = (code: Uint8Array, bit: number) => (code[bit >> 3] >> (bit & 7)) & 1;

function agrees(codes: Codes, a: number, b: number, runs: readonly BitRun[]): boolean {
  const [x, y] = [codes.at(a), codes.at(b)];
  for (const { firstBit, bits } of runs) {
    for (let bit = firstBit; bit < firstBit + bits; bit++) {
      if (bitOf(x, bit) !== bitOf(y, bit)) return false;
    }
  }
  return true;
}

function isWanted(codes: Codes, { group, agree = [], differ = [] }: PairFilter) {
  return ([a, b]: Pair) =>
    (group === undefined || (group[a] >= 0 && group[a] === group[b])) &&
    agrees(codes, a, b, agree) &&
    differ.every((runs) => !agrees(codes, a, b, runs));
}

const run = (firstBit: number, bits: number): BitRun => ({ firstBit, bits });

describe.each(SHAPES)('%s codes', (shape) => {
  const WISHES: [string, PairFilter][] = [
    ['bits that agree', { agree: [run(0, 4)] },],
    ['bits that agree in two runs, which overlap', { agree: [run(9, 3), run(10, 5)] }],
    ['bits that differ', { differ: [[run(0, 9)]] }],
    ['bits that agree, and sets that differ', { agree: [run(20, 5)], differ: [[run(0, 4), run(30, 9)], [run(5, 15)]] }],
  ]; // biome-ignore format: a table
  it.each(WISHES)('by %s', (_, wish) => {
    for (const [bits, maxDistance] of [
      [64, 3],
      [80, 3],
      [100, 9],
      [256, 40],
    ]) {
      const codes = collection(shape, 300, bits, 1);
      const expected = pairsByBruteForce(codes, null, maxDistance).filter(isWanted(codes, wish));
      for (const kernel of ['auto', 'scalar'] as const) {
        expect(listed(codes, { ...wish, maxDistance, kernel })).toEqual(expected);
      }
    }
  });

  it('by groups, some of one row, some rows in none, with bits besides', () => {
    const draws = new Draws(`groups ${shape}`);
    for (const [bits, groups] of [
      [64, 3],
      [13, 40],
      [100, 1],
      [256, 300],
    ]) {
      const codes = collection(shape, 300, bits, 2);
      const group = Int32Array.from({ length: 300 }, () => draws.integer(groups + 1) - 1);
      for (const wish of [{ group }, { group, agree: [run(3, 4)], differ: [[run(8, 4)]] }]) {
        const expected = pairsByBruteForce(codes, null, 5).filter(isWanted(codes, wish));
        expect(listed(codes, { ...wish, maxDistance: 5 })).toEqual(expected);
      }
    }
  });

  it('as a forest: each pair connects rows that none before connects, in the order of pairs', () => {
    const group = Int32Array.from({ length: 300 }, (_, row) => row % 3);
    for (const wish of [{}, { group }]) {
      const codes = collection(shape, 300, 64, 3);
      const sets = Array.from({ length: 300 }, (_, row) => row);
      const firstOf = new Map<string, number>();
      const codeOf = (row: number) => `${codes.at(row)} ${'group' in wish ? group[row] : ''}`;
      for (let row = 0; row < 300; row++) {
        if (!firstOf.has(codeOf(row))) firstOf.set(codeOf(row), row);
      }
      // Kruskal's way, with equal rows paired with the first of them only.
      const isFirst = (row: number) => firstOf.get(codeOf(row)) === row;
      const expected = pairsByBruteForce(codes, null, 4).filter((pair) => {
        const [a, b, distance] = pair;
        if (!isWanted(codes, wish)(pair)) return false;
        if (!isFirst(a) || (distance > 0 && !isFirst(b)) || sets[a] === sets[b]) return false;
        const [gone, stays] = [sets[b], sets[a]];
        for (let row = 0; row < 300; row++) if (sets[row] === gone) sets[row] = stays;
        return true;
      });
      expect(listed(codes, { ...wish, maxDistance: 4, forest: true })).toEqual(expected);
    }
  });
});

it('splits what is crowded where many rows agree', { tags: 'thorough' }, () => {
  const codes = collection('clustered', 9000, 64, 5);
  for (let row = 0; row < codes.count; row++) codes.at(row)[1] = 7;
  const all = listed(codes, { maxDistance: 3 });
  expect(all.length).toBeGreaterThan(10_000);
  const wish = { agree: [run(8, 8)], differ: [[run(16, 12)]] };
  expect(listed(codes, { ...wish, maxDistance: 3 })).toEqual(all.filter(isWanted(codes, wish)));
});

it('finds each pair once by the first of d + 1 sets of bits in which its codes agree', () => {
  const codes = collection('repeated', 500, 64, 6);
  const sets = [run(0, 16), run(16, 16), run(32, 16), run(48, 16)];
  const found = sets.flatMap((set, i) => {
    const differ = sets.slice(0, i).map((one) => [one]);
    return listed(codes, { maxDistance: 3, agree: [set], differ });
  });
  const expected = listed(codes, { maxDistance: 3 });
  expect(found.sort((x, y) => x[0] - y[0] || x[1] - y[1])).toEqual(expected);
});

it('connects the rows of two collections, equal ones too', () => {
  const [left, right] = [collection('repeated', 200, 64, 8), collection('repeated', 150, 64, 9)];
  right.bytes.set(left.bytes.subarray(0, 60 * 8));
  const rootsOf = (found: readonly Pair[]) => {
    const sets = Array.from({ length: 350 }, (_, row) => row);
    for (const [a, b] of found) {
      const [gone, stays] = [sets[200 + b], sets[a]].sort((x, y) => y - x);
      for (let row = 0; row < 350; row++) if (sets[row] === gone) sets[row] = stays;
    }
    return sets;
  };
  const all = pairsByBruteForce(left, right, 4);
  const forest: Pair[] = [];
  for (const { a, b, distances } of pairs(left, right, { maxDistance: 4, forest: true })) {
    for (let i = 0; i < a.length; i++) forest.push([a[i], b[i], distances[i]]);
  }
  expect(rootsOf(forest)).toEqual(rootsOf(all));
  expect(forest.length).toBe(350 - new Set(rootsOf(all)).size);
  expect(all.length).toBeGreaterThan(350);
});

it('refuses groups of other lengths and bits beyond the code', () => {
  const codes = collection('uniform', 5, 64, 7);
  const group = new Int32Array(4);
  expect(() => pairs(codes, { maxDistance: 1, group })).toThrow(
    '"group" expected a group for each of 5 rows, got 4',
  );
  expect(() => pairs(codes, { maxDistance: 1, agree: [run(60, 5)] })).toThrow(
    'agree."bits" expected an integer in 1..4, got 5',
  );
  expect(() => pairs(codes, { maxDistance: 1, differ: [[run(64, 1)]] })).toThrow(
    'differ[0]."firstBit" expected an integer in 0..63, got 64',
  );
  const grouped = { maxDistance: 1, group: new Int32Array(5) };
  expect(() => pairs(codes, codes, grouped)).toThrow('of one collection');
});
