import { afterEach, describe, expect, it, vi } from 'vitest';
import { hashOfPair, newSecret, scrambled } from '../../src/base/hash-tables';
import { Codes } from '../../src/codes/codes';
import { SimHashIndex } from '../../src/index/simhash-index';
import { dedup } from '../../src/near/dedup';
import { pairs } from '../../src/near/pairs';
import { indexToArrow } from '../../src/store/arrow-index';
import { frequenciesToArrow } from '../../src/text/frequency-file';
import { TextHasher } from '../../src/text/text-hasher';
import { collected } from '../reference/collected';
import { Draws } from '../reference/random';

/** Keys that are chosen to collide do so under one secret only, and secrets decide nothing else. */

/** Uses up what was drawn before. */
function drain(): void {
  for (let i = 0; i < 256; i++) newSecret();
}

afterEach(() => {
  vi.restoreAllMocks();
  drain();
});

/** Every table made from now on has these words for its secret. */
function secretIs(words: readonly number[]): void {
  vi.spyOn(crypto, 'getRandomValues').mockImplementation((array) => {
    (array as unknown as Uint32Array).forEach((_, i, all) => {
      all[i] = words[i % 3];
    });
    return array;
  });
  drain();
  expect([...newSecret()]).toEqual(words);
}

/** The most of the keys that share a bucket of 4,096. */
function fullest(hashes: Iterable<number>): number {
  const counts = new Uint32Array(4096);
  for (const hash of hashes) counts[hash & 4095]++;
  return Math.max(...counts);
}

/** V8's hash of small integers, as of version 12: Maps and Sets find them by it. */
function hashOfInteger(key: number): number {
  let x = (~key + (key << 15)) | 0;
  x = (x ^ (x >>> 12)) | 0;
  x = (x + (x << 2)) | 0;
  x = Math.imul((x ^ (x >>> 4)) | 0, 2057);
  return (x ^ (x >>> 16)) & 0x3fff_ffff;
}

describe('a scramble', () => {
  it('maps integers one to one', () => {
    for (let round = 0; round < 3; round++) {
      const secret = newSecret();
      const seen = new Set<number>();
      for (let i = -50_000; i < 50_000; i++) seen.add(scrambled(Math.imul(i, 42_949), secret));
      expect(seen.size).toBe(100_000);
    }
  });

  it('spreads the integers that a Map of the engine has in one bucket', () => {
    const ids: number[] = [];
    for (let id = 0; ids.length < 2000; id++) if ((hashOfInteger(id) & 4095) === 7) ids.push(id);
    expect(fullest(ids.map(hashOfInteger))).toBe(2000);
    const secret = newSecret();
    const keys = ids.map((id) => scrambled(id, secret));
    expect(fullest(keys.map(hashOfInteger))).toBeLessThan(15);
  });
});

describe.each<[string, (i: number, secret: Uint32Array) => number]>([
  ['pairs', (i, secret) => hashOfPair(i, Math.imul(i, 0x0101_0101), secret)],
])('a hash of %s', (_, hashOf) => {
  it('spreads under another secret what collides under a known one', () => {
    const known = Uint32Array.of(1, 2, 3);
    const keys: number[] = [];
    for (let i = 0; keys.length < 2000; i++) if ((hashOf(i, known) & 4095) === 7) keys.push(i);
    expect(fullest(keys.map((key) => hashOf(key, known)))).toBe(2000);
    const secret = newSecret();
    expect(fullest(keys.map((key) => hashOf(key, secret)))).toBeLessThan(20);
  });
});

it('ids are chosen for a Map in vain: it is asked for other numbers', async () => {
  const asked: unknown[] = [];
  const get = Map.prototype.get;
  const index = new SimHashIndex<number>({ bits: 8 });
  await index.addAll(
    Codes.from(new Uint8Array(100), { bits: 8 }),
    Int32Array.from({ length: 100 }, (_, i) => i << 12),
  );
  vi.spyOn(Map.prototype, 'get').mockImplementation(function (this: Map<unknown, unknown>, key) {
    asked.push(key);
    return get.call(this, key);
  });
  expect(index.has(7 << 12)).toBe(true);
  vi.restoreAllMocks();
  expect(asked).not.toContain(7 << 12);
});

it.each([
  ['number', [5, -5, 2 ** 31, -(2 ** 31) - 1, 2 ** 53 - 1, 0]],
  ['bigint', [5n, -5n, 2n ** 62n, 0n]],
  ['string', ['5', '', '-5', String(2 ** 31)]],
] as const)(
  'ids that are a %s are found as such, and integers of both types alike',
  async (_, ids) => {
    const index = new SimHashIndex({ bits: 8 });
    await index.addAll(
      Codes.from(new Uint8Array(ids.length), { bits: 8 }),
      ids as readonly number[],
    );
    ids.forEach((id, row) => {
      expect(index.get(id)?.row).toBe(row);
      if (typeof id === 'string') {
        for (const other of [5, 5n]) expect(index.has(other)).toBe(false);
        return;
      }
      expect(index.has(String(id))).toBe(false);
      // Up to 2^53 an integer is one id as a number and as a bigint.
      const isSafe = Number.isSafeInteger(Number(id));
      expect([index.has(BigInt(id)), index.has(Number(id))]).toEqual([true, isSafe]);
    });
    expect(index.remove(ids[1])).toBe(true);
    expect(index.has(ids[1])).toBe(false);
  },
);

it('no result and no byte depends on the secrets', async () => {
  const draws = new Draws('secrets');
  const count = 1200;
  const bytes = draws.bytes(16 * count);
  bytes.copyWithin(16 * 800, 0, 16 * 200); // equal codes
  const texts = Array.from({ length: 300 }, () =>
    Array.from({ length: 30 }, () => `w${draws.integer(500)} 茶${draws.integer(9)}`).join(' '),
  );
  const made = async (words: readonly number[]) => {
    secretIs(words);
    const codes = Codes.from(bytes, { bits: 128 });
    const index = new SimHashIndex<number>({ bits: 128 });
    await index.addAll(
      codes,
      Int32Array.from({ length: count }, (_, i) => 7 * i - 900),
    );
    for (let id = -900; id < 2000; id += 21) index.remove(id);
    const hasher = new TextHasher({ frequencies: new TextHasher().fit(texts) });
    const sparse = new SimHashIndex({ bits: 64, vectors: 'sparse' });
    for (const text of texts) sparse.add(hasher.vectorize(text));
    return {
      index: indexToArrow(index),
      found: await index.searchAll(codes, { k: 3 }),
      joined: await collected(pairs(codes, { maxDistance: 40 })),
      plan: await dedup(codes, { maxDistance: 40 }),
      table: frequenciesToArrow(new TextHasher().fit(texts)),
      codes: (await hasher.hashAll(texts)).bytes,
      cosines: texts.slice(0, 20).map((text) => sparse.search(hasher.vectorize(text), { k: 5 })),
    };
  };
  const first = await made([0, 0, 0]);
  expect(await made([0xffff_ffff, 1, 0x8000_0000])).toEqual(first);
  expect(await made([12_345, 987_654_321, 5])).toEqual(first);
});
