import seedrandom from 'seedrandom';
import { describe, expect, it } from 'vitest';
import { permutedNeighbors } from '../../bench/lib/permuted-neighbors';
import { Codes } from '../../src/codes/codes';
import { type NeighborLists, neighborLists } from '../../src/join/neighbor-lists';
import { bitString } from '../codes/bits';
import { bitsApart, collection, SHAPES } from '../groups/collections';
import { byBruteForce } from '../join/nearest-by-brute-force';
import { Draws } from '../reference/random';

/** Near neighbours by sorted permutations of the bits. */

/** Share of the true neighbours that were found. */
function recallOf(found: NeighborLists, truth: NeighborLists): number {
  let hits = 0;
  for (let row = 0; row < truth.count; row++) {
    const near = new Set(found.rows.subarray(found.offsets[row], found.offsets[row + 1]));
    for (const other of truth.rows.subarray(truth.offsets[row], truth.offsets[row + 1])) {
      if (near.has(other)) hits++;
    }
  }
  return hits / truth.rows.length;
}

describe.each(['scalar', 'auto'] as const)('with kernel %s', (kernel) => {
  describe.each(SHAPES)('%s codes', (shape) => {
    it.each([13, 64, 100, 256])('of %i bits: all nearest where the window has all', (bits) => {
      for (const count of [0, 1, 2, 3, 60, 150]) {
        const codes = collection(shape, count, bits, count);
        const options = { k: 7, permutations: 2, kernel };
        for (const window of [Math.max(1, count), count + 50]) {
          const found = permutedNeighbors(codes, { ...options, window });
          expect(found).toEqual(byBruteForce(codes, { k: 7 }));
        }
      }
    });

    it('returns true distances of other rows, in order, each row once', () => {
      const codes = collection(shape, 300, 100, 4);
      const { offsets, rows, distances, count } = permutedNeighbors(codes, {
        ...{ k: 9, permutations: 4, window: 6, kernel },
      });
      expect(rows.length).toBeGreaterThan(300);
      for (let row = 0; row < count; row++) {
        const near = [...rows.subarray(offsets[row], offsets[row + 1])];
        const keys = near.map((other, i) => distances[offsets[row] + i] * 1000 + other);
        expect(keys).toEqual([...new Set(keys)].sort((a, b) => a - b));
        expect(near).not.toContain(row);
        near.forEach((other, i) => {
          expect(distances[offsets[row] + i]).toBe(bitsApart(codes.at(row), codes.at(other)));
        });
      }
    });
  });

  it('is the same for a seed, and another for another', () => {
    const codes = collection('clustered', 400, 128, 3);
    const options = { k: 5, permutations: 3, window: 8 };
    const found = permutedNeighbors(codes, { ...options, seed: 7 });
    expect(permutedNeighbors(codes, { ...options, seed: 7, kernel })).toEqual(found);
    expect(permutedNeighbors(codes, { ...options, seed: 8, kernel })).not.toEqual(found);
  });
});

describe('compares each code with those next to it in the order of the permuted bits', () => {
  /** The same with bits as text; all codes differ. */
  function bySortedText(codes: Codes, permutations: number, window: number, seed: number) {
    const random = seedrandom.alea(String(seed));
    const bits = Array.from({ length: codes.bits }, (_, bit) => bit);
    const near = Array.from({ length: codes.count }, () => new Map<number, number>());
    for (let i = 0; i < permutations; i++) {
      for (let last = bits.length - 1; last > 0; last--) {
        const other = Math.floor(random() * (last + 1));
        [bits[last], bits[other]] = [bits[other], bits[last]];
      }
      const order = Array.from({ length: codes.count }, (_, row) => {
        const text = bitString(codes.at(row), codes.bits);
        return { row, text: bits.map((bit) => text[bit]).join('') };
      }).sort((a, b) => (a.text < b.text ? -1 : 1));
      order.forEach(({ row }, place) => {
        // As many on each side, but at the ends of the order.
        const first = Math.min(place - window / 2, codes.count - 1 - window);
        for (const { row: other } of order.slice(Math.max(0, first)).slice(0, window + 1)) {
          if (other === row) continue;
          const distance = codes.distance(row, other);
          near[row].set(other, distance);
          near[other].set(row, distance);
        }
      });
    }
    return near.map((one) => [...one].sort((a, b) => a[1] - b[1] || a[0] - b[0]));
  }

  it.each([
    [40, 1, 2],
    [100, 1, 4],
    [100, 3, 2],
    [300, 2, 10],
  ])('of %i bits, %i permutations, a window of %i', (bits, permutations, window) => {
    for (const shape of ['uniform', 'near each other'] as const) {
      const codes = collection('uniform', 120, bits, 6);
      // Few bits are set: most agree in the first bits of every order.
      for (let row = 0; row < 120 && shape !== 'uniform'; row++) {
        codes.at(row).fill(0);
        codes.at(row)[row % codes.bytesPerCode] = 1 + ((row / codes.bytesPerCode) & 0xff);
      }
      const k = 200;
      const found = permutedNeighbors(codes, { k, permutations, window, seed: 5 });
      const lists = bySortedText(codes, permutations, window, 5);
      expect([...found.rows]).toEqual(lists.flatMap((list) => list.map(([row]) => row)));
      expect([...found.distances]).toEqual(lists.flatMap((list) => list.map(([, d]) => d)));
    }
  });
});

it('finds more with more permutations, and with a wider window', { tags: 'thorough' }, () => {
  const codes = collection('uniform', 3000, 128, 5);
  const truth = neighborLists(codes, { k: 10 });
  const recall = (permutations: number, window: number) =>
    recallOf(permutedNeighbors(codes, { k: 10, permutations, window, seed: 1 }), truth);
  const few = recall(2, 20);
  expect(few).toBeGreaterThan(0.01);
  expect(recall(10, 20)).toBeGreaterThan(2 * few);
  expect(recall(2, 100)).toBeGreaterThan(2 * few);
  expect(recall(100, 100)).toBeGreaterThan(0.9);
});

it('leaves out null rows', () => {
  const given = collection('repeated', 200, 64, 9);
  const codes = Codes.from(given.bytes, { bits: 64, validity: new Draws(1).bytes(25) });
  const found = permutedNeighbors(codes, { k: 5, permutations: 2, window: 200 });
  expect(found).toEqual(byBruteForce(codes, { k: 5 }));
});
