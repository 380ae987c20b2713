import { describe, expect, it } from 'vitest';
import { hammingDistance } from '../../src/codes/codes';
import { JACCARD, wilson } from '../../src/codes/measure';
import { SimHasher } from '../../src/hashing/simhash';
import { TextHasher } from '../../src/text/text-hasher';

import { Draws } from '../reference/random';

const MASK = 0xffff_ffffn;

/** The rule of docs/format.md, word by word, in integers without a limit. */
function naiveCode(members: readonly bigint[], bits: number, seed: bigint): number[] {
  const mix = (value: bigint) => {
    let x = value & MASK;
    x = ((x ^ (x >> 16n)) * 0x85ebca6bn) & MASK;
    x = ((x ^ (x >> 13n)) * 0xc2b2ae35n) & MASK;
    return x ^ (x >> 16n);
  };
  const golden = 0x9e3779b9n;
  const low = mix((seed & MASK) ^ golden);
  const high = mix((seed >> 32n) ^ low);
  const hashes = members.map((member) => {
    const a = mix((member & MASK) ^ low);
    const b = mix(((member >> 32n) ^ high) + a);
    return { first: mix(a ^ b), second: b };
  });
  const code: (number | undefined)[] = Array(bits).fill(undefined);
  for (let round = 0; code.includes(undefined); round++) {
    const least = new Map<number, bigint>();
    for (const { first, second } of hashes) {
      const draw = mix(second + BigInt(round) * golden);
      const bit = round < bits ? Number((draw * BigInt(bits)) >> 32n) : round - bits;
      const value = mix(first ^ draw);
      const known = least.get(bit);
      if (known === undefined || value < known) least.set(bit, value);
    }
    for (const [bit, value] of least) code[bit] ??= Number(value & 1n);
  }
  return code as number[];
}

const setOf = (members: readonly (number | bigint)[]) => ({
  indices: members.map(BigInt),
  values: members.map(() => 1),
});
const bitsOf = (code: Uint8Array, bits: number) =>
  Array.from({ length: bits }, (_, j) => (code[j >> 3] >> (j & 7)) & 1);
const draws = new Draws('minwise');
const member = () => (BigInt(draws.integer(2 ** 32)) << 32n) | BigInt(draws.integer(2 ** 32));
const membersOf = (count: number) => Array.from({ length: count }, member);

describe('codes by minwise', () => {
  it.each([1, 7, 64, 100, 256])('are those of the rule in docs/format.md, %d bits', (bits) => {
    for (const seed of [0n, 7n, 0xfedc_ba98_7654_3210n]) {
      const hasher = new SimHasher({ bits, seed, projection: 'minwise' });
      for (const count of [1, 2, 9, 300]) {
        const members = membersOf(count);
        expect(bitsOf(hasher.hash(setOf(members)), bits)).toEqual(naiveCode(members, bits, seed));
      }
      expect(bitsOf(hasher.hash(setOf([0])), bits)).toEqual(naiveCode([0n], bits, seed));
    }
  });

  it('do not depend on the order of members, on their values, or on the batch', async () => {
    const members = membersOf(50);
    const hasher = new SimHasher({ bits: 200, projection: 'minwise' });
    const code = hasher.hash(setOf(members));
    expect(hasher.hash(setOf([...members].reverse()))).toEqual(code);
    expect(hasher.hash(setOf([...members, members[3]]))).toEqual(code);
    const values = members.map(() => draws.uniform() - 2);
    expect(hasher.hash({ indices: members, values })).toEqual(code);
    const rows = Array.from({ length: 9 }, () => setOf(membersOf(1 + draws.integer(40))));
    const codes = await hasher.hashAll([...rows, setOf(members), ...rows]);
    expect(codes.at(9)).toEqual(code);
    for (let row = 0; row < 9; row++) expect(codes.distance(row, row + 10)).toBe(0);
    expect(codes.origin).toEqual({ projection: 'minwise', seed: '0' });
  });

  it('leave out members whose value is 0; of an empty set there is none', async () => {
    const [one, other] = membersOf(2);
    const hasher = new SimHasher({ bits: 64, projection: 'minwise', zero: 'null' });
    const both = { indices: [one, other], values: [1, 0] };
    expect(hasher.hash(both)).toEqual(hasher.hash(setOf([one])));
    const codes = await hasher.hashAll([setOf([]), both, { indices: [one], values: [0] }]);
    expect([0, 1, 2].map((row) => codes.isNull(row))).toEqual([true, false, true]);
    const strict = new SimHasher({ projection: 'minwise' });
    expect(() => strict.hash(setOf([]))).toThrow(RangeError);
    const infinite = { indices: [1], values: [Number.POSITIVE_INFINITY] };
    expect(() => hasher.hash(infinite)).toThrow(/Infinity/);
  });

  it('take sets only, and have no sums', () => {
    const hasher = new SimHasher({ projection: 'minwise' });
    expect(() => hasher.hash([1, 2])).toThrow("projection 'minwise' takes sparse vectors");
    expect(() => hasher.accumulate(setOf([1]))).toThrow("projection 'minwise' has no sums");
  });

  it('differ by half the Jaccard distance in the mean, and no wider than independent bits', async () => {
    const trials = 300;
    const bits = 256;
    for (const [common, apart] of [
      [0, 1],
      [1, 1],
      [8, 1],
      [30, 10],
      [400, 50],
    ]) {
      const hasher = new SimHasher({ bits, projection: 'minwise', seed: 5 });
      const share = apart / (common + 2 * apart); // (1 - J) / 2
      let [sum, squares, covered] = [0, 0, 0];
      for (let trial = 0; trial < trials; trial++) {
        const [shared, a, b] = [membersOf(common), membersOf(apart), membersOf(apart)];
        const codes = await hasher.hashAll([setOf([...shared, ...a]), setOf([...shared, ...b])]);
        const distance = codes.distance(0, 1);
        sum += distance / bits;
        squares += (distance / bits - share) ** 2;
        const [low, high] = wilson(distance, bits);
        covered += Number(low <= share && share <= high);
      }
      const deviation = Math.sqrt((share * (1 - share)) / bits);
      expect(Math.abs(sum / trials - share)).toBeLessThan((4 * deviation) / Math.sqrt(trials));
      expect(Math.sqrt(squares / trials)).toBeLessThan(1.15 * deviation);
      expect(covered / trials).toBeGreaterThan(0.91);
    }
  });
});

it('a text is the set of its tokens', () => {
  const tokens = 'shingles:2';
  const options = { bits: 256, tokens, projection: 'minwise' } as const;
  const hasher = new TextHasher({ ...options, counting: 'log' });
  const [one, other] = ['to be or not to be that is', 'to be or not to be this is'];
  expect(hasher.hash(`${one} ${one}`).length).toBe(32);
  expect(hasher.hash(one)).toEqual(new TextHasher(options).hash(one));
  // Of 4 / 8: to be, be or, or not, not to; be that, that is; be this, this is.
  const distance = hammingDistance(hasher.hash(one), hasher.hash(other));
  const [low, high] = wilson(distance, 256);
  expect(low).toBeLessThan(0.25);
  expect(high).toBeGreaterThan(0.25);
});

it('a distance estimates the Jaccard similarity', () => {
  const estimates = [0, 10, 50, 80].map((distance) => JACCARD.estimateOf(distance, 100));
  expect(estimates).toEqual([1, 0.8, 0, 0]);
  expect(() => JACCARD.estimateOf(101, 100)).toThrow('"distance" expected an integer in 0..100');
  expect(() => JACCARD.estimateOf(1, 0)).toThrow('"bits"');
});
