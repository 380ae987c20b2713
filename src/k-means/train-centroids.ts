/**
 * Centroids for the partitions of an index: spherical k-means over a sample of integer vectors,
 * which begins at the first of them and looks at a growing share. Products are exact and every
 * choice is seeded, so the same vectors give the same centroids everywhere.
 */

import { alea } from '../base/random';
import type { Steps } from '../base/steps';
import type { KernelName } from '../kernels/kernels';
import { KMeans, Progress } from './k-means';
import { integerPoints } from './points';

export interface Training {
  /** Centroids wanted; at most as many as there are vectors in the sample. */
  count: number;
  seed: string;
  /** Share of the sample that each round looks at; early rounds need less. */
  rounds: readonly number[];
  kernel?: KernelName;
}

/**
 * Centroids of `sample`, vectors of `width` integers in random order; the result has a memory of
 * its own, where the kernels read it. A centroid without vectors moves to one drawn at random.
 */
export function* trainCentroids(
  sample: Int16Array,
  width: number,
  { count, seed, rounds, kernel }: Training,
): Steps<Int16Array> {
  const points = integerPoints(sample, width);
  const { rows } = points;
  const random = alea(seed);
  const sizes = rounds.map((share) => {
    return Math.min(rows.length, Math.max(count, Math.round(share * rows.length)));
  });
  const progress = new Progress(sizes.reduce((sum, size) => sum + size, 0));
  const means = new KMeans(points, count, { kernel });
  yield* means.begin(rows.subarray(0, count));
  const nearest = new Uint32Array(rows.length);
  for (const size of sizes) {
    yield* means.assign(rows.subarray(0, size), nearest.subarray(0, size), progress);
    yield* means.move(() => Math.floor(random() * size));
  }
  return means.rounded;
}
