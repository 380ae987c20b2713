import { describe, expect, it } from 'vitest';
import { distanceFor } from '../../src/codes/angle';
import { Codes } from '../../src/codes/codes';
import { scanAll } from '../../src/codes/scan';
import { SimHashIndex } from '../../src/index/simhash-index';
import { neighborLists, neighborListsAsync } from '../../src/join/neighbor-lists';
import { collection, SHAPES } from '../groups/collections';
import { difference } from '../reference/difference';
import { Draws } from '../reference/random';
import { byBruteForce } from './nearest-by-brute-force';

/** The k nearest of every row, against brute force. */

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
      for (const count of [0, 1, 2, 77, 300]) {
        const codes = collection(shape, count, bits, count);
        const wanted = { k, ...(maxDistance !== undefined && { maxDistance }) };
        expect(neighborLists(codes, { ...wanted, kernel })).toEqual(byBruteForce(codes, wanted));
      }
    });
  });
});

it('leaves out null rows', () => {
  const given = collection('repeated', 200, 64, 9);
  const codes = Codes.from(given.bytes, { bits: 64, validity: new Draws(1).bytes(25) });
  const found = neighborLists(codes, { k: 5 });
  expect(found).toEqual(byBruteForce(codes, { k: 5 }));
  expect(found.rows.length).toBeLessThan(neighborLists(given, { k: 5 }).rows.length);
});

it('leaves out removed rows of an index', () => {
  const codes = collection('clustered', 120, 64, 2);
  const index = new SimHashIndex({ bits: 64 });
  index.addAll(codes);
  const validity = new Uint8Array(15).fill(0xff);
  for (const row of [0, 17, 119]) {
    index.remove(row);
    validity[row >> 3] ^= 1 << (row & 7);
  }
  const left = Codes.from(codes.bytes, { bits: 64, validity });
  expect(neighborLists(index, { k: 4 })).toEqual(byBruteForce(left, { k: 4 }));
});

it('gives all others where k is larger than the count, and ten where it is not given', () => {
  const codes = collection('repeated', 60, 64, 3);
  for (const k of [59, 60, 1000]) {
    expect(neighborLists(codes, { k })).toEqual(byBruteForce(codes, { k }));
  }
  expect(neighborLists(codes)).toEqual(byBruteForce(codes, { k: 10 }));
});

it('takes a hundred thousand equal rows as one', () => {
  const codes = Codes.allocate(100_000, { bits: 64 });
  codes.at(17)[0] = 1;
  const { offsets, rows, distances } = neighborLists(codes, { k: 3 });
  expect(rows.length).toBe(300_000);
  const of = (row: number) => [...rows.subarray(offsets[row], offsets[row + 1])];
  expect([of(0), of(2), of(99_999), of(17)]).toEqual([
    [1, 2, 3],
    [0, 1, 3],
    [0, 1, 2],
    [0, 1, 2],
  ]);
  expect(distances.reduce((sum, distance) => sum + distance, 0)).toBe(3);
});

/** So many codes near centres that a join by tables pays, with some that are near nothing. */
function nearCopies(count: number, alone: number): Codes {
  const draws = new Draws(`copies ${alone}`);
  const codes = Codes.allocate(count, { bits: 64 });
  const centres = Array.from({ length: count / 16 }, () => draws.bytes(8));
  for (let row = 0; row < count; row++) {
    codes.at(row).set(row < alone ? draws.bytes(8) : draws.pick(centres));
    for (let flips = draws.integer(4); flips > 0; flips--) {
      codes.at(row)[draws.integer(8)] ^= 1 << draws.integer(8);
    }
  }
  return codes;
}

describe('by tables, where distances are small', { tags: 'full' }, () => {
  it.each([
    ['all within a distance', 60_000, 0, 3],
    ['of copies', 60_000, 0, 64],
    ['of copies and some that are alone', 60_000, 9000, 64],
  ])('%s', (_, count, alone, maxDistance) => {
    const codes = nearCopies(count, alone);
    const k = 8;
    const { offsets, rows, distances } = neighborLists(codes, { k, maxDistance });
    let inOrder = 0;
    for (let row = 0; row < count; row++) {
      for (let i = offsets[row] + 1; i < offsets[row + 1]; i++) {
        const step = (distances[i] - distances[i - 1]) * count + rows[i] - rows[i - 1];
        inOrder += step > 0 ? 1 : 0;
      }
    }
    expect(inOrder).toBe(rows.length - [...offsets].filter((at, i) => at < offsets[i + 1]).length);
    const asked = Array.from({ length: 100 }, (_, i) => Math.floor((i * count) / 100));
    const queries = Codes.allocate(asked.length, { bits: 64 });
    asked.forEach((row, i) => {
      queries.at(i).set(codes.at(row));
    });
    scanAll(codes, queries, { k: k + 1 }).forEach((near, i) => {
      const row = asked[i];
      const expected = [...near.rows]
        .map((other, j) => [other, near.distances[j]])
        .filter(([other, distance]) => other !== row && distance <= maxDistance)
        .slice(0, k);
      const found = [...rows.subarray(offsets[row], offsets[row + 1])];
      const at = (other: number, j: number) => [other, distances[offsets[row] + j]];
      expect(found.map(at)).toEqual(expected);
    });
  });
});

describe('as a long call', () => {
  const codes = collection('clustered', 3000, 256, 6);

  it('shows progress', () => {
    const shares: number[] = [];
    neighborLists(codes, { onProgress: (done, total) => shares.push(done / total) });
    expect(shares.length).toBeGreaterThan(2);
    expect(shares).toEqual([...shares].sort((a, b) => a - b));
    expect(shares.every((share) => share > 0 && share <= 1)).toBe(true);
  });

  it('stops when asked to', async () => {
    const controller = new AbortController();
    const onProgress = () => controller.abort(new Error('enough'));
    const options = { onProgress, signal: controller.signal };
    expect(() => neighborLists(codes, options)).toThrow('enough');
    await expect(neighborListsAsync(codes, options)).rejects.toThrow('enough');
  });

  it('comes in turns with the event loop', async () => {
    const many = collection('clustered', 12_000, 256, 6);
    let turns = 0;
    const timer = setInterval(() => turns++, 1);
    const found = await neighborListsAsync(many);
    clearInterval(timer);
    const expected = neighborLists(many);
    expect(difference(found.rows, expected.rows)).toBeNull();
    expect(difference(found.distances, expected.distances)).toBeNull();
    expect(turns).toBeGreaterThan(5);
  });
});

describe('refuses', () => {
  const codes = collection('uniform', 3, 64, 1);
  it.each([
    [{ k: 0 }, '"k" expected an integer from 1 on, got 0'],
    [{ k: '3' }, '"k" expected a number, got "3"'],
    [{ maxDistance: 65 }, '"maxDistance" expected an integer in 0..64, got 65'],
    [{ kernel: 'gpu' }, /"kernel" expected one of/],
    [{ maxDistanse: 3 }, /did you mean "maxDistance"/],
    [{ signal: 1 }, '"signal" expected an AbortSignal, got 1'],
    [{ onProgress: 1 }, '"onProgress" expected a function, got 1'],
  ])('%o', async (options, message) => {
    expect(() => neighborLists(codes, options as never)).toThrow(message);
    await expect(neighborListsAsync(codes, options as never)).rejects.toThrow(message);
  });

  it('what is no source', () => {
    const message = '"source" expected Codes or a SimHashIndex, got Array';
    expect(() => neighborLists([] as never)).toThrow(message);
  });
});

it('takes a cosine in place of a distance: that which 99 % of the pairs at it are within', () => {
  const codes = collection('clustered', 200, 128, 3);
  const maxDistance = distanceFor(0.8, 128, 0.99);
  expect(neighborLists(codes, { minCosine: 0.8 })).toEqual(neighborLists(codes, { maxDistance }));
  expect(() => neighborLists(codes, { minCosine: 2 })).toThrow('"minCosine" expected a number');
});
