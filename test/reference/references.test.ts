import { describe, expect, it } from 'vitest';
import { hammingDistance } from '../../src/codes/codes';
import { SimHasher } from '../../src/hashing/simhash';
import { PerBitHash } from './per-bit-hash';
import { angleBetween, Draws } from './random';
import { StoredGaussian } from './stored-gaussian';

/** The ways that this library replaces have the statistics of ours: the same share of bits differs. */
const BITS = 128;
const PAIRS = 240;
const DIMENSIONS = 60;
const Z = 4.5;

interface Hasher {
  hash(vector: number[]): Uint8Array;
}

/** Share of differing bits over random pairs at a cosine; four hashers share the pairs. */
function share(make: (seed: number) => Hasher, cosine: number): number {
  const draws = new Draws(`references ${cosine}`);
  let different = 0;
  for (let seed = 0; seed < 4; seed++) {
    const hasher = make(seed);
    for (let i = 0; i < PAIRS / 4; i++) {
      const [a, b] = draws.pairAt(cosine, DIMENSIONS);
      different += hammingDistance(hasher.hash([...a]), hasher.hash([...b]));
    }
  }
  return different / (PAIRS * BITS);
}

const WAYS: Record<string, (seed: number) => Hasher> = {
  'stored Gaussian vectors': (seed) =>
    new StoredGaussian({ bits: BITS, dimensions: DIMENSIONS, seed: `planes ${seed}` }),
  'one hash a bit': (seed) => new PerBitHash({ bits: BITS, seed: 1e6 * seed }),
  "our 'gaussian'": (seed) =>
    new SimHasher({ bits: BITS, projection: 'gaussian', seed: 1e6 * seed }),
  "our 'signs'": (seed) => new SimHasher({ bits: BITS, seed: 1e6 * seed }),
};

describe.each(Object.keys(WAYS))('%s', (name) => {
  it.each([0.2, 0.8])('differ in θ/π of the bits at cosine %d', (cosine) => {
    const expected = Math.acos(cosine) / Math.PI;
    const error = Math.sqrt((expected * (1 - expected)) / (PAIRS * BITS));
    expect(Math.abs(share(WAYS[name], cosine) - expected) / error).toBeLessThan(Z);
  });

  it('give a sparse vector the code of the same dense one', () => {
    const hasher = WAYS[name](1);
    const dense = Array.from({ length: DIMENSIONS }, (_, i) => (i % 7 === 3 ? i - 20 : 0));
    const indices = [3, 10, 17, 24, 31, 38, 45, 52, 59];
    const values = indices.map((i) => i - 20);
    const sparse =
      hasher instanceof SimHasher
        ? hasher.hash({ indices, values })
        : (hasher as StoredGaussian).hashSparse(indices, values);
    expect([...sparse]).toEqual([...hasher.hash(dense)]);
  });
});

it('shows the ±1 bias with one hash a bit, as with ours, and not with Gaussians', () => {
  const [a, b] = [
    [1, 0.9],
    [1, -0.9],
  ];
  const bits = 40_000;
  const distance = (hasher: Hasher) => hammingDistance(hasher.hash(a), hasher.hash(b));
  expect(distance(new PerBitHash({ bits }))).toBe(0);
  expect(distance(new SimHasher({ bits }))).toBe(0);
  const expected = angleBetween(a, b) / Math.PI;
  const error = Math.sqrt((expected * (1 - expected)) / bits);
  const stored = distance(new StoredGaussian({ bits, dimensions: 2, seed: 'bias' })) / bits;
  expect(Math.abs(stored - expected) / error).toBeLessThan(Z);
});

it('stored planes take memory as dimensions x bits', () => {
  const planes = (dimensions: number) => new StoredGaussian({ bits: 64, dimensions, seed: 1 });
  expect(planes(100).byteLength).toBe(100 * 64 * 4);
  expect(planes(1000).byteLength).toBe(10 * planes(100).byteLength);
});
