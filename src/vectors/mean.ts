/**
 * The mean direction of vectors, for the option `mean` of an index, which subtracts it before
 * hashing. Rows are drawn by a seed and summed in order, so the mean is the same on every engine.
 */

import { isValid } from '../base/bitmap';
import { checkInteger, checkOptions, checkSeed } from '../base/check';
import { checkedLength } from '../base/length';
import { alea } from '../base/random';
import { checkDenseMatrix, type DenseMatrix } from './vectors';

export interface MeanOptions {
  /**
   * Number of rows that are drawn; all where there are fewer.
   * @default 10000
   */
  sample?: number;
  /**
   * Seed of the draw.
   * @default 0
   */
  seed?: number | bigint;
}

/**
 * The mean direction of a sample of rows, for the option `mean` of an index. Vectors that share a
 * direction share many bits, which then say little; without the mean they say more.
 *
 * Rows are scaled to length 1 first. Null and all-zero rows that are drawn are skipped. Without
 * other rows the mean is 0.
 *
 * @example
 * const vectors = { values: new Float32Array([1, 0, 0.6, 0.8]), dimensions: 2 };
 * const index = new SimHashIndex({ dimensions: 2, mean: meanOf(vectors) });
 * console.log(meanOf(vectors).map((value) => Math.round(10 * value))); // Float64Array(2) [ 8, 4 ]
 */
export function meanOf(vectors: DenseMatrix, options?: MeanOptions): Float64Array {
  const given = checkOptions('options', options, ['sample', 'seed']);
  const sample = checkInteger('sample', given.sample ?? 10_000, 1, 2 ** 32);
  const count = checkDenseMatrix(vectors, 'vectors');
  const { values, dimensions, validity } = vectors;
  const random = alea(String(checkSeed(given.seed ?? 0)));
  const mean = new Float64Array(dimensions);
  let taken = 0;
  let left = Math.min(sample, count);
  for (let row = 0; row < count && left > 0; row++) {
    // Draws `left` of the rows that remain, each with the same probability, in order.
    if (random() * (count - row) >= left) continue;
    left--;
    if (!isValid(validity, row)) continue;
    const from = row * dimensions;
    const length = checkedLength(`row ${row}`, values.subarray(from, from + dimensions));
    if (length === 0) continue;
    for (let i = 0; i < dimensions; i++) mean[i] += values[from + i] / length;
    taken++;
  }
  return taken === 0 ? mean : mean.map((sum) => sum / taken);
}
