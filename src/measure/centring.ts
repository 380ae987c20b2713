/**
 * Whether the mean of dense rows should be subtracted before they are hashed. Vectors that share a
 * direction, as those of values above 0 do, have codes that agree in most bits; without the mean
 * their bits tell them apart. Measured as recall by distance among rows of a sample.
 */

import { lengthOf } from '../base/length';
import { scanAll } from '../codes/scan';
import { SimHasher, type SimHasherOptions } from '../hashing/simhash';
import { meanOf } from '../vectors/mean';
import { scanVectorsAll } from '../vectors/scan-vectors';
import type { DenseMatrix } from '../vectors/vectors';
import { slice } from './pair-tally';

/** What centring gains. */
export interface Centring {
  /** Length of the mean of the directions: 0 where they cancel out, 1 where all are one. */
  readonly meanLength: number;
  /** Share of the nearest by exact cosine that are nearest by distance, and with the mean taken. */
  readonly recall: number;
  readonly centredRecall: number;
  readonly pays: boolean;
}

const K = 10;
const MAX_QUERIES = 200;
/** Fewer rows say little. */
const MIN_ROWS = 100;
/** A gain above what so many queries err by. */
const MIN_GAIN = 0.03;

/** Null where the sample is too small. */
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
