import { describe, expect, it } from 'vitest';
import { LongWork } from '../../src/base/long-work';
import { Codes } from '../../src/codes/codes';
import { nearRows } from '../../src/near/pairs';
import { TextHasher } from '../../src/text/text-hasher';
import { BandKeys, bandsFor, caughtBy, type MinBands } from '../../src/text/text-set';

import { Draws } from '../reference/random';

/** Rows that share a key with a row within a distance, by all pairs. */
function naive(codes: Codes, keys: Uint32Array, count: number, maxDistance: number): number[] {
  const keyOf = (row: number, band: number) => keys[row * count + band];
  const bands = Array.from({ length: count }, (_, band) => band);
  return Array.from({ length: codes.count }, (_, a) => {
    for (let b = 0; b < codes.count; b++) {
      if (a === b || codes.isNull(a) || codes.isNull(b)) continue;
      const isShared = bands.some((band) => keyOf(a, band) === keyOf(b, band));
      if (isShared && codes.distance(a, b) <= maxDistance) return 1;
    }
    return 0;
  });
}

describe('rows that share keys', () => {
  const draws = new Draws('near rows');
  const rows = 300;
  const bytes = Uint8Array.from({ length: 2 * rows }, () => draws.integer(256));

  it.each([2, 30, 100_000])('are found where keys have %i values', async (values) => {
    const validity = new Uint8Array(Math.ceil(rows / 8)).fill(0xf7);
    const codes = Codes.from(bytes, { bits: 16, validity });
    // Keys that differ in their highest or in their lowest bits only.
    const key = () => (draws.uniform() < 0.5 ? draws.integer(values) : draws.integer(values) << 15);
    const keys = Uint32Array.from({ length: 3 * rows }, key);
    for (const maxDistance of [0, 1, 3, 16]) {
      const found = await nearRows(codes, { keys, count: 3 }, maxDistance, new LongWork());
      expect(Array.from(found ?? [])).toEqual(naive(codes, keys, 3, maxDistance));
    }
  });

  it('are given up where too many share keys that are not near', async () => {
    const count = 3000; // 4.5 million pairs, of which 4.2 million may be compared
    // No two are equal: all share the key, and none is within distance 0.
    const codes = Codes.from(
      new Uint8Array(Uint32Array.from({ length: count }, (_, i) => i).buffer),
      {
        bits: 32,
      },
    );
    const keys = new Uint32Array(count);
    expect(await nearRows(codes, { keys, count: 1 }, 0, new LongWork())).toBeNull();
    // Where all are near, one comparison a row is enough.
    const found = await nearRows(codes, { keys, count: 1 }, 32, new LongWork());
    expect(found?.every((flag) => flag === 1)).toBe(true);
  });
});

describe('bands of min-hashes', () => {
  it('are as wide as may be, and catch .999', () => {
    for (const least of [0.5, 0.6, 0.8, 0.95]) {
      const bands = bandsFor(least, 256) as MinBands;
      expect(caughtBy(bands, least)).toBeGreaterThanOrEqual(0.999);
      expect(bands.count).toBeLessThanOrEqual(32);
      expect(bands.width * bands.count).toBeLessThanOrEqual(256);
      const wider = {
        width: bands.width + 1,
        count: Math.min(32, Math.floor(256 / (bands.width + 1))),
      };
      expect(caughtBy(wider, least)).toBeLessThan(0.999);
    }
    expect(bandsFor(0.6, 256)).toEqual({ width: 3, count: 29 });
    for (const least of [0, 0.1, 0.4]) expect(bandsFor(least, 256)).toBeNull();
    expect(bandsFor(0.6, 8)).toBeNull();
  });

  it('are shared as often as they say', async () => {
    const draws = new Draws('bands');
    const options = {
      bits: 256,
      tokens: 'shingles:1',
      projection: 'minwise',
    } as const;
    const hasher = new TextHasher({ ...options, empty: 'null' });
    const bands = { width: 3, count: 4 };
    const texts = Array.from({ length: 400 }, () => {
      // 60 words of 100 in both: a Jaccard similarity of .6.
      const words = Array.from({ length: 100 }, () => `w${draws.integer(2 ** 30)}`);
      return [words.slice(0, 80).join(' '), words.slice(20).join(' ')];
    }).flat();
    const keys = new BandKeys(bands);
    await hasher.hashWithKeys(texts, keys, {});
    const all = keys.all();
    expect(all.length).toBe(texts.length * bands.count);
    let shared = 0;
    for (let row = 0; row < texts.length; row += 2) {
      const own = [...all.subarray(4 * row, 4 * row + 4)];
      shared += Number(own.some((key, band) => key === all[4 * row + 4 + band]));
    }
    // .622 of 400, whose standard deviation is 9.7.
    expect(caughtBy(bands, 0.6)).toBeCloseTo(0.622, 3);
    expect(Math.abs(shared - 0.622 * 400)).toBeLessThan(40);
  });

  it('of an empty text are 0', async () => {
    const keys = new BandKeys({ width: 2, count: 5 });
    const options = { bits: 64, tokens: 'shingles:2', projection: 'minwise' } as const;
    const hasher = new TextHasher({ ...options, empty: 'null' });
    await hasher.hashWithKeys(['', 'a few words of a text'], keys, {});
    expect(keys.all().subarray(0, 5)).toEqual(new Uint32Array(5));
  });
});
