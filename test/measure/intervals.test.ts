import { describe, expect, it } from 'vitest';
import { estimateAngle, hammingDistance, type Projection, SimHasher } from '../../src';
import { readVectors } from '../reference/arrow';
import { quickIf } from '../reference/tags';

const { vectors } = await readVectors('datasets/nouns/nouns.arrow', { id: 'word' });
const { values, dimensions } = vectors as { values: Float32Array; dimensions: number };
const ROWS = 400;
const SEEDS = 8;

/** Real word vectors: their first coordinates, at length 1, pushed along the first of them. */
function nouns(width: number, push = 0): Float32Array[] {
  return Array.from({ length: ROWS }, (_, row) => {
    const own = values.slice(37 * row * dimensions, 37 * row * dimensions + width);
    const length = Math.hypot(...own);
    return own.map((value, i) => value / length + (i === 0 ? push : 0));
  });
}

function cosine(a: Float32Array, b: Float32Array): number {
  let dot = 0;
  for (let i = 0; i < a.length; i++) dot += a[i] * b[i];
  return dot / Math.hypot(...a) / Math.hypot(...b);
}

/** The share of pairs whose exact cosine is in the interval of 95 % that their distance states. */
async function coverage(
  rows: readonly Float32Array[],
  projection: Projection,
  bits: number,
): Promise<number> {
  let inside = 0;
  for (let seed = 0; seed < SEEDS; seed++) {
    const options = { bits, projection, dimensions: rows[0].length, seed: 77 * seed };
    const codes = await new SimHasher(options).hashAll(rows as Float32Array[]);
    rows.forEach((row, i) => {
      const other = (7 * i + 13 * (seed + 1) + 1) % rows.length;
      const distance = hammingDistance(codes.at(i), codes.at(other));
      const [low, high] = estimateAngle(distance, bits).cosineInterval;
      const exact = cosine(row, rows[other]);
      if (low - 1e-6 <= exact && exact <= high + 1e-6) inside++;
    });
  }
  return inside / (SEEDS * rows.length);
}

describe('intervals of the cosine, on real vectors', () => {
  const kinds: [string, Float32Array[]][] = [
    ['as they are', nouns(100)],
    ['far from centred', nouns(100, 2)],
    ['of 8 coordinates', nouns(8)],
    ['of 3 coordinates', nouns(3)],
    ['of 2 coordinates', nouns(2)],
  ];

  // 8 seeds: the planes, by which pairs err together, are drawn eight times.
  describe.each(kinds)('of vectors %s', (name, rows) => {
    it('hold with gaussian and hadamard planes', quickIf(name === 'of 3 coordinates'), async () => {
      for (const projection of ['gaussian', 'hadamard'] as const) {
        const widths = [32, 64, 256, 1024];
        const shares = await Promise.all(widths.map((bits) => coverage(rows, projection, bits)));
        for (const share of shares) expect(share).toBeGreaterThan(0.89);
        expect(shares.reduce((sum, share) => sum + share, 0) / 4).toBeGreaterThan(0.925);
      }
    });
  });

  it('hold with signs where no coordinate outweighs the rest, and not otherwise', async () => {
    for (const bits of [32, 64, 256, 1024]) {
      expect(await coverage(kinds[0][1], 'signs', bits)).toBeGreaterThan(0.92);
    }
    expect(await coverage(kinds[1][1], 'signs', 256)).toBeLessThan(0.5);
    expect(await coverage(kinds[3][1], 'signs', 256)).toBeLessThan(0.5);
  });
});
