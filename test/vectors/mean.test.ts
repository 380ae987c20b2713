import { describe, expect, it } from 'vitest';
import { meanOf, SimHashIndex } from '../../src/index';
import { Draws } from '../reference/random';

describe('meanOf', () => {
  it('is the mean of the directions, null and zero rows left out', () => {
    const values = Float64Array.of(3, 4, 0, 10, 0, 0, 9, 9);
    const validity = Uint8Array.of(0b0111);
    const mean = meanOf({ values, dimensions: 2, validity });
    expect(mean[0]).toBeCloseTo(0.3, 15);
    expect(mean[1]).toBeCloseTo(0.9, 15);
  });

  it('draws so many rows as asked for, by its seed', () => {
    const values = Float64Array.from({ length: 2000 }, (_, i) => (i % 2 ? 1 : i / 100));
    const of = (seed: number) => meanOf({ values, dimensions: 2 }, { sample: 50, seed });
    expect(of(1)).toEqual(of(1));
    expect(of(1)).not.toEqual(of(2));
    expect(of(1)[0]).toBeGreaterThan(0.5);
  });

  it('makes distances of vectors that share a direction tell their angles again', async () => {
    const draws = new Draws('mean');
    const dimensions = 32;
    const values = Float64Array.from(draws.gaussians(1000 * dimensions));
    for (let i = 0; i < values.length; i += dimensions) values[i] += 30;
    const vectors = { values, dimensions };
    const plain = new SimHashIndex({ bits: 64, dimensions });
    const centred = new SimHashIndex({ bits: 64, dimensions, mean: meanOf(vectors) });
    const meanDistance = async (index: SimHashIndex) => {
      await index.addAll(vectors);
      let sum = 0;
      for (let row = 1; row < 1000; row++) sum += index.compare(row, row - 1).distance;
      return sum / 999;
    };
    expect(await meanDistance(plain)).toBeLessThan(8);
    expect(await meanDistance(centred)).toBeGreaterThan(28);
  });

  it('refuses what is no matrix, and samples of none', () => {
    expect(() => meanOf([1, 2] as never)).toThrow(/"vectors"/);
    expect(() => meanOf({ values: Float32Array.of(1), dimensions: 1 }, { sample: 0 })).toThrow(
      /"sample"/,
    );
    const values = Float32Array.of(1, Number.NaN);
    expect(() => meanOf({ values, dimensions: 2 })).toThrow(/row 0/);
  });
});
