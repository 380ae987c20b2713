/** Indexes for tests: with small segments, and rows of every kind that an index holds. */

import type { SimHashIndexOptions } from '../../src/index/index-options';
import { MemoryIndex } from '../../src/index/memory-index';
import { coreOf, SimHashIndex } from '../../src/index/simhash-index';
import type { Space } from '../../src/index/space';
import type { Draws } from '../reference/random';
import type { ModelQuery, ModelVector, Sparse } from './model';

/** An empty index whose tail becomes a segment at so many rows; no segment has more. */
export function spreadIndex(
  options: SimHashIndexOptions,
  tailRows: number,
  space: Space | null = null,
  maxSegmentRows = tailRows,
): SimHashIndex {
  const index = new SimHashIndex(options);
  const core = coreOf(index);
  core.rows = new MemoryIndex({ ...core.rows.options, tailRows, maxSegmentRows }, space);
  return index;
}

export const segmentsOf = (index: SimHashIndex): number => coreOf(index).rows.segmentCount;

/** Vectors around some points, of which some are equal, and some all zero: no direction. */
export function denseVectors(draws: Draws, count: number, dimensions: number): number[][] {
  const points = Array.from({ length: 12 }, () => Array.from(draws.gaussians(dimensions)));
  return Array.from({ length: count }, () => {
    const point = points[draws.integer(points.length)];
    if (draws.integer(40) === 0) return point.map(() => 0);
    if (draws.integer(10) === 0) return point.map(Math.fround);
    const noise = draws.gaussians(dimensions);
    return point.map((value, i) => Math.fround(value + 0.7 * noise[i]));
  });
}

/** Sparse vectors of few dimensions, some beyond 2^53, around some sets. */
export function sparseVectors(draws: Draws, count: number): Sparse[] {
  const dimensions = Array.from(
    { length: 60 },
    (_, i) => BigInt(i * i) * (i % 9 === 0 ? 2n ** 50n : 1n),
  );
  const sets = Array.from({ length: 8 }, () => dimensions.filter(() => draws.integer(4) === 0));
  return Array.from({ length: count }, () => {
    const set = sets[draws.integer(sets.length)].filter(() => draws.integer(6) > 0);
    if (draws.integer(8) === 0) set.push(dimensions[draws.integer(60)]);
    return new Map(set.map((dimension) => [dimension, Math.fround(draws.uniform() + 0.1)]));
  });
}

/** A vector as the index takes it. */
export function givenOf(vector: ModelVector) {
  if (!(vector instanceof Map)) return vector as number[];
  return { indices: [...vector.keys()], values: [...vector.values()] as number[] };
}

/** A query of the model; null where it has no direction. */
export function queryOf(index: SimHashIndex, vector: ModelVector): ModelQuery | null {
  const values = vector instanceof Map ? [...vector.values()] : (vector as number[]);
  if (values.every((value) => value === 0)) return null;
  const given = givenOf(vector) as number[];
  const code = index.hasher.hash(given);
  const isSet = index.hasher.projection === 'minwise';
  return { vector, code, sums: isSet ? new Float64Array() : index.hasher.accumulate(given) };
}
