import { describe, expect, it } from 'vitest';
import { hammingDistance } from '../../src/codes/codes';
import { SimHasher } from '../../src/hashing/simhash';
import { KERNELS } from '../../src/kernels/kernels';
import { bitString, parseBits } from '../codes/bits';
import { useKernel } from '../reference/kernels';

/** Worked examples as they were published, digit for digit; bits are written first bit first. */
const EXAMPLES = [
  {
    // The article prints 7 for the first sum: 3 - 2 + 4 is 5.
    name: 'three dimensions hashed to 2 bits',
    patterns: ['10', '01', '11'],
    values: [3, 2, 4],
    sums: [5, 3],
    code: '11',
  },
  {
    name: 'five words hashed to 3 bits',
    patterns: ['101', '011', '100', '001', '110'],
    values: [1, 2, 0, 3, 0],
    sums: [-4, -2, 6],
    code: '001',
  },
  {
    name: 'five weights on 6 bits',
    patterns: ['100101', '101011', '100111', '101111', '111011'],
    values: [5, 2, 3, 1, 4],
    sums: [15, -7, -1, 3, 5, 15],
    code: '100111',
  },
  {
    name: 'two TF-IDF weights on 8 bits',
    patterns: ['01011001', '11001011'],
    values: [45.11, 32.09],
    sums: [-13.02, 77.2, -77.2, 13.02, 77.2, -77.2, -13.02, 77.2],
    code: '01011001',
  },
];

describe.each(KERNELS.flatMap((kernel) => EXAMPLES.map((example) => ({ kernel, ...example }))))(
  '$name, $kernel kernels',
  ({ kernel, patterns, values, sums, code }) => {
    useKernel(kernel);
    const pattern = (dimension: number | bigint) => parseBits(patterns[Number(dimension)]);
    const bits = code.length;

    it('gives its sums and its code', async () => {
      const hasher = new SimHasher({ bits, pattern });
      const sparse = { indices: [...patterns.keys()], values };
      for (const vector of [values, Float64Array.from(values), sparse]) {
        const found = hasher.accumulate(vector);
        expect(found.length).toBe(sums.length);
        // Two decimals were printed, of values with two decimals.
        expect(Array.from(found, (sum) => Number(sum.toFixed(10)))).toEqual(sums);
        expect(bitString(hasher.hash(vector), bits)).toBe(code);
      }
      expect(bitString((await hasher.hashAll([values, values])).at(1), bits)).toBe(code);
      expect(bitString((await hasher.hashAll([sparse, sparse])).at(1), bits)).toBe(code);
    });

    it('gives its code by its patterns as dimensions', () => {
      // Classic text simhash: the hash of a word is its dimension, and the dimension is the pattern.
      const hasher = new SimHasher({ bits, projection: 'direct' });
      const indices = patterns.map((one) => parseBits(one)[0]);
      expect(bitString(hasher.hash({ indices, values }), bits)).toBe(code);
      const found = hasher.accumulate({ indices, values });
      expect(Array.from(found, (sum) => Number(sum.toFixed(10)))).toEqual(sums);
    });
  },
);

it.each([
  ['00101110', '00001111', 2],
  ['100101', '101100', 2],
])('puts %s and %s at distance %i', (a, b, distance) => {
  expect(hammingDistance(parseBits(a), parseBits(b))).toBe(distance);
  expect(hammingDistance(parseBits(b), parseBits(a))).toBe(distance);
});
