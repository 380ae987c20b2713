/**
 * Whether the mean of dense rows should be subtracted before they are hashed. Vectors that share a
 * direction, such as those of positive values, have codes that agree in most bits; without the
 * mean, the bits tell the vectors apart. Measured as recall by distance among the rows of a sample.
 */

import { lengthOf } from '../base/length';
import { scanAll } from '../codes/scan';
import { SimHasher, type SimHasherOptions } from '../hashing/simhash';
import { meanOf } from '../vectors/mean';
import { scanVectorsAll } from '../vectors/scan-vectors';
import type { DenseMatrix } from '../vectors/vectors';
import { slice } from './pair-tally';

/** What subtracting the mean gains. */
export interface Centring {
  /** Length of the mean of all directions: 0 if they cancel out, 1 if all are equal. */
  readonly meanLength: number;
  /** Share of the nearest rows by cosine that are nearest by distance: as they are, and centred. */
  readonly recall: number;
  readonly centredRecall: number;
  /** True if the gain is larger than the error of so few queries. */
  readonly pays: boolean;
}

/** Neighbours of each query, and queries at most. */
const K = 10;
const MAX_QUERIES = 200;
/** Fewer rows are not measured. */
const MIN_ROWS = 100;
/** The smallest gain that counts: above the error of MAX_QUERIES queries. */
const MIN_GAIN = 0.03;

/** Measures both; null for too few rows. The first rows of the sample are the queries. */
export function centringOf(rows: DenseMatrix, options: SimHasherOptions): Centring | null {
  const { values, dimensions } = rows;
  const count = values.length / dimensions;
  if (count < MIN_ROWS) return null;
  const asked = Math.min(MAX_QUERIES, count);
  const mean = meanOf(rows);
  const queries = { values: values.subarray(0, asked * dimensions), dimensions };
  const truth = scanVectorsAll(rows, queries, { k: K + 1 }).map((one) => new Set(one.rows));
  const recallOf = (matrix: DenseMatrix): number => {
    const codes = new SimHasher({ ...options, zero: 'null' }).hashAll(matrix);
    let found = 0;
    scanAll(codes, slice(codes, 0, asked), { k: K + 1 }).forEach((one, row) => {
      for (const other of one.rows) if (other !== row && truth[row].has(other)) found++;
    });
    return found / (K * asked);
  };
  const centred = new Float32Array(values.length);
  for (let row = 0; row < count; row++) {
    const at = row * dimensions;
    const length = lengthOf(values.subarray(at, at + dimensions));
    for (let i = 0; i < dimensions; i++) centred[at + i] = values[at + i] / length - mean[i];
  }
  const [recall, centredRecall] = [rows, { values: centred, dimensions }].map(recallOf);
  const pays = centredRecall - recall >= MIN_GAIN;
  return { meanLength: lengthOf(mean), recall, centredRecall, pays };
}
